//! Counters and states over many frames. The frames are drawn bit by bit in `flips.rs`.

use crate::bit_model::{Bus, Config, Disturbance, ErrorKind, NodeState, OnBusOff, RecCredit, What, episodes};
use crate::watch::{bus, counts, delivered, errors, frame, starts, times, with_counters};

#[test]
fn a_lone_sender_becomes_passive_and_never_bus_off() {
    // No acknowledgement at bit 36 of 123#. Active flag 37..=42, delimiter 43..=50, intermission 51..=53: again at 54.
    // The 16th error raises 120 to 128, with an active flag still, and from then on eight bits are suspended: again
    // after 62. A passive sender without acknowledgement that sees no dominant bit in its flag is not punished.
    let mut bus = bus(1);
    bus.submit(0, 0, 0, frame("123#"));
    let log = bus.run_until(10_000);
    let active: Vec<(usize, u64)> = (0..16).map(|attempt| (0, 54 * attempt)).collect();
    assert_eq!(starts(&log)[..16], active);
    let passive: Vec<(usize, u64)> = (0..100).map(|attempt| (0, 54 * 15 + 62 + 62 * attempt)).collect();
    assert_eq!(starts(&log)[16..116], passive);
    let raised: Vec<(u64, u32, u32)> = (1..=16).map(|n| (54 * (u64::from(n) - 1) + 37, 8 * n, 0)).collect();
    assert_eq!(counts(&log, 0), raised);
    assert!(errors(&log).iter().all(|error| *error == (0, 36, ErrorKind::Ack)));
}

#[test]
fn a_passive_sender_pays_for_a_missing_acknowledgement_if_its_flag_is_answered() {
    // As above with TEC 128. Bit 39 dominant, in the flag from 37 on (the flip is of the first attempt only): 136.
    // Six equal bits from 40 to 45; delimiter 46..=53, intermission 54..=56, suspended 57..=64.
    let mut bus = Bus::new([with_counters(128, 0)]);
    bus.submit(0, 0, 0, frame("123#"));
    bus.disturb(Disturbance::Flip { frame: 0, bit: 39 });
    let log = bus.run_until(120);
    assert_eq!(counts(&log, 0), [(40, 136, 0)]);
    assert_eq!(starts(&log), [(0, 0), (0, 65)]);
}

#[test]
fn an_error_of_one_receiver_costs_it_nine() {
    // Node 1 finds an error at bit 20 of 123#55: flag 21..=26. The sender sends 1 in bit 21 and sees 0: flag 22..=27.
    // Node 2 sees the zeros 20..=24 and the sixth at 25: flag 26..=31. Node 1 sees bit 27 dominant, the first behind
    // its flag: 8 more. Delimiter 32..=39, intermission 40..=42.
    let mut bus = bus(3);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 1 });
    let log = bus.run_until(200);
    assert_eq!(errors(&log), [(1, 20, ErrorKind::Local), (0, 21, ErrorKind::Bit), (2, 25, ErrorKind::Stuff)]);
    assert_eq!(counts(&log, 1)[..2], [(21, 0, 1), (28, 0, 9)]);
    assert_eq!(counts(&log, 0)[0], (22, 8, 0));
    assert_eq!(counts(&log, 2)[0], (26, 0, 1));
    assert_eq!(starts(&log)[1], (0, 43));
    let end = delivered(&log)[0].3;
    // The good frame takes one off again, with the acknowledgement nine bits before its end.
    assert_eq!(counts(&log, 1)[2], (end - 8, 0, 8));
}

#[test]
fn an_error_of_the_sender_alone() {
    // The sender gives up at bit 20 (0): flag 21..=26. Bits 20 to 24 are five zeros, 25 the sixth: flags 26..=31.
    let mut bus = bus(2);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 0 });
    let log = bus.run_until(200);
    assert_eq!(errors(&log), [(0, 20, ErrorKind::Local), (1, 25, ErrorKind::Stuff)]);
    assert_eq!(starts(&log)[1], (0, 43));
    assert_eq!((counts(&log, 0)[0], counts(&log, 1)[0]), ((21, 8, 0), (26, 0, 1)));
}

#[test]
fn a_passive_receiver_disturbs_nobody() {
    // Node 1 finds an error at bit 20: a recessive flag, which ends with six equal bits: the ACK delimiter (37 in a
    // frame of 45 bits, so `end - 8`) and five bits of the end. Its delimiter begins two bits before the end.
    let mut bus = Bus::new([Config::default(), with_counters(0, 130), Config::default()]);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 1 });
    let log = bus.run_until(200);
    let sent = delivered(&log);
    assert_eq!((sent.len(), &sent[0].4), (1, &vec![2]));
    assert_eq!(errors(&log), [(1, 20, ErrorKind::Local)]);
    assert_eq!(counts(&log, 1), [(21, 0, 131)]);
    assert_eq!(episodes(&log)[0].end, Some(sent[0].3 - 2 + 8));
    assert_eq!((counts(&log, 0), counts(&log, 2)), (vec![], vec![]));
}

