use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_MAX_DLEN, CANFD_MTU};
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

fn data(bytes: &[u8]) -> Operand {
    let mut data = [0; CANFD_MAX_DLEN];
    data[..bytes.len()].copy_from_slice(bytes);
    Operand { data: Some(data), ..Operand::default() }
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

#[test]
fn operations_run_in_fixed_order() {
    let all = |and: u32, or: u32, xor: u32| Modifications { and: id(and), or: id(or), xor: id(xor), set: len(1) };
    assert_eq!(changed("7FF#1122", &all(0x0F0, 0x100, 0x001)).as_deref(), Some("1F1#11"));
    let set_wins = Modifications { set: id(0x456), ..all(0, 0x100, 0x001) };
    assert_eq!(changed("7FF#", &set_wins).as_deref(), Some("456#"));
}

#[test]
fn identifier_operations_cover_the_flags() {
    for (before, modifications, after) in [
        ("123#11", or(id(CAN_EFF_FLAG)), "00000123#11"),
        ("12345678#11", and(id(0x7FF)), "678#11"),
        ("12345678#R", and(id(0x7FF)), "678#"),
        ("123#", or(id(CAN_RTR_FLAG)), "123#R"),
        ("123#", set(id(CAN_EFF_FLAG | 0x1234_5678)), "12345678#"),
    ] {
        assert_eq!(changed(before, &modifications).as_deref(), Some(after), "{before}");
    }
}

#[test]
fn setting_29_bits_without_the_flag_leaves_a_malformed_frame() {
    let mut changed = frame("123#");
    assert_eq!(change(&mut changed, &set(id(0x1234_5678)), &Checksums::default()), Verdict::Send);
    assert_eq!((changed.id.0, changed.id.is_eff(), changed.id.bits()), (0x1234_5678, false, 0x678));
}

#[test]
fn classic_length_is_the_raw_dlc() {
    let data = "1122334455667788";
    for (before, modifications, after) in [
        (format!("123#{data}_B"), or(len(4)), Some(format!("123#{data}_F"))),
        (format!("123#{data}"), or(len(4)), Some(format!("123#{data}_C"))),
        ("123#112233".into(), or(len(4)), Some("123#11223300000000".into())),
        ("123#11".into(), set(len(9)), Some("123#1100000000000000_9".into())),
        ("123#11".into(), set(len(15)), Some("123#1100000000000000_F".into())),
        ("123#11".into(), set(len(0x10)), None),
        (format!("123#{data}_F"), and(len(8)), Some(format!("123#{data}"))),
        (format!("123#{data}_F"), and(len(7)), Some("123#11223344556677".into())),
        (format!("123#{data}_F"), and(id(0x7FF)), Some(format!("123#{data}_F"))),
        ("123#R8_9".into(), and(len(0xE)), Some("123#R8".into())),
    ] {
        assert_eq!(changed(&before, &modifications), after, "{before}");
    }
}

/// Every start, operation and operand, by the words of the specification.
#[test]
fn classic_length_exhaustively() {
    for start in 0..=15_u8 {
        for operand in 0..=255_u8 {
            for (modifications, result) in [
                (and(len(operand)), start & operand),
                (or(len(operand)), start | operand),
                (Modifications { xor: len(operand), ..Modifications::default() }, start ^ operand),
                (set(len(operand)), operand),
            ] {
                let mut frame = Frame { len: start.min(8), ..frame("123#") };
                frame.len8_dlc = if start > 8 { start } else { 0 };
                let verdict = change(&mut frame, &modifications, &Checksums::default());
                match result {
                    0..=8 => assert_eq!((verdict, frame.len, frame.len8_dlc), (Verdict::Send, result, 0)),
                    9..=15 => assert_eq!((verdict, frame.len, frame.len8_dlc), (Verdict::Send, 8, result)),
                    _ => assert_eq!(verdict, Verdict::Delete),
                }
            }
        }
    }
}

#[test]
fn a_later_operation_repairs_a_length_beyond_15() {
    let modifications = Modifications { or: len(0x10), xor: len(0x10), ..Modifications::default() };
    assert_eq!(changed("123#1122334455667788_9", &modifications).as_deref(), Some("123#1122334455667788_9"));
    assert_eq!(changed("123#11", &modifications).as_deref(), Some("123#11"));
}

/// `len8_dlc` means something only beside a length of 8, and then only from 9 to 15.
#[test]
fn a_stray_raw_dlc_is_not_looked_at() {
    for (len_before, len8_dlc) in [(3, 9), (8, 8), (8, 16)] {
        let mut frame = Frame { len: len_before, len8_dlc, ..frame("123#") };
        change(&mut frame, &or(len(0)), &Checksums::default());
        assert_eq!((frame.len, frame.len8_dlc), (len_before, 0));
        let mut frame = Frame { len: len_before, len8_dlc, ..frame };
        change(&mut frame, &or(id(0)), &Checksums::default());
        assert_eq!((frame.len, frame.len8_dlc), (len_before, len8_dlc), "only a length operation cleans it");
    }
}

#[test]
fn data_operations_cover_the_whole_buffer() {
    let mut short = frame("123#11");
    let longer = Modifications { or: data(&[0xF0; 64]), set: len(4), ..Modifications::default() };
    assert_eq!(change(&mut short, &longer, &Checksums::default()), Verdict::Send);
    assert_eq!(short.to_string(), "123#F1F0F0F0", "bytes beyond the length show when it grows");
    assert_eq!(&short.data[7..10], &[0xF0, 0, 0], "a classic frame has 8 of them");

    let mut remote = frame("123#R");
    change(&mut remote, &set(data(&[0xAA; 8])), &Checksums::default());
    assert_eq!(&remote.data[..8], &[0xAA; 8], "remote frames have a buffer too");

    let mut fd = frame("123##111");
    change(&mut fd, &set(data(&[0xBB; 64])), &Checksums::default());
    assert_eq!(fd.data, [0xBB; 64]);
}

#[test]
fn fd_lengths_and_flags_are_plain_bytes() {
    assert_eq!(changed("123##1", &set(len(9))).as_deref(), Some("123##5000000000000000000"));
    assert!(changed("123##1", &set(len(64))).is_some());
    assert!(changed("123##1", &set(len(65))).is_none());
    let flags = |value| Operand { flags: Some(value), ..Operand::default() };
    assert_eq!(changed("123##1", &or(flags(2))).as_deref(), Some("123##7"));
    assert_eq!(changed("123##1", &set(flags(0))).as_deref(), Some("123##0"), "FDF is set when it is sent");
    assert_eq!(changed("123#11", &set(flags(3))).as_deref(), Some("123#11"), "classic frames have no flags");
}

#[test]
fn nothing_happens_without_a_modification() {
    let mut too_long = Frame { len: 200, ..frame("123#") };
    assert_eq!(change(&mut too_long, &Modifications::default(), &Checksums::default()), Verdict::Send);
    assert_eq!(change(&mut too_long, &or(id(0)), &Checksums::default()), Verdict::Delete);
}

/// A second, cruder account of the modifications: masks over the bytes of the kernel's struct.
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
    fn agrees_with_masks_over_the_kernels_struct(job in arbitrary::job(2), frame in arbitrary::any_frame()) {
        prop_assume!(!job.modifications.is_empty());
        let mut changed = frame;
        let verdict = change(&mut changed, &job.modifications, &Checksums::default());
        let mut image = [0; CANFD_MTU];
        changed.to_kernel(&mut image);
        prop_assert_eq!((verdict == Verdict::Send).then_some(image), on_kernel_bytes(&job, &frame));
    }

    #[test]
    fn identities(frame in arbitrary::wire_frame(), bits in any::<u32>(), byte in any::<u8>()) {
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
