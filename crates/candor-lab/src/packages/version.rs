//! The order of Debian's package versions.
//!
//! # Source
//! [Debian Policy, section 5.6.12](https://www.debian.org/doc/debian-policy/ch-controlfields.html#version).

use std::cmp::Ordering;

/// As `dpkg --compare-versions`.
pub fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (parts(left), parts(right));
    left.0.cmp(&right.0).then_with(|| walk(left.1, right.1)).then_with(|| walk(left.2, right.2))
}

/// Epoch, upstream version and revision.
fn parts(version: &str) -> (u32, &str, &str) {
    let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
    (epoch.parse().unwrap_or(0), upstream, revision)
}

/// Compares text and numbers alternately.
fn walk(mut left: &str, mut right: &str) -> Ordering {
    while !left.is_empty() || !right.is_empty() {
        let (texts, numbers) = (split(&mut left, false), split(&mut left, true));
        let (other_texts, other_numbers) = (split(&mut right, false), split(&mut right, true));
        let order = text(texts, other_texts).then_with(|| number(numbers, other_numbers));
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Takes the digits, or what is none, from the start.
fn split<'a>(rest: &mut &'a str, digits: bool) -> &'a str {
    let end = rest.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(rest.len());
    let (first, last) = rest.split_at(end);
    *rest = last;
    first
}

/// `~` comes before the end, the end before letters, letters before other characters.
fn text(left: &str, right: &str) -> Ordering {
    let weights = |text: &str| -> Vec<u32> {
        let weight = |letter| match letter {
            '~' => 0,
            letter if letter.is_ascii_alphabetic() => 1 + u32::from(letter),
            letter => 0x1000 + u32::from(letter),
        };
        text.chars().map(weight).chain([1]).collect()
    };
    weights(left).cmp(&weights(right))
}

fn number(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_versions() {
        let ascending = [
            "6.1um4+b13",
            "6.1.176-1",
            "6.1.192-2",
            "6.12.95-1~bpo12+1",
            "6.12.95-1~bpo13+1",
            "6.12.95-1",
            "6.12.95-1+b1",
            "6.12.118-1",
            "7.3~rc7-1~exp1",
            "7.3-1",
            "7.3.4-1~bpo13+1",
            "7.10.1-1",
            "1:6.1-1",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), at.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(compare("1.0", "1.0-0"), Ordering::Equal);
        assert_eq!(compare("1.010-1", "1.10-1"), Ordering::Equal);
    }
}
