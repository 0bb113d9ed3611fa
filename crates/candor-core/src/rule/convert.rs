//! Conversion between classic and FD frames. can-gw does not convert: it ignores or drops frames of the other format.

use super::Verdict;
use crate::frame::{CAN_MAX_DLEN, CANFD_BRS, CANFD_FDF, Frame, FrameFormat};

/// Format in which a route sends all frames. Frames of the other format are converted after matching and before
/// modification. User space only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SendAs {
    /// CAN CC (classic). FD frames of more than 8 bytes are deleted.
    Classic,
    /// CAN FD. Remote frames are deleted, because FD has none.
    Fd {
        /// Sets the bit-rate switch (`CANFD_BRS`).
        bit_rate_switch: bool,
    },
}

impl SendAs {
    /// Returns the format of the sent frames.
    #[must_use]
    pub const fn format(self) -> FrameFormat {
        match self {
            Self::Classic => FrameFormat::Classic,
            Self::Fd { .. } => FrameFormat::Fd,
        }
    }
}

/// Converts a frame to a format, keeping identifier and payload. A frame that the format cannot represent is deleted.
///
/// Conversion to FD loses a raw DLC above 8, conversion to classic loses the FD flags.
pub fn convert(frame: &mut Frame, send_as: SendAs) -> Verdict {
    match send_as {
        _ if frame.format == send_as.format() => {}
        SendAs::Fd { .. } if !frame.id.carries_data() => return Verdict::Delete,
        SendAs::Fd { bit_rate_switch } => {
            frame.format = FrameFormat::Fd;
            frame.len8_dlc = 0;
            frame.flags = CANFD_FDF | if bit_rate_switch { CANFD_BRS } else { 0 };
            clear_beyond_len(frame);
        }
        SendAs::Classic if usize::from(frame.len) > CAN_MAX_DLEN => return Verdict::Delete,
        SendAs::Classic => {
            frame.format = FrameFormat::Classic;
            frame.flags = 0;
            clear_beyond_len(frame);
        }
    }
    Verdict::Send
}

/// Clears the bytes beyond the length, which are not part of the converted frame.
fn clear_beyond_len(frame: &mut Frame) {
    let len = usize::from(frame.len).min(frame.data.len());
    frame.data[len..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        text.parse().unwrap()
    }

    fn converted(text: &str, send_as: SendAs) -> Option<Frame> {
        let mut frame = frame(text);
        (convert(&mut frame, send_as) == Verdict::Send).then_some(frame)
    }

    #[test]
    fn conversion_keeps_identifier_and_payload() {
        let fd = |bit_rate_switch| SendAs::Fd { bit_rate_switch };
        assert_eq!(converted("123#1122", fd(false)), Some(frame("123##01122")));
        assert_eq!(converted("123#1122", fd(true)), Some(frame("123##11122")));
        assert_eq!(converted("12345678#1122334455667788_B", fd(false)), Some(frame("12345678##01122334455667788")));
        assert_eq!(converted("123##31122", SendAs::Classic), Some(frame("123#1122")));
        assert_eq!(converted("123#1122", SendAs::Classic), Some(frame("123#1122")));
    }

    #[test]
    fn unrepresentable_frames_are_deleted() {
        assert_eq!(converted("123#R", SendAs::Fd { bit_rate_switch: false }), None);
        assert_eq!(converted("123##0112233445566778899AABBCC", SendAs::Classic), None);
    }
}
