use super::*;
use crate::cases;
use crate::frame::{CAN_EFF_FLAG as EFF, CAN_ERR_FLAG as ERR, Frame};

fn matches(id: u32, mask: u32, frame: u32) -> bool {
    Filter { id, mask }.normalise().matches(RawId(frame))
}

#[test]
fn filters_are_normalised_as_in_the_kernel() {
    cases::check(include_str!("normalised.txt"), |text| {
        let (id, mask) = text.split_once(':').unwrap();
        let [id, mask] = [id, mask].map(|hex| u32::from_str_radix(hex, 16).unwrap());
        let filter = Filter { id, mask };
        assert!(!filter.tightened().is_loose(), "{text}");
        let normalised = filter.normalise();
        let Normalised { list, id, mask } = normalised;
        let loose = if filter.is_loose() { " loose" } else { "" };
        let mut frames = vec!["123#", "123#R", "00000123#", "00000123#R"];
        frames.retain(|frame| normalised.matches(frame.parse::<Frame>().unwrap().id));
        format!("{list:?} {id:08X}:{mask:08X}{loose} {frames:?}")
    });
    assert_eq!(Filter::parse("123:7FF").unwrap().tightened().to_string(), "123:C00007FF");
}

#[test]
fn masks_decide_which_identifiers_match() {
    assert!(matches(0x123, 0x7FF, EFF | 0x1FFF_F923), "the low 11 bits agree");
    assert!(!matches(0x123, 0x7FF, 0x124));
    assert!(matches(0x120, 0x7F0, 0x12F));
    assert!(matches(0x123 | CAN_INV_FILTER, 0x7FF, 0x124));
    assert!(!matches(0x9234_5678, 0xDFFF_FFFF, EFF | 0x1234_5679));
    // The low 11 bits decide for a frame that a modification left malformed, as in the kernel.
    assert!(matches(0x123, 0xC000_07FF, 0x1FFF_F923));
}

#[test]
fn error_frames_match_error_filters_only() {
    assert!(matches(0, ERR | 0x1FFF_FFFF, ERR | 0x4));
    assert!(!matches(0, ERR | 0x2, ERR | 0x4));
    assert!(!matches(0, ERR | 0x1FFF_FFFF, 0x123));
    assert!(!matches(0, 0, ERR | 0x4));
    assert!(!matches(CAN_INV_FILTER | 0x123, 0x7FF, ERR | 0x4));
}
