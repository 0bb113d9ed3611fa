//! How often an interval holds what it is meant to hold.

use std::fmt;

/// How sure an interval is, in parts per million; neither impossible nor certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(u32);

impl Confidence {
    /// 19 times of 20, as everywhere.
    pub const P95: Self = Self(950_000);

    /// A confidence in parts per million, or `None` unless it lies between nothing and the whole.
    #[must_use]
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if 0 < ppm && ppm < 1_000_000 { Some(Self(ppm)) } else { None }
    }

    /// How often the interval is missed, on both sides together.
    pub(super) fn miss(self) -> f64 {
        f64::from(1_000_000 - self.0) / 1e6
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 1e4)
    }
}
