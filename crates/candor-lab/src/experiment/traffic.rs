//! Traffic patterns: when frames are sent.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use candor_core::units::{QuantityError, WrittenFrameRate, parse_duration, parse_frame_rate};

/// When frames are sent. As text it is what stands in a plan and in records.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Traffic {
    /// `one at a time`: the next one when the last has arrived or is lost, after a random pause. A closed loop: it never
    /// shows queueing.
    OneAtATime,
    /// `every 1ms`: at fixed moments, whatever becomes of the frames.
    Every(Duration),
    /// `50 %`: at fixed moments, so that the frames take so much of the sending bus, by their exact bits. In thousandths.
    Share(u32),
    /// `flood`: one directly behind the other, 100 % of the bus.
    Flood,
    /// `poisson 500 frames/s` or `poisson 30 %`: at random moments that know nothing of each other.
    Poisson(Rate),
    /// `16 every 10ms`: bursts of frames one directly behind the other.
    Bursts {
        /// Frames of a burst.
        frames: NonZeroU32,
        /// From the beginning of one to that of the next.
        every: Duration,
    },
    /// `replay drive.log`: the frames of a candump log at their own times.
    Replay {
        /// The file, beside the plan.
        file: String,
        /// `replay drive.log of can0`: those of one interface only.
        interface: Option<String>,
    },
    /// `throughput` or `throughput up to 5000 frames/s`: the highest rate at which nothing is lost, which is searched, and then
    /// frames at that rate.
    Throughput {
        /// Where the search ends; all of the sending bus if nothing else is written.
        up_to: Rate,
    },
}

/// A mean rate of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rate {
    /// Frames per second.
    FramesPerSecond(u32),
    /// Thousandths of the sending bus.
    PerMille(u32),
}

/// Text that is no traffic pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// None of the forms.
    #[error(
        "Traffic is \"one at a time\", \"every 1ms\", \"50 %\", \"flood\", \"poisson 500 frames/s\", \"16 every 10ms\", \
         \"throughput\" or \"replay FILE\""
    )]
    Unknown,
    /// A quantity in it is wrong.
    #[error("{0}")]
    Quantity(#[from] QuantityError),
    /// No bus carries that.
    #[error("More than 100 % of a bus cannot be sent")]
    MoreThanAll,
    /// A burst of nothing, or of more than any queue holds.
    #[error("A burst has 1 to {MOST_FRAMES_OF_A_BURST} frames")]
    Burst,
}

/// The kernel keeps so many frames for a processor (`net.core.netdev_max_backlog`).
const MOST_FRAMES_OF_A_BURST: u32 = 1000;

impl Traffic {
    /// Whether the next frame waits for the last one.
    #[must_use]
    pub const fn is_closed_loop(&self) -> bool {
        matches!(self, Self::OneAtATime)
    }
}

impl FromStr for Traffic {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let text = text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["one", "at", "a", "time"] | ["one-at-a-time"] => Ok(Self::OneAtATime),
            ["flood"] => Ok(Self::Flood),
            ["every", period @ ..] => Ok(Self::Every(parse_duration(&period.join(" "))?)),
            ["poisson", rate @ ..] => Ok(Self::Poisson(Rate::read(&rate.join(" "))?)),
            ["throughput"] => Ok(Self::Throughput { up_to: Rate::ALL }),
            ["throughput", "up", "to", rate @ ..] => Ok(Self::Throughput { up_to: Rate::read(&rate.join(" "))? }),
            ["replay", _, .., "of", interface] => {
                let file = text["replay".len()..text.len() - interface.len()].trim_end();
                let file = file[..file.len() - "of".len()].trim().to_owned();
                Ok(Self::Replay { file, interface: Some((*interface).to_owned()) })
            }
            ["replay", _, ..] => Ok(Self::Replay { file: text["replay".len()..].trim().to_owned(), interface: None }),
            [frames, "every", period @ ..] => {
                let frames = frames.parse::<NonZeroU32>().ok().filter(|frames| frames.get() <= MOST_FRAMES_OF_A_BURST);
                Ok(Self::Bursts {
                    frames: frames.ok_or(TrafficError::Burst)?,
                    every: parse_duration(&period.join(" "))?,
                })
            }
            _ if text.ends_with('%') => match Rate::read(text)? {
                Rate::PerMille(share) => Ok(Self::Share(share)),
                Rate::FramesPerSecond(_) => Err(TrafficError::Unknown),
            },
            _ => Err(TrafficError::Unknown),
        }
    }
}

