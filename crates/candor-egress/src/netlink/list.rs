//! Dumps of disciplines, classes and filters.

use crate::filter::{Classifier, Filter};
use crate::handle::Handle;
use crate::tree::{Class, Qdisc};
use candor_io::can::InterfaceIndex;

use super::discipline::decode_stab;
use super::filter::Body;
use super::message::{
    Header, InterfaceNames, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER, TCA_CHAIN, TCA_KIND, TCA_OPTIONS, TCA_STAB,
    TCA_STATS2,
};
use super::stats::{self, ClassStats, FilterStats, QdiscStats};
use super::{class, discipline, filter};
use candor_netlink::client::{Client, Errno, NetlinkError};
use candor_netlink::codec::{DecodeError, Message, NLM_F_DUMP, NLM_F_REQUEST};

const ATTRIBUTES: usize = TCA_STAB as usize + 1;
pub(super) const FILTER_ATTRIBUTES: usize = TCA_CHAIN as usize + 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedQdisc {
    pub interface: InterfaceIndex,
    /// The kernel's own default has [`Handle::NONE`].
    pub qdisc: Qdisc,
    pub stats: QdiscStats,
}

impl ListedQdisc {
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.qdisc.parent == Handle::ROOT
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedClass {
    pub(super) interface: InterfaceIndex,
    /// A class that its discipline creates, such as a band of `prio`, has no parameters
    /// ([`Share::Other`](crate::tree::Share::Other)).
    pub(super) class: Class,
    pub(super) stats: ClassStats,
}

impl ListedClass {
    pub(super) fn is_made(&self) -> bool {
        class::is_made(self.class.share.kind())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFilter {
    pub(super) filter: Filter,
    pub(super) stats: FilterStats,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedFilters {
    /// Chain 0, which every frame enters.
    pub(super) filters: Vec<ListedFilter>,
    /// Further chains, which only an action enters (`goto chain`); without their filters.
    pub(super) other_chains: Vec<u32>,
}

/// The qdiscs of all interfaces, a root before what is below it; `noqueue` for interfaces without a queue, such as vcan.
/// None if the kernel has no traffic control.
///
/// # Errors
/// Those of the dump.
pub fn qdiscs(client: &mut Client) -> Result<Vec<ListedQdisc>, NetlinkError> {
    dump(client, Header::default(), RTM_NEWQDISC, qdisc)
}

/// The classes of an interface, including those that a discipline makes itself, in the kernel's order.
pub(super) fn classes(client: &mut Client, interface: InterfaceIndex) -> Result<Vec<ListedClass>, NetlinkError> {
    let header = Header { interface: interface.number(), ..Header::default() };
    dump(client, header, RTM_NEWTCLASS, listed_class)
}

/// The filters of a discipline, of a class, of [`Handle::INGRESS`] or of [`Handle::EGRESS`], in the kernel's order.
pub(super) fn filters(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: Handle,
    names: &InterfaceNames,
) -> Result<ListedFilters, NetlinkError> {
    let header = Header { interface: interface.number(), parent, ..Header::default() };
    dump(client, header, RTM_NEWTFILTER, |message| filter(message, parent, names).map(Some)).map(gathered)
}

/// Asks for all objects whose messages are of this kind (`RTM_NEW…`, two below `RTM_GET…`).
pub(super) fn dump<T>(
    client: &mut Client,
    header: Header,
    kind: u16,
    read: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
) -> Result<Vec<T>, NetlinkError> {
    let message = header.message(kind + 2, NLM_F_REQUEST | NLM_F_DUMP);
    match client.dump(&message, |answer| if answer.kind == kind { Ok(read(answer)?) } else { Ok(None) }) {
        Err(error) if error.errno() == Some(Errno::EOPNOTSUPP) => Ok(Vec::new()),
        listed => listed,
    }
}

/// A message of a filter dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilterNote {
    Filter(ListedFilter),
    /// The head of a preference; the only message for an old `fw` filter.
    Head(Filter),
    OtherChain(u32),
}

fn gathered(notes: Vec<FilterNote>) -> ListedFilters {
    let mut listed = ListedFilters::default();
    let mut heads = Vec::new();
    for note in notes {
        match note {
            FilterNote::Filter(filter) => listed.filters.push(filter),
            FilterNote::Head(head) if head.classifier.kind() == "fw" => heads.push(head),
            FilterNote::Head(_) => {}
            FilterNote::OtherChain(chain) if listed.other_chains.contains(&chain) => {}
            FilterNote::OtherChain(chain) => listed.other_chains.push(chain),
        }
    }
    for head in heads {
        if listed.filters.iter().all(|listed| listed.filter.preference != head.preference) {
            listed.filters.push(ListedFilter { filter: head, stats: FilterStats::default() });
        }
    }
    listed
}

/// The parent is that of the request: the kernel may report an alias.
pub(super) fn filter(message: &Message<'_>, parent: Handle, names: &InterfaceNames) -> Result<FilterNote, DecodeError> {
    let (header, attributes) = Header::split::<FILTER_ATTRIBUTES>(message)?;
    let of = |kind: u16| attributes[usize::from(kind)];
    let kind = of(TCA_KIND).map(|kind| kind.text()).unwrap_or_default();
    let [high, low] = [header.info >> 16, header.info & 0xFFFF].map(|half| u16::try_from(half).unwrap_or(u16::MAX));
    let chain = of(TCA_CHAIN).map(|chain| chain.u32()).transpose()?.unwrap_or(0);
    let options = of(TCA_OPTIONS);
    let is_head = header.handle == Handle::NONE && options.is_none();
    let body = if is_head && kind != "fw" {
        Body::new(Classifier::Other { kind, options: Vec::new() })
    } else {
        filter::decode(&kind, options, names)?
    };
    let Body { classifier, class, actions, stats } = body;
    let (preference, protocol) = (high, u16::from_be(low));
    let filter = Filter { parent, preference, protocol, handle: header.handle.0, classifier, class, actions };
    Ok(match (chain, is_head) {
        (0, false) => FilterNote::Filter(ListedFilter { filter, stats }),
        (0, true) => FilterNote::Head(filter),
        (chain, _) => FilterNote::OtherChain(chain),
    })
}

/// `None` without an interface, which the kernel does not send.
pub(super) fn qdisc(message: &Message<'_>) -> Result<Option<ListedQdisc>, DecodeError> {
    let (header, attributes) = Header::split::<ATTRIBUTES>(message)?;
    let of = |kind: u16| attributes[usize::from(kind)];
    let Some(interface) = InterfaceIndex::new(header.interface) else { return Ok(None) };
    let kind = of(TCA_KIND).map(|kind| kind.text()).unwrap_or_default();
    let stab = of(TCA_STAB).map(|table| decode_stab(table.value)).transpose()?;
    let discipline = discipline::decode(&kind, of(TCA_OPTIONS))?;
    let stats = of(TCA_STATS2).map(|stats| stats::queue(stats.value)).transpose()?.unwrap_or_default();
    let qdisc = Qdisc { handle: header.handle, parent: header.parent, stab, discipline };
    Ok(Some(ListedQdisc { interface, qdisc, stats }))
}

/// The kernel reports the root as the parent of a class directly below its discipline.
pub(super) fn listed_class(message: &Message<'_>) -> Result<Option<ListedClass>, DecodeError> {
    let (header, attributes) = Header::split::<ATTRIBUTES>(message)?;
    let of = |kind: u16| attributes[usize::from(kind)];
    let Some(interface) = InterfaceIndex::new(header.interface) else { return Ok(None) };
    let kind = of(TCA_KIND).map(|kind| kind.text()).unwrap_or_default();
    let share = class::decode(&kind, of(TCA_OPTIONS))?;
    let stats = of(TCA_STATS2).map(|stats| stats::class(&kind, stats.value)).transpose()?.unwrap_or_default();
    let parent = if header.parent == Handle::ROOT { header.handle.qdisc() } else { header.parent };
    Ok(Some(ListedClass { interface, class: Class { handle: header.handle, parent, share }, stats }))
}
