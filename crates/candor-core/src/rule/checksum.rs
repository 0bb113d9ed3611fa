//! The checksums of can-gw, computed on the modified frame.

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
    /// Returns true if a checksum with these positions can be computed on this frame. Otherwise the frame stays
    /// unchanged.
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

/// Computes and stores a CRC8 with a shared table, an initial value and a final XOR.
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

/// A span as indices of the buffer, upwards or downwards.
struct Walk {
    from: usize,
    to: usize,
    result: usize,
}

impl Walk {
    /// `None` if a position is before the start of the frame, or beyond the buffer (the kernel refuses such a rule).
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
mod tests {
    use super::*;
    use crate::rule::{Modifications, Operand, Verdict, change};

    /// Other checksums are vectors of the oracle, or compared with all three implementations in `ruleset/tests`.
    #[test]
    fn frames_without_a_checksum_are_unchanged() {
        let after = |[from, to, result]: [i8; 3], operand: Operand, text: &str| {
            let xor = XorChecksum { span: ChecksumSpan { from, to, result }, init: 0x55 };
            let mut frame: Frame = text.parse().unwrap();
            let modifications = Modifications { or: operand, ..Modifications::NONE };
            let verdict = change(&mut frame, &modifications, &Checksums { xor: Some(xor), crc8: None });
            assert_eq!(verdict, Verdict::Send);
            frame.to_string()
        };
        assert_eq!(after([0, 6, 7], Operand::NONE, "123#01"), "123#01", "no modification");
        let no_op = Operand { data: Some([0; 64]), ..Operand::NONE };
        for outside in [[8, 0, 0], [0, 8, 0], [0, 0, 8], [0, 0, 127]] {
            assert_eq!(after(outside, no_op, "123#0102"), "123#0102", "beyond the buffer");
        }
        let fd = "123##500112233445566778899";
        assert_ne!(after([8, 8, 8], no_op, fd), fd);
    }
}
