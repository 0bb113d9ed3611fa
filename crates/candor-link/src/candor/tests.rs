use candor_core::arbitrary::{any_frame, wire_frame};
use candor_core::frame::Frame;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{Cannot, Clock, Origin, Stamp, invariants};

fn decode(bytes: &[u8]) -> (Vec<Item>, Option<DecodeError>) {
    invariants::decode::<Protocol>(&[bytes])
}

fn hello() -> Hello {
    Hello {
        origin: Origin::new(0x0102_0304_0506_0708).unwrap(),
        epoch: 0x1112_1314_1516_1718,
        next: 5,
        silence_ms: 5000,
        buses: vec![Bus { number: 0, name: "can0".to_owned() }, Bus { number: 7, name: "body".to_owned() }],
    }
}

fn record(frame: &str) -> Record {
    Record {
        origin: Origin::new(9).unwrap(),
        stamp: Some(Stamp { ns: 0x2122_2324_2526_2728, clock: Clock::Realtime }),
        hops: 3,
        bus: 7,
        frame: frame.parse().unwrap(),
    }
}

fn greeted(rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    hello().write(&mut bytes);
    bytes.extend(rest);
    bytes
}

/// The example of docs/link-protocol.md.
const PAGE: &str = include_str!("../../../../docs/link-protocol.md");

#[test]
fn the_example_of_the_page_is_what_is_written() {
    let mut written = greeted(&[]);
    let mut batch = Batch::new(5, &mut written);
    batch.push(&record("123#1122")).unwrap();
    batch.push(&Record { stamp: None, ..record("18DAF110##5AB") }).unwrap();
    batch.finish();
    write_keep_alive(7, &mut written);
    write_close("nothing received for 5s", &mut written);
    // Lines of hexadecimal bytes, each with its meaning after two spaces.
    let block = PAGE.split("```").find(|block| block.contains("01 01 00 31")).unwrap();
    let hex: String = block.lines().skip(1).filter_map(|line| line.split("  ").next()).collect::<Vec<_>>().join(" ");
    let bytes: Vec<u8> = hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(written, bytes);
    let (items, error) = decode(&bytes);
    assert_eq!(error, None);
    let frame = |sequence, record| Item::Frame { sequence, record };
    let close = Item::Close("nothing received for 5s".to_owned());
    let second = Record { stamp: None, ..record("18DAF110##5AB") };
    let expected =
        [Item::Hello(hello()), frame(5, record("123#1122")), frame(6, second), Item::KeepAlive { next: 7 }, close];
    assert_eq!(items, expected);
}

