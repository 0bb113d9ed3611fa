//! Frames in can-utils notation: `123#1122`, `12345678#R8_9`, `123##1AABB`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_FDF, CANFD_MAX_DLEN,
    Frame, FrameFormat, RawId,
};

/// An error in the text of a frame, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct FrameTextError {
    /// The kind of mistake.
    pub kind: FrameTextErrorKind,
    /// Byte range in the text.
    pub range: Range<usize>,
}

/// Errors in the text of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameTextErrorKind {
    /// `1231122`.
    #[error("A frame needs a # between identifier and data, such as 123#1122")]
    MissingDelimiter,
    /// `45123#…`: CAN XL.
    #[error("CAN XL frames are not supported")]
    CanXl,
    /// Neither 3 nor 8 digits, with their number.
    #[error("An identifier must have 3 digits (11 bits) or 8 digits (29 bits), not {0}")]
    IdDigits(usize),
    /// `800#`.
    #[error("Identifier {0:X} does not fit into 11 bits; write {0:08X} for a 29-bit identifier")]
    StandardIdTooBig(u32),
    /// `40000000#`.
    #[error("Identifier {0:08X} does not fit into 29 bits")]
    ExtendedIdTooBig(u32),
    /// `20000004#R`.
    #[error("An error frame cannot be a remote frame")]
    RemoteErrorFrame,
    /// `123#R9`.
    #[error("The length of a remote frame must be 0 to 8; for a raw DLC write R8_9 to R8_F")]
    RemoteLength,
    /// `123#1122334455667788_8`.
    #[error("A raw DLC must be 9 to F")]
    RawDlc,
    /// `123#11_9`, with the number of data bytes.
    #[error("A raw DLC requires 8 data bytes, not {0}")]
    RawDlcWithoutEightBytes(usize),
    /// `123##`.
    #[error("A CAN FD frame needs one hexadecimal digit for its flags after ##")]
    MissingFlags,
    /// `123#1`.
    #[error("A data byte needs two hexadecimal digits")]
    HalfByte,
    /// A character that is not a hexadecimal digit.
    #[error("{0:?} is not a hexadecimal digit")]
    NotHex(char),
    /// `123#112233445566778899`, with the maximum number of bytes.
    #[error("A frame of this format has at most {0} data bytes")]
    TooLong(usize),
    /// `123#R8_9x`.
    #[error("Unexpected text after the frame")]
    TrailingText,
}

/// Parses the notation of `cansend`. Text that `cansend` would ignore is an error.
///
/// A dot is allowed before each byte. The FDF bit of the flags digit is ignored: `##1` and `##5` are the same frame.
///
/// ```
/// use candor_core::frame::Frame;
///
/// let frame: Frame = "12345678##1.AA.BB".parse().unwrap();
/// assert_eq!(frame.payload(), [0xAA, 0xBB]);
/// assert_eq!(frame.to_string(), "12345678##5AABB");
/// assert_eq!("123#1".parse::<Frame>().unwrap_err().to_string(), "A data byte needs two hexadecimal digits");
/// ```
impl FromStr for Frame {
    type Err = FrameTextError;

    fn from_str(text: &str) -> Result<Self, FrameTextError> {
        let Some(delimiter) = text.find('#') else {
            return Err(error(FrameTextErrorKind::MissingDelimiter, 0..text.len()));
        };
        let id = identifier(text, delimiter)?;
        let mut rest = Cursor { text, at: delimiter + 1 };
        if rest.take('#') {
            return rest.fd(id);
        }
        if rest.take('R') || rest.take('r') {
            if id.is_err() {
                return Err(error(FrameTextErrorKind::RemoteErrorFrame, delimiter + 1..rest.at));
            }
            return rest.remote(id);
        }
        rest.classic(id)
    }
}

/// Prints the notation of `candump -L`, including the FDF bit of CAN FD flags. It omits bytes beyond the length,
/// identifier bits beyond 11 or 29, and the upper four flag bits.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.id.is_err() {
            write!(f, "{:08X}#", self.id.0 & (CAN_EFF_MASK | CAN_ERR_FLAG))?;
        } else if self.id.is_eff() {
            write!(f, "{:08X}#", self.id.bits())?;
        } else {
            write!(f, "{:03X}#", self.id.bits())?;
        }
        let payload = self.payload();
        match self.format {
            FrameFormat::Fd => write!(f, "#{:X}", self.flags & 0xF)?,
            FrameFormat::Classic if self.id.is_rtr() && !self.id.is_err() => {
                f.write_str("R")?;
                if !payload.is_empty() {
                    write!(f, "{:X}", payload.len())?;
                }
                return self.write_raw_dlc(f);
            }
            FrameFormat::Classic => {}
        }
        for byte in payload {
            write!(f, "{byte:02X}")?;
        }
        self.write_raw_dlc(f)
    }
}

impl Frame {
    fn write_raw_dlc(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.raw_dlc() {
            dlc @ 9..=15 if self.format == FrameFormat::Classic => write!(f, "_{dlc:X}"),
            _ => Ok(()),
        }
    }
}

fn identifier(text: &str, digits: usize) -> Result<RawId, FrameTextError> {
    let range = 0..digits;
    let written = &text[range.clone()];
    if let Some((at, found)) = written.char_indices().find(|(_, c)| !c.is_ascii_hexdigit()) {
        return Err(error(FrameTextErrorKind::NotHex(found), at..at + found.len_utf8()));
    }
    let kind = match (digits, u32::from_str_radix(written, 16)) {
        (3, Ok(id)) if id <= CAN_SFF_MASK => return Ok(RawId(id)),
        (3, Ok(id)) => FrameTextErrorKind::StandardIdTooBig(id),
        (8, Ok(id)) if id <= CAN_EFF_MASK => return Ok(RawId(id | CAN_EFF_FLAG)),
        (8, Ok(id)) if id & !CAN_EFF_MASK == CAN_ERR_FLAG => return Ok(RawId(id)),
        (8, Ok(id)) => FrameTextErrorKind::ExtendedIdTooBig(id),
        (5, _) => FrameTextErrorKind::CanXl,
        _ => FrameTextErrorKind::IdDigits(digits),
    };
    Err(error(kind, range))
}

