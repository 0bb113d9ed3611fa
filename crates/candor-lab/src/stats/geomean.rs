//! One figure for many ratios.

/// The geometric mean of ratios, for the last line of a table of them; `None` without any, or if one is no number above zero.
///
/// It is the only mean for ratios: that of A ÷ B is the inverse of that of B ÷ A, whatever is put on top.
///
/// # Source
/// P. J. Fleming, J. J. Wallace, How Not to Lie with Statistics: The Correct Way to Summarize Benchmark Results, 1986.
#[must_use]
pub fn geomean(ratios: &[f64]) -> Option<f64> {
    if ratios.is_empty() || ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ratios")]
    let count = ratios.len() as f64;
    // A product of many would leave the range of numbers; logarithms do not.
    Some((ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn twice_and_half_are_once() {
        assert!((geomean(&[2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geomean(&[1e300; 5]).unwrap() / 1e300 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_ratio_has_no_mean() {
        for wrong in [&[][..], &[1.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(geomean(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        /// So many times itself it is the product.
        #[test]
        fn its_power_is_the_product(ratios in prop::collection::vec(0.1f64..10.0, 1..20)) {
            let (mean, count) = (geomean(&ratios).unwrap(), i32::try_from(ratios.len()).unwrap());
            prop_assert!((mean.powi(count) / ratios.iter().product::<f64>() - 1.0).abs() < 1e-9);
            let inverse: Vec<_> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
            prop_assert!((mean * geomean(&inverse).unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
