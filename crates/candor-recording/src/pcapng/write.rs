//! Blocks of pcapng.

use std::io::{self, Write};

use candor_core::frame::{CAN_MAX_DLEN, CANFD_MAX_DLEN, Frame};

use super::packet::{HEADER, header};
use super::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, EPB_FLAGS, IF_NAME, IF_SPEED, IF_TSRESOL, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, ISB_IFDROP, ISB_IFRECV, LINKTYPE_CAN_SOCKETCAN, OPT_COMMENT, SECTION_HEADER, SHB_USERAPPL,
};
use crate::stream::WriteRecords;
use crate::{Buses, Counts, Direction, Record};

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

/// Appends the header of a section, little-endian and of unknown length.
pub fn section(bytes: &mut Vec<u8>) {
    block(bytes, SECTION_HEADER, |body| {
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend([1, 0, 0, 0]); // version 1.0
        body.extend(u64::MAX.to_le_bytes());
        option(body, SHB_USERAPPL, concat!("candor ", env!("CARGO_PKG_VERSION")).as_bytes());
    });
}

/// Appends the description of an interface with times in ns. The first of a section has number 0. The comment, such as where
/// its times come from, may be empty.
pub fn interface(bytes: &mut Vec<u8>, name: &str, bits_per_second: Option<u64>, comment: &str) {
    block(bytes, INTERFACE_DESCRIPTION, |body| {
        body.extend(LINKTYPE_CAN_SOCKETCAN.to_le_bytes());
        body.extend([0; 6]); // reserved, and a snap length of 0: unlimited
        option(body, IF_NAME, name.as_bytes());
        if let Some(speed) = bits_per_second {
            option(body, IF_SPEED, &speed.to_le_bytes());
        }
        option(body, IF_TSRESOL, &[9]); // 10^-9 s
        if !comment.is_empty() {
            option(body, OPT_COMMENT, comment.as_bytes());
        }
    });
}

/// Appends how many frames an interface has received since the start of the section, and how many of them are missing in it.
pub fn statistics(bytes: &mut Vec<u8>, interface: u32, at_ns: u64, received: u64, lost: u64) {
    block(bytes, INTERFACE_STATISTICS, |body| {
        body.extend(interface.to_le_bytes());
        let [t0, t1, t2, t3, t4, t5, t6, t7] = at_ns.to_le_bytes();
        body.extend([t4, t5, t6, t7, t0, t1, t2, t3]);
        option(body, ISB_IFRECV, &received.to_le_bytes());
        option(body, ISB_IFDROP, &lost.to_le_bytes());
    });
}

/// Appends a packet with its interface, its time in ns, its direction if it is known, and its comment if it is not empty.
pub fn packet(
    bytes: &mut Vec<u8>,
    interface: u32,
    at_ns: u64,
    frame: &Frame,
    direction: Option<Direction>,
    comment: &str,
) {
    const FIXED: usize = 28 + HEADER;
    const MOST: usize = FIXED + CANFD_MAX_DLEN;
    let start = bytes.len();
    let (header, data) = header(frame);
    let len = u32::try_from(HEADER + data).unwrap_or(u32::MAX).to_le_bytes();
    let [t0, t1, t2, t3, t4, t5, t6, t7] = at_ns.to_le_bytes();
    // One array, because appending many small parts takes longer.
    let mut fixed = [0; MOST];
    fixed[..4].copy_from_slice(&ENHANCED_PACKET.to_le_bytes());
    fixed[8..12].copy_from_slice(&interface.to_le_bytes());
    fixed[12..20].copy_from_slice(&[t4, t5, t6, t7, t0, t1, t2, t3]);
    fixed[20..24].copy_from_slice(&len); // captured
    fixed[24..28].copy_from_slice(&len); // original
    fixed[28..FIXED].copy_from_slice(&header);
    // Copies of a constant size need no call.
    if data <= CAN_MAX_DLEN {
        fixed[FIXED..FIXED + CAN_MAX_DLEN].copy_from_slice(&frame.data[..CAN_MAX_DLEN]);
    } else {
        fixed[FIXED..].copy_from_slice(&frame.data);
    }
    fixed[FIXED + data..].fill(0);
    bytes.extend_from_slice(&fixed[..(FIXED + data).next_multiple_of(4)]);
    if !comment.is_empty() {
        option(bytes, OPT_COMMENT, comment.as_bytes());
    }
    if let Some(direction) = direction {
        let inbound_or_outbound = match direction {
            Direction::Received => 1,
            Direction::Sent => 2,
        };
        let [a, b] = EPB_FLAGS.to_le_bytes();
        bytes.extend_from_slice(&[a, b, 4, 0, inbound_or_outbound, 0, 0, 0]);
    }
    if direction.is_some() || !comment.is_empty() {
        bytes.extend_from_slice(&[0; 4]);
    }
    end(bytes, start);
}

