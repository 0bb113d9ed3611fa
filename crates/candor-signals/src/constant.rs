//! Constants that a text gives for a signal: values, limits and distances.

use crate::codec::Codec;
use crate::condition::{Comparison, raw_ranges};
use crate::database::{Message, Signal};
use crate::expression::{ExpressionError, constant, whole};
use crate::ratio::{Ratio, floor};
use crate::scale::{Encoded, Fit, Physical};

/// The bits of the constant that a text gives, rounded to the nearest raw value; and whether they are it exactly.
///
/// # Errors
/// What is wrong, and where; also if the value is beyond the bits of the signal.
pub fn constant_bits(text: &str, message: &Message, signal: &Signal) -> Result<Encoded, ExpressionError> {
    let unusable =
        || whole(text, &format!("Signal {} cannot be used", signal.name), "`candor-lab database FILE` says why");
    let codec = Codec::new(message, signal).ok_or_else(unusable)?;
    let value = constant(text, message, signal)?;
    match codec.encode(Physical::Exact(value)) {
        Ok(encoded) if encoded.fit != Fit::Saturated => Ok(encoded),
        Ok(_) => Err(whole(
            text,
            &format!("{value} is beyond the bits of {}", signal.name),
            &format!("{} has {} bits", signal.name, signal.bits),
        )),
        Err(wrong) => Err(whole(text, &wrong.to_string(), "use a number with fewer digits, or correct the database")),
    }
}

/// The raw values whose physical values are between two limits, which belong to them. `None` if there are none, for floating-point
/// signals, and if the numbers need more than 128 bits.
#[must_use]
pub fn raw_within(signal: &Signal, least: Ratio, most: Ratio) -> Option<(i128, i128)> {
    let ends = signal.raw_range()?;
    if signal.factor.is_zero() {
        return None;
    }
    let one = |comparison, value| raw_ranges(signal, comparison, value, ends)?.first().copied();
    let (from, to) = (one(Comparison::GreaterOrEqual, least)?, one(Comparison::LessOrEqual, most)?);
    Some((from.0.max(to.0), from.1.min(to.1))).filter(|(first, last)| first <= last)
}

/// The largest difference of raw values that is a physical difference of at most this. `None` as in [`raw_within`].
#[must_use]
pub fn raw_distance(signal: &Signal, physical: Ratio) -> Option<u64> {
    signal.raw_range()?;
    let is_falling = signal.factor.compare(Ratio::ZERO).is_lt();
    let step = if is_falling { signal.factor.negative() } else { signal.factor };
    u64::try_from(floor(physical.checked_div(step)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dbc;

    const DBC: &[u8] = b"BO_ 291 M: 8 N
 SG_ Up : 0|8@1+ (0.5,-10) [0|0] \"km/h\" N
 SG_ Down : 8|8@1- (-2,0) [0|0] \"\" N
VAL_ 291 Up 255 \"SNA\" ;
";

    #[test]
    fn constants_limits_and_distances_are_raw() {
        let database = dbc::read(DBC);
        let of = |name: &str| database.signal(name).unwrap();
        let (message, up) = of("M.Up");
        let (_, down) = of("M.Down");
        let encoded = |bits, fit| Ok(Encoded { bits, fit });
        assert_eq!(constant_bits("0 [km/h]", message, up), encoded(20, Fit::Exact));
        assert_eq!(constant_bits("0.2 [km/h]", message, up), encoded(20, Fit::Rounded));
        assert_eq!(constant_bits("SNA", message, up), encoded(255, Fit::Exact));
        assert_eq!(constant_bits("-4", message, down), encoded(2, Fit::Exact));
        for (text, wanted) in
            [("118", "beyond the bits"), ("x", "no constant"), ("Down", "no constant"), ("5 [mph]", "mph")]
        {
            let wrong = constant_bits(text, message, up).unwrap_err().message;
            assert!(wrong.contains(wanted), "{text}: {wrong}");
        }
        // Every raw value, compared one by one.
        for (signal, codec) in [up, down].map(|signal| (signal, Codec::new(message, signal).unwrap())) {
            for (least, most) in
                [("-10", "117.5"), ("0", "0.3"), ("0.1", "0.4"), ("-7", "33"), ("-300", "-250"), ("5", "4")]
            {
                let [least, most]: [Ratio; 2] = [least, most].map(|text| text.parse().unwrap());
                let physical = |bits: u64| match codec.scale().physical(bits) {
                    Physical::Exact(value) => value,
                    Physical::Float(_) => unreachable!(),
                };
                let is_within =
                    |bits: &u64| !physical(*bits).compare(least).is_lt() && !physical(*bits).compare(most).is_gt();
                let mut expected: Vec<_> = (0..256).filter(is_within).map(|bits| codec.scale().raw(bits)).collect();
                expected.sort_unstable();
                let found = raw_within(signal, least, most);
                assert_eq!(
                    found,
                    expected.first().map(|first| (*first, expected[expected.len() - 1])),
                    "{least} {most}"
                );
            }
        }
        assert_eq!(raw_distance(up, "1.7".parse().unwrap()), Some(3));
        assert_eq!(raw_distance(down, "4".parse().unwrap()), Some(2));
        assert_eq!(raw_distance(down, "-4".parse().unwrap()), None);
    }
}
