//! Arbitration and start of transmission.

use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_FDF};

use crate::bit_model::{Bus, Config, Disturbance, ErrorKind, Order, What};
use crate::watch::{bus, counts, delivered, errors, frame, starts, times, with_counters};

#[test]
fn data_beats_remote_beats_extended() {
    // 0x48D is 10010001101, the first 11 bits of 0x12345678; no run is long enough for a stuff bit before bit 12.
    // Bit 12 is RTR 0 of the data frame, RTR 1 of the remote frame, SRR 1 of the extended one. In the second round
    // bit 13 decides: IDE 0 of the remote frame, IDE 1 of the extended one.
    let mut bus = bus(4);
    for (node, text) in ["12345678#", "48D#R", "48D#"].into_iter().enumerate() {
        bus.submit(10, node, 0, frame(text));
    }
    let log = bus.run_until(500);
    let order: Vec<usize> = delivered(&log).into_iter().map(|delivery| delivery.0).collect();
    assert_eq!(order, [2, 1, 0]);
    let second = delivered(&log)[1].2;
    assert_eq!(times(&log, &What::ArbitrationLost { frame: Some(0), bit: 12 }), [(23, 0), (23, 1)]);
    assert_eq!(times(&log, &What::ArbitrationLost { frame: Some(1), bit: 13 }), [(second + 14, 0)]);
    assert_eq!(delivered(&log)[0].4, [0, 1, 3], "losers receive");
    assert_eq!(errors(&log), []);
}

#[test]
fn the_remote_bit_of_extended_frames_decides_last() {
    // 0x12345678: 10010001101 SRR 1 IDE 1, then 01 0101 1001 1110 00: a run of ones at 11, 12, 13 and no stuff bit up
    // to bit 13; 18 more bits without a run of five, so RTR is bit 32.
    let mut bus = bus(3);
    bus.submit(0, 0, 0, frame("12345678#R"));
    bus.submit(0, 1, 0, frame("12345678#"));
    let log = bus.run_until(300);
    assert_eq!(times(&log, &What::ArbitrationLost { frame: Some(0), bit: 32 }), [(33, 0)]);
}

#[test]
fn equal_identifiers_with_other_data_collide_until_both_are_passive() {
    // 123#55 and 123#5D differ in bit 24: 0 and 1. Node 1 finds a bit error there, flag in 25..=30; node 0 in bit 25,
    // where it sends 1; node 2 sees the zeros 24..=28 and the sixth at 29, flag in 30..=35. Delimiter 36..=43,
    // intermission 44..=46: again at 47, and so 16 times, until both counters stand at 128.
    let mut bus = bus(3);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.submit(0, 1, 1, frame("123#5D"));
    let log = bus.run_until(2000);
    assert_eq!(errors(&log)[..3], [(1, 24, ErrorKind::Bit), (0, 25, ErrorKind::Bit), (2, 29, ErrorKind::Stuff)]);
    let collisions: Vec<u64> = starts(&log).into_iter().filter(|start| start.0 == 0).map(|start| start.1).collect();
    assert_eq!(collisions[..16], (0..16).map(|attempt| attempt * 47).collect::<Vec<u64>>());
    // The 17th comes after eight more bits of suspended transmission. Node 1 fails again, but its flag is recessive
    // and node 0 does not notice.
    let start = 15 * 47 + 47 + 8;
    assert_eq!(collisions[16..], [start]);
    let sent = delivered(&log);
    let (_, _, _, end, _) = sent[0];
    assert_eq!(sent[0], (0, 0, start, end, vec![2]));
    // Node 1's flag ends with six equal bits: ACK delimiter and five bits of the end. Its delimiter begins two bits
    // before the end; eight bits, intermission, eight bits suspended.
    assert_eq!(sent[1].2, end - 2 + 8 + 3 + 8);
    // Node 1 received nothing of node 0's frame, which it was sending itself.
    assert_eq!(counts(&log, 1).last(), Some(&(sent[1].3, 8 * 17 - 1, 0)));
    // Node 2: 16 errors of its own frames, two good frames.
    assert_eq!(counts(&log, 2).last().map(|count| count.2), Some(14));
}

#[test]
fn equal_frames_at_the_same_time_are_one_frame_of_two_senders() {
    let mut bus = bus(3);
    bus.submit(0, 0, 5, frame("123#55"));
    bus.submit(0, 1, 6, frame("123#55"));
    let log = bus.run_until(100);
    let sent = delivered(&log);
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].0, &sent[0].4, sent[1].0, &sent[1].4), (0, &vec![2], 1, &vec![2]));
    assert_eq!(sent[0].3, sent[1].3);
}

#[test]
fn senders_of_the_same_frame_do_not_acknowledge_each_other() {
    let mut bus = bus(2);
    bus.submit(0, 0, 0, frame("123#"));
    bus.submit(0, 1, 0, frame("123#"));
    let log = bus.run_until(50);
    assert_eq!(errors(&log), [(0, 36, ErrorKind::Ack), (1, 36, ErrorKind::Ack)]);
}

