//! Numbers and scales of a file, as exact as they are written.

use std::time::Duration;

use crate::database::{ByteOrder, Kind, Signal};
use crate::oddity::Refusal;
use crate::ratio::{Ratio, RatioError};

impl Signal {
    /// A signal of one bit, whose raw value is its physical one.
    #[must_use]
    pub const fn plain(name: String, line: u32) -> Self {
        Self {
            name,
            start: 0,
            bits: 1,
            order: ByteOrder::Little,
            kind: Kind::Unsigned,
            factor: Ratio::ONE,
            offset: Ratio::ZERO,
            min: None,
            max: None,
            unit: String::new(),
            receivers: Vec::new(),
            values: Vec::new(),
            is_switch: false,
            present: None,
            start_value: None,
            inactive_value: None,
            send_type: None,
            timeout: None,
            comment: String::new(),
            line,
            refusal: None,
        }
    }

    /// Factor and offset as written. The signal is refused if one is no number.
    pub(crate) fn set_scale(&mut self, factor: &str, offset: &str) {
        let mut number = |text: &str| {
            text.parse().unwrap_or_else(|error: RatioError| {
                self.refusal = Some(Refusal::Number(error));
                Ratio::ONE
            })
        };
        (self.factor, self.offset) = (number(factor), number(offset));
    }

    /// Minimum and maximum as written. `0` and `0` mean that there are none.
    pub(crate) fn set_range(&mut self, min: &str, max: &str) {
        let (min, max): (Option<Ratio>, Option<Ratio>) = (min.parse().ok(), max.parse().ok());
        let has_range = min != max || !min.is_some_and(Ratio::is_zero);
        self.min = min.filter(|_min| has_range);
        self.max = max.filter(|_max| has_range);
    }
}

/// A time in milliseconds. 0 means that there is none.
pub(crate) fn milliseconds(value: &str) -> Option<Duration> {
    let nanoseconds = value.parse::<Ratio>().ok()?.checked_mul(Ratio::integer(1_000_000))?.round();
    u64::try_from(nanoseconds).ok().filter(|time| *time > 0).map(Duration::from_nanos)
}

/// A whole number, also if it is written as `1.0` or `1E+09`.
pub(crate) fn whole(text: &str) -> Option<i128> {
    text.parse::<Ratio>().ok().filter(|ratio| ratio.denominator() == 1).map(Ratio::numerator)
}
