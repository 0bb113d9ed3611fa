//! The driver ucan and an emulated device.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod driver;

use std::num::NonZeroU8;

use candor_bus::{BusNs, Counters, ErrorKind, ErrorState};
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG};
use candor_wire::model::Ucan;
use candor_wire::{Channel, Notice, Part, Request};
use driver::ucan::UcanDriver;
use driver::{Driver, Heard, frame, sends, state};

const CHANNEL: Channel = Channel(0);

fn device(depth: u8) -> UcanDriver {
    UcanDriver::probe(Ucan::new(NonZeroU8::new(depth).unwrap(), "wire0".into()), 64)
}

fn opened(depth: u8) -> UcanDriver {
    let mut driver = device(depth);
    driver.set_bit_timing().unwrap();
    driver.open(0).unwrap();
    driver.host.requests();
    driver
}

#[test]
fn device_determines_the_depth() {
    for depth in [1, 2, 3, 10, 255] {
        let mut driver = opened(depth);
        assert_eq!(driver.depth(), usize::from(depth));
        for id in 0..u32::from(depth) {
            assert_eq!(driver.send(0, &frame(id, &[])), Some(id));
        }
        assert_eq!(driver.send(0, &frame(0, &[])), None);
        assert_eq!(driver.host.sends().len(), usize::from(depth));
    }
}

#[test]
fn bit_rate_survives_interface_down() {
    let mut driver = device(3);
    assert_eq!(driver.open(0), Err(-32), "no bit timing yet");
    driver.set_bit_timing().unwrap();
    for mode in [0, 1 << 1, 1 << 3] {
        driver.open(mode).unwrap();
        let requests = driver.host.requests();
        let [Request::Start { channel: CHANNEL, timing, listen_only, one_shot }] = requests[..] else {
            panic!("{requests:?}")
        };
        assert_eq!((timing.nominal.bits_per_second(), timing.data), (500_000, None));
        assert_eq!((listen_only, one_shot), (mode == 1 << 1, mode == 1 << 3));
        driver.close();
        assert_eq!(driver.host.requests(), [Request::Stop { channel: CHANNEL }], "STOP and RESET are one stop");
    }
    assert_eq!(driver.open(1), Err(-32), "loopback is not offered");
}

#[test]
fn frames_of_all_kinds_are_completed() {
    let mut driver = opened(4);
    let mut remote = frame(0x7FF | CAN_RTR_FLAG, &[]);
    remote.len = 5;
    let frames = [frame(0x123, &[1, 2, 3]), frame(CAN_EFF_FLAG | 0x1234_5678, &[0; 8]), remote, frame(0, &[])];
    for frame in &frames {
        driver.send(0, frame).unwrap();
    }
    let tags = driver.host.sends();
    assert_eq!(tags.iter().map(|(_, frame)| *frame).collect::<Vec<_>>(), frames);
    assert_eq!(driver.poll(), []);
    for index in [1, 0] {
        driver.host.sent(0, tags[index], 10);
    }
    driver.host.failed(0, tags[3].0);
    assert_eq!(driver.poll(), [Heard::Echo(0, 1, None), Heard::Echo(0, 0, None), Heard::Dropped(0, 3)]);
    assert_eq!(driver.taken(), 1);
    for frame in frames {
        driver.host.received(0, frame, 1);
    }
    let received: Vec<Heard> = frames.iter().map(|&frame| Heard::Received(0, frame, None)).collect();
    assert_eq!(driver.poll(), received);
}

#[test]
fn messages_of_one_wake_up_share_transfers() {
    let mut driver = device(1);
    driver.set_bit_timing().unwrap();
    driver.host.control_out(0x41, 0, 0, 0, &[0, 0]).unwrap();
    for id in 0..40 {
        driver.host.received(0, frame(id, &[0; 5]), 1); // 13 bytes, 16 with padding
    }
    for _ in 0..2 {
        driver.host.post(4096); // only one packet of 512 bytes each is used
    }
    let answers = driver.host.answers();
    assert_eq!(answers.iter().map(|answer| answer.data.len()).collect::<Vec<_>>(), [31 * 16 + 13, 7 * 16 + 13]);
}