#[test]
fn classic_and_fd_frames_with_one_identifier_are_a_bit_error() {
    // FDF is bit 14, behind the arbitration field: 0 in the classic frame, 1 in the other.
    let mut bus = bus(3);
    bus.submit(0, 0, 0, frame("48D#"));
    bus.submit(0, 1, 0, frame("48D##0"));
    let log = bus.run_until(30);
    assert_eq!(errors(&log)[0], (1, 14, ErrorKind::Bit));
}

#[test]
fn a_passive_sender_waits_eight_bits_longer() {
    // 123# takes 45 bits; intermission 45..=47, suspended 48..=55.
    let mut alone = Bus::new([with_counters(140, 0), Config::default()]);
    alone.submit(0, 0, 0, frame("123#"));
    alone.submit(0, 0, 1, frame("123#"));
    assert_eq!(starts(&alone.run_until(200)), [(0, 0), (0, 56)]);

    // Whoever starts meanwhile makes it a receiver, up to the last suspended bit. In bit 56 they start together.
    for (at, first, second) in [(20, (1, 48), (0, 96)), (55, (1, 55), (0, 103)), (56, (0, 56), (1, 56))] {
        let mut bus = Bus::new([with_counters(140, 0), Config::default()]);
        bus.submit(0, 0, 0, frame("123#"));
        bus.submit(0, 0, 1, frame("123#"));
        bus.submit(at, 1, 2, frame("123#R"));
        assert_eq!(starts(&bus.run_until(200))[1..3], [first, second], "submitted at {at}");
    }
}

#[test]
fn an_fd_frame_shows_that_its_sender_is_passive() {
    for (tec, indicator) in [(127, 0), (128, CANFD_ESI)] {
        let mut bus = Bus::new([with_counters(tec, 0), Config::default()]);
        bus.submit(0, 0, 0, frame("123##155"));
        let log = bus.run_until(200);
        let flags = log.iter().find_map(|entry| match &entry.what {
            What::Accepted { content, .. } => Some(content.flags),
            _ => None,
        });
        assert_eq!(flags, Some(CANFD_FDF | CANFD_BRS | indicator));
    }
}

#[test]
fn a_sender_that_becomes_active_again_does_not_wait() {
    let mut bus = Bus::new([with_counters(128, 0), Config::default()]);
    bus.submit(0, 0, 0, frame("123#"));
    bus.submit(0, 0, 1, frame("123#"));
    assert_eq!(starts(&bus.run_until(200)), [(0, 0), (0, 48)]);
}

#[test]
fn mailboxes_send_what_is_urgent_and_a_fifo_what_is_old() {
    let order = |order| {
        let mut bus = Bus::new([Config { order, depth: 4, ..Config::default() }, Config::default()]);
        // The last finds no room: the first is still on the wire.
        for (tag, text) in ["300#", "12345678#", "48D#R", "48D#", "001#"].into_iter().enumerate() {
            bus.submit(u64::from(tag != 0), 0, u64::try_from(tag).expect("small"), frame(text));
        }
        let log = bus.run_until(500);
        assert_eq!(times(&log, &What::Refused { tag: 4 }), [(1, 0)]);
        delivered(&log).into_iter().map(|delivery| delivery.1).collect::<Vec<_>>()
    };
    assert_eq!(order(Order::Fifo), [0, 1, 2, 3]);
    assert_eq!(order(Order::LowestFirst), [0, 3, 2, 1]);
}

#[test]
fn one_shot_gives_up_after_an_error_and_after_a_lost_arbitration() {
    let mut bus = Bus::new([Config { one_shot: true, ..Config::default() }, Config::default()]);
    bus.submit(0, 0, 1, frame("123#"));
    bus.submit(0, 1, 2, frame("122#"));
    bus.submit(100, 0, 3, frame("123#"));
    bus.disturb(Disturbance::Flip { frame: 1, bit: 35 });
    let log = bus.run_until(500);
    // 0x122 and 0x123 differ in their last bit, 11.
    assert_eq!(times(&log, &What::Dropped { tag: 1 }), [(12, 0)]);
    assert_eq!(times(&log, &What::Dropped { tag: 3 }), [(136, 0)]);
    assert_eq!(starts(&log), [(0, 0), (1, 0), (0, 100)]);
}

#[test]
fn a_frame_that_comes_with_the_start_of_another_is_in_time_and_one_bit_later_is_late() {
    for (at, starts_at) in [(10, 10), (11, 58)] {
        let mut bus = bus(3);
        bus.submit(10, 0, 0, frame("123#"));
        bus.submit(at, 1, 1, frame("123#"));
        assert_eq!(starts(&bus.run_until(200)), [(0, 10), (1, starts_at)]);
    }
}
