//! One flipped bit, seen by everybody. The frames, bit by bit (s: stuff bit):
//!
//! ```text
//! 123#    0: start   1..11: 00100100011   12 RTR 0   13 IDE 0   14 r0 0   15 16: 00   17: 1 s   18 19: 00
//!         20..34: check sequence 0x6858, no stuff bit   35 CRC delimiter   36 ACK slot   37 ACK delimiter   38..44 end
//! 123#55  as above up to 17   18 19: 01 (length 1)   20..27: 01010101   28..: check sequence
//! 00F#    0: start   1..4: 0000   5: 1 s   6..: 0001111 …
//! ```

use crate::bit_model::{Bus, Config, Disturbance, ErrorKind, Log, What, episodes};
use crate::watch::{bus, counts, delivered, errors, frame, starts, times, with_counters};

/// Runs node 0 sending to nodes 1 and 2, with flips in the first attempt; returns the log and the second start.
fn disturbed(text: &str, flips: &[u64]) -> (Vec<Log>, u64) {
    let mut bus = bus(3);
    bus.submit(0, 0, 1, frame(text));
    for &bit in flips {
        bus.disturb(Disturbance::Flip { frame: 0, bit });
    }
    let log = bus.run_until(400);
    let starts = starts(&log);
    assert_eq!(starts.len(), 2, "{log:#?}");
    (log, starts[1].1)
}

#[test]
fn a_recessive_data_bit_seen_dominant() {
    // Bit 21 (1) is seen 0. The sender knows at once: flag in 22..=27. To the receivers, bits 20 to 24 are five zeros
    // and bit 25 is the sixth: flags in 26..=31. Ten dominant bits, 22..=31. Delimiter 32..=39, intermission 40..=42.
    let (log, again) = disturbed("123#55", &[21]);
    assert_eq!(errors(&log), [(0, 21, ErrorKind::Bit), (1, 25, ErrorKind::Stuff), (2, 25, ErrorKind::Stuff)]);
    assert_eq!(again, 43);
    let episode = &episodes(&log)[0];
    assert_eq!((episode.start, episode.end, episode.first.as_slice()), (22, Some(40), &[(0, ErrorKind::Bit)][..]));
    // 123#55 has one stuff bit up to bit 27; behind it the check sequence. The attempt at 43 is good.
    let end = delivered(&log)[0].3;
    assert_eq!(counts(&log, 0), [(22, 8, 0), (end, 7, 0)]);
    // The ACK slot is ten bits before the end: slot, delimiter and seven bits follow it.
    assert_eq!(counts(&log, 1), [(26, 0, 1), (end - 8, 0, 0)]);
}

#[test]
fn a_dominant_data_bit_seen_recessive() {
    // Bit 20 (0) is seen 1. Sender's flag in 21..=26: six zeros behind a one, the sixth of them at 26 is the stuff
    // error: flags in 27..=32. Twelve dominant bits, the most there can be. Delimiter 33..=40, intermission 41..=43.
    let (log, again) = disturbed("123#55", &[20]);
    assert_eq!(errors(&log), [(0, 20, ErrorKind::Bit), (1, 26, ErrorKind::Stuff), (2, 26, ErrorKind::Stuff)]);
    assert_eq!(again, 44);
    assert_eq!(episodes(&log)[0].end, Some(41));
    assert_eq!(counts(&log, 0)[0], (21, 8, 0));
    assert_eq!(counts(&log, 2)[0], (27, 0, 1));
}

#[test]
fn a_start_of_frame_nobody_sees() {
    // The sender alone knows of bit 0. Its flag in 1..=6 is a start of frame and five more zeros: stuff error at 6,
    // flags in 7..=12. Delimiter 13..=20, intermission 21..=23.
    let (log, again) = disturbed("123#", &[0]);
    // Receivers count from what they took for the start of frame, bit 1.
    assert_eq!(errors(&log), [(0, 0, ErrorKind::Bit), (1, 5, ErrorKind::Stuff), (2, 5, ErrorKind::Stuff)]);
    assert_eq!(again, 24);
}

#[test]
fn a_recessive_stuff_bit_of_the_identifier_seen_dominant_costs_the_sender_nothing() {
    // Bit 5 is the sixth zero for everybody: flags in 6..=11, six bits. Delimiter 12..=19, intermission 20..=22.
    let (log, again) = disturbed("00F#", &[5]);
    assert_eq!(errors(&log), [(0, 5, ErrorKind::Stuff), (1, 5, ErrorKind::Stuff), (2, 5, ErrorKind::Stuff)]);
    assert_eq!(again, 23);
    assert_eq!(counts(&log, 0), []);
    assert_eq!(counts(&log, 1)[0], (6, 0, 1));
}

#[test]
fn a_dominant_stuff_bit_of_the_identifier_seen_recessive_is_a_bit_error() {
    // 7F0#: bits 1..=5 are ones, bit 6 is a stuff zero. Seen 1, it is a bit error of the sender and a stuff error of
    // the receivers: flags in 7..=12.
    let (log, again) = disturbed("7F0#", &[6]);
    assert_eq!(errors(&log), [(0, 6, ErrorKind::Bit), (1, 6, ErrorKind::Stuff), (2, 6, ErrorKind::Stuff)]);
    assert_eq!(again, 24);
    assert_eq!(counts(&log, 0)[0], (7, 8, 0));
}

