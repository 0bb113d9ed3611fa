//! Numbers of the map and their colours.

use crate::plot::grouped;

/// Shades above the one of nothing.
pub(super) const SHADES: u32 = 8;

/// A logarithmic scale of colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Scale {
    /// Around all values above zero; `None` if there are none.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Option<Self> {
        let above = values.filter(|value| *value > 0.0);
        above.fold(None, |scale, value| {
            let Self { least, most } = scale.unwrap_or(Self { least: value, most: value });
            Some(Self { least: least.min(value), most: most.max(value) })
        })
    }

    /// From 1 for the least to [`SHADES`] for the most.
    pub(super) fn shade(self, value: f64) -> u32 {
        if self.most <= self.least {
            return 1;
        }
        let share = ((value / self.least).ln() / (self.most / self.least).ln()).clamp(0.0, 1.0);
        (1..SHADES).filter(|&shade| share * f64::from(SHADES) >= f64::from(shade)).count().try_into().unwrap_or(0) + 1
    }
}

/// Three digits that count, and all those before the point.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => return format!("{value:.1}"),
        _ if size == 0.0 => return "0".to_owned(),
        _ => return format!("{value:.2}"),
    };
    grouped(&digits)
}

pub(super) fn number(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of frames stay far below 2^53")]
    let number = count as f64;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_logarithmic_and_reach_both_ends() {
        let scale = Scale::around([0.0, 100.0, 1.0, 10.0].into_iter()).unwrap();
        assert_eq!(scale, Scale { least: 1.0, most: 100.0 });
        assert_eq!([1.0, 10.0, 100.0].map(|value| scale.shade(value)), [1, SHADES / 2 + 1, SHADES]);
        assert_eq!(Scale::around([5.0].into_iter()).unwrap().shade(5.0), 1);
        assert_eq!(Scale::around([0.0].into_iter()), None);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.012, 2.773, 9.999, 28.192, 99.97, 19_084.4].map(short);
        assert_eq!(shown, ["0", "0.01", "2.77", "10.0", "28.2", "100", "19\u{202f}084"]);
    }
}