#[test]
fn a_receiver_is_passive_from_128_on() {
    for (rec, disturbed) in [(127, true), (128, false)] {
        let mut bus = Bus::new([Config::default(), with_counters(0, rec), Config::default()]);
        bus.submit(0, 0, 0, frame("123#55"));
        bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 1 });
        assert_eq!(errors(&bus.run_until(40)).len() > 1, disturbed, "REC {rec}");
    }
}

#[test]
fn a_passive_receiver_is_deaf_to_the_next_frame_of_a_full_bus() {
    // As above, but the next frame starts behind the intermission, in the sixth bit of node 1's delimiter: a form
    // error, and again no six equal bits before the end of that frame.
    let mut bus = Bus::new([Config::default(), with_counters(0, 130), Config::default()]);
    for tag in 0..3 {
        bus.submit(0, 0, tag, frame("123#55"));
    }
    bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 1 });
    let log = bus.run_until(300);
    let length = delivered(&log)[0].3;
    assert_eq!(
        errors(&log),
        [(1, 20, ErrorKind::Local), (1, length + 3, ErrorKind::Form), (1, 2 * (length + 3), ErrorKind::Form)]
    );
    assert!(delivered(&log).iter().all(|delivery| delivery.4 == [2]));
    assert_eq!(counts(&log, 1).last().map(|count| count.2), Some(133));
}

#[test]
fn a_passive_receiver_comes_back_to_127() {
    for (credit, before_end) in [(RecCredit::AckSlot, 8), (RecCredit::Acceptance, 1)] {
        let mut bus = Bus::new([Config::default(), Config { rec_credit: credit, ..with_counters(0, 200) }]);
        bus.submit(0, 0, 0, frame("123#"));
        bus.submit(0, 0, 1, frame("123#"));
        let log = bus.run_until(200);
        assert_eq!(counts(&log, 1), [(45 - before_end, 0, 127), (48 + 45 - before_end, 0, 126)]);
    }
}

#[test]
fn bus_off_after_32_errors_and_recovery_after_1408_bits() {
    // Bit 20 of 123#55 (0) is always seen 1. Up to the 16th error: attempts 44 bits apart (`flips.rs`); the 16th makes
    // the sender passive, so eight bits more. From then on its flag is recessive: bits 19, 20 and on are ones for the
    // receivers, the sixth at 24, flags in 25..=30, and these are the six equal bits that end the passive flag.
    // Delimiter 31..=38, intermission 39..=41, suspended 42..=49: attempts 50 bits apart.
    let mut bus = bus(2);
    bus.submit(0, 0, 9, frame("123#55"));
    for attempt in 0..32 {
        bus.disturb(Disturbance::Flip { frame: attempt, bit: 20 });
    }
    bus.restart(2000, 0);
    let log = bus.run_until(5000);
    let active = (0..16).map(|attempt| (0, 44 * attempt));
    let passive = (0..16).map(|attempt| (0, 44 * 15 + 52 + 50 * attempt));
    assert_eq!(starts(&log)[..32], active.chain(passive).collect::<Vec<_>>());
    let last = 44 * 15 + 52 + 50 * 15;
    assert_eq!(times(&log, &What::BusOff), [(last + 21, 0)]);
    assert_eq!(counts(&log, 0)[31], (last + 21, 256, 0));
    // The receiver answers the silence of the last attempt too.
    assert_eq!(counts(&log, 1)[31], (last + 25, 0, 32));
    assert_eq!(times(&log, &What::Recovered), [(2000 + 1408, 0)]);
    assert_eq!(counts(&log, 0)[32], (3408, 0, 0));
    assert_eq!(delivered(&log)[0].2, 3408, "it had kept the frame");
}

