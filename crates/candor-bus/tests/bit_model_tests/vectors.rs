//! Golden vectors of lengths and check sequences, and the receiver against the encoder.

use candor_core::frame::Frame;

use crate::bit_model::{CRC15, ErrorKind, Heard, Level, Part, Receiver, append_fd_check, classic_crc_input, encode};
use crate::{bus, delivered, frame};

/// The golden vectors of candor-core: frame, bits with intermission, check sequence.
fn vectors() -> impl Iterator<Item = (Frame, u64, Option<u32>)> {
    let lines = include_str!("../../../candor-core/src/bits/vectors.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let [text, nominal, data, _stuff, crc] = line.split(' ').collect::<Vec<_>>().try_into().expect("five columns");
        let [nominal, data] = [nominal, data].map(|bits| bits.parse::<u64>().expect("a number"));
        (frame(text), nominal + data, u32::from_str_radix(crc, 16).ok())
    })
}

#[test]
fn frames_have_the_lengths_of_the_vectors() {
    for (frame, bits, _) in vectors() {
        let mut bus = bus(2);
        bus.submit(20, 0, 7, frame);
        let log = bus.run_until(1000);
        // The table counts the three bits of the intermission.
        assert_eq!(delivered(&log), [(0, 7, 20, 20 + bits - 3, vec![1])], "{frame}");
    }
}

#[test]
fn second_frame_starts_after_the_intermission() {
    for (frame, bits, _) in vectors() {
        let mut bus = bus(2);
        bus.submit(0, 0, 1, frame);
        bus.submit(0, 0, 2, frame);
        let starts: Vec<u64> = delivered(&bus.run_until(2000)).into_iter().map(|delivery| delivery.2).collect();
        assert_eq!(starts, [0, bits], "{frame}");
    }
}

#[test]
fn check_sequences_match_the_vectors() {
    for (frame, check) in vectors().filter_map(|(frame, _, check)| Some((frame, check?))) {
        assert_eq!(CRC15.over(classic_crc_input(&frame)), check, "{frame}");
    }
}

#[test]
fn receiver_decodes_the_sent_frame() {
    for (frame, bits, _) in vectors() {
        let wire = encode(&frame, false);
        assert_eq!(u64::try_from(wire.len()), Ok(bits - 3), "{frame}");
        let mut receiver = Receiver::new();
        let heard: Vec<Heard> = wire.iter().map(|bit| receiver.hear(bit.level)).collect();
        let (last, before) = heard.split_last().expect("a frame has bits");
        assert_eq!(*last, Heard::End, "{frame}");
        let (accepted, before) = before.split_last().expect("a frame has bits");
        assert_eq!(*accepted, Heard::Accepted(Box::new(frame)), "{frame}");
        assert!(before.iter().all(|heard| *heard == Heard::More), "{frame}");
    }
}

#[test]
fn every_single_wrong_bit_before_the_last_is_detected() {
    for (frame, ..) in vectors() {
        let wire = encode(&frame, false);
        for wrong in 0..wire.len() - 1 {
            if wire[wrong].part == Part::AckSlot || wrong == 0 {
                // Only nodes that acknowledge check the slot, and without a start of frame there is no frame.
                continue;
            }
            let mut receiver = Receiver::new();
            let levels = wire.iter().enumerate().map(|(i, bit)| if i == wrong { !bit.level } else { bit.level });
            // A frame that seems longer continues on the idle bus.
            let levels = levels.chain([Level::Recessive; 600]);
            let end = levels.map(|level| receiver.hear(level)).find(|heard| *heard != Heard::More);
            let Some(Heard::Wrong(kind)) = end else { panic!("{frame} with bit {wrong} wrong: {end:?}") };
            if wire[wrong].part == Part::FixedForm {
                assert_eq!(kind, ErrorKind::Form, "{frame} with bit {wrong} wrong");
            }
        }
    }
}

#[test]
fn wrong_check_sequence_is_not_acknowledged_and_is_an_error_at_the_ack_delimiter() {
    // 123#55: bit 22 is the third data bit, 0; its neighbours are 1, so no stuff bit comes or goes.
    let mut wire: Vec<Level> = encode(&frame("123#55"), false).into_iter().map(|bit| bit.level).collect();
    wire[22] = !wire[22];
    let mut receiver = Receiver::new();
    let ack_delimiter = wire.len() - 8;
    for &level in &wire[..ack_delimiter] {
        assert!(!receiver.acknowledges());
        assert_eq!(receiver.hear(level), Heard::More);
    }
    assert_eq!(receiver.hear(wire[ack_delimiter]), Heard::Wrong(ErrorKind::Crc));
}

#[test]
fn wrong_fixed_stuff_bit_is_a_form_error() {
    // 27 bits of stuff count and CRC17 end before delimiter, slot, delimiter and end of frame; its first is fixed.
    let mut wire: Vec<Level> = encode(&frame("123##100"), false).into_iter().map(|bit| bit.level).collect();
    let first = wire.len() - 10 - 27;
    wire[first] = !wire[first];
    let mut receiver = Receiver::new();
    let heard = wire.iter().map(|&level| receiver.hear(level)).position(|heard| heard == Heard::Wrong(ErrorKind::Form));
    assert_eq!(heard, Some(first));
}

#[test]
fn wrong_stuff_count_is_detected_with_a_correct_check_sequence() {
    // 0 00100100011 RRS 0 IDE 0 FDF 1 res 0 BRS 1 ESI 0 DLC 0001 data 00000 s 000: one stuff bit.
    let good = encode(&frame("123##100"), false);
    let data_end = good.len() - 10 - 27;
    for (claimed, verdict) in [(1, None), (3, Some(Heard::Wrong(ErrorKind::Crc)))] {
        let mut wire = good[..data_end].to_vec();
        append_fd_check(&mut wire, claimed, false);
        wire.extend_from_slice(&good[good.len() - 10..]);
        let mut receiver = Receiver::new();
        let wrong = wire.iter().map(|bit| receiver.hear(bit.level)).find(|heard| matches!(heard, Heard::Wrong(_)));
        assert_eq!(wrong, verdict, "{claimed}");
    }
}
