use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_MTU};
use crate::job::Job;

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

fn id(value: u32) -> Operand {
    Operand { id: Some(value), ..Operand::default() }
}

fn len(value: u8) -> Operand {
    Operand { len: Some(value), ..Operand::default() }
}

fn and(and: Operand) -> Modifications {
    Modifications { and, ..Modifications::default() }
}

fn or(or: Operand) -> Modifications {
    Modifications { or, ..Modifications::default() }
}

fn set(set: Operand) -> Modifications {
    Modifications { set, ..Modifications::default() }
}

fn changed(text: &str, modifications: &Modifications) -> Option<String> {
    let mut frame = frame(text);
    let verdict = change(&mut frame, modifications, &Checksums::default());
    (verdict == Verdict::Send).then(|| frame.to_string())
}

/// Other modifications are vectors of the oracle, or compared with all three implementations in `ruleset/tests`.
#[test]
fn identifier_operations_cover_the_flags() {
    for (before, modifications, after) in [
        ("123#", or(id(CAN_RTR_FLAG)), "123#R"),
        ("12345678#R", and(id(0x7FF)), "678#"),
        ("123#", set(id(CAN_EFF_FLAG | 0x1234_5678)), "12345678#"),
        ("123#R8_9", and(len(0xE)), "123#R8"),
    ] {
        assert_eq!(changed(before, &modifications).as_deref(), Some(after), "{before}");
    }
}

#[test]
fn later_operation_repairs_a_length_above_15() {
    let modifications = Modifications { or: len(0x10), xor: len(0x10), ..Modifications::default() };
    assert_eq!(changed("123#1122334455667788_9", &modifications).as_deref(), Some("123#1122334455667788_9"));
    assert_eq!(changed("123#11", &modifications).as_deref(), Some("123#11"));
}

/// `len8_dlc` counts only with a length of 8, and only from 9 to 15.
#[test]
fn stray_raw_dlc_is_ignored() {
    for (len_before, len8_dlc) in [(3, 9), (8, 8), (8, 16)] {
        let mut frame = Frame { len: len_before, len8_dlc, ..frame("123#") };
        change(&mut frame, &or(len(0)), &Checksums::default());
        assert_eq!((frame.len, frame.len8_dlc), (len_before, 0));
        let mut frame = Frame { len: len_before, len8_dlc, ..frame };
        change(&mut frame, &or(id(0)), &Checksums::default());
        assert_eq!((frame.len, frame.len8_dlc), (len_before, len8_dlc), "only a length operation clears it");
    }
}

#[test]
fn fd_lengths_and_flags_are_plain_bytes() {
    assert_eq!(changed("123##1", &set(len(9))).as_deref(), Some("123##5000000000000000000"));
    assert!(changed("123##1", &set(len(64))).is_some());
    assert!(changed("123##1", &set(len(65))).is_none());
    let flags = |value| Operand { flags: Some(value), ..Operand::default() };
    assert_eq!(changed("123##1", &or(flags(2))).as_deref(), Some("123##7"));
    assert_eq!(changed("123##1", &set(flags(0))).as_deref(), Some("123##0"), "FDF is set on transmission");
    assert_eq!(changed("123#11", &set(flags(3))).as_deref(), Some("123#11"), "classic frames have no flags");
}

#[test]
fn frames_are_not_checked_without_a_modification() {
    let mut too_long = Frame { len: 200, ..frame("123#") };
    assert_eq!(change(&mut too_long, &Modifications::default(), &Checksums::default()), Verdict::Send);
    assert_eq!(change(&mut too_long, &or(id(0)), &Checksums::default()), Verdict::Delete);
}

/// A second implementation: masks over the bytes of the kernel's struct.
fn on_kernel_bytes(job: &Job, frame: &Frame) -> Option<[u8; CANFD_MTU]> {
    let classic = frame.format == FrameFormat::Classic;
    let mut image = [0; CANFD_MTU];
    let size = frame.to_kernel(&mut image);
    let Modifications { and, or, xor, set } = &job.modifications;
    let operations: [fn(u8, u8) -> u8; 4] = [|a, b| a & b, |a, b| a | b, |a, b| a ^ b, |_, b| b];
    for (operand, operation) in [and, or, xor, set].into_iter().zip(operations) {
        for (index, byte) in operand.id.iter().flat_map(|id| id.to_ne_bytes()).enumerate() {
            image[index] = operation(image[index], byte);
        }
        if let Some(byte) = operand.len {
            if classic && image[4] == 8 && (9..16).contains(&image[7]) {
                image[4] = image[7];
            }
            image[4] = operation(image[4], byte);
            if classic {
                image[7] = 0;
                if (9..16).contains(&image[4]) {
                    image[7] = image[4];
                    image[4] = 8;
                }
            }
        }
        if let (Some(byte), false) = (operand.flags, classic) {
            image[5] = operation(image[5], byte);
        }
        for (index, byte) in operand.data.iter().flatten().enumerate().take(size - 8) {
            image[8 + index] = operation(image[8 + index], *byte);
        }
    }
    (usize::from(image[4]) <= size - 8).then_some(image)
}

proptest! {
    #[test]
    fn agrees_with_masks_over_the_struct_of_the_kernel(job in arbitrary::job(2), frame in arbitrary::any_frame()) {
        prop_assume!(!job.modifications.is_empty());
        let mut changed = frame;
        let verdict = change(&mut changed, &job.modifications, &Checksums::default());
        let mut image = [0; CANFD_MTU];
        changed.to_kernel(&mut image);
        prop_assert_eq!((verdict == Verdict::Send).then_some(image), on_kernel_bytes(&job, &frame));
    }

    #[test]
    fn identity_operands_change_nothing(frame in arbitrary::wire_frame(), bits in any::<u32>(), byte in any::<u8>()) {
        let every = |id, byte| Operand { id: Some(id), len: Some(byte), flags: Some(byte), data: Some([byte; 64]) };
        for modifications in [
            and(every(u32::MAX, 0xFF)),
            or(every(0, 0)),
            Modifications { xor: every(0, 0), ..Modifications::default() },
        ] {
            let mut changed = frame;
            prop_assert_eq!(change(&mut changed, &modifications, &Checksums::default()), Verdict::Send);
            prop_assert_eq!(changed, frame);
        }
        let twice = Modifications { xor: Operand { len: None, ..every(bits, byte) }, ..Modifications::default() };
        let mut changed = frame;
        twice.apply(&mut changed);
        twice.apply(&mut changed);
        prop_assert_eq!(changed, frame);
    }
}
