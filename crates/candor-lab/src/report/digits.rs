//! Numbers as people read them.

/// Digits in groups of three, with a narrow space between, at which no line ends.
pub(super) fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped("1234567"), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped("-123"), "-123");
        assert_eq!(grouped("12"), "12");
    }
}