#[test]
fn the_stuff_bit_behind_the_identifier_is_an_ordinary_bit() {
    // Bit 17 of 123# is a recessive stuff bit in the control field: a bit error. To the receivers it is the sixth zero.
    let (log, again) = disturbed("123#", &[17]);
    assert_eq!(errors(&log), [(0, 17, ErrorKind::Bit), (1, 17, ErrorKind::Stuff), (2, 17, ErrorKind::Stuff)]);
    assert_eq!(again, 17 + 1 + 6 + 8 + 3);
}

#[test]
fn the_rtr_bit_ends_what_costs_the_sender_nothing() {
    // 2E0#: 0 01011100000, the zeros 7..=11 and the stuff bit 12 before RTR.
    let (log, _) = disturbed("2E0#", &[12]);
    assert_eq!((errors(&log)[0], counts(&log, 0)), ((0, 12, ErrorKind::Stuff), vec![]));
    // 2D0#: 0 01011010000, the zeros 8..=11 and RTR; the stuff bit 13 stands behind it.
    let (log, _) = disturbed("2D0#", &[13]);
    assert_eq!((errors(&log)[0], counts(&log, 0)[0]), ((0, 13, ErrorKind::Bit), (14, 8, 0)));
}

#[test]
fn an_identifier_bit_seen_dominant_leaves_a_frame_without_a_sender() {
    // Bit 3 of 123# (1) is seen 0, so the sender takes it for a lost arbitration and everybody is a receiver now. Bits
    // 0 to 3 are zeros, the rest of the wire stays recessive: 4..=8 are five ones, 9 is the sixth. Flags in 10..=15.
    let (log, again) = disturbed("123#", &[3]);
    assert_eq!(times(&log, &What::ArbitrationLost { frame: Some(0), bit: 3 }), [(4, 0)]);
    assert_eq!(errors(&log), [0, 1, 2].map(|node| (node, 9, ErrorKind::Stuff)));
    assert_eq!(again, 10 + 6 + 8 + 3);
    // A receiver now, it pays as one: 1 in the receive counter, and the transmit counter stays.
    assert_eq!(counts(&log, 0), [(10, 0, 1)]);
}

#[test]
fn the_crc_delimiter() {
    // Everybody sees it at 35: flags in 36..=41, delimiter 42..=49, intermission 50..=52.
    let (log, again) = disturbed("123#", &[35]);
    assert_eq!(errors(&log), [0, 1, 2].map(|node| (node, 35, ErrorKind::Form)));
    assert_eq!(again, 53);
    assert_eq!(counts(&log, 0)[0], (36, 8, 0));
    assert_eq!(counts(&log, 1)[0], (36, 0, 1));
}

#[test]
fn the_ack_slot() {
    // Dominant, seen recessive: no acknowledgement for the sender, a bit error for those who gave it. Flags in 37..=42.
    let (log, again) = disturbed("123#", &[36]);
    assert_eq!(errors(&log), [(0, 36, ErrorKind::Ack), (1, 36, ErrorKind::Bit), (2, 36, ErrorKind::Bit)]);
    assert_eq!(again, 54);
    assert_eq!(counts(&log, 0)[0], (37, 8, 0));
    assert_eq!(counts(&log, 1)[0], (37, 0, 1));
}

#[test]
fn the_ack_delimiter() {
    let (log, again) = disturbed("123#", &[37]);
    assert_eq!(errors(&log), [0, 1, 2].map(|node| (node, 37, ErrorKind::Form)));
    assert_eq!(again, 55);
}

#[test]
fn each_bit_of_the_end_but_the_last() {
    for bit in 38..=43 {
        let (log, again) = disturbed("123#", &[bit]);
        assert_eq!(errors(&log), [0, 1, 2].map(|node| (node, bit, ErrorKind::Form)));
        assert_eq!(again, bit + 1 + 6 + 8 + 3);
        // Nobody has taken the first attempt.
        let accepted = log.iter().filter(|entry| matches!(entry.what, What::Accepted { .. }));
        assert_eq!(accepted.map(|entry| entry.at).collect::<Vec<_>>(), [again + 44, again + 44]);
    }
}

#[test]
fn the_last_bit_of_the_end_gives_the_frame_twice() {
    // The receivers have the frame at 44, after bit 43. Bit 44 dominant is an error to the sender only: its flag and
    // the overload flags of the others fill 45..=50. Delimiter 51..=58, intermission 59..=61.
    let (log, again) = disturbed("123#", &[44]);
    assert_eq!(errors(&log), [(0, 44, ErrorKind::Form)]);
    assert_eq!(times(&log, &What::Overload), [(45, 1), (45, 2)]);
    assert_eq!(again, 62);
    assert_eq!(counts(&log, 0), [(45, 8, 0), (62 + 45, 7, 0)]);
    assert_eq!(counts(&log, 1), []);
    let accepted = log.iter().filter(|entry| matches!(entry.what, What::Accepted { .. }));
    assert_eq!(
        accepted.map(|entry| (entry.at, entry.node)).collect::<Vec<_>>(),
        [(44, 1), (44, 2), (62 + 44, 1), (62 + 44, 2)]
    );
    assert_eq!(delivered(&log), [(0, 1, 62, 107, vec![1, 2])]);
}

