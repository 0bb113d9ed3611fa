//! Decodes bits to a frame, field by field.

use candor_core::frame::{
    CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat, RawId,
};

use super::crc::{CRC15, CRC17, CRC21, Crc};
use super::encode::{FD_LENGTHS, fd_stuff_count};
use super::level::Level;
use super::log::ErrorKind;

/// Result of a bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    More,
    /// The frame is valid: the last but one bit of its end is recessive.
    Accepted(Box<Frame>),
    /// The last bit of its end.
    End,
    /// The last bit of its end is dominant, which is an overload condition for receivers.
    Overload,
    Wrong(ErrorKind),
}

/// The field of the next bit, ignoring stuff bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Sof,
    BaseId,
    /// RTR or RRS of a standard frame, SRR of an extended one.
    Rtr,
    Ide,
    ExtendedId,
    ExtendedRtr,
    /// FDF; r0 of a classic standard frame, r1 of an extended one.
    Fdf,
    /// r0 of a classic extended frame.
    R0,
    Res,
    Brs,
    Esi,
    Dlc,
    Data,
    ClassicCrc,
    /// Stuff count and check sequence of an FD frame, fixed stuff bits included.
    FdCrc,
    CrcDelimiter,
    AckSlot,
    AckDelimiter,
    Eof,
}

#[derive(Clone, Debug)]
pub struct Receiver {
    field: Field,
    /// Received bits of this field, and their value.
    count: u32,
    value: u32,
    /// Set if a stuff bit follows five equal bits.
    stuffing: bool,
    run: u32,
    last: Level,
    stuff_bits: u32,
    /// Bits up to the last data bit, with and without stuff bits.
    raw: Vec<Level>,
    plain: Vec<Level>,
    id: u32,
    extended: bool,
    remote: bool,
    fd: bool,
    flags: u8,
    dlc: u8,
    data: Vec<u8>,
    check_passed: bool,
}

impl Receiver {
    /// A receiver whose next bit is the start of frame.
    pub fn new() -> Self {
        Self {
            field: Field::Sof,
            count: 0,
            value: 0,
            stuffing: true,
            run: 0,
            last: Level::Recessive,
            stuff_bits: 0,
            raw: Vec::with_capacity(160),
            plain: Vec::with_capacity(128),
            id: 0,
            extended: false,
            remote: false,
            fd: false,
            flags: 0,
            dlc: 0,
            data: Vec::new(),
            check_passed: false,
        }
    }

    /// Returns true if the next bit is an ACK slot and the CRC is correct.
    pub fn acknowledges(&self) -> bool {
        self.field == Field::AckSlot && self.check_passed
    }

    pub fn hear(&mut self, seen: Level) -> Heard {
        let before = self.last;
        if self.stuffing && self.run == 5 {
            if seen == before {
                return Heard::Wrong(ErrorKind::Stuff);
            }
            self.note(seen);
            self.stuff_bits += 1;
            self.raw.push(seen);
            return Heard::More;
        }
        self.note(seen);
        self.field_bit(seen, before)
    }

    fn note(&mut self, seen: Level) {
        self.run = if seen == self.last { self.run + 1 } else { 1 };
        self.last = seen;
    }

    fn field_bit(&mut self, seen: Level, before: Level) -> Heard {
        let recessive = seen == Level::Recessive;
        if self.field as u32 <= Field::Data as u32 {
            self.raw.push(seen);
            self.plain.push(seen);
        }
        match self.field {
            Field::Sof => self.field = Field::BaseId,
            Field::BaseId => {
                if let Some(id) = self.number(seen, 11) {
                    self.id = id;
                    self.field = Field::Rtr;
                }
            }
            Field::Rtr => {
                self.remote = recessive;
                self.field = Field::Ide;
            }
            Field::Ide => {
                self.extended = recessive;
                self.field = if recessive { Field::ExtendedId } else { Field::Fdf };
            }
            Field::ExtendedId => {
                if let Some(id) = self.number(seen, 18) {
                    self.id = self.id << 18 | id;
                    self.field = Field::ExtendedRtr;
                }
            }
            Field::ExtendedRtr => {
                // The bit in the place of RTR was SRR, whose level receivers ignore.
                self.remote = recessive;
                self.field = Field::Fdf;
            }
            Field::Fdf => {
                self.fd = recessive;
                self.field = match (recessive, self.extended) {
                    (true, _) => Field::Res,
                    (false, true) => Field::R0,
                    (false, false) => Field::Dlc,
                };
            }
            // Choice: both levels are accepted, as Bosch 2.0 requires for reserved bits.
            Field::R0 => self.field = Field::Dlc,
            // Choice: no protocol exception state, so a future frame format is a form error.
            Field::Res if recessive => return Heard::Wrong(ErrorKind::Form),
            Field::Res => self.field = Field::Brs,
            Field::Brs => {
                self.flags |= if recessive { CANFD_BRS } else { 0 };
                self.field = Field::Esi;
            }
            Field::Esi => {
                self.flags |= if recessive { CANFD_ESI } else { 0 };
                self.field = Field::Dlc;
            }
            Field::Dlc => {
                if let Some(dlc) = self.number(seen, 4) {
                    self.dlc = u8::try_from(dlc).unwrap_or(15);
                    self.field = Field::Data;
                    self.check_if_complete();
                }
            }
            Field::Data => {
                if let Some(byte) = self.number(seen, 8) {
                    self.data.push(u8::try_from(byte).unwrap_or(0));
                    self.check_if_complete();
                }
            }
            Field::ClassicCrc => {
                if let Some(check) = self.number(seen, CRC15.width) {
                    self.check_passed = check == CRC15.over(self.plain.iter().copied());
                    self.field = Field::CrcDelimiter;
                }
            }
            Field::FdCrc => return self.fd_check_bit(seen, before),
            Field::CrcDelimiter => {
                self.stuffing = false;
                if !recessive {
                    return Heard::Wrong(ErrorKind::Form);
                }
                self.field = Field::AckSlot;
            }
            Field::AckSlot => self.field = Field::AckDelimiter,
            Field::AckDelimiter if !recessive => return Heard::Wrong(ErrorKind::Form),
            Field::AckDelimiter if !self.check_passed => return Heard::Wrong(ErrorKind::Crc),
            Field::AckDelimiter => self.field = Field::Eof,
            Field::Eof => return self.eof_bit(recessive),
        }
        Heard::More
    }

