//! Kernel versions.

/// Major, minor and stable version of a kernel: 6.1.168.
pub type Version = (u32, u32, u32);

/// Parses the beginning of a release such as `6.1.0-52-amd64` or `6.12-rc1`; `None` without a version.
#[must_use]
pub fn version(text: &str) -> Option<Version> {
    let mut numbers = text.splitn(3, '.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
        digits.parse().ok()
    });
    Some((numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_distributions_add_to_a_version_is_no_part_of_it() {
        for (release, expected) in [
            ("6.1.0-52-amd64", Some((6, 1, 0))),
            ("6.12.9+bpo-amd64", Some((6, 12, 9))),
            ("6.12-rc1", Some((6, 12, 0))),
            ("6.6+", Some((6, 6, 0))),
            ("6.x", None),
            ("6", None),
            ("", None),
        ] {
            assert_eq!(version(release), expected, "{release}");
        }
    }
}