#[test]
fn the_first_two_bits_of_the_intermission_make_an_overload_frame() {
    // 123# ends with bit 44. Bit 45 or 46 dominant: overload flags from the next bit, no error, no counter.
    for bit in [45, 46] {
        let mut bus = bus(2);
        bus.submit(0, 0, 1, frame("123#"));
        bus.submit(0, 0, 2, frame("123#"));
        bus.disturb(Disturbance::Flip { frame: 0, bit });
        let log = bus.run_until(200);
        assert_eq!(errors(&log), []);
        assert_eq!(times(&log, &What::Overload), [(bit + 1, 0), (bit + 1, 1)]);
        assert_eq!(starts(&log), [(0, 0), (0, bit + 1 + 6 + 8 + 3)]);
        assert_eq!(counts(&log, 0), []);
    }
}

#[test]
fn an_overload_flag_may_be_answered_for_nothing() {
    // Bit 45 makes overload flags in 46..=51. Bit 52 dominant too: behind an error flag that would cost a receiver 8.
    // Delimiter 53..=60, intermission 61..=63.
    let mut bus = bus(2);
    bus.submit(0, 0, 1, frame("123#"));
    bus.submit(0, 0, 2, frame("123#"));
    bus.disturb(Disturbance::Flip { frame: 0, bit: 45 });
    bus.disturb(Disturbance::Flip { frame: 0, bit: 52 });
    let log = bus.run_until(200);
    assert_eq!(starts(&log), [(0, 0), (0, 64)]);
    assert_eq!((counts(&log, 0), counts(&log, 1)), (vec![], vec![]));
}

#[test]
fn a_passive_sender_does_not_take_the_third_bit_of_the_intermission_for_its_own_start() {
    // As a receiver it sees the start 47, ones in 48..=52 and the sixth in 53.
    let mut bus = Bus::new([with_counters(140, 0), Config::default()]);
    bus.submit(0, 0, 1, frame("123#"));
    bus.submit(0, 0, 2, frame("123#"));
    bus.disturb(Disturbance::Flip { frame: 0, bit: 47 });
    let log = bus.run_until(60);
    assert_eq!(starts(&log), [(0, 0)]);
    // Bits count from 47 here.
    assert_eq!(errors(&log), [(0, 6, ErrorKind::Stuff), (1, 6, ErrorKind::Stuff)]);
    assert_eq!(counts(&log, 0), [(45, 139, 0), (54, 139, 1)]);
}

#[test]
fn the_third_bit_of_the_intermission_is_a_start_of_frame() {
    // Bit 47 dominant: node 0, which has a frame waiting, goes on with its first identifier bit in bit 48.
    let mut bus = bus(2);
    bus.submit(0, 0, 1, frame("123#"));
    bus.submit(0, 0, 2, frame("123#"));
    bus.disturb(Disturbance::Flip { frame: 0, bit: 47 });
    let log = bus.run_until(200);
    assert_eq!(delivered(&log), [(0, 1, 0, 45, vec![1]), (0, 2, 47, 92, vec![1])]);
}

#[test]
fn a_bit_error_in_the_own_flag_starts_another() {
    // CRC delimiter at 35, flags from 36; the third flag bit, 38, is seen recessive: 8 for each counter, new flags in
    // 39..=44, delimiter 45..=52, intermission 53..=55.
    let (log, again) = disturbed("123#", &[35, 38]);
    assert_eq!(again, 56);
    assert_eq!(counts(&log, 0)[..2], [(36, 8, 0), (39, 16, 0)]);
    assert_eq!(counts(&log, 1)[..2], [(36, 0, 1), (39, 0, 9)]);
}

#[test]
fn a_dominant_bit_in_the_error_delimiter() {
    // Flags 36..=41, delimiter from 42. Its fourth bit, 45, is a form error: flags 46..=51, delimiter 52..=59.
    let (log, again) = disturbed("123#", &[35, 45]);
    assert_eq!(again, 63);
    assert_eq!(counts(&log, 0)[..2], [(36, 8, 0), (46, 16, 0)]);
    assert_eq!(counts(&log, 1)[..2], [(36, 0, 1), (46, 0, 2)]);
    // Its last, 49, is an overload condition: flags 50..=55, delimiter 56..=63, no counter.
    let (log, again) = disturbed("123#", &[35, 49]);
    assert_eq!(again, 67);
    assert_eq!(errors(&log).len(), 3);
    assert_eq!(times(&log, &What::Overload), [(50, 0), (50, 1), (50, 2)]);
}
