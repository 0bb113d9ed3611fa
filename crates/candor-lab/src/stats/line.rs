//! Linear regression.

/// A straight line fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
    /// R²: the share of the variance of y that the line explains; 1 if y is constant.
    pub determination: f64,
}

impl Line {
    /// `None` without two different x, or if a value is not finite.
    ///
    /// # Source
    /// The "linear fit of the measured data" of figure 4.1 in
    /// Performance evaluation of Linux CAN-related system calls (Sojka, Píša, 2014), with the programs in
    /// [can-benchmark](https://rtime.felk.cvut.cz/gitweb/can-benchmark.git).
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        // Distances from the middle first: sums of the squares themselves lose digits where x is large.
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>();
        let (of_x, of_y, of_both) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
        if of_x <= 0.0 || ![of_x, of_y, of_both].iter().all(|sum| sum.is_finite()) {
            return None;
        }
        let slope = of_both / of_x;
        let determination = if of_y > 0.0 { of_both * of_both / (of_x * of_y) } else { 1.0 };
        Some(Self { slope, intercept: mean_y - slope * mean_x, determination })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `Norris`, NIST's reference data set for linear regression, with its certified values.
    #[test]
    fn values_of_nist_are_reproduced() {
        let number = |text: &str| text.parse::<f64>().unwrap();
        let rows = include_str!("norris.txt").lines().skip(1).map(|row| row.split_once(' ').unwrap());
        let points: Vec<_> = rows.map(|(x, y)| (number(x), number(y))).collect();
        let line = Line::through(&points).unwrap();
        assert!((line.slope - 1.002_116_818_020_45).abs() < 1e-12, "{line:?}");
        assert!((line.intercept + 0.262_323_073_774_029).abs() < 1e-11, "{line:?}");
        assert!((line.determination - 0.999_993_745_883_712).abs() < 1e-12, "{line:?}");
        let at_1000 = line.slope.mul_add(1000.0, line.intercept);
        assert!((at_1000 - 1_001.854_494_946_7).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn line_needs_two_different_x() {
        for few in [&[][..], &[(1.0, 2.0)], &[(1.0, 2.0), (1.0, 3.0)], &[(1.0, 2.0), (f64::NAN, 3.0)]] {
            assert_eq!(Line::through(few), None, "{few:?}");
        }
        let level = Line::through(&[(1.0, 7.0), (2.0, 7.0)]).unwrap();
        assert_eq!((level.slope, level.intercept, level.determination), (0.0, 7.0, 1.0));
    }

    proptest! {
        /// Residuals, and residuals weighted with x, sum to zero: the equations of least squares.
        #[test]
        fn residuals_have_no_slope(points in prop::collection::vec((0.0f64..100.0, -50.0f64..50.0), 2..40)) {
            let Some(line) = Line::through(&points) else { return Ok(()) };
            prop_assume!(line.slope.abs() < 1e6);
            let left: Vec<_> = points.iter().map(|(x, y)| (x, y - line.slope.mul_add(*x, line.intercept))).collect();
            prop_assert!(left.iter().map(|(_, y)| y).sum::<f64>().abs() < 1e-6);
            prop_assert!(left.iter().map(|(x, y)| *x * y).sum::<f64>().abs() < 1e-3);
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&line.determination));
        }
    }
}
