//! The level and kind of each bit of a frame on the wire.

use super::fields::{Field, fields};
use super::stuffing::{Stuffing, bits_of};
use super::{FD_CRC17_MAX_LEN, TAIL_BITS, crc15, fd_wire_len};
use crate::frame::{Frame, FrameFormat};

/// Kind of a bit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitRule {
    /// The acknowledge slot, which receivers drive.
    Acknowledge,
    /// A recessive bit that is overwritten by a dominant one is lost arbitration.
    Arbitration,
    /// Part of the field with dynamic stuff bits.
    Stuffed,
    /// A fixed stuff bit: the opposite of the bit before it (CRC field of CAN FD).
    FixedStuff,
    /// Any level: the bits between fixed stuff bits.
    Free,
    /// Always recessive: delimiters and end of frame.
    Recessive,
}

/// The bits of a frame from start of frame to end of frame, including stuff bits, without intermission.
///
/// # Source
/// ISO 11898-1:2015, clauses 10.4 and 10.5. CRCs of CAN FD frames have not been compared with hardware.
///
/// ```
/// use candor_core::bits::{BitRule, WireBits};
///
/// let bits = WireBits::of(&"123#".parse().unwrap());
/// assert_eq!(bits.len(), 45);
/// assert!(!bits.is_recessive(0));
/// assert_eq!(bits.rule(bits.acknowledge_slot()), BitRule::Acknowledge);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBits {
    levels: Levels,
    len: u32,
    arbitration_end: u32,
    stuffed_end: u32,
    crc_delimiter: u32,
    switch: Option<u32>,
    fd_format: Option<u32>,
}

impl WireBits {
    /// The bits of a frame as its sender drives them: the acknowledge slot is recessive.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        let mut writer = Writer::new();
        let mut arbitration_end = 0;
        let (mut fd_format, mut switch) = (None, None);
        fields(frame, |field, value, bits| {
            if field == Field::FdFormat {
                fd_format = Some(writer.len);
            }
            writer.stuffed(value, bits);
            match field {
                Field::Arbitration => arbitration_end = writer.end_of_field(),
                Field::RateSwitch => switch = (value == 1).then_some(writer.len),
                Field::Control | Field::Data | Field::FdFormat => {}
            }
        });
        let stuffed_end = match frame.format {
            FrameFormat::Classic => {
                writer.stuffed(crc15(frame).map_or(0, u32::from), 15);
                writer.len
            }
            FrameFormat::Fd => writer.fd_crc_field(fd_wire_len(frame.payload().len())),
        };
        let crc_delimiter = writer.len;
        writer.tail();
        let Writer { levels, len, .. } = writer;
        Self { levels, len, arbitration_end, stuffed_end, crc_delimiter, switch, fd_format }
    }

    /// Returns the number of bits.
    #[expect(clippy::len_without_is_empty, reason = "no frame is empty")]
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if a bit is recessive (1). Bits after the frame are recessive.
    #[must_use]
    pub fn is_recessive(&self, bit: u32) -> bool {
        bit >= self.len || self.levels.is_recessive(bit)
    }

    /// Returns the kind of a bit.
    #[must_use]
    pub const fn rule(&self, bit: u32) -> BitRule {
        if bit < self.arbitration_end {
            BitRule::Arbitration
        } else if bit < self.stuffed_end {
            BitRule::Stuffed
        } else if bit < self.crc_delimiter {
            if (bit - self.stuffed_end).is_multiple_of(5) { BitRule::FixedStuff } else { BitRule::Free }
        } else if bit == self.acknowledge_slot() {
            BitRule::Acknowledge
        } else {
            BitRule::Recessive
        }
    }

    /// The position of the acknowledge slot.
    #[must_use]
    pub const fn acknowledge_slot(&self) -> u32 {
        self.crc_delimiter + 1
    }

    /// The first bit at the data bit rate, if the frame switches the bit rate. The last one is the CRC delimiter.
    #[must_use]
    pub const fn switch(&self) -> Option<u32> {
        self.switch
    }

    /// The position of the FDF bit of a CAN FD frame, the first bit that a classic controller does not know.
    #[must_use]
    pub const fn fd_format(&self) -> Option<u32> {
        self.fd_format
    }

    /// Returns true if a bit is sent at the data bit rate.
    #[must_use]
    pub fn is_fast(&self, bit: u32) -> bool {
        self.switch.is_some_and(|switch| (switch..=self.crc_delimiter).contains(&bit))
    }

    /// Returns the numbers of bits before `bit` that are sent at the nominal and at the data bit rate.
    #[must_use]
    pub fn before(&self, bit: u32) -> (u32, u32) {
        let data = self.switch.map_or(0, |switch| bit.min(self.crc_delimiter + 1).saturating_sub(switch));
        (bit - data, data)
    }

    /// The first bit in which two frames differ, if they do.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<u32> {
        (0..self.len.max(other.len)).find(|&bit| self.is_recessive(bit) != other.is_recessive(bit))
    }
}

