//! The trace of the buses for Wireshark: pcapng with an interface for each bus.
//!
//! ```text
//!  section header │ interface description (each bus) │ enhanced packet (each event), …
//!  block: type │ length │ body │ options: code, length, value, padding to 4 │ length
//! ```
//!
//! Times are bus time, in nanoseconds since the program started. The time of a packet is the end of its frame, the earliest
//! time at which a socket can receive it. All other information is in its comment.
//!
//! # Source
//! [draft-ietf-opsawg-pcapng](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/), sections 4.1 to 4.3;
//! <https://www.tcpdump.org/linktypes/LINKTYPE_CAN_SOCKETCAN.html>, whose
//! identifier is big-endian regardless of the byte order of the file.

use candor_bus::{BusNs, Counters, Event};
use candor_core::frame::{CANFD_FDF, Frame, FrameFormat};
use candor_wire::Part;
use candor_wire::model::ErrorReport;

use super::log::{kind_name, node_name, node_names, state_name};
use crate::cli::BusSpec;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_CAN_SOCKETCAN: u16 = 227;

/// Codes of options; 0 ends them.
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;

pub(super) fn headers(buses: &[BusSpec]) -> Vec<u8> {
    let mut bytes = Vec::new();
    block(&mut bytes, SECTION_HEADER, |body| {
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend([1, 0, 0, 0]); // version 1.0
        body.extend(u64::MAX.to_le_bytes()); // a section of unknown length
        option(body, SHB_USERAPPL, concat!("candor ", env!("CARGO_PKG_VERSION")).as_bytes());
    });
    for bus in buses {
        block(&mut bytes, INTERFACE_DESCRIPTION, |body| {
            body.extend(LINKTYPE_CAN_SOCKETCAN.to_le_bytes());
            body.extend([0; 6]); // reserved, and a snap length of 0: unlimited
            option(body, IF_NAME, bus.name.as_bytes());
            option(body, IF_SPEED, &u64::from(bus.rate.bits_per_second()).to_le_bytes());
            option(body, IF_TSRESOL, &[9]); // 10^-9 s
        });
    }
    bytes
}

pub(super) fn packet(bytes: &mut Vec<u8>, index: usize, bus: &BusSpec, event: &Event) {
    let name = |node| node_name(bus, node);
    let (at, packet, comment) = match *event {
        Event::Delivered { end, start, sender, frame, retries, lost, .. } => {
            let comment =
                format!("{} from {start} to {end} s, retries: {retries}, arbitration lost: {lost}", name(sender));
            (end, of_frame(&frame), comment)
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
    block(bytes, ENHANCED_PACKET, |body| {
        let BusNs(ns) = at;
        let [low @ .., _, _, _, _] = ns.to_le_bytes();
        let [_, _, _, _, high @ ..] = ns.to_le_bytes();
        let len = u32::try_from(packet.len()).unwrap_or(u32::MAX).to_le_bytes();
        body.extend(u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes());
        body.extend([high, low].concat());
        body.extend([len, len].concat()); // captured and original length
        body.extend(&packet);
        pad(body);
        option(body, OPT_COMMENT, comment.as_bytes());
    });
}

fn of_frame(frame: &Frame) -> Vec<u8> {
    let flags = match frame.format {
        FrameFormat::Classic => 0,
        FrameFormat::Fd => frame.flags | CANFD_FDF,
    };
    // A remote frame has a length and no data.
    let data = if frame.id.is_rtr() { &[] } else { frame.payload() };
    of_parts(frame.id.0, frame.len, flags, data)
}

fn of_error(report: ErrorReport) -> Vec<u8> {
    let (id, data) = report.frame();
    of_parts(id, u8::try_from(data.len()).unwrap_or(u8::MAX), 0, &data)
}

fn of_parts(id: u32, len: u8, flags: u8, data: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[len, flags, 0, 0], data].concat()
}

/// Appends a block: its length precedes and follows the body, and a zero ends the options.
fn block(bytes: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend(kind.to_le_bytes());
    bytes.extend([0; 4]);
    body(bytes);
    bytes.extend([0; 4]);
    let len = u32::try_from(bytes.len() + 4 - start).unwrap_or(u32::MAX).to_le_bytes();
    bytes[start + 4..start + 8].copy_from_slice(&len);
    bytes.extend(len);
}

fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    bytes.extend(code.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(&value[..len.into()]);
    pad(bytes);
}

/// Pads to a multiple of four bytes. Everything before is padded already.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
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
        assert_eq!(blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [SECTION_HEADER, 1, 1]);
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
            assert_eq!(kind, ENHANCED_PACKET);
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
