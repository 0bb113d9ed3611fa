//! Filters in can-utils notation: `123:7FF`, `123~7FF`, `123`, `12345678`; and ranges: `100..1FF`.

use std::fmt;
use std::ops::Range;

use super::{CAN_INV_FILTER, Filter, ReceiveList};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, RawId};

/// An error in the text of a filter, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct FilterTextError {
    /// The kind of mistake.
    pub kind: FilterTextErrorKind,
    /// Byte range in the text.
    pub range: Range<usize>,
}

/// Errors in the text of a filter or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterTextErrorKind {
    /// The text is empty.
    #[error("The filter is empty")]
    Empty,
    /// `*`, `any`, `all`.
    #[error("Not a filter: there is no keyword for every frame")]
    Everything,
    /// `100-1FF`, with the probable range.
    #[error("A range is written with two dots")]
    Dash(IdRange),
    /// `..100`.
    #[error("The range has no first identifier")]
    MissingFirst,
    /// `100..`.
    #[error("The range has no last identifier")]
    MissingLast,
    /// `100..00000200`, with the lower and the upper end without flags.
    #[error("Both ends of a range must have up to 3 digits (11 bits), or both 8 digits (29 bits)")]
    MixedRange(u32, u32),
    /// `1FF..100`, with the probable range.
    #[error("The end of the range is below its start")]
    BackwardRange(IdRange),
    /// `C0000100..C00001FF`, with the identifier without flags.
    #[error("The identifiers of a range must not contain flags")]
    FlagsInRange(u32),
    /// `:7FF`.
    #[error("The filter has no identifier")]
    MissingId,
    /// `123:`.
    #[error("The filter has no mask")]
    MissingMask,
    /// A character that is not a hexadecimal digit.
    #[error("{0:?} is not a hexadecimal digit")]
    NotHex(char),
    /// `800`: an 11-bit identifier (by its digits, or by its missing EFF flag) that needs more than 11 bits.
    #[error("Identifier {0:X} does not fit into 11 bits")]
    StandardIdTooBig(u32),
    /// 4 to 7 digits, neither 11 nor 29 bits.
    #[error("An identifier must have 1 to 3 digits (11 bits) or 8 digits (29 bits), not {digits}")]
    AmbiguousId {
        /// Hexadecimal digits written, neither 3 nor 8.
        digits: usize,
        /// Value of the digits.
        id: u32,
    },
    /// More than 8 digits, with their number.
    #[error("{0} hexadecimal digits are too many")]
    TooManyDigits(usize),
    /// `20000123:…`: the bit that inverts a filter, written as part of the identifier.
    #[error("Bit 20000000 in the identifier would invert the filter")]
    InvertBitInId,
    /// `123:1FFFFFFF`: bits above 7FF, without the bit 80000000 that excludes 29-bit frames.
    #[error("Mask {mask:08X} has bits above 7FF, but {id:03X} is an 11-bit identifier")]
    ExtendedMaskOnStandardId {
        /// The identifier as written, without flags.
        id: u32,
        /// The mask as written, without flags.
        mask: u32,
    },
    /// `12345678:7FF`.
    #[error("Mask {mask:03X} compares 11 bits, but {id:08X} is a 29-bit identifier")]
    StandardMaskOnExtendedId {
        /// The identifier as written, without flags.
        id: u32,
        /// The mask as written, without flags.
        mask: u32,
    },
    /// `0:20000000`, with the mask.
    #[error("Mask {0:08X} selects error message frames, which have no identifier")]
    ErrorFrameMask(u32),
}