impl Rate {
    /// As much as the bus carries.
    pub const ALL: Self = Self::PerMille(1000);

    fn read(text: &str) -> Result<Self, TrafficError> {
        match parse_frame_rate(text)? {
            WrittenFrameRate::FramesPerSecond(rate) => Ok(Self::FramesPerSecond(rate)),
            WrittenFrameRate::PerMille(share) if share <= 1000 => Ok(Self::PerMille(share)),
            WrittenFrameRate::PerMille(_) => Err(TrafficError::MoreThanAll),
        }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneAtATime => f.write_str("one at a time"),
            Self::Every(period) => write!(f, "every {period:?}"),
            Self::Share(share) => Rate::PerMille(*share).fmt(f),
            Self::Flood => f.write_str("flood"),
            Self::Poisson(rate) => write!(f, "poisson {rate}"),
            Self::Bursts { frames, every } => write!(f, "{frames} every {every:?}"),
            Self::Throughput { up_to: Rate::ALL } => f.write_str("throughput"),
            Self::Throughput { up_to } => write!(f, "throughput up to {up_to}"),
            Self::Replay { file, interface: None } => write!(f, "replay {file}"),
            Self::Replay { file, interface: Some(interface) } => write!(f, "replay {file} of {interface}"),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FramesPerSecond(rate) => write!(f, "{rate} frames/s"),
            Self::PerMille(share) if share % 10 == 0 => write!(f, "{} %", share / 10),
            Self::PerMille(share) => write!(f, "{}.{} %", share / 10, share % 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        for (text, written) in [
            ("one at a time", "one at a time"),
            ("one-at-a-time", "one at a time"),
            ("every 1ms", "every 1ms"),
            ("every 1500 us", "every 1.5ms"),
            ("50%", "50 %"),
            ("12.5 %", "12.5 %"),
            ("flood", "flood"),
            ("poisson 500 frames/s", "poisson 500 frames/s"),
            ("poisson 30%", "poisson 30 %"),
            ("16 every 10ms", "16 every 10ms"),
            ("throughput", "throughput"),
            ("throughput up to 100 %", "throughput"),
            ("throughput  up to 5000 frames/s", "throughput up to 5000 frames/s"),
            ("replay my drive.log", "replay my drive.log"),
            ("replay of.log", "replay of.log"),
            ("replay  my drive.log  of  can0", "replay my drive.log of can0"),
        ] {
            let traffic: Traffic = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(traffic.to_string(), written);
            assert_eq!(written.parse(), Ok(traffic), "{written}");
        }
    }

    #[test]
    fn what_is_no_traffic_says_why() {
        for (text, error) in [
            ("", TrafficError::Unknown),
            ("often", TrafficError::Unknown),
            ("replay", TrafficError::Unknown),
            ("500 frames/s", TrafficError::Unknown),
            ("120 %", TrafficError::MoreThanAll),
            ("throughput up to", TrafficError::Quantity(QuantityError::NoNumber)),
            ("throughput to 5 frames/s", TrafficError::Unknown),
            ("every 0ms", TrafficError::Quantity(QuantityError::Zero)),
            ("0 every 1ms", TrafficError::Burst),
            ("1001 every 1ms", TrafficError::Burst),
            ("x every 1ms", TrafficError::Burst),
        ] {
            assert_eq!(text.parse::<Traffic>(), Err(error), "{text}");
        }
    }
}
