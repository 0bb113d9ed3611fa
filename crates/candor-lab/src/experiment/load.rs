//! Background load on the gateway's machine.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Background load on the gateway's machine. Its text is the one of plans and records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Load {
    #[default]
    None,
    /// `cpu 20`: pairs of processes that exchange messages of 100 bytes, as in hackbench.
    Cpu(NonZeroU32),
    /// `ethernet 60000`: datagrams of this size in bytes at full speed through a pair of Ethernet interfaces, received
    /// by the softirq that also receives CAN frames.
    Ethernet(NonZeroU32),
    /// `memory 64`: MiB that are written over and over.
    Memory(NonZeroU32),
    /// `timers 100`: timers that expire each millisecond.
    Timers(NonZeroU32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error(
        "A load is \"none\", \"cpu\", \"ethernet\", \"memory\" or \"timers\", optionally followed by a number: \
         \"cpu 40\" (pairs of processes), \"ethernet 1400\" (bytes of a datagram), \"memory 64\" (MiB), \"timers 100\""
    )]
    Unknown,
    #[error("The strength of the load {word} is a number from 1 to {most}")]
    Strength { word: &'static str, most: u32 },
}

struct Kind {
    word: &'static str,
    usual: u32,
    most: u32,
    make: fn(NonZeroU32) -> Load,
}

const KINDS: [Kind; 4] = [
    Kind { word: "cpu", usual: 20, most: 1000, make: Load::Cpu },
    // `ping -f -s 60000` of the 2011 paper.
    Kind { word: "ethernet", usual: 60_000, most: 65_000, make: Load::Ethernet },
    Kind { word: "memory", usual: 32, most: 1024, make: Load::Memory },
    Kind { word: "timers", usual: 100, most: 10_000, make: Load::Timers },
];

impl FromStr for Load {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let kind = |word: &str| KINDS.iter().find(|kind| kind.word == word).ok_or(LoadError::Unknown);
        match words.as_slice() {
            ["none"] => Ok(Self::None),
            [word] => kind(word).map(|kind| (kind.make)(NonZeroU32::new(kind.usual).unwrap_or(NonZeroU32::MIN))),
            [word, strength] => {
                let Kind { word, most, make, .. } = kind(word)?;
                let strength = strength.parse::<NonZeroU32>().ok().filter(|strength| strength.get() <= *most);
                strength.map(make).ok_or(LoadError::Strength { word, most: *most })
            }
            _ => Err(LoadError::Unknown),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Cpu(pairs) => write!(f, "cpu {pairs}"),
            Self::Ethernet(bytes) => write!(f, "ethernet {bytes}"),
            Self::Memory(mebibytes) => write!(f, "memory {mebibytes}"),
            Self::Timers(timers) => write!(f, "timers {timers}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_parsed_and_printed() {
        for (text, written) in [
            ("none", "none"),
            ("cpu", "cpu 20"),
            ("cpu 40", "cpu 40"),
            ("ethernet", "ethernet 60000"),
            ("memory 64", "memory 64"),
            ("timers", "timers 100"),
        ] {
            let load: Load = text.parse().unwrap();
            assert_eq!(load.to_string(), written);
            assert_eq!(written.parse(), Ok(load));
        }
    }

    #[test]
    fn invalid_loads_are_refused_with_a_reason() {
        for (text, error) in [
            ("", LoadError::Unknown),
            ("disk", LoadError::Unknown),
            ("none 1", LoadError::Unknown),
            ("cpu 0", LoadError::Strength { word: "cpu", most: 1000 }),
            ("cpu many", LoadError::Strength { word: "cpu", most: 1000 }),
            ("memory 4096", LoadError::Strength { word: "memory", most: 1024 }),
        ] {
            assert_eq!(text.parse::<Load>(), Err(error), "{text}");
        }
    }
}
