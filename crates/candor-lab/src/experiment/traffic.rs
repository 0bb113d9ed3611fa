//! Traffic patterns.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use candor_core::units::{QuantityError, WrittenFrameRate, parse_duration, parse_frame_rate};

/// Send times. Its text is the one of plans and records.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Traffic {
    /// `one at a time`: the next frame after the last one has arrived or is lost, and a random pause. A closed loop,
    /// which never shows queueing.
    OneAtATime,
    /// `every 1ms`: at fixed times.
    Every(Duration),
    /// `50 %`: at fixed times, so that the frames take this share of the sending bus, to the bit. In thousandths.
    Share(u32),
    /// `flood`: back to back, 100 % of the bus.
    Flood,
    /// `poisson 500 frames/s` or `poisson 30 %`: at independent random times.
    Poisson(Rate),
    /// `16 every 10ms`: bursts of back-to-back frames.
    Bursts {
        frames: NonZeroU32,
        /// From the start of one burst to the next.
        every: Duration,
    },
    /// `replay drive.log`: the frames of a candump log at their recorded times.
    Replay {
        /// Relative to the plan.
        file: String,
        /// `replay drive.log of can0`: only frames of this interface.
        interface: Option<String>,
    },
    /// `throughput` or `throughput up to 5000 frames/s`: searches the highest rate without loss, then sends at that
    /// rate.
    Throughput {
        /// Upper end of the search; by default the whole sending bus.
        up_to: Rate,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rate {
    FramesPerSecond(u32),
    /// Thousandths of the sending bus.
    PerMille(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    #[error(
        "Traffic is \"one at a time\", \"every 1ms\", \"50 %\", \"flood\", \"poisson 500 frames/s\", \"16 every 10ms\", \
         \"throughput\" or \"replay FILE\""
    )]
    Unknown,
    #[error("{0}")]
    Quantity(#[from] QuantityError),
    #[error("A bus cannot carry more than 100 %")]
    MoreThanAll,
    #[error("A burst has 1 to {MOST_FRAMES_OF_A_BURST} frames")]
    Burst,
}

/// Default backlog of a CPU (`net.core.netdev_max_backlog`).
const MOST_FRAMES_OF_A_BURST: u32 = 1000;

impl Traffic {
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
    /// All of the bus's capacity.
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
    fn every_form_is_parsed_and_printed() {
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
    fn invalid_traffic_is_refused_with_a_reason() {
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