    /// Adds a bit to a field of `width` bits. Returns the value after the last bit.
    fn number(&mut self, seen: Level, width: u32) -> Option<u32> {
        self.value = self.value << 1 | seen.bit();
        self.count += 1;
        if self.count < width {
            return None;
        }
        let value = self.value;
        (self.value, self.count) = (0, 0);
        Some(value)
    }

    fn data_len(&self) -> usize {
        match (self.fd, self.remote) {
            (true, _) => FD_LENGTHS[usize::from(self.dlc & 15)],
            (false, true) => 0,
            (false, false) => usize::from(self.dlc.min(8)),
        }
    }

    fn check_if_complete(&mut self) {
        if self.data.len() < self.data_len() {
            return;
        }
        if self.fd {
            // The first fixed stuff bit replaces one that is due now.
            self.stuffing = false;
            self.field = Field::FdCrc;
        } else {
            self.field = Field::ClassicCrc;
        }
    }

    fn fd_check_bit(&mut self, seen: Level, before: Level) -> Heard {
        let crc: Crc = if self.data.len() > 16 { CRC21 } else { CRC17 };
        let counted = 4 + crc.width;
        let in_group = self.count % 5;
        self.count += 1;
        if in_group == 0 {
            return if seen == before { Heard::Wrong(ErrorKind::Form) } else { Heard::More };
        }
        self.value = self.value << 1 | seen.bit();
        // Groups of a fixed stuff bit and four bits, the last of them with a single bit.
        if self.count < counted + counted.div_ceil(4) {
            return Heard::More;
        }
        let stuff_count = self.value >> crc.width;
        let covered = self.raw.iter().copied().chain(Level::of_number(stuff_count, 4));
        let check = self.value & ((1 << crc.width) - 1);
        self.check_passed = check == crc.over(covered) && stuff_count == fd_stuff_count(self.stuff_bits);
        self.count = 0;
        self.field = Field::CrcDelimiter;
        Heard::More
    }

    fn eof_bit(&mut self, recessive: bool) -> Heard {
        self.count += 1;
        match (self.count, recessive) {
            (7, true) => Heard::End,
            (7, false) => Heard::Overload,
            (_, false) => Heard::Wrong(ErrorKind::Form),
            (6, true) => Heard::Accepted(Box::new(self.frame())),
            (_, true) => Heard::More,
        }
    }

    fn frame(&self) -> Frame {
        let remote = self.remote && !self.fd;
        let mut data = [0; CANFD_MAX_DLEN];
        for (place, byte) in data.iter_mut().zip(&self.data) {
            *place = *byte;
        }
        let len = if self.fd { self.data.len() } else { usize::from(self.dlc.min(8)) };
        let mut id = self.id;
        id |= if self.extended { CAN_EFF_FLAG } else { 0 };
        id |= if remote { CAN_RTR_FLAG } else { 0 };
        Frame {
            format: if self.fd { FrameFormat::Fd } else { FrameFormat::Classic },
            id: RawId(id),
            len: u8::try_from(len).unwrap_or(0),
            len8_dlc: if !self.fd && self.dlc > 8 { self.dlc } else { 0 },
            flags: if self.fd { self.flags | CANFD_FDF } else { 0 },
            data,
        }
    }
}
