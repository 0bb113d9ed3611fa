//! Values of signals.

use candor_e2e::Place;

use crate::field;

/// The values that a signal of a database had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// `Message.Signal`.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Two's complement.
    pub is_signed: bool,
    /// The smallest and the largest raw value.
    pub raw: (i128, i128),
    /// The physical values of these as decimal numbers, the smaller one first.
    pub physical: (String, String),
}

impl Range {
    /// The raw values of a signal in these payloads. `None` if it is not in all of them, had less than two values, or had both
    /// the first and the last one of its bits.
    #[must_use]
    pub fn raw<'a>(place: Place, is_signed: bool, payloads: impl Iterator<Item = &'a [u8]>) -> Option<(i128, i128)> {
        let mut seen: Option<(i128, i128)> = None;
        for payload in payloads {
            let raw = value(place, is_signed, payload)?;
            seen = Some(seen.map_or((raw, raw), |(min, max)| (min.min(raw), max.max(raw))));
        }
        let all = i128::from(field::largest(place));
        seen.filter(|(min, max)| min != max && max - min < all)
    }

    /// True if the signal is in this range. A payload that ends earlier is not.
    #[must_use]
    pub fn holds(&self, payload: &[u8]) -> bool {
        let (min, max) = self.raw;
        value(self.place, self.is_signed, payload).is_some_and(|raw| (min..=max).contains(&raw))
    }
}

fn value(place: Place, is_signed: bool, payload: &[u8]) -> Option<i128> {
    let (_, end) = field::bytes(place);
    if end > payload.len() {
        return None;
    }
    let raw = i128::from(field::value(place, payload));
    let is_negative = is_signed && raw >> (place.bits.max(1) - 1) & 1 == 1;
    Some(if is_negative { raw - (1 << place.bits) } else { raw })
}

#[cfg(test)]
mod tests {
    use candor_e2e::ByteOrder;

    use super::*;

    #[test]
    fn signed_values_have_their_sign() {
        let place = Place { start: 7, bits: 12, order: ByteOrder::Big };
        let payloads: [&[u8]; 3] = [&[0xFF, 0xF0], &[0x00, 0x5F], &[0x80, 0x10]];
        assert_eq!(Range::raw(place, true, payloads.into_iter()), Some((-2047, 5)));
        assert_eq!(Range::raw(place, false, payloads.into_iter()), Some((5, 4095)));
        assert_eq!(Range::raw(place, false, [&[1][..]].into_iter()), None);
        let range =
            Range { name: "M.S".into(), place, is_signed: true, raw: (-2, 5), physical: ("-2".into(), "5".into()) };
        assert!(range.holds(&[0xFF, 0xE0]) && !range.holds(&[0xFF, 0xD0]) && !range.holds(&[0xFF]));
    }
}
