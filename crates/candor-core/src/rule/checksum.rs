//! The two checksums of can-gw, computed on the modified frame.

use super::{BytePosition, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};
use crate::frame::Frame;

impl Checksums {
    /// Computes and stores the checksums, CRC8 before XOR.
    pub fn apply(&self, frame: &mut Frame) {
        if let Some(crc8) = &self.crc8 {
            crc8.apply(frame);
        }
        if let Some(xor) = &self.xor {
            xor.apply(frame);
        }
    }
}

impl ChecksumSpan {
    /// Returns true if a checksum with these positions is computed on this frame; if not, it leaves the frame alone.
    #[must_use]
    pub fn fits(self, frame: &Frame) -> bool {
        Walk::resolve(self, frame).is_some()
    }
}

impl XorChecksum {
    /// Computes and stores the checksum.
    pub fn apply(&self, frame: &mut Frame) {
        let Some(walk) = Walk::resolve(self.span, frame) else { return };
        frame.data[walk.result] = walk.over(frame).fold(self.init, |sum, byte| sum ^ byte);
    }
}

impl Crc8Checksum {
    /// Computes and stores the checksum.
    pub fn apply(&self, frame: &mut Frame) {
        let Self { span, init, final_xor, table, profile } = self;
        crc8(frame, *span, (*init, *final_xor), profile, table);
    }
}

/// CRC8 by a table that others may use too: computes and stores it, from an initial value and with a final XOR.
pub(crate) fn crc8(
    frame: &mut Frame,
    span: ChecksumSpan,
    (init, final_xor): (u8, u8),
    profile: &Crc8Profile,
    table: &[u8; 256],
) {
    let Some(walk) = Walk::resolve(span, frame) else { return };
    let step = |crc: u8, byte: u8| table[usize::from(crc ^ byte)];
    let mut crc = walk.over(frame).fold(init, step);
    match profile {
        Crc8Profile::None => {}
        Crc8Profile::Byte(byte) => crc = step(crc, *byte),
        Crc8Profile::ByteByCounter(bytes) => crc = step(crc, bytes[usize::from(frame.data[1] & 0xF)]),
        Crc8Profile::IdXor => {
            let [_, _, high, low] = frame.id.0.to_be_bytes();
            crc = step(crc, high ^ low);
        }
    }
    frame.data[walk.result] = crc ^ final_xor;
}

/// A span in bytes of the buffer, from the first to the last that is taken in, upwards or downwards.
struct Walk {
    from: usize,
    to: usize,
    result: usize,
}

impl Walk {
    /// `None` where the checksum leaves the frame alone: a position from the end is before its start, or a position is
    /// beyond the buffer (the kernel refuses to install such a rule).
    fn resolve(span: ChecksumSpan, frame: &Frame) -> Option<Self> {
        let index = |position: BytePosition| {
            let from_start = i16::from(position);
            let index = if from_start < 0 { i16::from(frame.len) + from_start } else { from_start };
            usize::try_from(index).ok().filter(|&index| index < frame.format.max_len())
        };
        Some(Self { from: index(span.from)?, to: index(span.to)?, result: index(span.result)? })
    }

    fn over<'a>(&self, frame: &'a Frame) -> impl Iterator<Item = u8> + use<'a> {
        let (first, last) = (self.from.min(self.to), self.from.max(self.to));
        let downwards = self.from > self.to;
        let bytes = &frame.data[first..=last];
        let count = bytes.len();
        (0..count).map(move |step| bytes[if downwards { count - 1 - step } else { step }])
    }
}

#[cfg(test)]
mod tests;
