//! A recorded frame.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_RTR_FLAG, CAN_SFF_MASK};
use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_FDF, FD_LENGTHS, Frame, FrameFormat, RawId, fd_dlc};

use crate::BusIndex;

/// Times before 1990 are not those of a recording: they count from its start.
const FIRST_UNIX_NS: i64 = 631_152_000_000_000_000;

/// What a time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// 1970-01-01 00:00 UTC.
    Unix,
    /// The start of the recording, or of the machine that recorded.
    Start,
}

impl Clock {
    /// The clock of a format that does not name it: times from 1990 on count from 1970.
    #[must_use]
    pub const fn of(at_ns: i64) -> Self {
        if at_ns < FIRST_UNIX_NS { Self::Start } else { Self::Unix }
    }
}

/// From the point of view of the machine that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received from the bus.
    Received,
    /// Sent by the machine itself.
    Sent,
}

impl Direction {
    /// `Rx` or `Tx`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "Rx",
            Self::Sent => "Tx",
        }
    }
}

/// A frame with its time, bus and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time in ns since the zero of `clock`.
    pub at_ns: i64,
    /// What the time counts from.
    pub clock: Clock,
    /// The bus, whose name the [`Buses`](crate::Buses) of the reader have.
    pub bus: BusIndex,
    /// `None` if the recording does not say.
    pub direction: Option<Direction>,
    /// The frame.
    pub frame: Frame,
}

impl Record {
    /// A received frame at time 0 of the first bus.
    pub const EMPTY: Self =
        Self { at_ns: 0, clock: Clock::Start, bus: BusIndex(0), direction: None, frame: Frame::EMPTY };
}

/// Returns true if [`well_formed`] changes nothing, in less time.
#[inline]
pub(crate) fn is_well_formed(frame: &Frame) -> bool {
    let (id, len) = (frame.id, usize::from(frame.len));
    let is_fd = frame.format == FrameFormat::Fd;
    let flags = if id.is_err() {
        CAN_EFF_MASK | CAN_ERR_FLAG
    } else {
        let bits = if id.is_eff() { CAN_EFF_MASK | CAN_EFF_FLAG } else { CAN_SFF_MASK };
        if is_fd { bits } else { bits | CAN_RTR_FLAG }
    };
    let has_right_bits = if is_fd {
        frame.flags & !(CANFD_BRS | CANFD_ESI) == CANFD_FDF && frame.len8_dlc == 0 && fd_length(frame.len) == frame.len
    } else {
        frame.flags == 0
            && len <= CAN_MAX_DLEN
            && (frame.len8_dlc == 0 || frame.len8_dlc > 8 && frame.raw_dlc() == frame.len8_dlc)
    };
    let kept = if id.is_rtr() && !id.is_err() { 0 } else { len };
    id.0 & !flags == 0 && has_right_bits && is_zero_from(frame, kept)
}

/// Returns true if the bytes from this one on are 0.
#[inline]
fn is_zero_from(frame: &Frame, kept: usize) -> bool {
    let any = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte);
    match frame.data.split_first_chunk() {
        // Most frames; of constant size, so without a loop.
        Some((first, rest)) if kept <= CAN_MAX_DLEN => {
            let first =
                u64::from_le_bytes(*first).checked_shr(u32::try_from(8 * kept).unwrap_or(u32::MAX)).unwrap_or(0);
            let (words, _) = rest.as_chunks::<8>();
            first | words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word)) == 0
        }
        _ => frame.data.get(kept..).is_some_and(|rest| any(rest) == 0),
    }
}

/// The next length of a CAN FD frame.
fn fd_length(len: u8) -> u8 {
    FD_LENGTHS[usize::from(fd_dlc(len))]
}

/// The frame as formats have it: no identifier bits, flags, lengths or bytes that no format knows.
#[must_use]
pub(crate) fn well_formed(frame: &Frame) -> Frame {
    let mut clean = *frame;
    let id = frame.id;
    let is_fd = frame.format == FrameFormat::Fd;
    let keeps_rtr = if is_fd || id.is_err() { 0 } else { CAN_RTR_FLAG };
    clean.id = if id.is_err() {
        RawId(id.0 & (CAN_EFF_MASK | CAN_ERR_FLAG))
    } else if id.is_eff() {
        RawId(id.0 & (CAN_EFF_MASK | CAN_EFF_FLAG | keeps_rtr))
    } else {
        RawId(id.0 & (CAN_SFF_MASK | keeps_rtr))
    };
    let len = u8::try_from(frame.payload().len()).unwrap_or(0);
    // A controller fills the payload of a CAN FD frame up to the next length.
    clean.len = if is_fd { fd_length(len) } else { len };
    clean.flags = if is_fd { frame.flags & (CANFD_BRS | CANFD_ESI) | CANFD_FDF } else { 0 };
    let dlc = clean.raw_dlc();
    clean.len8_dlc = if !is_fd && dlc > 8 { dlc } else { 0 };
    let kept = if clean.id.is_rtr() { 0 } else { usize::from(len) };
    clean.data[kept..].fill(0);
    clean
}

#[cfg(test)]
mod tests {
    use candor_core::arbitrary;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn the_short_check_agrees(frame in prop_oneof![arbitrary::any_frame(), arbitrary::wire_frame()], err: bool) {
            let mut frame = frame;
            frame.id.0 |= if err { CAN_ERR_FLAG } else { 0 };
            let clean = well_formed(&frame);
            prop_assert_eq!(is_well_formed(&frame), clean == frame);
            prop_assert!(is_well_formed(&clean));
        }
    }
}
