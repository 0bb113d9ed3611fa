//! Numbers in the text of plots and tables.

/// Separates groups of three digits with a narrow no-break space.
pub fn grouped(digits: &str) -> String {
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

/// A tick's label: an integer in groups of three digits, any other number as it is.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 { grouped(&format!("{value:.0}")) } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped("1234567"), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped("-123"), "-123");
        assert_eq!(grouped("12"), "12");
        assert_eq!([0.5, 20_000.0].map(number), ["0.5", "20\u{202f}000"]);
    }
}
