//! Blocks of a file of either byte order.

use std::io::Read;

use super::packet::{self, Found};
use super::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, EPB_FLAGS, IF_NAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    LINKTYPE_CAN_SOCKETCAN, OPT_COMMENT, SECTION_HEADER, SIMPLE_PACKET,
};
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::{BusIndex, Buses, Clock, Counts, Direction, MOST_BUSES, ReadError, Record};

/// Longest block that is kept in memory, in bytes.
const MOST_BLOCK_BYTES: usize = 1 << 20;
/// Before the body, and with the length after it.
const FRAME_BYTES: usize = 12;

/// An interface of the section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    /// `None` if its packets are no CAN frames.
    bus: Option<BusIndex>,
    /// Units of a second.
    units: Units,
    /// Added to each time, in s.
    offset_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Units {
    Nanoseconds,
    PerSecond(u128),
}

/// Reads a capture, of one or several sections.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    buses: Buses,
    skipped: Counts,
    interfaces: Vec<Interface>,
    is_big_endian: bool,
    has_begun: bool,
    /// Bytes that belong to the block just read.
    used: usize,
}

impl<R: Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            buses: Buses::new(),
            skipped: Counts::new(),
            interfaces: Vec::new(),
            is_big_endian: false,
            has_begun: false,
            used: 0,
        }
    }

    fn bad(&self, why: impl Into<String>) -> ReadError {
        ReadError::Bad { at: self.source.byte(), why: why.into() }
    }

    const fn cut(&self) -> ReadError {
        ReadError::Cut { at: self.source.byte(), what: "a block" }
    }

    /// Type and length of the next block, which is in memory. `None` at the end. Blocks that are too long are skipped.
    fn block(&mut self) -> Result<Option<(u32, usize)>, ReadError> {
        loop {
            let used = std::mem::take(&mut self.used);
            self.source.consume(used);
            if !self.source.fill(FRAME_BYTES)? {
                return if self.source.bytes().is_empty() { Ok(None) } else { Err(self.cut()) };
            }
            let bytes = self.source.bytes();
            let kind = word(bytes, self.is_big_endian);
            if kind == SECTION_HEADER {
                // The same in both orders, so that it can say which one.
                self.is_big_endian = match word(&bytes[8..], false) {
                    BYTE_ORDER_MAGIC => false,
                    other if other.swap_bytes() == BYTE_ORDER_MAGIC => true,
                    other => return Err(self.bad(format!("a section has the byte-order magic {other:#010x}"))),
                };
            } else if !self.has_begun {
                let first = word(bytes, false);
                return Err(self.bad(format!("the file begins with {first:#010x}; pcapng begins with 0x0a0d0d0a")));
            }
            self.has_begun = true;
            let len = word(&self.source.bytes()[4..], self.is_big_endian) as usize;
            if len < FRAME_BYTES || !len.is_multiple_of(4) {
                return Err(self.bad(format!("a block has a length of {len} bytes, not a multiple of 4 from 12")));
            }
            if len > MOST_BLOCK_BYTES {
                if [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET].contains(&kind) {
                    return Err(self.bad(format!("a block has a length of {len} bytes, more than {MOST_BLOCK_BYTES}")));
                }
                let begin = self.source.byte();
                if !self.source.skip(len as u64)? {
                    return Err(ReadError::Cut { at: begin, what: "a block" });
                }
                continue;
            }
            if !self.source.fill(len)? {
                return Err(self.cut());
            }
            let after = word(&self.source.bytes()[len - 4..], self.is_big_endian) as usize;
            if after != len {
                return Err(self.bad(format!("a block has a length of {len} bytes before it and {after} after it")));
            }
            self.used = len;
            return Ok(Some((kind, len)));
        }
    }

    fn describe(&mut self, len: usize) -> Result<(), ReadError> {
        let big = self.is_big_endian;
        let body = &self.source.bytes()[8..len - 4];
        let Some(options) = body.get(8..) else {
            return Err(self.bad("the description of an interface has less than 8 bytes"));
        };
        let (mut name, mut units, mut offset_s) = (None, Units::PerSecond(1_000_000), 0);
        for (code, value) in (Options { bytes: options, big }) {
            match (code, value) {
                (IF_NAME, value) => name = Some(value),
                (IF_TSRESOL, [resolution, ..]) => {
                    units = match resolution {
                        9 => Units::Nanoseconds,
                        0..=18 => Units::PerSecond(10_u128.pow(u32::from(*resolution))),
                        0x80..=0xBF => Units::PerSecond(1 << (resolution & 0x7F)),
                        _ => return Err(self.bad(format!("an interface has the time resolution {resolution:#04x}"))),
                    };
                }
                (IF_TSOFFSET, value) => {
                    offset_s = value.try_into().map_or(0, |bytes: [u8; 8]| {
                        if big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
                    });
                }
                _ => {}
            }
        }
        let is_can = half(body, big) == LINKTYPE_CAN_SOCKETCAN;
        let named = name.map(<[u8]>::trim_ascii).map(|name| name.split(|byte| *byte == 0).next().unwrap_or_default());
        let bus = if is_can {
            let number = format!("can{}", self.interfaces.len());
            let name = named.filter(|name| !name.is_empty()).unwrap_or(number.as_bytes());
            // A name with spaces cannot be one of candump; its number stands for it.
            self.buses.index(name).or_else(|| self.buses.index(number.as_bytes()))
        } else {
            None
        };
        if is_can && bus.is_none() || self.interfaces.len() == MOST_BUSES {
            return Err(self.bad(format!("the file has more than {MOST_BUSES} interfaces")));
        }
        self.interfaces.push(Interface { bus, units, offset_s });
        Ok(())
    }

    /// Reads a packet; false if it is no frame.
    fn packet(&mut self, len: usize, record: &mut Record) -> Result<bool, ReadError> {
        let big = self.is_big_endian;
        let body = &self.source.bytes()[8..len - 4];
        let Some((head, rest)) = body.split_first_chunk::<20>() else {
            return Err(self.bad("a packet has less than 20 bytes before its data"));
        };
        let number = word(head, big);
        let units = u64::from(word(&head[4..], big)) << 32 | u64::from(word(&head[8..], big));
        let (captured, original) = (word(&head[12..], big), word(&head[16..], big));
        let captured_len = captured as usize;
        let Some((data, options)) = rest.split_at_checked(captured_len) else {
            return Err(self.bad(format!("a packet has {captured} bytes, more than its block")));
        };
        let Some(interface) = self.interfaces.get(number as usize).copied() else {
            let known = self.interfaces.len();
            return Err(self.bad(format!("a packet is of interface {number}; {known} have been described")));
        };
        let Some(bus) = interface.bus else {
            self.skipped.add("packets that are no CAN frames (other link types)");
            return Ok(false);
        };
        match packet::read(data, &mut record.frame) {
            Ok(Found::Frame) => {}
            Ok(Found::Xl) => {
                self.skipped.add("CAN XL frames left out");
                return Ok(false);
            }
            Err(why) => return Err(self.bad(why)),
        }
        let Some(at_ns) = interface.at_ns(units) else {
            return Err(self.bad(format!("the time {units} of a packet is after the year 2262")));
        };
        record.direction = None;
        let padding = captured_len.next_multiple_of(4) - captured_len;
        for (code, value) in (Options { bytes: options.get(padding..).unwrap_or_default(), big }) {
            match code {
                EPB_FLAGS if value.len() == 4 => {
                    record.direction = match word(value, big) & 3 {
                        1 => Some(Direction::Received),
                        2 => Some(Direction::Sent),
                        _ => None,
                    };
                }
                OPT_COMMENT => self.skipped.add("comments of packets left out"),
                _ => {}
            }
        }
        if captured < original {
            self.skipped.add("packets cut by the capture, whose missing bytes are 0");
        }
        (record.at_ns, record.clock, record.bus) = (at_ns, Clock::of(at_ns), bus);
        Ok(true)
    }
}

