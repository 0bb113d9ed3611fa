//! The bytes of a frame on Zenoh.
//!
//! ```text
//!  0        8        12       16 17 18
//!  | stamp  | number | id     |f |l | data …
//! ```
//!
//! Integers are little-endian. The fields are those of the kernel's frame, in one byte order and without its padding, so a
//! classic frame takes at most 26 bytes and needs no parser of text:
//!
//! * stamp: nanoseconds since 1970, of the kernel of the bridge; 0 if unknown.
//! * number: counts the frames with this key, from 1, and wraps. A gap is the number of lost frames. 0 if it is not counted.
//! * id: the identifier, with the flags `80000000` for 29 bits and `40000000` for a remote frame.
//! * f: `01` BRS, `02` ESI, `04` CAN FD.
//! * l: the length in bytes; of a classic frame the DLC on the wire, 0 to 15.
//! * data: 0 to 64 bytes; none for a remote frame.

use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_MAX_DLEN, CAN_MAX_RAW_DLC, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_BRS, CANFD_ESI,
    CANFD_FDF, FD_LENGTHS, Frame, FrameFormat, RawId,
};

/// Bytes before the data.
pub const HEAD: usize = 18;

/// A frame as the network has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Nanoseconds since 1970; 0 if unknown.
    pub stamp_ns: u64,
    /// Number among the frames with this key.
    pub number: u32,
    /// The frame.
    pub frame: Frame,
}

/// The bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Not a frame")]
pub struct NotAFrame;

/// The bytes of a frame.
#[must_use]
pub fn encode(Sent { stamp_ns, number, frame }: &Sent) -> Vec<u8> {
    let data = if frame.id.is_rtr() { &[][..] } else { frame.payload() };
    let mut bytes = Vec::with_capacity(HEAD + data.len());
    bytes.extend_from_slice(&stamp_ns.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&frame.id.0.to_le_bytes());
    bytes.push(frame.flags);
    bytes.push(frame.raw_dlc());
    bytes.extend_from_slice(data);
    bytes
}

/// Reads what [`encode`] writes.
///
/// # Errors
/// [`NotAFrame`] if no controller could send it.
pub fn decode(bytes: &[u8]) -> Result<Sent, NotAFrame> {
    let (stamp, rest) = bytes.split_first_chunk().ok_or(NotAFrame)?;
    let (number, rest) = rest.split_first_chunk().ok_or(NotAFrame)?;
    let (id, rest) = rest.split_first_chunk().ok_or(NotAFrame)?;
    let ([flags, dlc], data) = rest.split_first_chunk().ok_or(NotAFrame)?;
    let frame = frame(RawId(u32::from_le_bytes(*id)), *flags, *dlc, data)?;
    Ok(Sent { stamp_ns: u64::from_le_bytes(*stamp), number: u32::from_le_bytes(*number), frame })
}

fn frame(id: RawId, flags: u8, dlc: u8, data: &[u8]) -> Result<Frame, NotAFrame> {
    let highest = if id.is_eff() { CAN_EFF_MASK } else { CAN_SFF_MASK };
    if id.0 & !(CAN_EFF_FLAG | CAN_RTR_FLAG) > highest {
        return Err(NotAFrame);
    }
    if flags & CANFD_FDF != 0 {
        let is_known = flags & !(CANFD_FDF | CANFD_BRS | CANFD_ESI) == 0;
        if !is_known || id.is_rtr() || usize::from(dlc) != data.len() || !FD_LENGTHS.contains(&dlc) {
            return Err(NotAFrame);
        }
        return Frame::fd(id, flags, data).map_err(|_too_long| NotAFrame);
    }
    let len = usize::from(dlc).min(CAN_MAX_DLEN);
    let wanted = if id.is_rtr() { 0 } else { len };
    if flags != 0 || dlc > CAN_MAX_RAW_DLC || data.len() != wanted {
        return Err(NotAFrame);
    }
    let mut frame = Frame::classic(id, data).map_err(|_too_long| NotAFrame)?;
    frame.len = u8::try_from(len).map_err(|_too_long| NotAFrame)?;
    frame.len8_dlc = if usize::from(dlc) > CAN_MAX_DLEN { dlc } else { 0 };
    Ok(frame)
}

/// True for a frame that [`encode`] and [`decode`] carry unchanged. Error messages of drivers are none.
#[must_use]
pub const fn can_carry(frame: &Frame) -> bool {
    !(frame.id.is_err() || matches!(frame.format, FrameFormat::Fd) && frame.id.is_rtr())
}

/// What must hold for any bytes, for fuzzing and tests.
///
/// # Panics
/// If it does not.
pub fn check(bytes: &[u8]) {
    if let Ok(sent) = decode(bytes) {
        assert!(can_carry(&sent.frame));
        assert_eq!(encode(&sent), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(frame: &str) -> Sent {
        Sent { stamp_ns: 0x0102_0304_0506_0708, number: 9, frame: frame.parse().unwrap() }
    }

    #[test]
    fn frames_of_all_kinds_come_back() {
        for text in ["123#", "123#1122", "12345678#1122334455667788_9", "123#R", "123#R8_C", "7FF#R3", "123##5AABB"] {
            assert_eq!(decode(&encode(&sent(text))), Ok(sent(text)), "{text}");
        }
        let fd = format!("1FFFFFFF##7{}", "5A".repeat(64));
        assert_eq!(decode(&encode(&sent(&fd))), Ok(sent(&fd)));
    }

    #[test]
    fn the_bytes_are_as_documented() {
        assert_eq!(
            encode(&sent("12345678#AABB")),
            [8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0x78, 0x56, 0x34, 0x92, 0, 2, 0xAA, 0xBB]
        );
    }

    #[test]
    fn what_no_controller_sends_is_refused() {
        let good = encode(&sent("123#AABB"));
        for len in 0..good.len() {
            assert_eq!(decode(&good[..len]), Err(NotAFrame), "{len} bytes");
        }
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            decode(&bytes)
        };
        // 11 bits exceeded, an error message, an unknown flag, FD with a wrong length, another length.
        for (at, value) in [(13, 0x08), (15, 0x20), (16, 0x01), (16, 0x08), (17, 3), (17, 16)] {
            assert_eq!(with(at, value), Err(NotAFrame), "byte {at} = {value:02X}");
        }
        // As FD two bytes are fine.
        assert!(with(16, 0x04).is_ok());
        let mut nine = encode(&sent("123##1AABB"));
        nine.extend([0; 7]);
        nine[17] = 9;
        assert_eq!(decode(&nine), Err(NotAFrame), "FD frames have no 9 bytes");
    }
}
