//! Lines of CSV.

use std::io::{self, Write};

use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame};

use super::HEADER;
#[cfg(feature = "tables")]
use crate::decode::Decoder;
use crate::row::{dlc, id, kind};
use crate::stream::WriteRecords;
use crate::{Buses, Clock, Counts, Direction, Record};

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

/// Writes a table.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
    #[cfg(feature = "tables")]
    decoder: Option<Decoder>,
}

impl<W: Write> Writer<W> {
    /// Writes here.
    pub fn new(output: W) -> Self {
        Self {
            output,
            bytes: format!("{HEADER}\n").into_bytes(),
            #[cfg(feature = "tables")]
            decoder: None,
        }
    }

    /// Writes here, with two columns for each signal: `MESSAGE.SIGNAL`, its physical value, and `MESSAGE.SIGNAL_raw`.
    #[cfg(feature = "tables")]
    pub(crate) fn decoding(output: W, decoder: Decoder) -> Self {
        let mut header = HEADER.to_owned();
        for message in decoder.messages() {
            for signal in &message.signals {
                let name = format!("{}.{}", message.name, signal.name);
                header.push_str(&format!(",{},{}", Quoted(&name), Quoted(&format!("{name}_raw"))));
            }
        }
        header.push('\n');
        Self { output, bytes: header.into_bytes(), decoder: Some(decoder) }
    }

    /// Appends the columns of signals, most of which are empty.
    #[cfg(feature = "tables")]
    fn signals(&mut self, frame: &Frame) -> io::Result<()> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let found = decoder.decode(frame);
        for (at, message) in decoder.messages().iter().enumerate() {
            let is_it = found == Some(at);
            for signal in &message.signals {
                match signal.value.filter(|_| is_it) {
                    Some(value) => write!(self.bytes, ",{},{}", value.physical, value.raw)?,
                    None => self.bytes.extend_from_slice(b",,"),
                }
            }
        }
        Ok(())
    }
}

/// Hexadecimal digits of the identifier, or of the class of an error frame.
fn digits(frame: &Frame) -> String {
    let is_long = frame.id.is_err() || frame.id.is_eff();
    format!("{:0width$X}", id(frame), width = if is_long { 8 } else { 3 })
}

impl<W: Write> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let (bytes, frame) = (&mut self.bytes, &record.frame);
        let clock = if record.clock == Clock::Unix { "unix" } else { "start" };
        let direction = record.direction.map_or("", Direction::name);
        let bit = |flag: u8| u8::from(frame.flags & flag != 0);
        write!(bytes, "{},{clock},{},{direction},{},", record.at_ns, Quoted(buses.name(record.bus)), kind(frame))?;
        write!(bytes, "{},{},{},{},{},", digits(frame), dlc(frame), frame.len, bit(CANFD_BRS), bit(CANFD_ESI))?;
        if !frame.id.is_rtr() {
            frame.payload().iter().try_for_each(|byte| write!(bytes, "{byte:02X}"))?;
        }
        #[cfg(feature = "tables")]
        self.signals(frame)?;
        self.bytes.push(b'\n');
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
        #[cfg(feature = "tables")]
        if let Some(decoder) = &self.decoder {
            return Ok(decoder.unknown());
        }
        Ok(Counts::new())
    }
}

/// A text in quotes if it needs them.
///
/// # Source
/// [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), section 2
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.contains(['"', ',', '\n', '\r']) {
            true => write!(f, "\"{}\"", self.0.replace('"', "\"\"")),
            false => f.write_str(self.0),
        }
    }
}
