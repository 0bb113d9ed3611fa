//! The levels of a frame on the wire, one by one, and what a receiver knows about each of them.

use super::{FD_CRC17_MAX_LEN, FD_LENGTHS, classic_head_and_data, crc15, fd_dlc, push_identifier};
use crate::frame::{CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, FrameFormat};

/// Words for the longest frame: 96 + 10 · 64 bits of CAN FD.
const WORDS: usize = 12;

/// End of frame.
const EOF_BITS: u32 = 7;

/// What the standard says about a bit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitRule {
    /// The acknowledge slot: the sender lets others drive it.
    Acknowledge,
    /// A sender of a recessive bit that sees a dominant one has lost arbitration.
    Arbitration,
    /// Part of the field that stuff bits are put into as needed.
    Stuffed,
    /// A stuff bit of fixed place: the opposite of the bit before it (CRC field of CAN FD).
    FixedStuff,
    /// Any level is a legal one: the bits between fixed stuff bits.
    Free,
    /// Always recessive: delimiters and end of frame.
    Recessive,
}

/// A frame from its start of frame to the last bit of its end of frame, stuff bits included; no intermission.
///
/// # Source
/// ISO 11898-1:2015, clauses 10.4 and 10.5. The CRC of CAN FD frames was compared with no hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBits {
    levels: [u64; WORDS],
    len: u32,
    arbitration_end: u32,
    stuffed_end: u32,
    crc_delimiter: u32,
    switch: Option<u32>,
    fd_format: Option<u32>,
}

