//! The trace of the buses for Wireshark: pcapng with an interface for each bus.
//!
//! Times are bus time, in nanoseconds since the program started. The time of a packet is the end of its frame, the earliest
//! time at which a socket can receive it. All other information is in its comment.

use candor_bus::{BusNs, Counters, Event};
use candor_core::frame::{Frame, RawId};
use candor_recording::pcapng::{interface, packet_block, section};
use candor_wire::Part;
use candor_wire::model::ErrorReport;

use super::log::{kind_name, node_name, node_names, state_name};
use crate::cli::BusSpec;

pub(super) fn headers(buses: &[BusSpec]) -> Vec<u8> {
    let mut bytes = Vec::new();
    section(&mut bytes);
    for bus in buses {
        interface(&mut bytes, &bus.name, Some(bus.rate.bits_per_second().into()), "");
    }
    bytes
}

pub(super) fn packet(bytes: &mut Vec<u8>, index: usize, bus: &BusSpec, event: &Event) {
    let name = |node| node_name(bus, node);
    let (BusNs(at_ns), frame, comment) = match *event {
        Event::Delivered { end, start, sender, frame, retries, lost, .. } => {
            let comment =
                format!("{} from {start} to {end} s, retries: {retries}, arbitration lost: {lost}", name(sender));
            (end, frame, comment)
        }
        Event::Error { at, start, end, sender, frame, bit, kind, detected, .. } => {
            // The counters differ between nodes; changes are reported as states.
            let report = ErrorReport::Bus { kind, part: Part::Sender, counters: Counters::default() };
            let (sender, kind, detected) = (name(sender), kind_name(kind), node_names(bus, detected));
            let comment =
                format!("{frame} of {sender} from {start} to {end} s: {kind} error in bit {bit}, seen by {detected}");
            (at, of_error(report), comment)
        }
        Event::LostArbitration { at, node, bit, .. } => {
            let comment = format!("{} lost arbitration in bit {bit}", name(node));
            (at, of_error(ErrorReport::LostArbitration { bit }), comment)
        }
        Event::State { at, node, state, counters } => {
            let Counters { transmit, receive } = counters;
            let (node, is) = (name(node), state_name(state));
            let comment = format!("{node} is {is}; transmit error counter {transmit}, receive {receive}");
            (at, of_error(ErrorReport::State { state, counters }), comment)
        }
    };
    packet_block(bytes, u32::try_from(index).unwrap_or(u32::MAX), at_ns, &frame, None, &comment);
}

fn of_error(report: ErrorReport) -> Frame {
    let (id, data) = report.frame();
    Frame::classic(RawId(id), &data).unwrap_or(Frame::EMPTY)
}

#[cfg(test)]
mod tests {
    use super::super::log::tests::events;
    use super::*;

    /// Kind and body of each block, found by its length.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut blocks = Vec::new();
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
        while !bytes.is_empty() {
            let len = word(&bytes[4..]) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(&bytes[len - 4..]) as usize, len, "both lengths are equal");
            blocks.push((word(bytes), bytes[8..len - 4].to_vec()));
            bytes = &bytes[len..];
        }
        blocks
    }

    #[test]
    fn each_bus_is_an_interface() {
        let buses = ["b0:500k:can0,can1", "longer:125k:can2"].map(|bus| bus.parse().unwrap());
        let blocks = blocks(&headers(&buses));
        assert_eq!(blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [0x0A0D_0D0A, 1, 1]);
        assert!(blocks[0].1.starts_with(&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]));
        let expected = [
            &[227, 0, 0, 0, 0, 0, 0, 0][..],
            &[2, 0, 6, 0, b'l', b'o', b'n', b'g', b'e', b'r', 0, 0],
            &[8, 0, 8, 0, 0x48, 0xe8, 1, 0, 0, 0, 0, 0],
            &[9, 0, 1, 0, 9, 0, 0, 0],
            &[0, 0, 0, 0],
        ];
        assert_eq!(blocks[2].1, expected.concat());
    }

    #[test]
    fn each_event_is_a_packet_with_its_time_and_a_comment() {
        let bus = "b0:500k:can0,can1,can2".parse().unwrap();
        let mut bytes = Vec::new();
        for event in events(&["123#112233", "12345678##5112233", "123#R4"]) {
            packet(&mut bytes, 3, &bus, &event);
        }
        let mut text = String::new();
        for (kind, body) in blocks(&bytes) {
            assert_eq!(kind, 6);
            let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
            assert_eq!(word(0), 3);
            let (len, padded) = (word(12) as usize, (word(12) as usize).next_multiple_of(4));
            assert_eq!(word(12), word(16));
            let time = u64::from(word(4)) << 32 | u64::from(word(8));
            let packet: String = body[20..20 + len].iter().map(|byte| format!("{byte:02x}")).collect();
            let comment = &body[20 + padded..];
            let comment_len = usize::from(u16::from_le_bytes([comment[2], comment[3]]));
            assert_eq!((comment[0], comment[1]), (1, 0));
            let comment = str::from_utf8(&comment[4..4 + comment_len]).unwrap();
            text.push_str(&format!("{time} {packet} {comment}\n"));
        }
        insta::assert_snapshot!(text, @r"
        5000222000 0000012303000000112233 can0 from 5.000000000 to 5.000222000 s, retries: 2, arbitration lost: 1
        5000222000 9234567803050000112233 can0 from 5.000000000 to 5.000222000 s, retries: 2, arbitration lost: 1
        5000222000 4000012304000000 can0 from 5.000000000 to 5.000222000 s, retries: 2, arbitration lost: 1
        5000014000 20000088080000000000840000000000 123#11 of can0 from 5.000000000 to 5.000222000 s: stuff error in bit 7, seen by can1,can2
        5000000000 20000002080000000900000000000000 can2 lost arbitration in bit 9
        5000222000 20000004080000000020000000008003 can2 is error-passive; transmit error counter 128, receive 3
        ");
    }
}
