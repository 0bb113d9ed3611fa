//! Encodes a frame to the bits of its sender.

use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame, FrameFormat};

use super::crc::{CRC15, CRC17, CRC21};
use super::level::Level;

/// Part of a frame, which determines the meaning of a mismatch for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A recessive bit seen dominant is lost arbitration.
    Arbitration,
    /// A stuff bit before the RTR bit: recessive seen dominant is a stuff error that is not counted.
    ArbitrationStuff,
    /// A mismatch is a bit error.
    Body,
    /// Recessive seen dominant is the acknowledgement.
    AckSlot,
    /// CRC delimiter, ACK delimiter, end of frame: a mismatch is a form error.
    FixedForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireBit {
    pub level: Level,
    pub part: Part,
}

/// Bits of a frame before stuffing, start of frame to last data bit.
struct Plain {
    bits: Vec<Level>,
    /// Number of bits in start of frame and arbitration field (identifier, SRR, IDE where extended, RTR).
    arbitration: usize,
}

/// All bits from start of frame to end of frame.
///
/// Choice: the error state indicator of an FD frame is recessive if set in the frame, or if the sender is error-passive
/// at the start of this attempt.
pub fn encode(frame: &Frame, passive: bool) -> Vec<WireBit> {
    let mut plain = plain(frame, passive);
    let mut wire;
    match frame.format {
        FrameFormat::Classic => {
            let check = CRC15.over(plain.bits.iter().copied());
            plain.bits.extend(Level::of_number(check, CRC15.width));
            // A stuff bit may follow the check sequence.
            wire = stuffed(&plain, true).0;
        }
        FrameFormat::Fd => {
            let stuff_bits;
            (wire, stuff_bits) = stuffed(&plain, false);
            append_fd_check(&mut wire, stuff_bits, padded_len(frame) > 16);
        }
    }
    wire.push(WireBit { level: Level::Recessive, part: Part::FixedForm });
    wire.push(WireBit { level: Level::Recessive, part: Part::AckSlot });
    // ACK delimiter and seven bits of end of frame.
    wire.extend([WireBit { level: Level::Recessive, part: Part::FixedForm }; 1 + 7]);
    wire
}

/// Sort key of arbitration: the arbitration field, highest priority first.
pub fn arbitration_key(frame: &Frame) -> Vec<Level> {
    let plain = plain(frame, false);
    // The IDE bit after RTR of a standard frame beats the extended frame with the same base identifier.
    plain.bits[..plain.arbitration.max(14)].to_vec()
}

/// Start of frame to last data bit of a classic frame, before stuffing.
pub fn classic_crc_input(frame: &Frame) -> Vec<Level> {
    plain(frame, false).bits
}

/// The length of an FD frame on the wire: the next valid length.
///
/// Choice: padding is zero.
fn padded_len(frame: &Frame) -> usize {
    let len = frame.payload().len();
    if frame.format == FrameFormat::Classic {
        return len;
    }
    FD_LENGTHS.into_iter().find(|&coded| coded >= len).unwrap_or(64)
}

fn plain(frame: &Frame, passive: bool) -> Plain {
    let fd = frame.format == FrameFormat::Fd;
    // RTR of a classic frame; RRS of an FD frame is always dominant.
    let remote = !fd && frame.id.is_rtr();
    let (dominant, recessive) = (Level::Dominant, Level::Recessive);
    let id = frame.id.bits();
    let mut bits = vec![dominant];
    if frame.id.is_eff() {
        bits.extend(Level::of_number(id >> 18, 11));
        bits.extend([recessive, recessive]); // SRR, IDE
        bits.extend(Level::of_number(id, 18));
        bits.push(Level::of(remote));
    } else {
        bits.extend(Level::of_number(id, 11));
        bits.push(Level::of(remote));
    }
    let arbitration = bits.len();
    if !frame.id.is_eff() {
        bits.push(dominant); // IDE
    }
    if fd {
        let silent = passive || frame.flags & CANFD_ESI != 0;
        bits.extend([recessive, dominant, Level::of(frame.flags & CANFD_BRS != 0), Level::of(silent)]);
    } else if frame.id.is_eff() {
        bits.extend([dominant, dominant]); // r1, r0
    } else {
        bits.push(dominant); // r0
    }
    let len = padded_len(frame);
    let code = if fd {
        FD_LENGTHS.into_iter().position(|coded| coded == len).map_or(15, |code| u32::try_from(code).unwrap_or(15))
    } else {
        u32::from(frame.raw_dlc()).min(15)
    };
    bits.extend(Level::of_number(code, 4));
    if !remote {
        let padded = frame.payload().iter().copied().chain(std::iter::repeat(0)).take(len);
        bits.extend(padded.flat_map(|byte| Level::of_number(u32::from(byte), 8)));
    }
    Plain { bits, arbitration }
}

/// Inserts stuff bits. Returns the bits and the number of stuff bits.
fn stuffed(plain: &Plain, after_last: bool) -> (Vec<WireBit>, u32) {
    let mut wire: Vec<WireBit> = Vec::with_capacity(plain.bits.len() * 5 / 4 + 16);
    let mut stuff_bits = 0;
    let (mut run, mut last) = (0, Level::Recessive);
    for (index, &level) in plain.bits.iter().enumerate() {
        let part = if index < plain.arbitration { Part::Arbitration } else { Part::Body };
        wire.push(WireBit { level, part });
        run = if level == last { run + 1 } else { 1 };
        last = level;
        if run == 5 && (after_last || index + 1 < plain.bits.len()) {
            let before_rtr = index + 1 < plain.arbitration;
            let part = if before_rtr { Part::ArbitrationStuff } else { Part::Body };
            wire.push(WireBit { level: !level, part });
            (run, last) = (1, !level);
            stuff_bits += 1;
        }
    }
    (wire, stuff_bits)
}

/// Appends stuff count, parity and check sequence of an FD frame, with fixed stuff bits: one before the stuff count,
/// and one after every four bits.
pub fn append_fd_check(wire: &mut Vec<WireBit>, stuff_bits: u32, long: bool) {
    let crc = if long { CRC21 } else { CRC17 };
    let count = fd_stuff_count(stuff_bits);
    let mut field: Vec<Level> = Level::of_number(count, 4).collect();
    // The check covers all bits so far, including dynamic stuff bits, and the stuff count.
    let check = crc.over(wire.iter().map(|bit| bit.level).chain(field.iter().copied()));
    field.extend(Level::of_number(check, crc.width));
    for (index, &level) in field.iter().enumerate() {
        if index % 4 == 0 {
            // At least the start of frame precedes.
            let last = wire.last().map_or(Level::Recessive, |bit| bit.level);
            wire.push(WireBit { level: !last, part: Part::Body });
        }
        wire.push(WireBit { level, part: Part::Body });
    }
}

/// Gray code of the number of stuff bits modulo 8 in three bits, and an even parity bit.
pub fn fd_stuff_count(stuff_bits: u32) -> u32 {
    let number = stuff_bits % 8;
    let gray = number ^ (number >> 1);
    (gray << 1) | (gray.count_ones() % 2)
}

/// Bytes of an FD frame by data length code.
pub const FD_LENGTHS: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