impl FilterTextErrorKind {
    /// Returns an instruction for correcting the text, in lower case.
    #[must_use]
    pub fn help(&self) -> String {
        const DATA_FRAMES: u32 = CAN_EFF_FLAG | CAN_RTR_FLAG;
        match *self {
            Self::Empty | Self::MissingId => {
                "write an identifier, such as 123, or an identifier and a mask, such as 123:7FF; 000:000 matches every frame".into()
            }
            Self::Everything => "omit `match` to match every frame".into(),
            Self::Dash(meant) | Self::BackwardRange(meant) => format!("write {meant}"),
            Self::MissingFirst | Self::MissingLast => "write both ends, such as 100..1FF; the range includes both".into(),
            Self::MixedRange(first, last) if last <= CAN_SFF_MASK => {
                format!("write {first:03X}..{last:03X} for 11-bit identifiers or {first:08X}..{last:08X} for 29-bit ones")
            }
            Self::MixedRange(first, last) => format!("write {first:08X}..{last:08X} for 29-bit identifiers"),
            Self::FlagsInRange(id) => {
                format!("write {id:08X} for a 29-bit identifier; ranges match data frames, use masks for others")
            }
            Self::MissingMask => "write the mask after the separator, or remove the separator".into(),
            Self::NotHex(',') => "write a list, such as [\"123\", \"456\"]".into(),
            Self::NotHex('.') => "write a range with two dots, such as 100..1FF".into(),
            Self::NotHex('#') => {
                "candump uses # for error frames, which have their own key here: errors = \"1FF\"; a mask is written \
                 123:7FF"
                    .into()
            }
            Self::NotHex(_) => "identifiers and masks are hexadecimal: 0 to 9 and A to F".into(),
            Self::StandardIdTooBig(id) => format!("write {id:08X}, with 8 digits, for a 29-bit identifier"),
            Self::AmbiguousId { id, .. } if id <= CAN_SFF_MASK => {
                format!("write {id:03X} for an 11-bit identifier or {id:08X} for a 29-bit one")
            }
            Self::AmbiguousId { id, .. } => format!("write {id:08X} for a 29-bit identifier"),
            Self::TooManyDigits(_) => "identifiers and masks have at most 8 digits".into(),
            Self::InvertBitInId => {
                "to invert a filter write ~ in place of the colon, as in 123~7FF; error message frames, which this bit \
                 marks in other places, have a key of their own: errors = \"1FF\""
                    .into()
            }
            // The advice is about the mask only, so it holds for inverted filters and remote frames too.
            Self::ExtendedMaskOnStandardId { id, mask } => format!(
                "write the mask {:08X} for the 11-bit identifier, or the identifier {id:08X} and the mask {:08X} for the \
                 29-bit one",
                DATA_FRAMES | (mask & CAN_SFF_MASK),
                DATA_FRAMES | mask
            ),
            Self::StandardMaskOnExtendedId { mask, .. } => {
                format!("write the mask with 8 digits: {:08X} compares these bits and the format", DATA_FRAMES | mask)
            }
            Self::ErrorFrameMask(mask) => match mask & !CAN_ERR_FLAG {
                0 => "to route them, use `errors` in place of `match`; errors = \"1FFFFFFF\" matches all classes".into(),
                rest => format!("write {rest:08X} to exclude them"),
            },
        }
    }
}

impl Filter {
    /// Parses a filter in can-utils notation.
    ///
    /// - `123` (up to 3 digits): exactly this 11-bit identifier, data frames only;
    /// - `12345678` (8 digits): exactly this 29-bit identifier, data frames only;
    /// - `ID:MASK`: frames with `can_id & MASK == ID & MASK`;
    /// - `ID~MASK`: all other frames.
    ///
    /// An identifier of 8 digits up to `1FFFFFFF` gets the EFF flag; above that, its flag bits are used as written.
    /// A mask is always used as written. Both may have the prefix `0x`, which is not counted as digits.
    ///
    /// With an 11-bit identifier, a mask may have bits above `7FF` only if it compares the format (`80000000`): then
    /// the kernel ignores them, otherwise it would compare them in 29-bit frames. With a 29-bit identifier, a mask
    /// of 1 to 3 digits is an error unless it is 0, because it is for 11 bits.
    ///
    /// # Errors
    /// [`FilterTextError`] with the place of the first error.
    ///
    /// ```
    /// use candor_core::filter::Filter;
    ///
    /// assert_eq!(Filter::parse("123").unwrap(), Filter { id: 0x123, mask: 0xC000_07FF });
    /// assert_eq!(Filter::parse("18FEF100:1FFFFF00").unwrap().to_string(), "98FEF100:1FFFFF00");
    /// let error = Filter::parse("800").unwrap_err();
    /// assert_eq!(error.to_string(), "Identifier 800 does not fit into 11 bits");
    /// assert_eq!(error.kind.help(), "write 00000800, with 8 digits, for a 29-bit identifier");
    /// ```
    pub fn parse(text: &str) -> Result<Self, FilterTextError> {
        if text.is_empty() {
            return Err(FilterTextError { kind: FilterTextErrorKind::Empty, range: 0..0 });
        }
        if let Some(kind) = other_notation(text) {
            return Err(FilterTextError { kind, range: 0..text.len() });
        }
        let separator = text.find([':', '~']);
        let id = Number::read(text, 0..separator.unwrap_or(text.len()), FilterTextErrorKind::MissingId)?;
        let raw = id.identifier()?;
        let Some(separator) = separator else {
            return Ok(Self::exact(raw));
        };
        let mask = Number::read(text, separator + 1..text.len(), FilterTextErrorKind::MissingMask)?;
        mask.check_as_mask_of(raw)?;
        let inverted = if text.as_bytes()[separator] == b'~' { CAN_INV_FILTER } else { 0 };
        Ok(Self { id: raw.0 | inverted, mask: mask.value })
    }
}

