//! Numbers of the map and their colours.

use crate::plot::grouped;

/// Shades for values above zero.
pub(super) const SHADES: u32 = 8;

/// A logarithmic scale of colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Scale {
    /// Around all values above zero; `None` without any.
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

/// Three significant digits, and all digits before the point.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        99.95.. => grouped(&format!("{value:.0}")),
        9.995.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_logarithmic_from_end_to_end() {
        let scale = Scale::around([0.0, 100.0, 1.0, 10.0].into_iter()).unwrap();
        assert_eq!(scale, Scale { least: 1.0, most: 100.0 });
        assert_eq!([1.0, 10.0, 100.0].map(|value| scale.shade(value)), [1, SHADES / 2 + 1, SHADES]);
        assert_eq!(Scale::around([5.0].into_iter()).unwrap().shade(5.0), 1);
        assert_eq!(Scale::around([0.0].into_iter()), None);
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.012, 2.773, 9.999, 28.192, 99.97, 19_084.4].map(short);
        assert_eq!(shown, ["0", "0.01", "2.77", "10.0", "28.2", "100", "19\u{202f}084"]);
    }
}