impl WireBits {
    /// The bits of a frame as a sender drives them: its acknowledge slot is recessive.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        match frame.format {
            FrameFormat::Classic => Self::of_classic(frame),
            FrameFormat::Fd => Self::of_fd(frame),
        }
    }

    /// How many bits there are.
    #[expect(clippy::len_without_is_empty, reason = "no frame is empty")]
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether a bit is recessive (1). Bits after the frame are.
    #[must_use]
    pub fn is_recessive(&self, bit: u32) -> bool {
        bit >= self.len || self.levels[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// What kind of bit it is.
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

    /// The number of the acknowledge slot.
    #[must_use]
    pub const fn acknowledge_slot(&self) -> u32 {
        self.crc_delimiter + 1
    }

    /// The first bit at the data bit rate, if the frame switches to it; the last one is the CRC delimiter.
    #[must_use]
    pub const fn switch(&self) -> Option<u32> {
        self.switch
    }

    /// The FDF bit of a CAN FD frame, where a classic controller first sees something that it does not know.
    #[must_use]
    pub const fn fd_format(&self) -> Option<u32> {
        self.fd_format
    }

    /// Whether a bit is sent at the data bit rate.
    #[must_use]
    pub fn is_fast(&self, bit: u32) -> bool {
        self.switch.is_some_and(|switch| (switch..=self.crc_delimiter).contains(&bit))
    }

    /// How many of the bits before `bit` are sent at the nominal and how many at the data bit rate.
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

    fn of_classic(frame: &Frame) -> Self {
        let mut writer = Writer::new();
        let mut fields = 0;
        let mut arbitration_end = 0;
        let before_control = if frame.id.is_eff() { 5 } else { 3 }; // SOF, identifier(s), RTR
        classic_head_and_data(frame, |value, bits| {
            writer.stuffed(value, bits);
            fields += 1;
            if fields == before_control {
                // A stuff bit that RTR has caused comes after the field.
                arbitration_end = writer.len - u32::from(writer.stuffed_last);
            }
        });
        writer.stuffed(crc15(frame).map_or(0, u32::from), 15);
        let stuffed_end = writer.len;
        let crc_delimiter = writer.end_of_frame();
        let Writer { levels, len, .. } = writer;
        Self { levels, len, arbitration_end, stuffed_end, crc_delimiter, switch: None, fd_format: None }
    }

    fn of_fd(frame: &Frame) -> Self {
        let dlc = fd_dlc(frame.payload().len());
        let len = FD_LENGTHS[dlc];
        let mut writer = Writer::new();
        push_identifier(frame, |value, bits| writer.stuffed(value, bits));
        writer.stuffed(0, 1); // remote request substitution
        let arbitration_end = writer.len - u32::from(writer.stuffed_last);
        if !frame.id.is_eff() {
            writer.stuffed(0, 1); // IDE
        }
        let fd_format = writer.len;
        writer.stuffed(0b10, 2); // FDF, res
        let switched = frame.flags & CANFD_BRS != 0;
        writer.stuffed(u32::from(switched), 1);
        let after_switch = writer.len;
        writer.stuffed(u32::from(frame.flags & CANFD_ESI != 0), 1);
        writer.stuffed(u32::try_from(dlc).expect("a DLC is below 16"), 4);
        let mut data = [0; CANFD_MAX_DLEN];
        data[..frame.payload().len()].copy_from_slice(frame.payload());
        for byte in &data[..len] {
            writer.stuffed(u32::from(*byte), 8);
        }
        // A stuff bit that is due now gives way to the first fixed one, which has the same level.
        writer.take_back_stuff_bit();

        let stuffed_end = writer.len;
        let count = writer.stuff % 8;
        let gray = count ^ (count >> 1);
        let counted = (gray << 1) | (gray.count_ones() % 2); // and even parity
        let mut field = FixedStuffing { writer, position: 0 };
        field.push(counted, 4);
        let checksum = if len <= FD_CRC17_MAX_LEN { (CRC17, 17) } else { (CRC21, 21) };
        let value = field.writer.crc(stuffed_end, counted, checksum);
        field.push(value, checksum.1);
        let mut writer = field.writer;
        let crc_delimiter = writer.end_of_frame();
        let switch = switched.then_some(after_switch);
        let Writer { levels, len, .. } = writer;
        Self { levels, len, arbitration_end, stuffed_end, crc_delimiter, switch, fd_format: Some(fd_format) }
    }
}

/// Generator polynomials of CAN FD without their highest term.
const CRC17: u32 = 0x1_685B;
const CRC21: u32 = 0x10_2899;

struct Writer {
    levels: [u64; WORDS],
    len: u32,
    stuff: u32,
    run: u8,
    last: bool,
    stuffed_last: bool,
}

impl Writer {
    const fn new() -> Self {
        Self { levels: [0; WORDS], len: 0, stuff: 0, run: 0, last: true, stuffed_last: false }
    }

    /// Appends the lowest `count` bits of a value, highest first, with stuff bits where they are due.
    fn stuffed(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            let bit = value >> shift & 1 == 1;
            self.run = if bit == self.last { self.run + 1 } else { 1 };
            self.last = bit;
            self.plain(bit);
            self.stuffed_last = self.run == 5;
            if self.stuffed_last {
                self.plain(!bit);
                self.last = !bit;
                self.run = 1;
                self.stuff += 1;
            }
        }
    }

    fn plain(&mut self, recessive: bool) {
        self.levels[self.len as usize / 64] |= u64::from(recessive) << (self.len % 64);
        self.len += 1;
    }

    fn take_back_stuff_bit(&mut self) {
        if std::mem::take(&mut self.stuffed_last) {
            self.stuff -= 1;
            self.len -= 1;
            self.levels[self.len as usize / 64] &= !(1 << (self.len % 64));
        }
    }

    /// CRC over the first `len` bits as they stand, stuff bits included, and the four of the stuff count.
    fn crc(&self, len: u32, stuff_count: u32, (polynomial, width): (u32, u32)) -> u32 {
        let initial = 1 << (width - 1);
        let bits = (0..len).map(|bit| self.levels[bit as usize / 64] >> (bit % 64) & 1 == 1);
        let count = (0..4).rev().map(|shift| stuff_count >> shift & 1 == 1);
        bits.chain(count).fold(initial, |crc, bit| {
            let carry = (crc >> (width - 1) & 1 == 1) != bit;
            (crc << 1 & ((1 << width) - 1)) ^ if carry { polynomial } else { 0 }
        })
    }

    /// CRC delimiter, acknowledge slot and delimiter, end of frame. Gives the number of the CRC delimiter.
    fn end_of_frame(&mut self) -> u32 {
        let crc_delimiter = self.len;
        for _ in 0..3 + EOF_BITS {
            self.plain(true);
        }
        crc_delimiter
    }
}

/// The CRC field of CAN FD: a stuff bit before the first of every four bits.
struct FixedStuffing {
    writer: Writer,
    position: u32,
}

impl FixedStuffing {
    fn push(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            if self.position.is_multiple_of(4) {
                let bit = self.writer.len - 1;
                let before = self.writer.levels[bit as usize / 64] >> (bit % 64) & 1 == 1;
                self.writer.plain(!before);
            }
            self.writer.plain(value >> shift & 1 == 1);
            self.position += 1;
        }
    }
}