#[test]
fn errors_name_the_byte_the_value_and_the_limit() {
    let error = |bytes: &[u8]| decode(bytes).1.map(|error| error.to_string()).unwrap_or_default();
    let mut whole = greeted(&[]);
    let len = whole.len();
    Batch::new(5, &mut whole).push(&record("123#1122")).unwrap();
    let changed = |at: usize, to: u8| {
        let mut bytes = whole.clone();
        bytes[at] = to;
        error(&bytes)
    };
    assert_eq!(changed(0, 9), "byte 0: a message of kind 9; 1 to 4 are known");
    assert_eq!(changed(0, 2), "byte 0: a message of kind 2 before the hello");
    assert_eq!(changed(1, 2), "byte 1: version 2 of the protocol; 1 is known");
    assert_eq!(changed(3, 0), "byte 2: a body of 0 bytes; 37 to 309 are possible");
    assert_eq!(changed(9, b'M'), "byte 9: 0x4d in the first bytes of a hello, which must be CANDOR");
    assert_eq!(changed(10, 1), "byte 10: 0x01 in a reserved byte, which must be 0");
    assert_eq!(changed(40, 17), "byte 40: 17 buses; 1 to 16 are possible");
    assert_eq!(changed(40, 3), "byte 53: the end, but 2 more bytes are needed");
    assert_eq!(changed(40, 1), "byte 47: 6 bytes after the end");
    assert_eq!(changed(42, 16), "byte 42: a bus name of 16 bytes; 1 to 15 are possible");
    let text = "printable ASCII characters without < and > are possible";
    assert_eq!(changed(43, b'<'), format!("byte 43: 0x3c in a text; {text}"));
    assert_eq!(changed(47, 0), "byte 47: bus number 0 twice");
    assert_eq!(changed(len, 1), format!("byte {len}: a second hello in a connection"));
    assert_eq!(changed(len + 2, 0x40), format!("byte {}: a body of 16424 bytes; 10 to 16384 are possible", len + 2));
    let needs = format!("byte {}: the frames of a batch need 56 more bytes, but 30 are left of it", len + 14);
    assert_eq!(changed(len + 13, 2), needs);
    assert_eq!(changed(len + 13, 0), format!("byte {}: a batch of 0 frames; at least 1 is needed", len + 12));
    assert_eq!(changed(len + 3, 41), format!("byte {}: 1 bytes after the end", len + 44));
    assert_eq!(changed(len + 21, 0), format!("byte {}: an origin of 0; 1 to 2^64 - 1 are possible", len + 14));
    assert_eq!(changed(len + 30, 4), format!("byte {}: clock 4; 0 to 3 are known", len + 30));
    assert_eq!(changed(len + 33, 73), format!("byte {}: a frame in 73 bytes; this one needs 72", len + 33));
    assert_eq!(
        changed(len + 38, 0x82),
        format!("byte {}: a CAN XL frame; links carry classic and FD frames", len + 38)
    );
    assert_eq!(
        changed(len + 38, 9),
        format!("byte {}: a classic frame with 9 bytes; at most 8 are possible", len + 38)
    );
    assert_eq!(changed(len + 38, 1), format!("byte {}: a frame in 10 bytes; this one needs 9", len + 34));
    let reserved = format!("byte {}: 0x01 in a reserved byte, which must be 0", len + 40);
    assert_eq!(changed(len + 40, 1), reserved);
    let raw_dlc = "raw DLC 9; 0, or 9 to 15 in a classic frame of 8 bytes, are possible";
    assert_eq!(changed(len + 41, 9), format!("byte {}: {raw_dlc}", len + 41));
    let fd = read_packet(7, &[0, 0, 1, 0x23, 8, 4, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap_err();
    assert_eq!(fd.to_string(), format!("byte 14: {raw_dlc}"));
    let last = [&[2, 1, 0, 40][..], &[0xFF; 8], &[0, 1]].concat();
    let too_far =
        format!("byte {}: sequence number 18446744073709551615 with more frames than fit below 2^64", len + 4);
    assert_eq!(error(&greeted(&last)), too_far);
}

#[test]
fn what_cannot_be_sent_is_left_out() {
    let mut bytes = Vec::new();
    let names = ["", "can0", "a<b", "1234567890123456", "can1"];
    let buses = (0..).zip(names).map(|(number, name)| Bus { number, name: name.to_owned() }).collect();
    Hello { buses, ..hello() }.write(&mut bytes);
    let (items, None) = decode(&bytes) else { panic!() };
    let [Item::Hello(hello)] = &items[..] else { panic!() };
    assert_eq!(hello.buses.iter().map(|bus| &*bus.name).collect::<Vec<_>>(), ["can0", "can1"]);

    let mut bytes = Vec::new();
    let mut batch = Batch::new(0, &mut bytes);
    assert_eq!(
        batch.push(&Record { frame: Frame { len: 9, ..Frame::EMPTY }, ..record("001#") }),
        Err(Cannot::Malformed)
    );
    batch.finish();
    assert!(bytes.is_empty());
    write_close(&"ä>".repeat(300), &mut bytes);
    write_close(&"a".repeat(300), &mut bytes);
    assert_eq!(bytes, [&[4, 1, 0, 0, 4, 1, 0, 200][..], &[b'a'; 200]].concat());
}

/// Reads bytes one after the other, and stops where there are no more.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Cursor<'_> {
    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let taken = self.bytes.get(self.at..self.at + count)?.to_vec();
        self.at += count;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let mut number = 0;
        for byte in self.take(bytes)? {
            number = number * 256 + u64::from(byte);
        }
        Some(number)
    }

    fn text(&mut self, bytes: usize) -> Option<Result<String, ()>> {
        let text = String::from_utf8(self.take(bytes)?).map_err(|_not_ascii| ());
        let is_possible =
            |text: &String| text.chars().all(|one| (' '..='~').contains(&one) && one != '<' && one != '>');
        Some(text.and_then(|text| if is_possible(&text) { Ok(text) } else { Err(()) }))
    }
}

/// What a connection means, field by field in the order of the page. `Some(Err(()))` if a field is wrong, `None` if the
/// next one is not there.
fn oracle(bytes: &[u8]) -> (Vec<Item>, bool) {
    let mut items = Vec::new();
    let mut cursor = Cursor { bytes, at: 0 };
    loop {
        match message(&mut cursor, &mut items) {
            None => return (items, false),
            Some(Err(())) => return (items, true),
            Some(Ok(())) => {}
        }
    }
}

