//! Filters in can-utils notation: `123:7FF`, `123~7FF`, `123`, `12345678`; and ranges, which can-utils has not.

mod range;

pub use range::IdRange;

use std::fmt;
use std::ops::Range;

use super::{CAN_INV_FILTER, Filter};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, RawId};

/// Text that is no filter, with the offending part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct FilterTextError {
    /// Kind of error.
    pub kind: FilterTextErrorKind,
    /// Byte range in the text.
    pub range: Range<usize>,
}

/// Errors in the text of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterTextErrorKind {
    /// Nothing there.
    #[error("The filter is empty")]
    Empty,
    /// `*`, `any`, `all`.
    #[error("Not a filter: there is no keyword for every frame")]
    Everything,
    /// `100-1FF`.
    #[error("A range is written with two dots")]
    Dash {
        /// The range that was meant.
        meant: IdRange,
    },
    /// `100..`.
    #[error("The range has no {}", if *is_first { "first identifier" } else { "last identifier" })]
    MissingEnd {
        /// True if it is the first one.
        is_first: bool,
    },
    /// `100..00000200`.
    #[error("Both ends of a range must have 3 digits (11 bits) or 8 digits (29 bits)")]
    MixedRange {
        /// The lower end, without flags.
        first: u32,
        /// The upper one.
        last: u32,
    },
    /// `1FF..100`.
    #[error("The end of the range is below its start")]
    BackwardRange {
        /// The range that was meant.
        meant: IdRange,
    },
    /// `C0000100..C00001FF`.
    #[error("The identifiers of a range must not contain flags")]
    FlagsInRange {
        /// The identifier without them.
        id: u32,
    },
    /// `:7FF`.
    #[error("The filter has no identifier")]
    MissingId,
    /// `123:`.
    #[error("The filter has no mask")]
    MissingMask,
    /// A character that is no hexadecimal digit.
    #[error("{found:?} is not a hexadecimal digit")]
    NotHex {
        /// The character.
        found: char,
    },
    /// `800`: an 11-bit identifier (by its digits, or by its missing EFF flag) that needs more than 11 bits.
    #[error("Identifier {id:X} does not fit into 11 bits")]
    StandardIdTooBig {
        /// Its value, flags left out.
        id: u32,
    },
    /// 4 to 7 digits, neither 11 nor 29 bits.
    #[error("An identifier must have 3 digits (11 bits) or 8 digits (29 bits), not {digits}")]
    AmbiguousId {
        /// Number of digits.
        digits: usize,
        /// The value.
        id: u32,
    },
    /// More than 8 digits.
    #[error("{digits} hexadecimal digits are too many")]
    TooManyDigits {
        /// Number of digits.
        digits: usize,
    },
    /// `20000123:…`: the bit that inverts a filter, written as part of the identifier.
    #[error("Bit 20000000 in the identifier would invert the filter")]
    InvertBitInId {
        /// The identifier without it.
        id: u32,
    },
    /// `123:1FFFFFFF`, which does not say by 80000000 that only 11-bit frames are meant.
    #[error("Mask {mask:08X} has bits above 7FF, but {id:03X} is an 11-bit identifier")]
    ExtendedMaskOnStandardId {
        /// The identifier.
        id: u32,
        /// The mask.
        mask: u32,
    },
    /// `12345678:7FF`.
    #[error("Mask {mask:03X} compares 11 bits, but {id:08X} is a 29-bit identifier")]
    StandardMaskOnExtendedId {
        /// The identifier.
        id: u32,
        /// The mask.
        mask: u32,
    },
    /// `0:20000000`.
    #[error("Mask {mask:08X} selects error message frames, which have no identifier")]
    ErrorFrameMask {
        /// The mask.
        mask: u32,
    },
}