#[test]
fn bus_off_drops_all_frames_until_restart() {
    let mut driver = opened(3);
    for id in 0..3 {
        driver.send(0, &frame(id, &[]));
    }
    let sent = driver.host.sends();
    driver.host.notice(state(ErrorState::Passive, 128));
    driver.host.notice(state(ErrorState::BusOff, 256));
    let heard = driver.poll();
    let bus_off = Heard::Error(0, 0x2000_0040, [0; 8]);
    assert_eq!(heard[0], Heard::Error(0, 0x2000_0004, [0, 0x20, 0, 0, 0, 0, 128, 0]));
    assert_eq!(heard[1..], [bus_off, Heard::Dropped(0, 0), Heard::Dropped(0, 1), Heard::Dropped(0, 2)]);
    let cancelled = sent.iter().map(|&(tag, _)| Request::Cancel { channel: CHANNEL, tag }).collect::<Vec<_>>();
    assert_eq!(driver.host.requests(), cancelled);
    driver.host.failed(0, sent[0].0);
    driver.send(0, &frame(7, &[]));
    assert_eq!(driver.poll(), [Heard::Dropped(0, 0)], "a later frame is dropped, once");
    assert_eq!(driver.host.requests(), []);

    driver.restart();
    driver.send(0, &frame(8, &[]));
    let requests = driver.host.requests();
    assert!(matches!(requests[..], [Request::Restart { channel: CHANNEL }, Request::Send { .. }]), "{requests:?}");
    let tag = sends(&requests)[0];
    driver.host.notice(state(ErrorState::Active, 0));
    driver.host.sent(0, tag, 5);
    let active = Heard::Error(0, 0x2000_0004, [0, 0x40, 0, 0, 0, 0, 0, 0]);
    assert_eq!(driver.poll(), [active, Heard::Echo(0, 0, None)]);
    assert_eq!(driver.taken(), 0);
}

#[test]
fn errors_and_lost_arbitration_are_reported() {
    let mut driver = opened(1);
    let counters = Counters { transmit: 0, receive: 1 };
    let (kind, part) = (ErrorKind::Stuff, Part::Receiver);
    driver.host.notice(Notice::BusError { channel: CHANNEL, kind, part, counters, at: BusNs(0) });
    driver.host.notice(Notice::LostArbitration { channel: CHANNEL, bit: 11, at: BusNs(0) });
    let heard = [
        Heard::Error(0, 0x2000_0088, [0, 0, 4, 0, 0, 0, 0, 1]),
        Heard::Error(0, 0x2000_0002, [11, 0, 0, 0, 0, 0, 0, 0]),
    ];
    assert_eq!(driver.poll(), heard);
}

#[test]
fn frames_beyond_the_queue_are_counted_and_reported() {
    let mut driver = opened(1);
    driver.send(0, &frame(1, &[]));
    let sent = driver.host.sends()[0];
    // 8 transfers of 32 messages each, and 64 that wait.
    for id in 0..8 * 32 + 64 + 3 {
        driver.host.received(0, frame(id, &[0; 8]), 1);
    }
    assert_eq!(driver.host.device.statistics().dropped, 3);
    driver.host.sent(0, sent, 2);
    let heard = driver.poll();
    assert_eq!(heard.len(), 256);
    let heard = driver.poll();
    assert_eq!(heard.len(), 66);
    assert_eq!(
        heard[63..],
        [Heard::Received(0, frame(319, &[0; 8]), None), Heard::Overflow(0), Heard::Echo(0, 0, None)]
    );
}

#[test]
fn invalid_messages_are_refused() {
    let mut driver = opened(2);
    let host = &mut driver.host;
    let good = [9, 0, 2, 1, 0x23, 0x01, 0, 0, 0xAA];
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|length| good[..length].to_vec()).collect();
    let change = |at: usize, byte: u8| {
        let mut bytes = good.to_vec();
        bytes[at] = byte;
        bytes
    };
    cases.push(change(0, 8)); // length
    cases.push(change(1, 1));
    cases.push(change(2, 1)); // type
    cases.push(change(3, 2)); // slot 2 of 2
    cases.push([&[17, 0, 2, 1, 0x23, 0x01, 0, 0][..], &[0; 9]].concat()); // 9 data bytes
    cases.push(vec![8, 0, 2, 1, 0x23, 0x01, 0, 0x40]); // a remote frame without its length
    for case in &cases {
        let seqnum = host.bulk_out(case);
        let answers = host.answers();
        assert_eq!((answers[0].seqnum, answers[0].status), (seqnum, -71), "{case:?}");
    }
    assert_eq!(host.requests(), []);
    host.bulk_out(&good);
    assert_eq!(host.answers(), [], "the valid one is held");
    host.bulk_out(&good);
    assert_eq!(host.answers()[0].status, -71, "the slot is in use");
    assert_eq!(host.device.statistics().refused, cases.len() as u64 + 1);
}

#[test]
fn interface_down_cancels_frames_in_flight() {
    let mut driver = opened(3);
    for round in 0..3 {
        driver.send(0, &frame(round, &[]));
        driver.send(0, &frame(round, &[]));
        let in_flight = driver.host.sends();
        driver.host.received(0, frame(5, &[]), 1);
        driver.poll();
        driver.close();
        let requests = driver.host.requests();
        let cancel = |index: usize| Request::Cancel { channel: CHANNEL, tag: in_flight[index].0 };
        assert_eq!(requests, [cancel(0), cancel(1), Request::Stop { channel: CHANNEL }]);
        driver.host.sent(0, in_flight[1], 9);
        driver.host.received(0, frame(6, &[]), 9);
        driver.open(0).unwrap();
        assert_eq!(driver.poll(), []);
        driver.host.requests();
    }
}
