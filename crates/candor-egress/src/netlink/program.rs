//! Programs at the ingress of an interface: filters of kind `bpf`, each with one action.
//!
//! # Kernel
//! Within a preference, the kernel puts a new filter in front of the others. A filter that is replaced keeps its place, and a
//! frame meets the old program or the new one.
//!
//! # Source
//! Linux 7.0: [`cls_bpf_change()`](https://github.com/torvalds/linux/blob/v7.0/net/sched/cls_bpf.c).

use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::action::{Mirred, Verdict};
use crate::constants::Constant as _;
use crate::discipline::Discipline;
use crate::handle::Handle;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::codec::{Attributes, DecodeError, Message, NLM_F_ACK, NLM_F_REQUEST};

use super::action::{PARAMETERS, TCA_ACT_KIND, TCA_ACT_OPTIONS};
use super::codec::{self, AttributeList, Fields, StructWriter};
use super::error::{EncodeError, TcError};
use super::filter::{TCA_BPF_FD, TCA_BPF_NAME};
use super::list::{self, FILTER_ATTRIBUTES};
use super::message::{Header, InterfaceNames, RTM_DELTFILTER, RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};
use super::request::{self, Mode, info};
use super::stats::{self, QdiscStats};
use super::{delete_qdisc, replace_qdisc};
use crate::tree::Qdisc;

const KIND: &str = "bpf";
const TCA_BPF_ACT: u16 = 1;
const OPTIONS: usize = 13;
const GACT: &str = "gact";
const MIRRED: &str = "mirred";

/// Start of the names of the filters that forward frames. They are not part of the tree of an interface.
pub const OURS: &str = "candor bpf ";

/// The place of a filter at the ingress of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Filters run in ascending order; 1 to 65535.
    pub preference: u16,
    /// EtherType of its frames.
    pub protocol: u16,
    /// Unique within its preference; not 0.
    pub handle: u32,
}

/// What happens to the frames of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nobody else gets them.
    End,
    /// A copy leaves through an interface, and the next filter gets the frame; or the frame itself leaves.
    Send {
        to: InterfaceIndex,
        is_copy: bool,
        /// Number of an action that exists, which is then shared, with its counters; 0 makes a new one.
        action: u32,
    },
}

/// A filter of kind `bpf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub place: Place,
    /// What its maker wrote, up to 255 bytes; the programs of others may have none.
    pub name: String,
    /// Number of its first action if that sends frames, by which others can share it; otherwise 0.
    pub action: u32,
    /// The action, if [`attach`] makes such and the interface that it sends to exists.
    pub act: Option<Act>,
    /// Of its first action.
    pub stats: QdiscStats,
}

/// Attaches a program, or replaces the one at this place, and its action.
///
/// # Kernel
/// The interface needs `ingress` or `clsact` ([`make_ingress`]). CAP_NET_ADMIN.
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `ENOENT` or `EINVAL` without ingress; `ENODEV` if the interface of the action is
/// gone.
pub fn attach(
    client: &mut Client,
    interface: InterfaceIndex,
    (place, name): (Place, &str),
    program: BorrowedFd<'_>,
    act: Option<Act>,
) -> Result<(), TcError> {
    let mut options = AttributeList::default();
    if let Some(act) = act {
        let mut actions = AttributeList::default();
        actions.nest(1, &encode(act)?)?;
        options.nest(TCA_BPF_ACT, &actions)?;
    }
    options.put_some(TCA_BPF_FD, Some(program.as_raw_fd().cast_unsigned()))?;
    options.put(TCA_BPF_NAME, &[name.as_bytes(), &[0]].concat())?;
    let mut list = AttributeList::default();
    list.put_kind(TCA_KIND, KIND)?;
    list.nest(TCA_OPTIONS, &options)?;
    let header = header(interface, place)?;
    Ok(client.request(request::message(header, RTM_NEWTFILTER, Mode::Replace, &list))?)
}

