//! Objects in containers.

use std::io::{self, Seek, SeekFrom, Write};

use candor_core::frame::{
    CAN_EFF_MASK, CAN_MAX_DLEN, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, FrameFormat, fd_dlc,
};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{
    BASE_HEADER, BRS, CAN_ERROR_EXT, CAN_FD_MESSAGE, CAN_MESSAGE, CONTAINER_HEADER, EDL, ESI, FILE_HEADER, FLAG_REMOTE,
    FLAG_SENT, HEADER_1, ID_EXTENDED, LOG_CONTAINER, NANOSECONDS,
};
use crate::channels::Channels;
use crate::date::{Base, Date};
use crate::stream::WriteRecords;
use crate::{Buses, Clock, Counts, Direction, Record};

/// Largest container before compression, in bytes.
const CONTAINER: usize = 128 * 1024;
/// The largest object with its padding.
const MOST_OBJECT: usize = HEADER_1 + 20 + CANFD_MAX_DLEN + 8;
const ZLIB: u16 = 2;

/// Writes a BLF file.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    objects: Vec<u8>,
    channels: Channels,
    base: Base,
    has_header: bool,
    /// Of the first and last record, as dates since 1970.
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    count: u32,
    size: u64,
    uncompressed: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Writes here. The header is complete only after [`finish`](WriteRecords::finish).
    pub fn new(output: W) -> Self {
        Self {
            output,
            objects: Vec::with_capacity(CONTAINER),
            channels: Channels::new(1),
            base: Base::new(),
            has_header: false,
            start_ns: None,
            end_ns: None,
            count: 0,
            size: FILE_HEADER as u64,
            uncompressed: FILE_HEADER as u64,
        }
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FILE_HEADER);
        bytes.extend(b"LOGG");
        bytes.extend(144_u32.to_le_bytes());
        // Interface, application, level of compression, and version of the application: unknown but for the level.
        bytes.extend([0, 0, 0, 0, 0, 1, 0, 0]);
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.uncompressed.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend([0; 4]);
        for at_ns in [self.start_ns, self.end_ns] {
            match at_ns.map(Date::of) {
                None => bytes.extend([0; 16]),
                Some(date) => {
                    let weekday = u16::try_from(date.weekday()).unwrap_or(0);
                    let Date { year, month, day, hour, minute, second, ms } = date;
                    let small = [hour, minute, second].map(u16::from);
                    let words = [year, month.into(), weekday, day.into(), small[0], small[1], small[2], ms];
                    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
                }
            }
        }
        bytes.resize(FILE_HEADER, 0);
        bytes
    }

    /// Compresses what there is into a container.
    fn flush(&mut self) -> io::Result<()> {
        if !self.has_header {
            let header = self.header();
            self.output.write_all(&header)?;
            self.has_header = true;
        }
        if self.objects.is_empty() {
            return Ok(());
        }
        let mut encoder = ZlibEncoder::new(Vec::with_capacity(CONTAINER / 2), Compression::fast());
        encoder.write_all(&self.objects)?;
        let compressed = encoder.finish()?;
        let size = BASE_HEADER + CONTAINER_HEADER + compressed.len();
        let mut head = Vec::with_capacity(BASE_HEADER + CONTAINER_HEADER);
        base_header(&mut head, BASE_HEADER, size, LOG_CONTAINER);
        head.extend(ZLIB.to_le_bytes());
        head.extend([0; 6]);
        head.extend(u32::try_from(self.objects.len()).unwrap_or(u32::MAX).to_le_bytes());
        head.extend([0; 4]);
        self.output.write_all(&head)?;
        self.output.write_all(&compressed)?;
        // Not up to a multiple of 4, but as many bytes as are above one.
        self.output.write_all(&[0; 3][..size % 4])?;
        self.size += (size + size % 4) as u64;
        self.uncompressed += (BASE_HEADER + CONTAINER_HEADER + self.objects.len()) as u64;
        self.objects.clear();
        Ok(())
    }
}

fn base_header(bytes: &mut Vec<u8>, header: usize, size: usize, kind: u32) {
    bytes.extend(b"LOBJ");
    bytes.extend(u16::try_from(header).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
}

/// Appends the object of a frame.
fn object(bytes: &mut Vec<u8>, since_ns: u64, channel: u16, direction: Option<Direction>, frame: &Frame) {
    let start = bytes.len();
    let kind = match (frame.id.is_err(), frame.format) {
        (true, _) => CAN_ERROR_EXT,
        (false, FrameFormat::Classic) => CAN_MESSAGE,
        (false, FrameFormat::Fd) => CAN_FD_MESSAGE,
    };
    base_header(bytes, HEADER_1, 0, kind);
    bytes.extend(NANOSECONDS.to_le_bytes());
    bytes.extend([0; 4]); // client and version
    bytes.extend(since_ns.to_le_bytes());
    bytes.extend(channel.to_le_bytes());
    let sent = if direction == Some(Direction::Sent) { FLAG_SENT } else { 0 };
    let remote = if frame.id.is_rtr() { FLAG_REMOTE } else { 0 };
    let extended = if frame.id.is_eff() { ID_EXTENDED } else { 0 };
    let id = frame.id.bits() | extended;
    match kind {
        CAN_ERROR_EXT => {
            bytes.extend([0; 8]); // length, flags, code, position
            bytes.extend([frame.len, 0]);
            bytes.extend([0; 4]); // length on the bus
            bytes.extend((frame.id.0 & CAN_EFF_MASK | ID_EXTENDED).to_le_bytes());
            bytes.extend([0; 4]); // flags
            bytes.extend(&frame.data[..CAN_MAX_DLEN]);
        }
        CAN_MESSAGE => {
            bytes.extend([sent | remote, frame.raw_dlc()]);
            bytes.extend(id.to_le_bytes());
            bytes.extend(&frame.data[..CAN_MAX_DLEN]);
        }
        _ => {
            let bit = |flag: u8, bit: u8| if frame.flags & flag != 0 { bit } else { 0 };
            let fd = EDL | bit(CANFD_BRS, BRS) | bit(CANFD_ESI, ESI);
            bytes.extend([sent, fd_dlc(frame.len)]);
            bytes.extend(id.to_le_bytes());
            bytes.extend([0; 5]); // length on the bus, bits of the arbitration phase
            bytes.extend([fd, frame.len]);
            bytes.extend([0; 5]);
            bytes.extend(&frame.data);
            bytes.extend([0; 4]);
        }
    }
    let size = bytes.len() - start;
    bytes[start + 8..start + 12].copy_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    bytes.resize(bytes.len() + size % 4, 0);
}

impl<W: Write + Seek> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let channel = self.channels.number(record.bus, buses)?;
        if record.clock == Clock::Unix {
            let start_ns = self.base.start_ns(record);
            self.start_ns.get_or_insert(start_ns);
            self.end_ns = Some(record.at_ns);
        }
        if self.objects.len() + MOST_OBJECT > CONTAINER {
            self.flush()?;
        }
        let since_ns = self.base.since_ns(record);
        object(&mut self.objects, since_ns, channel, record.direction, &record.frame);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Counts> {
        self.flush()?;
        let header = self.header();
        self.output.seek(SeekFrom::Start(0))?;
        self.output.write_all(&header)?;
        self.output.seek(SeekFrom::End(0))?;
        self.output.flush()?;
        let mut lost = Counts::new();
        self.base.count(&mut lost);
        Ok(lost)
    }

    fn numbers<'a>(&'a self, buses: &'a Buses) -> Vec<(&'a str, u16)> {
        self.channels.renamed(buses)
    }
}