/// Prints `ID:MASK` or `ID~MASK` with the raw bits, for candump and cangw.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id & !CAN_INV_FILTER;
        let separator = if self.id & CAN_INV_FILTER == 0 { ':' } else { '~' };
        if id > CAN_SFF_MASK {
            write!(f, "{id:08X}{separator}{:08X}", self.mask)
        } else if self.mask > CAN_SFF_MASK {
            write!(f, "{id:03X}{separator}{:08X}", self.mask)
        } else {
            write!(f, "{id:03X}{separator}{:03X}", self.mask)
        }
    }
}

/// Inclusive range of identifiers of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdRange {
    /// Set for 29-bit identifiers.
    pub is_extended: bool,
    /// First identifier, without flags.
    pub first: u32,
    /// Last identifier, without flags; not below the first.
    pub last: u32,
}

impl IdRange {
    /// Separator of the first and the last identifier.
    pub const DOTS: &str = "..";

    /// Parses a range of data frames: two identifiers of 3 digits (11 bits) or of 8 digits (29 bits) with two dots
    /// between them. The range includes both.
    ///
    /// # Errors
    /// [`FilterTextError`] with the place of the first error.
    pub fn parse(text: &str) -> Result<Self, FilterTextError> {
        let whole = 0..text.len();
        let error = |kind, range| Err(FilterTextError { kind, range });
        let Some(dots) = text.find(Self::DOTS) else {
            return error(FilterTextErrorKind::MissingLast, whole);
        };
        let (first, _) = end(text, 0..dots, FilterTextErrorKind::MissingFirst)?;
        let (last, last_written) = end(text, dots + Self::DOTS.len()..text.len(), FilterTextErrorKind::MissingLast)?;
        if first.is_eff() != last.is_eff() {
            let (first, last) = (first.bits().min(last.bits()), first.bits().max(last.bits()));
            return error(FilterTextErrorKind::MixedRange(first, last), last_written);
        }
        let range = Self { is_extended: first.is_eff(), first: first.bits(), last: last.bits() };
        if range.first > range.last {
            let meant = Self { first: range.last, last: range.first, ..range };
            return error(FilterTextErrorKind::BackwardRange(meant), whole);
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

fn end(
    text: &str,
    place: Range<usize>,
    missing: FilterTextErrorKind,
) -> Result<(RawId, Range<usize>), FilterTextError> {
    if place.is_empty() {
        return Err(FilterTextError { kind: missing, range: 0..text.len() });
    }
    let number = Number::read(text, place.clone(), missing)?;
    let has_flags = number.digits > 7 && number.value > CAN_EFF_MASK;
    if has_flags {
        return Err(number.error(FilterTextErrorKind::FlagsInRange(number.value & CAN_EFF_MASK)));
    }
    Ok((number.identifier()?, place))
}

/// Prints the notation of [`IdRange::parse`].
impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.is_extended { 8 } else { 3 };
        write!(f, "{:0digits$X}{}{:0digits$X}", self.first, Self::DOTS, self.last)
    }
}

/// Recognises notations of other tools.
fn other_notation(text: &str) -> Option<FilterTextErrorKind> {
    if ["*", "all", "any"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(FilterTextErrorKind::Everything);
    }
    let (first, last) = text.split_once('-')?;
    let end = |written: &str| Number::read(written, 0..written.len(), FilterTextErrorKind::MissingId).ok();
    let (first, last) = (end(first)?, end(last)?);
    let is_extended = [&first, &last].iter().any(|end| end.digits > 3 || end.value > CAN_SFF_MASK);
    let meant = IdRange { is_extended, first: first.value.min(last.value), last: first.value.max(last.value) };
    (meant.last <= CAN_EFF_MASK).then_some(FilterTextErrorKind::Dash(meant))
}

/// A hexadecimal number as it stands in the text.
struct Number {
    value: u32,
    digits: usize,
    range: Range<usize>,
}

impl Number {
    fn read(text: &str, range: Range<usize>, missing: FilterTextErrorKind) -> Result<Self, FilterTextError> {
        let written = &text[range.clone()];
        let (start, hex) = match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
            Some(rest) => (range.start + 2, rest),
            None => (range.start, written),
        };
        let error = |kind, range| Err(FilterTextError { kind, range });
        if hex.is_empty() {
            return error(missing, range);
        }
        if let Some((at, found)) = hex.char_indices().find(|(_, c)| !c.is_ascii_hexdigit()) {
            let at = start + at;
            return error(FilterTextErrorKind::NotHex(found), at..at + found.len_utf8());
        }
        let digits = hex.len();
        match u32::from_str_radix(hex, 16) {
            Ok(value) if digits <= 8 => Ok(Self { value, digits, range }),
            _ => error(FilterTextErrorKind::TooManyDigits(digits), range),
        }
    }

