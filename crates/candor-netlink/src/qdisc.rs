//! Queueing disciplines of interfaces, as far as a gateway has to know them: which ones there are, and how full.
//!
//! # Kernel
//! Listing needs no privilege. Changing needs CAP_NET_ADMIN over the network namespace.
//!
//! # Source
//! `include/uapi/linux/rtnetlink.h` (`struct tcmsg`), `net/sched/sch_api.c`.

use candor_io::can::InterfaceIndex;

use crate::client::{Client, Errno, NetlinkError};
use crate::codec::{
    Attributes, DecodeError, Message, MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST,
};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// `TC_H_ROOT`.
const ROOT: u32 = 0xFFFF_FFFF;
/// Bytes of `struct tcmsg`.
const HEADER_BYTES: usize = 20;

/// One queueing discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Where it is.
    pub interface: InterfaceIndex,
    /// What it is: `pfifo_fast`, `fq`, `prio` …
    pub kind: String,
    /// Whether frames come to it first (`TC_H_ROOT`); otherwise it hangs below another one.
    pub is_root: bool,
    /// What waits in it and in those that hang below it.
    pub queue: Queue,
}

/// How full a discipline is (`struct gnet_stats_queue`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Frames that wait.
    pub frames: u32,
    /// Frames that it had no room for since it is there; wraps at 2³².
    pub dropped: u32,
}

/// The disciplines of all interfaces, a root before what hangs below it. That of interfaces without a
/// queue, such as vcan, is `noqueue`.
///
/// # Errors
/// Whatever the kernel refuses with, except that it has no queueing disciplines at all.
pub fn list(client: &mut Client) -> Result<Vec<Qdisc>, NetlinkError> {
    let mut message = MessageWriter::new(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP);
    message.header(&[0; HEADER_BYTES]);
    let listed =
        client.dump(&message, |answer| if answer.kind == RTM_NEWQDISC { Ok(decode(answer)?) } else { Ok(None) });
    match listed {
        Err(error) if error.errno() == Some(Errno::EOPNOTSUPP) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Gives an interface another root discipline, with its defaults.
///
/// # Errors
/// `ENOENT` if the kernel does not have it, `EINVAL` if it has no defaults, or whatever else the kernel refuses with.
pub fn replace_root(client: &mut Client, interface: InterfaceIndex, kind: &str) -> Result<(), NetlinkError> {
    replace_root_with(client, interface, kind, |_options| {})
}

/// As [`replace_root`], with the options that `options` writes; they are the discipline's own.
///
/// # Errors
/// As [`replace_root`].
pub fn replace_root_with(
    client: &mut Client,
    interface: InterfaceIndex,
    kind: &str,
    options: impl FnOnce(&mut MessageWriter),
) -> Result<(), NetlinkError> {
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    let mut message = MessageWriter::new(RTM_NEWQDISC, flags);
    message.header(&header(interface, ROOT)).text(TCA_KIND, kind).nested(TCA_OPTIONS, options);
    client.request(message)
}

/// Takes the root discipline of an interface away; the kernel's default comes in its place.
///
/// # Errors
/// `ENOENT` if it has only the default, or whatever else the kernel refuses with.
pub fn delete_root(client: &mut Client, interface: InterfaceIndex) -> Result<(), NetlinkError> {
    let mut message = MessageWriter::new(RTM_DELQDISC, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&header(interface, ROOT));
    client.request(message)
}

fn header(interface: InterfaceIndex, parent: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[4..8].copy_from_slice(&interface.number().to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    header
}

/// `None` for a discipline of no interface, which the kernel does not send.
fn decode(message: &Message<'_>) -> Result<Option<Qdisc>, DecodeError> {
    let (header, attributes) = message.split::<HEADER_BYTES>()?;
    let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let Some(interface) = InterfaceIndex::new(number(4)) else { return Ok(None) };
    let mut qdisc = Qdisc { interface, kind: String::new(), is_root: number(12) == ROOT, queue: Queue::default() };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            TCA_KIND => qdisc.kind = attribute.text(),
            TCA_STATS2 => qdisc.queue = queue(attribute.nested())?,
            _ => {}
        }
    }
    Ok(Some(qdisc))
}

fn queue(statistics: Attributes<'_>) -> Result<Queue, DecodeError> {
    let mut queue = Queue::default();
    for attribute in statistics {
        let attribute = attribute?;
        if attribute.kind == TCA_STATS_QUEUE {
            // Frames, bytes, drops.
            let (numbers, _) = attribute.array::<12>()?.as_chunks::<4>();
            let [frames, _, dropped] = [0, 1, 2].map(|at| u32::from_ne_bytes(numbers[at]));
            queue = Queue { frames, dropped };
        }
    }
    Ok(queue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Messages;

    /// As `tc -s qdisc show dev can0` after `tc qdisc replace dev can0 root handle 1: prio`, written by hand after
    /// `rtnetlink.h`.
    #[test]
    fn a_root_and_what_hangs_below_it_are_read() {
        let mut bytes = Vec::new();
        for (kind, handle, parent) in [("prio", 0x1_0000_u32, ROOT), ("fq", 0x8001_0000, 0x1_0001)] {
            let mut tcmsg = [0; HEADER_BYTES];
            tcmsg[4..8].copy_from_slice(&7_u32.to_ne_bytes());
            tcmsg[8..12].copy_from_slice(&handle.to_ne_bytes());
            tcmsg[12..16].copy_from_slice(&parent.to_ne_bytes());
            let mut writer = MessageWriter::new(RTM_NEWQDISC, 0);
            writer.header(&tcmsg).text(TCA_KIND, kind).attribute(TCA_OPTIONS, &[0; 20]);
            writer.nested(TCA_STATS2, |statistics| {
                let counted: Vec<u8> = [3_u32, 48, 2, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
                statistics.attribute(TCA_STATS_QUEUE, &counted);
            });
            bytes.extend(writer.finish(1));
        }
        let read: Vec<_> = Messages::new(&bytes).map(|message| decode(&message.unwrap()).unwrap().unwrap()).collect();
        let qdisc = |kind: &str, is_root| Qdisc {
            interface: InterfaceIndex::new(7).unwrap(),
            kind: kind.into(),
            is_root,
            queue: Queue { frames: 3, dropped: 2 },
        };
        assert_eq!(read, [qdisc("prio", true), qdisc("fq", false)]);
    }

    #[test]
    fn a_header_that_is_cut_short_is_an_error() {
        let mut writer = MessageWriter::new(RTM_NEWQDISC, 0);
        writer.header(&[0; HEADER_BYTES - 4]);
        let bytes = writer.finish(1);
        let message = Messages::new(&bytes).next().unwrap().unwrap();
        assert!(matches!(decode(&message), Err(DecodeError::ShortMessage { .. })));
    }

    #[test]
    fn the_qdiscs_of_this_machine_are_listed() {
        let mut client = Client::open().unwrap();
        let links = crate::link::list(&mut client).unwrap();
        for qdisc in list(&mut client).unwrap() {
            assert!(!qdisc.kind.is_empty() && links.iter().any(|link| link.index == qdisc.interface), "{qdisc:?}");
        }
    }
}
