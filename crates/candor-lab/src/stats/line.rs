//! The straight line through points.

/// The line that has the least squares of vertical distances to points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// By how much y grows with x.
    pub slope: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// Which share of the differences of y the line explains (R²), 1 for points that lie on it. Points without any
    /// differences of y lie on it.
    pub determination: f64,
}

impl Line {
    /// The line through points (x, y); `None` without two different x, or where one is not finite.
    ///
    /// # Source
    /// The "linear fit of the measured data" of figure 4.1 in Performance evaluation of Linux CAN-related system calls (Sojka,
    /// Píša, 2014).
    #[must_use]
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 points")]
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

    /// y on the line.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.slope.mul_add(x, self.intercept)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `Norris`, a reference data set of NIST for linear regression, with its certified values.
    #[test]
    fn the_values_of_nist_come_out() {
        const NORRIS: [(f64, f64); 36] = [
            (0.2, 0.1),
            (337.4, 338.8),
            (118.2, 118.1),
            (884.6, 888.0),
            (10.1, 9.2),
            (226.5, 228.1),
            (666.3, 668.5),
            (996.3, 998.5),
            (448.6, 449.1),
            (777.0, 778.9),
            (558.2, 559.2),
            (0.4, 0.3),
            (0.6, 0.1),
            (775.5, 778.1),
            (666.9, 668.8),
            (338.0, 339.3),
            (447.5, 448.9),
            (11.6, 10.8),
            (556.0, 557.7),
            (228.1, 228.3),
            (995.8, 998.0),
            (887.6, 888.8),
            (120.2, 119.6),
            (0.3, 0.3),
            (0.3, 0.6),
            (556.8, 557.6),
            (339.1, 339.3),
            (887.2, 888.0),
            (999.0, 998.5),
            (779.0, 778.9),
            (11.1, 10.2),
            (118.3, 117.6),
            (229.2, 228.9),
            (669.1, 668.4),
            (448.9, 449.2),
            (0.5, 0.2),
        ];
        let line = Line::through(&NORRIS).unwrap();
        assert!((line.slope - 1.002_116_818_020_45).abs() < 1e-12, "{line:?}");
        assert!((line.intercept + 0.262_323_073_774_029).abs() < 1e-11, "{line:?}");
        assert!((line.determination - 0.999_993_745_883_712).abs() < 1e-12, "{line:?}");
        assert!((line.at(1000.0) - 1_001.854_494_946_7).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn one_x_makes_no_line() {
        for few in [&[][..], &[(1.0, 2.0)], &[(1.0, 2.0), (1.0, 3.0)], &[(1.0, 2.0), (f64::NAN, 3.0)]] {
            assert_eq!(Line::through(few), None, "{few:?}");
        }
        let level = Line::through(&[(1.0, 7.0), (2.0, 7.0)]).unwrap();
        assert_eq!((level.slope, level.intercept, level.determination), (0.0, 7.0, 1.0));
    }

    proptest! {
        /// Distances above and below the line, and those weighted with x, take each other away: the two equations of least squares.
        #[test]
        fn what_is_left_over_has_no_slope(points in prop::collection::vec((0.0f64..100.0, -50.0f64..50.0), 2..40)) {
            let Some(line) = Line::through(&points) else { return Ok(()) };
            prop_assume!(line.slope.abs() < 1e6);
            let left: Vec<_> = points.iter().map(|(x, y)| (x, y - line.at(*x))).collect();
            prop_assert!(left.iter().map(|(_, y)| y).sum::<f64>().abs() < 1e-6);
            prop_assert!(left.iter().map(|(x, y)| *x * y).sum::<f64>().abs() < 1e-3);
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&line.determination));
        }
    }
}
