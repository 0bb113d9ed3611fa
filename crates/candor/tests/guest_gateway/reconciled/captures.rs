//! The netlink messages with which the kernel lists jobs with every attribute.

use std::fmt::Write as _;

use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand, XorChecksum};
use candor_io::netlink::RouteSocket;
use candor_netlink::codec::Messages;

use super::*;

/// Test data of `candor-netlink`: one job a line, newest first, with the interface indices 1 and 2.
const CAPTURED: &str = include_str!("../../../../candor-netlink/src/cangw/tests/captured.hex");

/// `RTM_GETROUTE` dump request for can-gw: length 20, type 26, REQUEST|DUMP, sequence 1, `struct rtcanmsg`.
const GETROUTE: [u8; 20] = [20, 0, 0, 0, 26, 0, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 29, 1, 0, 0];
const SOURCE: u16 = 9;
const DESTINATION: u16 = 10;

/// One job for each attribute, with and without it, oldest first.
fn jobs(place: &Scenario) -> Vec<CangwJob> {
    let plain = place.foreign(0x123, 0xC000_07FF);
    let operand = |seed: u8, format: usize| Operand {
        id: Some(0x1000_0000 + u32::from(seed)),
        len: Some(seed),
        flags: (format == 64).then_some(seed),
        data: Some(std::array::from_fn(
            |at| if at < format { seed.wrapping_add(u8::try_from(at).unwrap()) } else { 0 },
        )),
    };
    let operations = |format| Modifications {
        and: operand(1, format),
        or: operand(2, format),
        xor: operand(3, format),
        set: operand(4, format),
    };
    let span = ChecksumSpan { from: 0, to: 5, result: 6 };
    let crc8 = |profile| {
        let table = std::array::from_fn(|at| u8::try_from(at).unwrap().wrapping_mul(0x1D));
        Checksums { crc8: Some(Crc8Checksum { span, init: 0xFF, final_xor: 0x55, table, profile }), xor: None }
    };
    let xor = Checksums { crc8: None, xor: Some(XorChecksum { span, init: 0xA5 }) };
    let with = |checksums, uid| CangwJob { modifications: operations(8), checksums, uid, ..plain };
    vec![
        CangwJob { filter: Filter::ALL, ..plain },
        CangwJob { flags: JobFlags(7), hop_limit: 1, ..plain },
        CangwJob { flags: JobFlags::FD, modifications: operations(64), ..plain },
        with(xor, 0),
        with(crc8(Crc8Profile::None), 0),
        with(crc8(Crc8Profile::Byte(0x2F)), 0),
        with(crc8(Crc8Profile::ByteByCounter(std::array::from_fn(|at| u8::try_from(at).unwrap()))), 0),
        with(crc8(Crc8Profile::IdXor), 0x1234_5678),
    ]
}

/// If this fails on a new kernel, candor must read the messages of both.
#[test]
#[ignore = "runs in a guest"]
fn captured_messages_are_those_of_this_kernel() {
    let Some(place) = scene() else { return };
    let jobs = jobs(&place);
    jobs.iter().for_each(add);
    // Counts a handled frame (the right bus is up) and a dropped one (it is down).
    place.send(0x123);
    place.bus("right").set_down();
    place.send(0x123);
    let datagram = dump();
    let lines = lines(&datagram, &place);
    if let Ok(folder) = std::env::var("CANDOR_OUT") {
        fs::write(format!("{folder}/captured.hex"), &lines).unwrap();
    }
    assert_eq!(lines, CAPTURED);
    jobs.iter().for_each(delete);
    assert_eq!(place.jobs(), []);
}

fn dump() -> Vec<u8> {
    let socket = RouteSocket::open().unwrap();
    socket.send(&GETROUTE).unwrap();
    let (mut all, mut datagram) = (Vec::new(), Vec::new());
    loop {
        socket.recv(&mut datagram).unwrap();
        let is_end = Messages::new(&datagram).flatten().any(|message| message.kind == 3);
        all.extend_from_slice(&datagram);
        if is_end {
            return all;
        }
    }
}

/// The jobs of the two buses, one a line, with the interface indices 1 and 2.
fn lines(datagram: &[u8], place: &Scenario) -> String {
    let mut text = String::new();
    for message in Messages::new(datagram).map(Result::unwrap).filter(|message| message.kind == 24) {
        let mut payload = message.payload.to_vec();
        for (kind, index, number) in [(SOURCE, place.index("left"), 1_u32), (DESTINATION, place.index("right"), 2)] {
            let [low, high] = kind.to_ne_bytes();
            let [a, b, c, d] = index.number().to_ne_bytes();
            let attribute = [8, 0, low, high, a, b, c, d];
            let at = payload.windows(8).position(|bytes| bytes == attribute).unwrap();
            payload[at + 4..at + 8].copy_from_slice(&number.to_ne_bytes());
        }
        for byte in payload {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}
