use super::*;
use crate::frame::{CAN_EFF_FLAG as EFF, CAN_ERR_FLAG as ERR, CAN_RTR_FLAG as RTR};

fn normalised(id: u32, mask: u32) -> Normalised {
    Filter { id, mask }.normalise()
}

fn matches(id: u32, mask: u32, frame: u32) -> bool {
    normalised(id, mask).matches(RawId(frame))
}

/// Returns which of SFF, SFF+RTR, EFF and EFF+RTR frames with these low bits match.
fn truth(id: u32, mask: u32, frame: u32) -> [bool; 4] {
    [0, RTR, EFF, EFF | RTR].map(|flags| matches(id, mask, frame | flags))
}

#[test]
fn truth_table_of_identifier_123() {
    const ID: u32 = 0x123;
    for (id, mask, expected) in [
        (ID, 0x7FF, [true, true, true, true]),
        (ID, 0xC000_07FF, [true, false, false, false]),
        (ID, 0xDFFF_FFFF, [true, false, false, false]),
        (ID, EFF | 0x7FF, [true, true, false, false]),
        (ID, RTR | 0x7FF, [true, false, true, false]),
        (ID | RTR, 0xC000_07FF, [false, true, false, false]),
        (ID | EFF, EFF | 0x7FF, [false, false, true, true]),
        (ID | EFF, 0xDFFF_FFFF, [false, false, true, false]),
        (ID | EFF | RTR, 0xDFFF_FFFF, [false, false, false, true]),
        (ID | EFF | RTR, 0xC000_07FF, [false, false, false, true]),
        (0, 0, [true, true, true, true]),
        (0, EFF, [true, true, false, false]),
        (EFF, EFF, [false, false, true, true]),
        (ID | CAN_INV_FILTER, 0x7FF, [false, false, false, false]),
        (ID | CAN_INV_FILTER, 0xC000_07FF, [false, true, true, true]),
        (ID | CAN_INV_FILTER | EFF, 0xDFFF_FFFF, [true, true, false, true]),
        (CAN_INV_FILTER, 0, [false, false, false, false]),
    ] {
        assert_eq!(truth(id, mask, ID), expected, "{id:X}:{mask:X}");
    }
}

#[test]
fn other_identifiers() {
    assert!(matches(0x123, 0x7FF, EFF | 0x1FFF_F923), "the low 11 bits agree");
    assert!(!matches(0x123, 0x7FF, 0x124));
    assert!(matches(0x120, 0x7F0, 0x12F));
    assert!(matches(0x123 | CAN_INV_FILTER, 0x7FF, 0x124));
    assert!(!matches(0x9234_5678, 0xDFFF_FFFF, EFF | 0x1234_5679));
    // A frame that a modification left malformed is found by its low 11 bits, as the kernel's table does.
    assert!(matches(0x123, 0xC000_07FF, 0x1FFF_F923));
}

#[test]
fn error_frames_reach_only_error_filters() {
    assert!(matches(0, ERR | 0x1FFF_FFFF, ERR | 0x4));
    assert!(!matches(0, ERR | 0x2, ERR | 0x4));
    assert!(!matches(0, ERR | 0x1FFF_FFFF, 0x123));
    assert!(!matches(0, 0, ERR | 0x4));
    assert!(!matches(CAN_INV_FILTER | 0x123, 0x7FF, ERR | 0x4));
    assert_eq!(normalised(0x123, ERR).list, ReceiveList::Error);
}

#[test]
fn lists() {
    for (id, mask, list) in [
        (0, 0, ReceiveList::All),
        (0x7FF, 0, ReceiveList::All),
        (0x123, 0x7FF, ReceiveList::Masked),
        (0x123, EFF | 0x7FF, ReceiveList::Masked),
        (0x123 | RTR, 0xC000_07FF, ReceiveList::Masked),
        (0x123 | EFF, 0xC000_07FF, ReceiveList::Masked),
        (0x123 | EFF | RTR, 0xDFFF_FFFF, ReceiveList::Masked),
        (0x123 | CAN_INV_FILTER, 0xC000_07FF, ReceiveList::Inverted),
        (CAN_INV_FILTER, 0, ReceiveList::Inverted),
        (0x123, 0xC000_07FF, ReceiveList::Exact),
        (0x123, 0xDFFF_FFFF, ReceiveList::Exact),
        (0x123 | EFF, 0xDFFF_FFFF, ReceiveList::Exact),
    ] {
        assert_eq!(normalised(id, mask).list, list, "{id:X}:{mask:X}");
    }
}

#[test]
fn normalised_values() {
    let filter = normalised(0x1FFF_F923, 0xDFFF_FFFF);
    assert_eq!((filter.id, filter.mask), (0x123, 0xC000_07FF), "an SFF filter compares 11 bits and the flags");
    let filter = normalised(0x123 | CAN_INV_FILTER, 0x7F0);
    assert_eq!((filter.id, filter.mask), (0x120, 0x7F0), "the inversion is kept in the list, not in the value");
}

#[test]
fn loose_filters_ignore_the_format() {
    for (text, loose) in [
        ("123", false),
        ("12345678", false),
        ("123:7FF", true),
        ("123~7FF", true),
        ("700:700", true),
        ("123:400007FF", true),
        ("123:800007FF", false),
        ("000:000", false),
        ("000:80000000", false),
        ("18FEF100:1FFFFF00", false),
        ("00000123:1FFFFFFF", true),
    ] {
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.is_loose(), loose, "{text}");
        assert!(!filter.tightened().is_loose(), "{text}");
    }
    assert_eq!(Filter::parse("123:7FF").unwrap().tightened().to_string(), "123:C00007FF");
}

#[test]
fn masks_of_an_11_bit_identifier_may_have_bits_that_it_has_not() {
    let normalised = |text| Filter::parse(text).unwrap().normalise();
    for text in ["123:C0000FFF", "123:DFFFFFFF", "123"] {
        assert_eq!(normalised(text), normalised("123:C00007FF"), "{text}");
    }
    assert!(Filter::parse("123:1FFFFFFF").is_err(), "without the format they would mean 29-bit frames");
}
