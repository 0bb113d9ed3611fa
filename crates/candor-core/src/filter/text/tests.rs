use proptest::prelude::*;

use super::FilterTextErrorKind as Kind;
use super::*;

fn filter(id: u32, mask: u32) -> Filter {
    Filter { id, mask }
}

#[test]
fn reads_every_form() {
    for (text, expected) in [
        ("123", filter(0x123, 0xC000_07FF)),
        ("7", filter(0x7, 0xC000_07FF)),
        ("7ff", filter(0x7FF, 0xC000_07FF)),
        ("0x123", filter(0x123, 0xC000_07FF)),
        ("12345678", filter(0x9234_5678, 0xDFFF_FFFF)),
        ("00000123", filter(0x8000_0123, 0xDFFF_FFFF)),
        ("92345678", filter(0x9234_5678, 0xDFFF_FFFF)),
        ("123:7FF", filter(0x123, 0x7FF)),
        ("0x123:0x7FF", filter(0x123, 0x7FF)),
        ("123~7FF", filter(0x2000_0123, 0x7FF)),
        ("123:C00007FF", filter(0x123, 0xC000_07FF)),
        ("123:DFFFFFFF", filter(0x123, 0xDFFF_FFFF)),
        ("123:C0000FFF", filter(0x123, 0xC000_0FFF)),
        ("98DAF110", filter(0x98DA_F110, 0xDFFF_FFFF)),
        ("40000123", filter(0x4000_0123, 0xC000_07FF)),
        ("000:000", Filter::ALL),
        ("0:0", Filter::ALL),
        ("000:80000000", filter(0, 0x8000_0000)),
        ("00000000:0", filter(0x8000_0000, 0)),
        ("00000000:80000000", filter(0x8000_0000, 0x8000_0000)),
        ("18FEF100:1FFFFF00", filter(0x98FE_F100, 0x1FFF_FF00)),
        ("12345678:000007FF", filter(0x9234_5678, 0x7FF)),
        ("12345678:F000", filter(0x9234_5678, 0xF000)),
        ("40000123:C00007FF", filter(0x4000_0123, 0xC000_07FF)),
        ("12345678~DFFFFFFF", filter(0xB234_5678, 0xDFFF_FFFF)),
    ] {
        assert_eq!(Filter::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    for (text, kind, range) in [
        ("", Kind::Empty, 0..0),
        (":7FF", Kind::MissingId, 0..0),
        ("0x", Kind::MissingId, 0..2),
        ("123:", Kind::MissingMask, 4..4),
        ("12G", Kind::NotHex { found: 'G' }, 2..3),
        ("0x12ß", Kind::NotHex { found: 'ß' }, 4..6),
        (" 123", Kind::NotHex { found: ' ' }, 0..1),
        ("123:7FF,456:7FF", Kind::NotHex { found: ',' }, 7..8),
        ("123:7FF:1", Kind::NotHex { found: ':' }, 7..8),
        ("*", Kind::Everything, 0..1),
        ("Any", Kind::Everything, 0..3),
        ("100-", Kind::NotHex { found: '-' }, 3..4),
        ("#FFFFFFFF", Kind::NotHex { found: '#' }, 0..1),
        ("800", Kind::StandardIdTooBig { id: 0x800 }, 0..3),
        ("0xFFF:7FF", Kind::StandardIdTooBig { id: 0xFFF }, 0..5),
        ("40000800:7FF", Kind::StandardIdTooBig { id: 0x800 }, 0..8),
        ("0123", Kind::AmbiguousId { digits: 4, id: 0x123 }, 0..4),
        ("1234567:1FFFFFFF", Kind::AmbiguousId { digits: 7, id: 0x123_4567 }, 0..7),
        ("123456789", Kind::TooManyDigits { digits: 9 }, 0..9),
        ("123:0000007FF", Kind::TooManyDigits { digits: 9 }, 4..13),
        ("20000123:7FF", Kind::InvertBitInId { id: 0x123 }, 0..8),
        ("20000000", Kind::InvertBitInId { id: 0 }, 0..8),
        ("FFFFFFFF", Kind::InvertBitInId { id: 0xDFFF_FFFF }, 0..8),
        ("123:1FFFFFFF", Kind::ExtendedMaskOnStandardId { id: 0x123, mask: 0x1FFF_FFFF }, 4..12),
        ("123:800", Kind::ExtendedMaskOnStandardId { id: 0x123, mask: 0x800 }, 4..7),
        ("12345678:7FF", Kind::StandardMaskOnExtendedId { id: 0x1234_5678, mask: 0x7FF }, 9..12),
        ("0:FFFFFFFF", Kind::ErrorFrameMask { mask: 0xFFFF_FFFF }, 2..10),
        ("0~20000000", Kind::ErrorFrameMask { mask: 0x2000_0000 }, 2..10),
    ] {
        assert_eq!(Filter::parse(text), Err(FilterTextError { kind, range }), "{text}");
    }
}

#[test]
fn help_names_what_to_write() {
    let help = |text: &str| Filter::parse(text).unwrap_err().kind.help();
    assert_eq!(help("800"), "write 00000800, with 8 digits, for a 29-bit identifier");
    assert_eq!(help("0123"), "write 123 for an 11-bit identifier or 00000123 for a 29-bit one");
    assert_eq!(help("1234"), "write 00001234 for a 29-bit identifier");
    assert_eq!(
        help("123:1FFFFFFF"),
        "write the mask C00007FF for the 11-bit identifier, or the identifier 00000123 and the mask DFFFFFFF for the 29-bit one"
    );
    assert_eq!(help("12345678~7FF"), "write the mask with 8 digits: C00007FF compares these bits and the format");
    assert_eq!(help("0:FFFFFFFF"), "write DFFFFFFF to exclude them");
    assert!(help("0:20000000").contains("errors = \"1FFFFFFF\""));
    assert!(help("FFFFFFFF").contains("errors = ") && help("#FFFFFFFF").contains("errors = "));
    assert_eq!(help("100-1FF"), "write 100..1FF");
    assert_eq!(help("0x7-0x7"), "write 007..007");
    assert_eq!(help("0-1FFFFFFF"), "write 00000000..1FFFFFFF");
    assert_eq!(help("18DAF1FF-18DAF100"), "write 18DAF100..18DAF1FF");
    assert_eq!(help("123,456"), "write a list, such as [\"123\", \"456\"]");
}

#[test]
fn prints_what_can_utils_print() {
    for (text, printed) in [
        ("123", "123:C00007FF"),
        ("12345678", "92345678:DFFFFFFF"),
        ("0~0", "000~000"),
        ("123:7", "123:007"),
        ("12345678:0", "92345678:00000000"),
    ] {
        assert_eq!(Filter::parse(text).unwrap().to_string(), printed);
    }
}

proptest! {
    #[test]
    fn never_panics(text in "\\PC{0,20}") {
        let _ = Filter::parse(&text).map_err(|error| (error.to_string(), error.kind.help(), text[error.range].len()));
    }

    #[test]
    fn what_is_printed_is_read_back(text in "(0x)?[0-9A-Fa-f]{1,8}([:~][0-9A-Fa-f]{1,8})?") {
        if let Ok(filter) = Filter::parse(&text) {
            prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }
    }

    /// The filter suggested by the help is valid.
    #[test]
    fn help_is_right(text in "[0-9A-F]{1,8}[:~][0-9A-F]{1,8}") {
        if let Err(error) = Filter::parse(&text) {
            for word in error.kind.help().split(' ').filter(|word| word.len() > 8 && word.contains(':')) {
                prop_assert!(Filter::parse(word).is_ok(), "{} from {}", word, text);
            }
        }
    }
}
