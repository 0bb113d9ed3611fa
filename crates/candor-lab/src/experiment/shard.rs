//! Parts of a plan for several machines.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A part of a plan: `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Position among the shards, from 1.
    number: NonZeroU32,
    of: NonZeroU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A shard is I/N, such as 2/8: the second of eight parts")]
pub struct ShardError;

impl Shard {
    pub const WHOLE: Self = Self { number: NonZeroU32::MIN, of: NonZeroU32::MIN };

    /// `None` if `number` is not one of 1 to `of`.
    pub fn new(number: u32, of: u32) -> Option<Self> {
        let shard = Self { number: NonZeroU32::new(number)?, of: NonZeroU32::new(of)? };
        (number <= of).then_some(shard)
    }

    /// From 1.
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// Number of all shards.
    pub const fn of(self) -> NonZeroU32 {
        self.of
    }

    /// The number of the shard of each block, in the order of the blocks. Each block, the longest first, goes to the shard with the
    /// shortest time so far: no shard is longer than another by more than its last block. Depends on the times and the number of
    /// shards only.
    pub fn deal(expected: &[Duration], of: NonZeroU32) -> Vec<u32> {
        let mut order: Vec<usize> = (0..expected.len()).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(expected[at]), at));
        let mut shards: Vec<(Duration, u32)> = (1..=of.get()).map(|number| (Duration::ZERO, number)).collect();
        let mut dealt = vec![0; expected.len()];
        for at in order {
            if let Some((time, number)) = shards.iter_mut().min() {
                *time += expected[at];
                dealt[at] = *number;
            }
        }
        dealt
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (number, of) = text.split_once('/').ok_or(ShardError)?;
        let read = |text: &str| text.trim().parse::<u32>().map_err(|_no_number| ShardError);
        Self::new(read(number)?, read(of)?).ok_or(ShardError)
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Self, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_parts_of_a_whole_are_shards() {
        for text in ["0/2", "3/2", "1", "a/2", "1/0", ""] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        assert_eq!("1/1".parse(), Ok(Shard::WHOLE));
    }

    #[test]
    fn long_blocks_are_dealt_first() {
        let seconds = [9, 1, 1, 5, 4, 8].map(Duration::from_secs);
        assert_eq!(Shard::deal(&seconds, NonZeroU32::new(3).unwrap()), [1, 2, 1, 3, 3, 2]);
    }

    proptest! {
        /// Every block has one shard, and a shard is longer than the shortest one by its last block at most.
        #[test]
        fn shards_are_complete_and_balanced(seconds in prop::collection::vec(0_u64..1000, 0..60), of in 1_u32..20) {
            let times: Vec<_> = seconds.iter().map(|&s| Duration::from_secs(s)).collect();
            let dealt = Shard::deal(&times, NonZeroU32::new(of).unwrap());
            prop_assert_eq!(dealt.len(), times.len());
            let sum = |number: u32| -> Duration { times.iter().zip(&dealt).filter(|(_, to)| **to == number).map(|(time, _)| *time).sum() };
            let shortest = (1..=of).map(sum).min().unwrap();
            for number in 1..=of {
                let smallest = times.iter().zip(&dealt).filter(|(_, to)| **to == number).map(|(time, _)| *time).min();
                prop_assert!(sum(number) <= shortest + smallest.unwrap_or_default());
            }
        }
    }
}
