//! Handles of disciplines and classes: `1:`, `1:2`.

use std::fmt;
use std::str::FromStr;

/// Identifies a queueing discipline (`1:`) or a class (`1:2`): a 16-bit major number, unique among the disciplines of an
/// interface, and a 16-bit minor number, 0 for the discipline itself.
///
/// # Source
/// [`TC_H_MAJ`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_sched.h#L70) and
/// [`TC_H_MIN`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_sched.h#L71) in Linux 6.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u32);

impl Handle {
    /// `TC_H_UNSPEC`.
    pub const NONE: Self = Self(0);
    /// `TC_H_ROOT`: the parent of the root discipline.
    pub const ROOT: Self = Self(0xFFFF_FFFF);
    /// `TC_H_CLSACT`: the parent of `clsact`, and of `ingress`.
    pub const CLSACT: Self = Self(0xFFFF_FFF1);
    /// The fixed handle of `clsact`.
    pub const CLSACT_QDISC: Self = Self(0xFFFF_0000);
    /// `TC_H_MIN_INGRESS` of `clsact`: the parent of filters for incoming frames.
    pub const INGRESS: Self = Self(0xFFFF_FFF2);
    /// `TC_H_MIN_EGRESS` of `clsact`: the parent of filters that run before any discipline.
    pub const EGRESS: Self = Self(0xFFFF_FFF3);

    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self((major as u32) << 16 | minor as u32)
    }

    /// Identifies the discipline on its interface.
    #[must_use]
    pub const fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// 0 is the discipline itself.
    #[must_use]
    pub const fn minor(self) -> u16 {
        (self.0 & 0xFFFF) as u16
    }

    #[must_use]
    pub const fn qdisc(self) -> Self {
        Self(self.0 & 0xFFFF_0000)
    }
}

const WORDS: &[(&str, Handle)] = &[
    ("none", Handle::NONE),
    ("root", Handle::ROOT),
    ("clsact", Handle::CLSACT),
    ("ingress", Handle::INGRESS),
    ("egress", Handle::EGRESS),
];

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((word, _)) = WORDS.iter().find(|(_, handle)| handle == self) {
            return f.write_str(word);
        }
        match *self {
            handle if handle.minor() == 0 => write!(f, "{:x}:", handle.major()),
            handle if handle.major() == 0 => write!(f, ":{:x}", handle.minor()),
            handle => write!(f, "{:x}:{:x}", handle.major(), handle.minor()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Not a handle: two hexadecimal numbers of up to 4 digits with a colon between them, such as `1:` or `1:2`")]
pub struct HandleError;

/// Reads `1:`, `1:2`, `:2` (hexadecimal, as everywhere in `tc`) and the words that [`Display`](fmt::Display) prints.
impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        if let Some((_, handle)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*handle);
        }
        let (major, minor) = text.split_once(':').ok_or(HandleError)?;
        if major.is_empty() && minor.is_empty() {
            return Err(HandleError);
        }
        let number = |digits: &str| match digits {
            "" => Ok(0),
            _ if digits.starts_with('+') => Err(HandleError),
            _ => u16::from_str_radix(digits, 16).map_err(|_not_a_number| HandleError),
        };
        Ok(Self::new(number(major)?, number(minor)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_round_trip() {
        let written = ["1:", "1:2", ":2", "8001:", "ffff:a", "root", "ingress", "egress", "clsact", "none"];
        for text in written {
            assert_eq!(text.parse::<Handle>().unwrap().to_string(), text);
        }
        assert_eq!("1:2".parse(), Ok(Handle::new(1, 2)));
        assert_eq!("10:".parse(), Ok(Handle::new(0x10, 0)));
    }

    #[test]
    fn rejects_invalid_handles() {
        for text in ["", ":", "1", "1:2:3", "10000:", "1:g", "1:+2", "-1:"] {
            assert_eq!(text.parse::<Handle>(), Err(HandleError), "{text}");
        }
    }
}
