//! Lines of ASC.

use std::io::{self, Write};

use candor_core::frame::{CANFD_BRS, CANFD_ESI, FrameFormat, fd_dlc};

use super::{FLAG_BRS, FLAG_ESI, FLAG_FDF};
use crate::channels::Channels;
use crate::date::{Base, Date};
use crate::stream::WriteRecords;
use crate::{Buses, Counts, Direction, Record};

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

/// Writes an ASC file.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
    channels: Channels,
    base: Base,
    has_header: bool,
}

impl<W: Write> Writer<W> {
    /// Writes here.
    pub fn new(output: W) -> Self {
        let (channels, base) = (Channels::new(1), Base::new());
        Self { output, bytes: Vec::new(), channels, base, has_header: false }
    }

    fn header(&mut self, start_ns: i64) -> io::Result<()> {
        self.has_header = true;
        let date = Date::of(start_ns).words();
        write!(
            self.bytes,
            "date {date}\nbase hex  timestamps absolute\ninternal events logged\nBegin Triggerblock {date}\n   0.000000 \
             Start of measurement\n"
        )
    }

    fn line(&mut self, record: &Record, channel: u16) -> io::Result<()> {
        let us = self.base.since_ns(record) / 1000;
        let (seconds, us) = (us / 1_000_000, us % 1_000_000);
        let (bytes, frame) = (&mut self.bytes, &record.frame);
        write!(bytes, "{seconds:4}.{us:06} ")?;
        if frame.id.is_err() {
            return writeln!(bytes, "{channel}  ErrorFrame");
        }
        let id = format_args!("{:X}{}", frame.id.bits(), if frame.id.is_eff() { "x" } else { "" }).to_string();
        let direction = record.direction.unwrap_or(Direction::Received).name();
        let dlc = frame.raw_dlc();
        match frame.format {
            FrameFormat::Classic => {
                let kind = if frame.id.is_rtr() { 'r' } else { 'd' };
                write!(bytes, "{channel}  {id:<15} {direction:<4} {kind} {dlc:x}")?;
                if !frame.id.is_rtr() {
                    data(bytes, frame.payload())?;
                }
                bytes.push(b'\n');
            }
            FrameFormat::Fd => {
                let bit = |flag: u8| u32::from(frame.flags & flag != 0);
                let (brs, esi) = (bit(CANFD_BRS), bit(CANFD_ESI));
                let (dlc, len) = (fd_dlc(frame.len), frame.len);
                write!(bytes, "CANFD {channel:>3} {direction:<4} {id:>8}  {:>32} {brs} {esi} {dlc:x} {len:>2}", "")?;
                data(bytes, frame.payload())?;
                let flags = FLAG_FDF | (brs * FLAG_BRS) | (esi * FLAG_ESI);
                // Duration and length on the bus, flags, CRC and bit timings, which are not known.
                writeln!(bytes, " {:>8} {:>4} {flags:>8X} {:>8} {:>8} {:>8} {:>8} {:>8}", 0, 0, 0, 0, 0, 0, 0)?;
            }
        }
        Ok(())
    }
}

fn data(bytes: &mut Vec<u8>, payload: &[u8]) -> io::Result<()> {
    payload.iter().try_for_each(|byte| write!(bytes, " {byte:02X}"))
}

impl<W: Write> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let channel = self.channels.number(record.bus, buses)?;
        if !self.has_header {
            let start_ns = self.base.start_ns(record);
            self.header(start_ns)?;
        }
        self.line(record, channel)?;
        if self.bytes.len() >= CHUNK {
            self.output.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Counts> {
        if !self.has_header {
            self.header(0)?;
        }
        self.bytes.extend_from_slice(b"End TriggerBlock\n");
        self.output.write_all(&self.bytes)?;
        self.bytes.clear();
        self.output.flush()?;
        let mut lost = Counts::new();
        self.base.count(&mut lost);
        Ok(lost)
    }

    fn numbers<'a>(&'a self, buses: &'a Buses) -> Vec<(&'a str, u16)> {
        self.channels.renamed(buses)
    }
}