#[test]
fn traffic_lengthens_recovery_and_bus_off_can_drop_frames() {
    // The first error takes the sender away: TEC 248 + 8 at bit 20.
    let dropper = Config { on_bus_off: OnBusOff::Drop, ..with_counters(248, 0) };
    let mut bus = Bus::new([dropper, Config::default(), Config::default()]);
    bus.submit(0, 0, 9, frame("123#55"));
    bus.submit(0, 0, 10, frame("123#55"));
    bus.disturb(Disturbance::Flip { frame: 0, bit: 20 });
    bus.restart(100, 0);
    // 123# of 45 bits from 1000 on. 900 recessive bits before are 81 runs and 9 bits, which are lost. In the frame no
    // run of 11 before the ACK delimiter at 1037. The 47 missing runs end 517 bits later.
    bus.submit(1000, 1, 11, frame("123#"));
    let log = bus.run_until(3000);
    assert_eq!(times(&log, &What::Dropped { tag: 9 }), [(21, 0)]);
    assert_eq!(times(&log, &What::Dropped { tag: 10 }), [(21, 0)]);
    assert_eq!(times(&log, &What::Recovered), [(1037 + 517, 0)]);
    assert_eq!(delivered(&log).len(), 1);
}

#[test]
fn a_missing_acknowledgement_among_receivers() {
    // The sender knows at bit 36 of 123#: flag 37..=42. The receivers see the ACK delimiter, 37, dominant: 38..=43.
    let mut bus = bus(3);
    bus.submit(0, 0, 0, frame("123#"));
    bus.disturb(Disturbance::NoAck { frame: 0 });
    let log = bus.run_until(200);
    assert_eq!(errors(&log), [(0, 36, ErrorKind::Ack), (1, 37, ErrorKind::Form), (2, 37, ErrorKind::Form)]);
    assert_eq!(starts(&log)[1], (0, 38 + 6 + 8 + 3));
    // A passive sender does not show it: they take the frame, and get it again.
    let mut bus = Bus::new([with_counters(128, 0), Config::default()]);
    bus.submit(0, 0, 0, frame("123#"));
    bus.disturb(Disturbance::NoAck { frame: 0 });
    let log = bus.run_until(200);
    assert_eq!(errors(&log), [(0, 36, ErrorKind::Ack)]);
    let accepted = log.iter().filter(|entry| matches!(entry.what, What::Accepted { .. }));
    assert_eq!(accepted.map(|entry| entry.at).collect::<Vec<_>>(), [44, 62 + 44]);
    assert_eq!(counts(&log, 0), [(62 + 45, 127, 0)]);
}

#[test]
fn a_wire_stuck_dominant_on_an_idle_bus() {
    // Bits 100 to 149. 100 is a start of frame, 105 the sixth zero: REC 1, flag 106..=111. Bit 112 is the first behind
    // it: 8. The eighth behind it is 119: 8, and each eighth: 127, 135, 143. Free at 150: delimiter 150..=157,
    // intermission 158..=160.
    let mut bus = bus(2);
    bus.disturb(Disturbance::Stuck { from: 100, to: 150 });
    bus.submit(120, 1, 0, frame("123#"));
    let log = bus.run_until(161);
    let both = [(106, 0, 1), (113, 0, 9), (120, 0, 17), (128, 0, 25), (136, 0, 33), (144, 0, 41)];
    assert_eq!((counts(&log, 0).as_slice(), counts(&log, 1).as_slice()), (&both[..], &both[..]));
    assert_eq!(starts(&bus.run_until(170)), [(1, 161)]);
}

#[test]
fn a_wire_stuck_dominant_takes_a_sender_off_the_bus() {
    // Stuck from bit 20 of 123#55 on. Bit 21 (1) is seen 0: TEC 8 at 22, flag 22..=27, and 8 for each eighth dominant
    // bit behind: 35, 43, … The counter stands at 8 (n + 1) after the n-th of them, at 256 after the 31st: 35 + 240.
    let mut bus = bus(2);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.disturb(Disturbance::Stuck { from: 20, to: 2000 });
    let log = bus.run_until(2000);
    assert_eq!(counts(&log, 0)[..3], [(22, 8, 0), (36, 16, 0), (44, 24, 0)]);
    assert_eq!(times(&log, &What::BusOff), [(35 + 240 + 1, 0)]);
    // The receiver is never more than passive.
    assert_eq!((bus.counters(1).rec, bus.counters(1).state()), (255, NodeState::Passive));
}

#[test]
fn a_passive_receiver_counts_eight_dominant_bits_behind_its_flag() {
    // REC 127: the error at 105 makes it 128, with an active flag. REC 130: a passive flag over the six equal bits
    // 106..=111, so the times are those of an active node.
    for rec in [127, 130] {
        let mut bus = Bus::new([with_counters(0, rec)]);
        bus.disturb(Disturbance::Stuck { from: 100, to: 130 });
        let log = bus.run_until(200);
        let expected = [(106, 1), (113, 9), (120, 17), (128, 25)].map(|(at, by)| (at, 0, rec + by));
        assert_eq!(counts(&log, 0), expected);
    }
}