fn encode(act: Act) -> Result<AttributeList, EncodeError> {
    // `tc_gen`: index, capabilities, verdict, references, bindings.
    let general =
        |index, verdict: Verdict| StructWriter::default().u32(index).u32(0).i32(verdict.number()).i32(0).i32(0);
    let (kind, parameters) = match act {
        Act::End => (GACT, general(0, Verdict::Stolen)),
        Act::Send { to, is_copy, action } => {
            let (how, verdict) = match is_copy {
                true => (Mirred::EgressMirror, Verdict::Continue),
                false => (Mirred::EgressRedirect, Verdict::Stolen),
            };
            (MIRRED, general(action, verdict).i32(how.number()).u32(to.number()))
        }
    };
    let (mut options, mut list) = (AttributeList::default(), AttributeList::default());
    options.put(PARAMETERS, &parameters.done())?;
    list.put_kind(TCA_ACT_KIND, kind)?;
    list.nest(TCA_ACT_OPTIONS, &options)?;
    Ok(list)
}

/// Removes the filter at this place.
///
/// # Errors
/// `ENOENT` if there is none.
pub fn detach(client: &mut Client, interface: InterfaceIndex, place: Place) -> Result<(), TcError> {
    let mut list = AttributeList::default();
    list.put_kind(TCA_KIND, KIND)?;
    let mut message = header(interface, place)?.message(RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK);
    list.append_to(&mut message);
    Ok(client.request(message)?)
}

fn header(interface: InterfaceIndex, place: Place) -> Result<Header, EncodeError> {
    let info = info(place.preference, place.protocol)?;
    Ok(Header { interface: interface.number(), handle: Handle(place.handle), parent: Handle::INGRESS, info })
}

/// The filters of kind `bpf` at the ingress of an interface, in the order in which frames meet them.
///
/// # Errors
/// Those of the dump.
pub fn attached(client: &mut Client, interface: InterfaceIndex) -> Result<Vec<Attached>, NetlinkError> {
    let header = Header { interface: interface.number(), parent: Handle::INGRESS, ..Header::default() };
    list::dump(client, header, RTM_NEWTFILTER, read)
}

/// `None` for other filters, and for the heads of preferences.
fn read(message: &Message<'_>) -> Result<Option<Attached>, DecodeError> {
    let (header, attributes) = Header::split::<FILTER_ATTRIBUTES>(message)?;
    let of = |kind: u16| attributes[usize::from(kind)];
    let is_program = of(TCA_KIND).is_some_and(|kind| kind.text() == KIND);
    let Some(options) = of(TCA_OPTIONS).filter(|_| is_program && header.handle != Handle::NONE) else {
        return Ok(None);
    };
    let options: [_; OPTIONS] = codec::by_number(options.value)?;
    let name = options[usize::from(TCA_BPF_NAME)].map(|name| name.text()).unwrap_or_default();
    let actions = options[usize::from(TCA_BPF_ACT)];
    let (action, act, stats) = match actions.and_then(|actions| Attributes::new(actions.value).next()) {
        Some(first) => read_action(first?.value)?,
        None => Default::default(),
    };
    let [high, low] = [header.info >> 16, header.info & 0xFFFF].map(|half| u16::try_from(half).unwrap_or(u16::MAX));
    let place = Place { preference: high, protocol: u16::from_be(low), handle: header.handle.0 };
    Ok(Some(Attached { place, name, action, act, stats }))
}

/// The number of an action, the action and its counters.
fn read_action(action: &[u8]) -> Result<(u32, Option<Act>, QdiscStats), DecodeError> {
    let [_, kind, options, _, counted] = codec::by_number(action)?;
    let [_, _, parameters] = options.map_or(Ok([None; 3]), |options| codec::by_number(options.value))?;
    let Some(mut fields) = parameters.map(Fields::of) else { return Ok(Default::default()) };
    let number = fields.u32()?;
    // Each kind of action has numbers of its own.
    let (action, act) = match kind.map(|kind| kind.text()).as_deref() {
        Some(GACT) => (0, Some(Act::End)),
        Some(MIRRED) => {
            fields.take::<16>()?; // Capabilities, verdict, references and bindings.
            let how = Mirred::of_number(fields.i32()?);
            let to = InterfaceIndex::new(fields.u32()?);
            (number, to.map(|to| Act::Send { to, is_copy: how == Some(Mirred::EgressMirror), action: number }))
        }
        _ => (0, None),
    };
    let stats = counted.map(|counted| stats::queue(counted.value)).transpose()?.unwrap_or_default();
    Ok((action, act, stats))
}

