//! The text of a file.

use std::borrow::Cow;

/// UTF-8 if the bytes are, otherwise Windows-1252. A byte order mark is removed.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes)
        .map_or_else(|_other| bytes.iter().map(|byte| windows_1252(*byte)).collect::<String>().into(), Cow::Borrowed)
}

/// # Source
/// <https://encoding.spec.whatwg.org/index-windows-1252.txt>
fn windows_1252(byte: u8) -> char {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => FROM_80[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn what_is_not_utf_8_is_windows_1252() {
        assert_eq!(decode("\u{FEFF}°C".as_bytes()), "°C");
        assert_eq!(decode(b"\xB0C \x80"), "°C €");
    }
}
