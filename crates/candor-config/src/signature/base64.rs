//! Base64 of a known length.

/// Decodes text to exactly these bytes; false if it is not their only encoding in base64, with padding.
pub(super) fn decode(text: &str, bytes: &mut [u8]) -> bool {
    let (rest, characters) = (bytes.len() % 3, bytes.len().div_ceil(3) * 4);
    let padding = if rest == 0 { 0 } else { 3 - rest };
    let Some((digits, padded)) = text.as_bytes().split_at_checked(characters - padding) else { return false };
    if padded.len() != padding || padded.iter().any(|&byte| byte != b'=') {
        return false;
    }
    let (mut bits, mut count, mut written) = (0_u32, 0, bytes.iter_mut());
    for &digit in digits {
        let Some(value) = value(digit) else { return false };
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            let Some(byte) = written.next() else { return false };
            *byte = (bits >> count).to_le_bytes()[0];
            bits &= (1 << count) - 1;
        }
    }
    bits == 0
}

const fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_encoding_is_accepted() {
        for (text, bytes) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("+/+/", b"\xFB\xFF\xBF")]
        {
            let mut decoded = vec![0; bytes.len()];
            assert!(decode(text, &mut decoded) && decoded == bytes, "{text}");
        }
        for (text, length) in [
            ("Zh==", 1),
            ("Zm9=", 2),
            ("Zg=", 1),
            ("Zg", 1),
            ("Zg==", 2),
            ("Zg===", 1),
            ("Zm9v\n", 3),
            ("Zm-v", 3),
            ("Zm9vZg==", 3),
            ("Z===", 1),
            ("é==", 1),
        ] {
            assert!(!decode(text, &mut vec![0; length]), "{text}");
        }
    }
}