impl Interface {
    fn at_ns(&self, units: u64) -> Option<i64> {
        let ns = match self.units {
            Units::Nanoseconds if self.offset_s == 0 => return i64::try_from(units).ok(),
            Units::Nanoseconds => i128::from(units),
            Units::PerSecond(units_per_s) => i128::try_from(u128::from(units) * 1_000_000_000 / units_per_s).ok()?,
        };
        i64::try_from(ns + i128::from(self.offset_s) * 1_000_000_000).ok()
    }
}

impl<R: Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        while let Some((kind, len)) = self.block()? {
            match kind {
                SECTION_HEADER => self.interfaces.clear(),
                INTERFACE_DESCRIPTION => self.describe(len)?,
                ENHANCED_PACKET if self.packet(len, record)? => return Ok(true),
                SIMPLE_PACKET => self.skipped.add("packets without a time left out"),
                _ => {}
            }
        }
        Ok(false)
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}

/// The options after a body.
struct Options<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.bytes.split_first_chunk::<4>()?;
        let (code, len) = (half(head, self.big), usize::from(half(&head[2..], self.big)));
        let value = rest.get(..len).filter(|_| code != 0)?;
        self.bytes = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}

/// The first four bytes.
fn word(bytes: &[u8], big: bool) -> u32 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// The first two bytes.
fn half(bytes: &[u8], big: bool) -> u16 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}