impl FilterTextErrorKind {
    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> String {
        const DATA_FRAMES: u32 = CAN_EFF_FLAG | CAN_RTR_FLAG;
        match *self {
            Self::Empty | Self::MissingId => {
                "write an identifier, such as 123, or an identifier and a mask, such as 123:7FF; 000:000 matches every frame".into()
            }
            Self::Everything => "omit `match` to match every frame".into(),
            Self::Dash { meant } | Self::BackwardRange { meant } => format!("write {meant}"),
            Self::MissingEnd { .. } => "write both ends, such as 100..1FF; the range includes both".into(),
            Self::MixedRange { first, last } if last <= CAN_SFF_MASK => {
                format!("write {first:03X}..{last:03X} for 11-bit identifiers or {first:08X}..{last:08X} for 29-bit ones")
            }
            Self::MixedRange { first, last } => format!("write {first:08X}..{last:08X} for 29-bit identifiers"),
            Self::FlagsInRange { id } => {
                format!("write {id:08X} for a 29-bit identifier; ranges match data frames, use masks for others")
            }
            Self::MissingMask => "write the mask after the separator, or remove the separator".into(),
            Self::NotHex { found: ',' } => "write a list, such as [\"123\", \"456\"]".into(),
            Self::NotHex { found: '.' } => "write a range with two dots, such as 100..1FF".into(),
            Self::NotHex { found: '#' } => {
                "candump uses # for error frames, which have their own key here: errors = \"1FF\"; a mask is written \
                 123:7FF"
                    .into()
            }
            Self::NotHex { .. } => "identifiers and masks are hexadecimal: 0 to 9 and A to F".into(),
            Self::StandardIdTooBig { id } => format!("write {id:08X}, with 8 digits, for a 29-bit identifier"),
            Self::AmbiguousId { id, .. } if id <= CAN_SFF_MASK => {
                format!("write {id:03X} for an 11-bit identifier or {id:08X} for a 29-bit one")
            }
            Self::AmbiguousId { id, .. } => format!("write {id:08X} for a 29-bit identifier"),
            Self::TooManyDigits { .. } => "identifiers and masks have at most 8 digits".into(),
            Self::InvertBitInId { .. } => {
                "to invert a filter write ~ in place of the colon, as in 123~7FF; error message frames, which this bit \
                 marks in other places, have a key of their own: errors = \"1FF\""
                    .into()
            }
            // Only the mask is told, so that the advice holds for inverted filters and remote frames too.
            Self::ExtendedMaskOnStandardId { id, mask } => format!(
                "write the mask {:08X} for the 11-bit identifier, or the identifier {id:08X} and the mask {:08X} for the \
                 29-bit one",
                DATA_FRAMES | (mask & CAN_SFF_MASK),
                DATA_FRAMES | mask
            ),
            Self::StandardMaskOnExtendedId { mask, .. } => {
                format!("write the mask with 8 digits: {:08X} compares these bits and the format", DATA_FRAMES | mask)
            }
            Self::ErrorFrameMask { mask } => match mask & !CAN_ERR_FLAG {
                0 => "to route them, use `errors` in place of `match`; errors = \"1FFFFFFF\" matches all classes".into(),
                rest => format!("write {rest:08X} to exclude them"),
            },
        }
    }
}

impl Filter {
    /// Reads a filter in can-utils notation.
    ///
    /// - `123` (up to 3 digits): exactly this 11-bit identifier, data frames only;
    /// - `12345678` (8 digits): exactly this 29-bit identifier, data frames only;
    /// - `ID:MASK`: frames with `can_id & MASK == ID & MASK`;
    /// - `ID~MASK`: all the others.
    ///
    /// An identifier of 8 digits up to `1FFFFFFF` gets the EFF flag; above that its flag bits are taken as written.
    /// A mask is always taken as written. Both may have the prefix `0x`, which counts as no digit.
    ///
    /// Beside an 11-bit identifier a mask may have bits above `7FF` only if it compares the format (`80000000`): then
    /// the kernel ignores them, otherwise they would be compared in 29-bit frames. Beside a 29-bit identifier a mask
    /// of 1 to 3 digits is refused unless it is 0: it is for 11 bits.
    ///
    /// # Errors
    /// [`FilterTextError`] with the place of the first mistake.
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

/// `ID:MASK` or `ID~MASK` with the raw bits, which candump and cangw read as candor does.
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
    (meant.last <= CAN_EFF_MASK).then_some(FilterTextErrorKind::Dash { meant })
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
            return error(FilterTextErrorKind::NotHex { found }, at..at + found.len_utf8());
        }
        let digits = hex.len();
        match u32::from_str_radix(hex, 16) {
            Ok(value) if digits <= 8 => Ok(Self { value, digits, range }),
            _ => error(FilterTextErrorKind::TooManyDigits { digits }, range),
        }
    }

    fn identifier(&self) -> Result<RawId, FilterTextError> {
        let value = self.value;
        match self.digits {
            0..=3 if value > CAN_SFF_MASK => Err(self.error(FilterTextErrorKind::StandardIdTooBig { id: value })),
            0..=3 => Ok(RawId(value)),
            4..=7 => Err(self.error(FilterTextErrorKind::AmbiguousId { digits: self.digits, id: value })),
            _ if value <= CAN_EFF_MASK => Ok(RawId(value | CAN_EFF_FLAG)),
            _ if value & CAN_INV_FILTER != 0 => {
                Err(self.error(FilterTextErrorKind::InvertBitInId { id: value & !CAN_INV_FILTER }))
            }
            _ if value & CAN_EFF_FLAG == 0 && value & CAN_EFF_MASK > CAN_SFF_MASK => {
                Err(self.error(FilterTextErrorKind::StandardIdTooBig { id: value & CAN_EFF_MASK }))
            }
            _ => Ok(RawId(value)),
        }
    }

    fn check_as_mask_of(&self, id: RawId) -> Result<(), FilterTextError> {
        let mask = self.value;
        if mask & CAN_ERR_FLAG != 0 {
            return Err(self.error(FilterTextErrorKind::ErrorFrameMask { mask }));
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
mod tests;
