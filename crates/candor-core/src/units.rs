//! Quantities with their units in the type, and how they are written: `500kbit/s`, `20us`.

mod text;

pub use text::{QuantityError, WrittenFrameRate, parse_duration, parse_duration_or_zero, parse_frame_rate};

use std::fmt;

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BitRate(u32);

impl BitRate {
    /// A bit rate of 1 bit/s or more; `None` for 0.
    #[must_use]
    pub const fn from_bits_per_second(rate: u32) -> Option<Self> {
        if rate == 0 { None } else { Some(Self(rate)) }
    }

    /// The rate in bit/s.
    #[must_use]
    pub const fn bits_per_second(self) -> u32 {
        self.0
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            rate if rate % 1_000_000 == 0 => write!(f, "{}Mbit/s", rate / 1_000_000),
            rate if rate % 1000 == 0 => write!(f, "{}kbit/s", rate / 1000),
            rate => write!(f, "{rate}bit/s"),
        }
    }
}
