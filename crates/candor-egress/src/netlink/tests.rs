use crate::arbitrary::any as arbitrary;
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::{Class, Qdisc};
use candor_io::can::InterfaceIndex;
use proptest::prelude::*;

use super::list::{FilterNote, ListedFilter};
use super::message::*;
use super::request::{Mode, class_message, filter_message, qdisc_message};
use super::*;
use candor_netlink::codec::{DecodeError, Message, MessageWriter, Messages};

mod golden;
mod matches;
mod programs;
mod refused;

fn interface() -> InterfaceIndex {
    InterfaceIndex::new(3).unwrap()
}

fn names() -> InterfaceNames {
    InterfaceNames::from_iter([(InterfaceIndex::new(5).unwrap(), arbitrary::INTERFACE.to_owned())])
}

fn read<T>(message: MessageWriter, read: impl FnOnce(&Message<'_>) -> T) -> T {
    let bytes = message.finish(1);
    read(&Messages::new(&bytes).next().unwrap().unwrap())
}

fn read_qdisc(message: MessageWriter) -> Result<Qdisc, DecodeError> {
    read(message, |message| list::qdisc(message).map(|listed| listed.unwrap().qdisc))
}

fn read_class(message: MessageWriter) -> Result<Class, DecodeError> {
    read(message, |message| list::listed_class(message).map(|listed| listed.unwrap().class))
}

fn read_filter(message: MessageWriter, parent: Handle) -> Result<Filter, DecodeError> {
    read(message, |message| match list::filter(message, parent, &names())? {
        FilterNote::Filter(ListedFilter { filter, .. }) | FilterNote::Head(filter) => Ok(filter),
        FilterNote::OtherChain(chain) => panic!("chain {chain}"),
    })
}

/// The kernel has no word for a class below the root other than that; neither have we.
fn below_a_discipline(class: Class) -> Class {
    let parent = if class.parent == Handle::ROOT { class.handle.qdisc() } else { class.parent };
    Class { parent, ..class }
}

proptest! {
    #[test]
    fn disciplines_round_trip(qdisc in arbitrary::qdisc()) {
        let message = qdisc_message(interface(), &qdisc, Mode::Make).unwrap();
        prop_assert_eq!(read_qdisc(message), Ok(qdisc));
    }

    #[test]
    fn classes_round_trip(class in arbitrary::class()) {
        let message = class_message(interface(), &class, Mode::Make).unwrap();
        prop_assert_eq!(read_class(message), Ok(below_a_discipline(class)));
    }

    #[test]
    fn filters_round_trip(filter in arbitrary::filter()) {
        let message = match filter_message(interface(), &filter, &names(), None, Mode::Make) {
            Err(EncodeError::OldFw) => return Ok(()),
            message => message.unwrap(),
        };
        prop_assert_eq!(read_filter(message, filter.parent), Ok(filter));
    }

    #[test]
    fn garbage_never_panics(kind in 30..50_u16, payload in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut writer = MessageWriter::new(kind, 0);
        writer.header(&payload);
        invariants::check(&writer.finish(1));
    }

    /// Valid messages with a few bytes changed, or cut short, reach the decoder deeper than noise does.
    #[test]
    fn damaged_messages_never_panic(
        qdisc in arbitrary::qdisc(),
        class in arbitrary::class(),
        filter in arbitrary::filter(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        end in any::<prop::sample::Index>(),
    ) {
        let messages = [
            qdisc_message(interface(), &qdisc, Mode::Make).unwrap(),
            class_message(interface(), &class, Mode::Make).unwrap(),
            filter_message(interface(), &filter, &names(), None, Mode::Make).unwrap(),
        ];
        for (kind, message) in [RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER].into_iter().zip(messages) {
            let mut payload = message.payload().to_vec();
            for (index, byte) in &changes {
                let at = index.index(payload.len());
                payload[at] = *byte;
            }
            for len in [payload.len(), end.index(payload.len())] {
                let mut writer = MessageWriter::new(kind, 0);
                writer.header(&payload[..len]);
                invariants::check(&writer.finish(1));
            }
        }
    }
}

#[test]
fn rejects_truncated_headers() {
    let mut writer = MessageWriter::new(RTM_NEWQDISC, 0);
    writer.header(&[0; 16]);
    assert!(matches!(read_qdisc(writer), Err(DecodeError::ShortMessage { .. })));
}

/// As `tc -s class show`, `filter show` have them: written by hand after `gen_stats.h` and `pkt_cls.h`.
#[test]
fn reads_counters() {
    let bytes = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
    let mut message = Header { interface: 7, ..Default::default() }.message(RTM_NEWTCLASS, 0);
    message.text(TCA_KIND, "htb").nested(TCA_OPTIONS, |options| {
        options.attribute(1, &[1; 44]);
    });
    message.nested(TCA_STATS2, |stats| {
        stats.attribute(1, &bytes(&[48, 0, 3, 0])).attribute(3, &bytes(&[2, 32, 5, 6, 7]));
        stats.attribute(4, &bytes(&[8, 9, 0, 10, u32::MAX]));
    });
    let expected =
        QdiscStats { bytes: 48, frames: 3, drops: 5, requeues: 6, overlimits: 7, backlog_bytes: 32, backlog_frames: 2 };
    let htb = Some(HtbStats { lends: 8, borrows: 9, tokens_ticks: 10, ceil_tokens_ticks: -1 });
    let listed = read(message, |message| list::listed_class(message).unwrap().unwrap());
    assert_eq!(listed.stats, ClassStats { queue: expected, htb });

    for (kind, number, counted, hits) in [
        ("basic", 5, bytes(&[9, 0, 4, 0]), Hits { tested: Some(9), hit: 4, keys: vec![] }),
        ("matchall", 4, bytes(&[4, 0]), Hits { tested: None, hit: 4, keys: vec![] }),
        ("u32", 9, bytes(&[9, 0, 4, 0, 6, 0]), Hits { tested: Some(9), hit: 4, keys: vec![6] }),
    ] {
        let mut message = Header { handle: Handle(1), ..Default::default() }.message(RTM_NEWTFILTER, 0);
        message.text(TCA_KIND, kind).nested(TCA_OPTIONS, |options| {
            if kind == "u32" {
                options.attribute(5, &[[0, 0, 1].as_slice(), &[0; 29]].concat());
            }
            options.attribute(number, &counted);
        });
        let note = read(message, |message| list::filter(message, Handle::ROOT, &names()).unwrap());
        let FilterNote::Filter(listed) = note else { panic!("{note:?}") };
        assert_eq!(listed.stats.hits, Some(hits), "{kind}");
    }
}

#[test]
fn lists_the_qdiscs_of_this_machine() {
    let mut client = candor_netlink::client::Client::open().unwrap();
    let links = candor_netlink::link::list(&mut client).unwrap();
    for listed in qdiscs(&mut client).unwrap() {
        assert!(!listed.qdisc.discipline.kind().is_empty(), "{listed:?}");
        assert!(links.iter().any(|link| link.index == listed.interface), "{listed:?}");
    }
}