/// Bytes of the blocks that are whole, from the first on.
#[must_use]
pub fn whole(bytes: &[u8]) -> usize {
    blocks(bytes).map(<[u8]>::len).sum()
}

/// Number of frames in whole blocks.
#[must_use]
pub fn packets(bytes: &[u8]) -> u64 {
    blocks(bytes).map(|block| u64::from(block.starts_with(&ENHANCED_PACKET.to_le_bytes()))).sum()
}

/// Whole blocks of a writer, which are little-endian.
fn blocks(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let len = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?) as usize;
        // Type, length and length again.
        let (block, rest) = bytes.split_at_checked(len).filter(|(block, _)| block.len() >= 12)?;
        bytes = rest;
        Some(block)
    })
}

/// Appends a block with options: its length precedes and follows the body, and a zero ends the options.
fn block(bytes: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend(kind.to_le_bytes());
    bytes.extend([0; 4]);
    body(bytes);
    bytes.extend([0; 4]);
    end(bytes, start);
}

/// Writes the lengths of the block that begins at `start`.
fn end(bytes: &mut Vec<u8>, start: usize) {
    let len = u32::try_from(bytes.len() + 4 - start).unwrap_or(u32::MAX).to_le_bytes();
    bytes[start + 4..start + 8].copy_from_slice(&len);
    bytes.extend_from_slice(&len);
}

fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    bytes.extend(code.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(&value[..len.into()]);
    // Everything before is padded already.
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Writes a section whose interfaces are described where they first occur.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
    /// Number of the interface of each bus, plus 1.
    interfaces: Vec<u32>,
    count: u32,
    /// Times before 1970.
    early: u64,
}

impl<W: Write> Writer<W> {
    /// Writes here.
    pub fn new(output: W) -> Self {
        let mut bytes = Vec::with_capacity(CHUNK + 1024);
        section(&mut bytes);
        Self { output, bytes, interfaces: Vec::new(), count: 0, early: 0 }
    }

    #[cold]
    fn describe(&mut self, bus: usize, name: &str) -> u32 {
        interface(&mut self.bytes, name, None, "");
        self.count += 1;
        if self.interfaces.len() <= bus {
            self.interfaces.resize(bus + 1, 0);
        }
        self.interfaces[bus] = self.count;
        self.count
    }
}

impl<W: Write> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let bus = usize::from(record.bus.0);
        let number = match self.interfaces.get(bus) {
            Some(&number @ 1..) => number,
            _ => self.describe(bus, buses.name(record.bus)),
        };
        let at_ns = u64::try_from(record.at_ns).unwrap_or_else(|_negative| {
            self.early += 1;
            0
        });
        packet(&mut self.bytes, number - 1, at_ns, &record.frame, record.direction, "");
        if self.bytes.len() >= CHUNK {
            self.output.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Counts> {
        self.output.write_all(&self.bytes)?;
        self.bytes.clear();
        self.output.flush()?;
        let mut lost = Counts::new();
        if self.early > 0 {
            lost.add_many(crate::limits::BEFORE_ZERO, self.early);
        }
        Ok(lost)
    }
}
