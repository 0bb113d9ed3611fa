//! From values to pixels, and the values that an axis names.

/// Above this ratio of its values, an axis is logarithmic: a linear one would hide the small values.
const LINEAR_RATIO: f64 = 40.0;

/// Up to this ratio of its ends, a logarithmic axis also has ticks at 2 and 5 times the powers of ten.
const SHORT_RATIO: f64 = 2000.0;

/// A linear or logarithmic mapping from values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    least: f64,
    most: f64,
    is_logarithmic: bool,
    pixels: [f64; 2],
}

impl Scale {
    /// `pixels` are the positions of `least` and `most`; the first is the larger one on a vertical axis.
    pub const fn linear(least: f64, most: f64, pixels: [f64; 2]) -> Self {
        Self { least, most, is_logarithmic: false, pixels }
    }

    /// As [`linear`](Self::linear), for values above zero.
    pub const fn logarithmic(least: f64, most: f64, pixels: [f64; 2]) -> Self {
        Self { least, most, is_logarithmic: true, pixels }
    }

    /// Linear around all values, from zero if they start near it.
    pub fn around(values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (least, most) = range(values).unwrap_or((0.0, 1.0));
        let least = if least < 0.2 * most { 0.0 } else { least };
        Self::linear(least, if most > least { most } else { least + 1.0 }, pixels)
    }

    /// From zero with space above all values, or logarithmic if they span orders of magnitude.
    pub fn fitted(values: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let (least, most) = range(values).unwrap_or((0.0, 1.0));
        if least > 0.0 && most > LINEAR_RATIO * least {
            return Self::logarithmic(10f64.powf(least.log10().floor()), most * 1.2, pixels);
        }
        Self::linear(least.min(0.0), if most > 0.0 { most * 1.04 } else { 1.0 }, pixels)
    }

    /// Positions of `least` and `most`.
    pub const fn pixels(&self) -> [f64; 2] {
        self.pixels
    }

    pub const fn most(&self) -> f64 {
        self.most
    }

    /// Values below the range are at its edge.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.max(self.least);
        let share = match self.is_logarithmic {
            true => (value / self.least).ln() / (self.most / self.least).ln(),
            false => (value - self.least) / (self.most - self.least),
        };
        let [from, to] = self.pixels;
        from + if share.is_finite() { share } else { 0.0 } * (to - from)
    }

    /// Round values within the range, about ten at most on a linear axis.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return self.linear_ticks();
        }
        let factors: &[f64] = if self.most / self.least < SHORT_RATIO { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = (-9..=12).flat_map(|exponent| factors.iter().map(move |factor| factor * 10f64.powi(exponent)));
        all.filter(|tick| (self.least..=self.most).contains(tick)).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.most - self.least) / 8.0;
        if rough <= f64::MIN_POSITIVE || !rough.is_finite() {
            return vec![self.least];
        }
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude);
        let step = step.into_iter().find(|&step| step >= rough).unwrap_or(magnitude * 10.0);
        let first = (self.least / step).ceil();
        let ticks = (0..=10).map(|index| round_to((first + f64::from(index)) * step, magnitude / 100.0));
        ticks.take_while(|&tick| tick <= self.most).collect()
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, one| {
        let (least, most) = range.unwrap_or((one, one));
        Some((one.min(least), one.max(most)))
    })
}

/// Removes binary noise from a decimal step.
fn round_to(value: f64, unit: f64) -> f64 {
    let digits = (-unit.log10()).ceil().clamp(0.0, 9.0);
    let factor = 10f64.powf(digits);
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXELS: [f64; 2] = [0.0, 100.0];

    #[test]
    fn ticks_are_round_and_within_the_range() {
        let ticks = |least, most| Scale::linear(least, most, PIXELS).ticks();
        assert_eq!(ticks(0.0, 33.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!(ticks(0.0, 0.8), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]);
        assert_eq!(ticks(0.0, 0.0), [0.0]);
        assert_eq!(ticks(-2.0, 9.0), [-2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale::logarithmic(1.5, 12.0, PIXELS).ticks(), [2.0, 5.0, 10.0]);
    }

    #[test]
    fn values_of_several_orders_are_drawn_by_their_logarithm() {
        let scale = Scale::fitted([3.0, 3000.0].into_iter(), PIXELS);
        assert_eq!(scale.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.at(60.0) - 50.0).abs() < 1.0, "{}", scale.at(60.0));
        // Zero has no logarithm.
        assert_eq!(Scale::fitted([0.0, 3000.0].into_iter(), PIXELS).at(0.0), 0.0);
    }

    #[test]
    fn an_empty_range_has_a_position_for_every_value() {
        for scale in [Scale::linear(0.0, 0.0, PIXELS), Scale::logarithmic(1.0, 1.0, PIXELS)] {
            assert_eq!([0.0, 1.0].map(|value| scale.at(value)), [0.0, 0.0]);
        }
    }
}