/// The rest of the text.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn classic(mut self, id: RawId) -> Result<Frame, FrameTextError> {
        let start = self.at;
        let (data, len) = self.bytes(CAN_MAX_DLEN)?;
        let len8_dlc = self.raw_dlc(usize::from(len), start)?;
        self.end()?;
        Ok(Frame { format: FrameFormat::Classic, id, len, len8_dlc, flags: 0, data })
    }

    fn remote(mut self, id: RawId) -> Result<Frame, FrameTextError> {
        let start = self.at;
        let len = match self.peek() {
            None => 0,
            Some(found) => match self.nibble() {
                Some(len @ 0..=8) => len,
                _ => return Err(error(FrameTextErrorKind::RemoteLength, start..start + found.len_utf8())),
            },
        };
        let len8_dlc = self.raw_dlc(usize::from(len), start)?;
        self.end()?;
        let id = RawId(id.0 | CAN_RTR_FLAG);
        Ok(Frame { format: FrameFormat::Classic, id, len, len8_dlc, flags: 0, data: [0; CANFD_MAX_DLEN] })
    }

    fn fd(mut self, id: RawId) -> Result<Frame, FrameTextError> {
        let flags = match self.nibble() {
            Some(flags) => flags | CANFD_FDF,
            None => return Err(error(FrameTextErrorKind::MissingFlags, self.at..self.text.len())),
        };
        let (data, len) = self.bytes(CANFD_MAX_DLEN)?;
        self.end()?;
        Ok(Frame { format: FrameFormat::Fd, id, len, len8_dlc: 0, flags, data })
    }

    /// Data bytes up to the end of the text or to a raw DLC.
    fn bytes(&mut self, max: usize) -> Result<([u8; CANFD_MAX_DLEN], u8), FrameTextError> {
        let mut data = [0; CANFD_MAX_DLEN];
        let mut len = 0_u8;
        loop {
            let dot = self.take('.');
            let start = self.at;
            match self.peek() {
                None | Some('_') if !dot => return Ok((data, len)),
                None => return Err(error(FrameTextErrorKind::HalfByte, start - 1..start)),
                Some(_) if usize::from(len) == max => {
                    return Err(error(FrameTextErrorKind::TooLong(max), start..self.text.len()));
                }
                Some(found) => {
                    let Some(high) = self.nibble() else {
                        return Err(error(FrameTextErrorKind::NotHex(found), start..start + found.len_utf8()));
                    };
                    let Some(low) = self.nibble() else {
                        return Err(error(FrameTextErrorKind::HalfByte, start..self.at));
                    };
                    data[usize::from(len)] = high << 4 | low;
                    len += 1;
                }
            }
        }
    }

    fn raw_dlc(&mut self, bytes: usize, start: usize) -> Result<u8, FrameTextError> {
        let delimiter = self.at;
        if !self.take('_') {
            return Ok(0);
        }
        if bytes != CAN_MAX_DLEN {
            return Err(error(FrameTextErrorKind::RawDlcWithoutEightBytes(bytes), start..self.text.len()));
        }
        match self.nibble() {
            Some(dlc @ 9..=15) => Ok(dlc),
            _ => Err(error(FrameTextErrorKind::RawDlc, delimiter..self.text.len())),
        }
    }

    fn end(&self) -> Result<(), FrameTextError> {
        if self.at == self.text.len() {
            return Ok(());
        }
        Err(error(FrameTextErrorKind::TrailingText, self.at..self.text.len()))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn nibble(&mut self) -> Option<u8> {
        let digit = self.peek()?.to_digit(16)?;
        self.at += 1;
        u8::try_from(digit).ok()
    }
}

const fn error(kind: FrameTextErrorKind, range: Range<usize>) -> FrameTextError {
    FrameTextError { kind, range }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{arbitrary, cases};

    #[test]
    fn frames_are_parsed_and_printed() {
        cases::check(include_str!("cases.txt"), |text| match text.parse::<Frame>() {
            Ok(frame) => {
                let Frame { id, len, flags, format, len8_dlc, data } = frame;
                assert!(data[frame.payload().len()..].iter().all(|byte| *byte == 0), "{text}");
                let payload = frame.payload();
                format!("{format:?} {:08X} len {len} dlc {len8_dlc} flags {flags} {payload:02X?} {frame}", id.0)
            }
            Err(FrameTextError { kind, range }) => format!("{range:?} {kind}"),
        });
    }

    proptest! {
        #[test]
        fn printed_frames_are_parsed_back(frame in arbitrary::wire_frame()) {
            prop_assert_eq!(frame.to_string().parse(), Ok(frame));
        }

        #[test]
        fn malformed_frames_print_as_frames(mut frame in arbitrary::any_frame()) {
            let parsed = frame.to_string().parse::<Frame>();
            if frame.format == FrameFormat::Fd {
                // The parser always sets FDF.
                frame.flags |= CANFD_FDF;
            }
            prop_assert_eq!(parsed.map(|parsed| parsed.to_string()), Ok(frame.to_string()));
        }

        #[test]
        fn never_panics(text in "([0-9A-F]{3}|[0-9]{8})?#?[#R_.0-9A-F]{0,20}\\PC{0,3}") {
            let _ = text.parse::<Frame>().map_err(|error| (error.to_string(), text[error.range].len()));
        }
    }
}