/// Words for the longest frame: 96 + 10 · 64 bits of CAN FD.
const WORDS: usize = 12;

/// Generator polynomials of CAN FD without their highest term, and their width.
const CRC17: (u32, u32) = (0x1_685B, 17);
const CRC21: (u32, u32) = (0x10_2899, 21);
/// Bits between two fixed stuff bits.
const BETWEEN_FIXED_STUFF_BITS: usize = 4;

/// The level of each bit; recessive is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Levels([u64; WORDS]);

impl Levels {
    const fn is_recessive(&self, bit: u32) -> bool {
        self.0[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    fn set(&mut self, bit: u32, recessive: bool) {
        let word = &mut self.0[bit as usize / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(recessive) << (bit % 64);
    }
}

struct Writer {
    levels: Levels,
    len: u32,
    stuffing: Stuffing,
}

impl Writer {
    const fn new() -> Self {
        Self { levels: Levels([0; WORDS]), len: 0, stuffing: Stuffing::new() }
    }

    /// Appends the lowest `count` bits of a value, highest first, with stuff bits where they are due.
    fn stuffed(&mut self, value: u32, count: u32) {
        for bit in bits_of(value, count) {
            let stuff_bit = self.stuffing.push_bit(bit);
            self.plain(bit);
            stuff_bit.into_iter().for_each(|bit| self.plain(bit));
        }
    }

    /// Returns the number of bits so far without a final stuff bit, which belongs to the next field.
    fn end_of_field(&self) -> u32 {
        self.stuffing.bits_before_last_stuff_bit()
    }

    /// Appends the CRC field of CAN FD without its delimiter: stuff count and CRC, with a stuff bit before every four
    /// bits. Returns the number of its first bit.
    fn fd_crc_field(&mut self, data_len: usize) -> u32 {
        // The first fixed stuff bit replaces a stuff bit that is due now. It has the same level.
        self.stuffing.cancel_last();
        self.len = self.stuffing.bits();
        let start = self.len;

        let count = self.stuffing.stuff() % 8;
        let gray = count ^ (count >> 1);
        let counted = (gray << 1) | (gray.count_ones() % 2); // even parity
        let polynomial = if data_len <= FD_CRC17_MAX_LEN { CRC17 } else { CRC21 };
        let crc = self.crc(counted, polynomial);
        for (position, bit) in bits_of(counted, 4).chain(bits_of(crc, polynomial.1)).enumerate() {
            if position.is_multiple_of(BETWEEN_FIXED_STUFF_BITS) {
                self.plain(!self.levels.is_recessive(self.len - 1));
            }
            self.plain(bit);
        }
        start
    }

    /// Appends the bits from the CRC delimiter to the end of frame.
    fn tail(&mut self) {
        (0..TAIL_BITS).for_each(|_| self.plain(true));
    }

    fn plain(&mut self, recessive: bool) {
        self.levels.set(self.len, recessive);
        self.len += 1;
    }

    /// CRC over all bits so far, including stuff bits, and over the stuff count.
    fn crc(&self, stuff_count: u32, (polynomial, width): (u32, u32)) -> u32 {
        let initial = 1 << (width - 1);
        let bits = (0..self.len).map(|bit| self.levels.is_recessive(bit));
        bits.chain(bits_of(stuff_count, 4)).fold(initial, |crc, bit| {
            let carry = (crc >> (width - 1) & 1 == 1) != bit;
            (crc << 1 & ((1 << width) - 1)) ^ if carry { polynomial } else { 0 }
        })
    }
}
