//! The levels of a frame on the wire, one by one, and what a receiver knows about each of them.

mod writer;

use super::fields::{Field, fields};
use super::{crc15, fd_wire_len};
use crate::frame::{Frame, FrameFormat};
use writer::{Levels, Writer};

/// Kind of a bit of a frame.
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
    levels: Levels,
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

    /// Returns true if a bit is recessive (1). Bits after the frame are.
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