    fn identifier(&self) -> Result<RawId, FilterTextError> {
        let value = self.value;
        match self.digits {
            0..=3 if value > CAN_SFF_MASK => Err(self.error(FilterTextErrorKind::StandardIdTooBig(value))),
            0..=3 => Ok(RawId(value)),
            4..=7 => Err(self.error(FilterTextErrorKind::AmbiguousId { digits: self.digits, id: value })),
            _ if value <= CAN_EFF_MASK => Ok(RawId(value | CAN_EFF_FLAG)),
            _ if value & CAN_INV_FILTER != 0 => Err(self.error(FilterTextErrorKind::InvertBitInId)),
            _ if value & CAN_EFF_FLAG == 0 && value & CAN_EFF_MASK > CAN_SFF_MASK => {
                Err(self.error(FilterTextErrorKind::StandardIdTooBig(value & CAN_EFF_MASK)))
            }
            _ => Ok(RawId(value)),
        }
    }

    fn check_as_mask_of(&self, id: RawId) -> Result<(), FilterTextError> {
        let mask = self.value;
        if mask & CAN_ERR_FLAG != 0 {
            return Err(self.error(FilterTextErrorKind::ErrorFrameMask(mask)));
        }
        if id.is_eff() && self.digits <= 3 && mask != 0 {
            return Err(self.error(FilterTextErrorKind::StandardMaskOnExtendedId { id: id.bits(), mask }));
        }
        if !id.is_eff() && mask & CAN_EFF_FLAG == 0 && mask & CAN_EFF_MASK > CAN_SFF_MASK {
            return Err(self.error(FilterTextErrorKind::ExtendedMaskOnStandardId { id: id.bits(), mask }));
        }
        Ok(())
    }

    fn error(&self, kind: FilterTextErrorKind) -> FilterTextError {
        FilterTextError { kind, range: self.range.clone() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cases;

    fn failed(FilterTextError { kind, range }: FilterTextError) -> String {
        format!("{range:?} {kind}; {}", kind.help())
    }

    #[test]
    fn filters_are_parsed_and_printed() {
        cases::check(include_str!("cases.txt"), |text| match Filter::parse(text) {
            Ok(filter) => format!("{:08X}:{:08X} {filter}", filter.id, filter.mask),
            Err(error) => failed(error),
        });
    }

    #[test]
    fn ranges_are_parsed_and_printed() {
        cases::check(include_str!("ranges.txt"), |text| match IdRange::parse(text) {
            Ok(range) => format!("{} bits {range}", if range.is_extended { 29 } else { 11 }),
            Err(error) => failed(error),
        });
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,20}") {
            let _ = Filter::parse(&text).map_err(|error| text[error.range.clone()].len() + failed(error).len());
        }

        #[test]
        fn printed_filters_are_parsed_back(text in "(0x)?[0-9A-Fa-f]{1,8}([:~][0-9A-Fa-f]{1,8})?") {
            if let Ok(filter) = Filter::parse(&text) {
                prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
            }
        }

        #[test]
        fn suggested_filters_are_valid(text in "[0-9A-F]{1,8}[:~][0-9A-F]{1,8}") {
            if let Err(error) = Filter::parse(&text) {
                for word in error.kind.help().split(' ').filter(|word| word.len() > 8 && word.contains(':')) {
                    prop_assert!(Filter::parse(word).is_ok(), "{} from {}", word, text);
                }
            }
        }
    }
}
