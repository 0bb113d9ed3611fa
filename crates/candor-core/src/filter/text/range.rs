//! Ranges of identifiers: `100..1FF`, `18DA0000..18DAFFFF`.

use std::fmt;
use std::ops::Range;

use super::{FilterTextError, FilterTextErrorKind, Number};
use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, RawId};

/// Inclusive range of identifiers of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdRange {
    /// True for 29-bit identifiers.
    pub is_extended: bool,
    /// First identifier, without flags.
    pub first: u32,
    /// Last identifier, without flags; not below the first.
    pub last: u32,
}

impl IdRange {
    /// Between the first and the last identifier.
    pub const DOTS: &str = "..";

    /// Reads a range of data frames: two identifiers of 3 digits (11 bits) or of 8 digits (29 bits) with two dots
    /// between them. Both belong to the range.
    ///
    /// # Errors
    /// [`FilterTextError`] with the place of the first mistake.
    pub fn parse(text: &str) -> Result<Self, FilterTextError> {
        let whole = 0..text.len();
        let error = |kind, range| Err(FilterTextError { kind, range });
        let Some(dots) = text.find(Self::DOTS) else {
            return error(FilterTextErrorKind::MissingEnd { is_first: false }, whole);
        };
        let (first, _) = end(text, 0..dots, true)?;
        let (last, last_written) = end(text, dots + Self::DOTS.len()..text.len(), false)?;
        if first.is_eff() != last.is_eff() {
            let (first, last) = (first.bits().min(last.bits()), first.bits().max(last.bits()));
            return error(FilterTextErrorKind::MixedRange { first, last }, last_written);
        }
        let range = Self { is_extended: first.is_eff(), first: first.bits(), last: last.bits() };
        if range.first > range.last {
            let meant = Self { first: range.last, last: range.first, ..range };
            return error(FilterTextErrorKind::BackwardRange { meant }, whole);
        }
        Ok(range)
    }

    /// Returns the identifier of a filter that matches exactly one; `None` for other filters.
    #[must_use]
    pub fn of_exact(filter: Filter) -> Option<Self> {
        let normal = filter.normalise();
        let is_extended = normal.id & CAN_EFF_FLAG != 0;
        let id = normal.id & !CAN_EFF_FLAG;
        (normal.list == ReceiveList::Exact).then_some(Self { is_extended, first: id, last: id })
    }
}

fn end(text: &str, place: Range<usize>, is_first: bool) -> Result<(RawId, Range<usize>), FilterTextError> {
    if place.is_empty() {
        return Err(FilterTextError { kind: FilterTextErrorKind::MissingEnd { is_first }, range: 0..text.len() });
    }
    let number = Number::read(text, place.clone(), FilterTextErrorKind::MissingEnd { is_first })?;
    let has_flags = number.digits > 7 && number.value > CAN_EFF_MASK;
    if has_flags {
        return Err(number.error(FilterTextErrorKind::FlagsInRange { id: number.value & CAN_EFF_MASK }));
    }
    Ok((number.identifier()?, place))
}

/// As [`IdRange::parse`] reads it.
impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.is_extended { 8 } else { 3 };
        write!(f, "{:0digits$X}{}{:0digits$X}", self.first, Self::DOTS, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_of_one_format() {
        let range = |text| IdRange::parse(text).map_err(|error| error.kind.help());
        assert_eq!(range("100..1FF"), Ok(IdRange { is_extended: false, first: 0x100, last: 0x1FF }));
        assert_eq!(range("0x7..0x7"), Ok(IdRange { is_extended: false, first: 7, last: 7 }));
        assert_eq!(range("00000000..1fffffff"), Ok(IdRange { is_extended: true, first: 0, last: CAN_EFF_MASK }));
        for (text, kind) in [
            ("100..", FilterTextErrorKind::MissingEnd { is_first: false }),
            ("..100", FilterTextErrorKind::MissingEnd { is_first: true }),
            ("..", FilterTextErrorKind::MissingEnd { is_first: true }),
            ("100...1FF", FilterTextErrorKind::NotHex { found: '.' }),
            ("100..=1FF", FilterTextErrorKind::NotHex { found: '=' }),
            ("100..00000200", FilterTextErrorKind::MixedRange { first: 0x100, last: 0x200 }),
            (
                "200..100",
                FilterTextErrorKind::BackwardRange { meant: IdRange { is_extended: false, first: 0x100, last: 0x200 } },
            ),
            ("100..800", FilterTextErrorKind::StandardIdTooBig { id: 0x800 }),
            ("100..1234", FilterTextErrorKind::AmbiguousId { digits: 4, id: 0x1234 }),
            ("80000100..80000200", FilterTextErrorKind::FlagsInRange { id: 0x100 }),
        ] {
            assert_eq!(IdRange::parse(text).unwrap_err().kind, kind, "{text}");
        }
    }

    #[test]
    fn ranges_are_written_as_they_are_read() {
        for text in ["007..1FF", "00000007..18DAFFFF"] {
            assert_eq!(IdRange::parse(text).unwrap().to_string(), text);
        }
    }
}
