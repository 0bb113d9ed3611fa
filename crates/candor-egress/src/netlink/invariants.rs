//! Invariants of the decoder for any bytes.

use crate::filter::{Classifier, Filter};
use crate::handle::Handle;
use candor_io::can::InterfaceIndex;

use super::list::{self, FilterNote};
use super::message::{Header, InterfaceNames, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER};
use super::request::{Mode, class_message, filter_message, qdisc_message};
use candor_netlink::codec::{Message, MessageWriter, Messages};

/// Decodes a datagram of the kernel and checks the invariants.
///
/// # Panics
/// If a decoded object that can be encoded does not decode as the same again.
pub fn check(datagram: &[u8]) {
    let names = InterfaceNames::default();
    for message in Messages::new(datagram).flatten() {
        match message.kind {
            RTM_NEWQDISC => qdisc(&message),
            RTM_NEWTCLASS => class(&message),
            RTM_NEWTFILTER => filter(&message, &names),
            _ => {}
        }
    }
}

fn qdisc(message: &Message<'_>) {
    let Ok(Some(read)) = list::qdisc(message) else { return };
    let Ok(written) = qdisc_message(read.interface, &read.qdisc, Mode::Replace) else { return };
    let again = again(written, |message| list::qdisc(message).ok().flatten());
    assert_eq!(again.map(|again| again.qdisc), Some(read.qdisc));
}

fn class(message: &Message<'_>) {
    let Ok(Some(read)) = list::listed_class(message) else { return };
    let Ok(written) = class_message(read.interface, &read.class, Mode::Replace) else { return };
    let again = again(written, |message| list::listed_class(message).ok().flatten());
    assert_eq!(again.map(|again| again.class), Some(read.class));
}

fn filter(message: &Message<'_>, names: &InterfaceNames) {
    let read = |message: &Message<'_>| list::filter(message, Handle::EGRESS, names).ok();
    let (Some(FilterNote::Filter(first)), Some(interface)) = (read(message), interface(message)) else { return };
    let first = first.filter;
    let Ok(written) = filter_message(interface, &first, names, None, Mode::Replace) else { return };
    match again(written, read) {
        Some(FilterNote::Filter(again)) => assert_eq!(again.filter, first),
        // Without options and handle it says only that there are filters.
        Some(FilterNote::Head(_)) => assert!(says_nothing(&first), "{first:?}"),
        other => panic!("{first:?} became {other:?}"),
    }
}

fn says_nothing(filter: &Filter) -> bool {
    filter.handle == 0 && matches!(&filter.classifier, Classifier::Other { options, .. } if options.is_empty())
}

fn interface(message: &Message<'_>) -> Option<InterfaceIndex> {
    let (header, _) = Header::split::<1>(message).ok()?;
    InterfaceIndex::new(header.interface)
}

fn again<T>(written: MessageWriter, read: impl Fn(&Message<'_>) -> Option<T>) -> Option<T> {
    let bytes = written.finish(1);
    read(&Messages::new(&bytes).next()?.ok()?)
}