/// True for options of a filter whose name starts with [`OURS`].
pub(super) fn are_ours(options: &[u8]) -> bool {
    let named: Result<[_; OPTIONS], _> = codec::by_number(options);
    named.is_ok_and(|options| options[usize::from(TCA_BPF_NAME)].is_some_and(|name| name.text().starts_with(OURS)))
}

/// True if filters of [`OURS`] are at the ingress.
///
/// # Errors
/// Those of the dump.
pub fn has_ours(client: &mut Client, interface: InterfaceIndex) -> Result<bool, NetlinkError> {
    Ok(attached(client, interface)?.iter().any(|attached| attached.name.starts_with(OURS)))
}

/// The discipline at the ingress of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingress {
    /// For incoming frames only, at the least cost.
    Plain,
    /// `clsact`: for frames in both directions.
    Both,
}

/// Makes a place for filters at the ingress of an interface, unless there is one: `Ok(false)`.
///
/// # Errors
/// `ENOENT` or `EOPNOTSUPP` if the kernel lacks it (`CONFIG_NET_SCH_INGRESS`).
pub fn make_ingress(client: &mut Client, interface: InterfaceIndex, ingress: Ingress) -> Result<bool, TcError> {
    if has_ingress(client, interface)? {
        return Ok(false);
    }
    let discipline = match ingress {
        Ingress::Plain => Discipline::Other { kind: "ingress".to_owned(), options: Vec::new() },
        Ingress::Both => Discipline::Clsact,
    };
    let qdisc = Qdisc { handle: Handle::CLSACT_QDISC, parent: Handle::CLSACT, stab: None, discipline };
    replace_qdisc(client, interface, &qdisc).map(|()| true)
}

/// Removes the discipline at the ingress of an interface, with all filters there.
///
/// # Errors
/// `ENOENT` if there is none.
pub fn remove_ingress(client: &mut Client, interface: InterfaceIndex) -> Result<(), NetlinkError> {
    delete_qdisc(client, interface, Handle::CLSACT, Handle::CLSACT_QDISC)
}

/// True if the interface has `ingress` or `clsact`.
///
/// # Errors
/// Those of the dump.
pub fn has_ingress(client: &mut Client, interface: InterfaceIndex) -> Result<bool, NetlinkError> {
    Ok(ingress(client, interface)?.is_some())
}

/// The discipline that an interface has at its ingress.
///
/// # Errors
/// Those of the dump.
pub fn ingress(client: &mut Client, interface: InterfaceIndex) -> Result<Option<Ingress>, NetlinkError> {
    let mut here = list::qdiscs(client)?.into_iter().filter(|listed| listed.interface == interface);
    let found = here.find(|listed| listed.qdisc.parent == Handle::CLSACT);
    Ok(found.map(|listed| match listed.qdisc.discipline {
        Discipline::Clsact => Ingress::Both,
        _ => Ingress::Plain,
    }))
}

/// True if the ingress of the interface has no filter, of whatever kind, and neither has the egress of `clsact`.
///
/// # Errors
/// Those of the dump.
pub fn ingress_is_empty(client: &mut Client, interface: InterfaceIndex) -> Result<bool, NetlinkError> {
    let names = InterfaceNames::default();
    for parent in [Handle::INGRESS, Handle::EGRESS] {
        let filters = list::filters(client, interface, parent, &names)?;
        if !filters.filters.is_empty() || !filters.other_chains.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