fn message(cursor: &mut Cursor<'_>, items: &mut Vec<Item>) -> Option<Result<(), ()>> {
    let is_first = !items.iter().any(|item| matches!(item, Item::Hello(_)));
    let kind = cursor.number(1)?;
    if !(1..=4).contains(&kind) || kind == 1 && !is_first || (kind == 2 || kind == 3) && is_first {
        return Some(Err(()));
    }
    if cursor.number(1)? != 1 {
        return Some(Err(()));
    }
    let len = usize::try_from(cursor.number(2)?).unwrap();
    let lengths = [37..=309, 10..=16_384, 8..=8, 0..=200];
    if !lengths[usize::try_from(kind).unwrap() - 1].contains(&len) {
        return Some(Err(()));
    }
    if kind == 2 {
        return batch(cursor, len, items);
    }
    let end = cursor.at + len;
    if end > cursor.bytes.len() {
        return None;
    }
    let item = match kind {
        1 => Item::Hello(match hello_of(&mut Cursor { bytes: &cursor.bytes[..end], at: cursor.at }) {
            Some(Ok(hello)) => hello,
            _ => return Some(Err(())),
        }),
        3 => Item::KeepAlive { next: cursor.number(8)? },
        _ => Item::Close(match cursor.text(len)? {
            Ok(text) => text,
            Err(()) => return Some(Err(())),
        }),
    };
    cursor.at = end;
    items.push(item);
    Some(Ok(()))
}

fn hello_of(cursor: &mut Cursor<'_>) -> Option<Result<Hello, ()>> {
    if cursor.take(8)? != b"CANDOR\0\0" {
        return Some(Err(()));
    }
    let Some(origin) = Origin::new(cursor.number(8)?) else { return Some(Err(())) };
    let (epoch, next) = (cursor.number(8)?, cursor.number(8)?);
    let silence_ms = u32::try_from(cursor.number(4)?).unwrap();
    let mut buses = Vec::new();
    let count = cursor.number(1)?;
    for _ in 0..count {
        let number = u8::try_from(cursor.number(1)?).unwrap();
        let len = usize::try_from(cursor.number(1)?).unwrap();
        let Ok(name) = cursor.text(len)? else { return Some(Err(())) };
        buses.push(Bus { number, name });
    }
    let mut numbers: Vec<u8> = buses.iter().map(|bus| bus.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let is_possible = (1..=16).contains(&count)
        && numbers.len() == buses.len()
        && buses.iter().all(|bus| (1..=15).contains(&bus.name.len()))
        && cursor.at == cursor.bytes.len();
    Some(if is_possible { Ok(Hello { origin, epoch, next, silence_ms, buses }) } else { Err(()) })
}

fn batch(cursor: &mut Cursor<'_>, len: usize, items: &mut Vec<Item>) -> Option<Result<(), ()>> {
    let end = cursor.at + len;
    let (first, count) = (cursor.number(8)?, cursor.number(2)?);
    if count == 0 || first.checked_add(count).is_none() {
        return Some(Err(()));
    }
    for number in 0..count {
        let left = end - cursor.at;
        if left < 28 * usize::try_from(count - number).unwrap() {
            return Some(Err(()));
        }
        let Some(origin) = Origin::new(cursor.number(8)?) else { return Some(Err(())) };
        let ns = cursor.number(8)?;
        let stamp = match cursor.number(1)? {
            0 => None,
            1 => Some(Clock::Realtime),
            2 => Some(Clock::Monotonic),
            3 => Some(Clock::Adapter),
            _ => return Some(Err(())),
        };
        let stamp = stamp.map(|clock| Stamp { ns, clock });
        let [hops, bus, size] = cursor.take(3)?[..] else { unreachable!() };
        if !(8..=72).contains(&size) || usize::from(size) + 20 > left {
            return Some(Err(()));
        }
        let packet = cursor.take(size.into())?;
        let Some(frame) = frame_of(&packet) else { return Some(Err(())) };
        let is_last = number + 1 == count;
        if is_last && cursor.at < end {
            return Some(Err(()));
        }
        items.push(Item::Frame { sequence: first + number, record: Record { origin, stamp, hops, bus, frame } });
    }
    Some(Ok(()))
}

/// A packet of link type 227 as `struct can_frame` or `struct canfd_frame`, read by candor-core.
fn frame_of(packet: &[u8]) -> Option<Frame> {
    let id = u32::from_be_bytes(packet[..4].try_into().unwrap());
    let (len, flags, data) = (usize::from(packet[4]), packet[5], &packet[8..]);
    let is_fd = flags & 4 != 0;
    let is_remote = id & 0x4000_0000 != 0;
    let is_possible = len <= if is_fd { 64 } else { 8 }
        && !(is_fd && id & 0x6000_0000 != 0)
        && packet[6] == 0
        && (packet[7] == 0 || !is_fd && len == 8 && (9..16).contains(&packet[7]))
        && data.len() == if is_remote { 0 } else { len };
    let mut bytes = [0; 72];
    bytes[..4].copy_from_slice(&id.to_ne_bytes());
    bytes[4..8].copy_from_slice(&packet[4..8]);
    bytes[8..8 + data.len()].copy_from_slice(data);
    is_possible.then(|| Frame::from_kernel(&bytes[..if is_fd { 72 } else { 16 }]).unwrap())
}

fn records() -> impl Strategy<Value = Record> {
    let clock = select([Clock::Realtime, Clock::Monotonic, Clock::Adapter].as_slice());
    let stamp = option::of((any::<u64>(), clock).prop_map(|(ns, clock)| Stamp { ns, clock }));
    let origin = (1..=u64::MAX).prop_map(|origin| Origin::new(origin).unwrap());
    let frame = prop_oneof![4 => wire_frame(), 1 => any_frame()];
    (origin, stamp, any::<u8>(), any::<u8>(), frame).prop_map(|(origin, stamp, hops, bus, frame)| Record {
        origin,
        stamp,
        hops,
        bus,
        frame,
    })
}

fn hellos() -> impl Strategy<Value = Hello> {
    let buses = vec(("[ -;=?-~]{1,15}", any::<u8>()), 1..6).prop_map(|buses| {
        let mut named: Vec<Bus> = Vec::new();
        for (name, number) in buses {
            if named.iter().all(|bus| bus.number != number) {
                named.push(Bus { number, name });
            }
        }
        named
    });
    (1..=u64::MAX, any::<u64>(), any::<u64>(), any::<u32>(), buses).prop_map(
        |(origin, epoch, next, silence_ms, buses)| Hello {
            origin: Origin::new(origin).unwrap(),
            epoch,
            next,
            silence_ms,
            buses,
        },
    )
}

/// A connection, and what is in it.
fn connections() -> impl Strategy<Value = (Vec<u8>, Vec<Item>)> {
    let batches = vec((any::<u32>(), vec(records(), 0..9)), 0..5);
    (hellos(), batches, any::<u64>(), option::of("[ -;=?-~]{0,200}")).prop_map(|(hello, batches, next, reason)| {
        let (mut bytes, mut items) = (Vec::new(), vec![Item::Hello(hello.clone())]);
        hello.write(&mut bytes);
        for (first, records) in batches {
            let mut sequence = u64::from(first);
            let mut batch = Batch::new(sequence, &mut bytes);
            for record in records {
                if batch.has_room() && batch.push(&record).is_ok() {
                    let frame = on_the_wire(&record.frame);
                    items.push(Item::Frame { sequence, record: Record { frame, ..record } });
                    sequence += 1;
                }
            }
            batch.finish();
        }
        write_keep_alive(next, &mut bytes);
        items.push(Item::KeepAlive { next });
        if let Some(reason) = reason {
            write_close(&reason, &mut bytes);
            items.push(Item::Close(reason));
        }
        (bytes, items)
    })
}

/// Without data of remote frames and beyond the length.
fn on_the_wire(frame: &Frame) -> Frame {
    let mut kept = Frame { data: [0; 64], ..*frame };
    if !frame.id.is_rtr() {
        kept.data[..frame.payload().len()].copy_from_slice(frame.payload());
    }
    if frame.raw_dlc() == frame.len {
        kept.len8_dlc = 0;
    }
    if frame.format == candor_core::frame::FrameFormat::Fd {
        kept.flags |= candor_core::frame::CANFD_FDF;
    }
    kept
}

proptest! {
    #[test]
    fn connections_come_back((bytes, items) in connections()) {
        prop_assert_eq!(decode(&bytes), (items, None));
    }

    #[test]
    fn connections_mean_what_the_oracle_says(
        (mut bytes, _) in connections(),
        changes in vec((any::<prop::sample::Index>(), prop_oneof![0..16_u8, any::<u8>()]), 0..3),
        cut: prop::sample::Index,
    ) {
        let len = bytes.len();
        changes.iter().for_each(|(at, byte)| bytes[at.index(len)] = *byte);
        for bytes in [&bytes[..], &bytes[..cut.index(len + 1)]] {
            let (items, error) = decode(bytes);
            prop_assert_eq!((items, error.is_some()), oracle(bytes), "{:?}", error);
        }
    }

    #[test]
    fn changed_connections_are_survived(
        (mut bytes, _) in connections(),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let len = bytes.len();
        bytes[at.index(len)] = byte;
        invariants::check_candor(&bytes);
    }

    #[test]
    fn anything_is_survived(bytes in vec(any::<u8>(), 0..300)) {
        invariants::check_candor(&bytes);
    }
}
