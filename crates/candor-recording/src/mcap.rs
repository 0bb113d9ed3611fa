//! MCAP, for Foxglove and ROS: a channel for each bus, with messages in JSON.
//!
//! ```text
//!  magic │ header │ schema │ channel (each bus, where it first occurs) │ message (each frame), … │ data end │ footer │ magic
//!  record: opcode │ length, 8 bytes │ content
//! ```
//!
//! A message has `id`, `extended`, `kind` (`data`, `remote`, `fd` or `error`), `dlc`, `length`, `brs`, `esi`, `direction` (`Rx`,
//! `Tx` or null) and `data` in base64. Its topic is the name of the bus after a slash. It is not compressed and has no index.
//!
//! Of files of other programs, only such messages are read.
//!
//! # Source
//! [MCAP format specification](https://mcap.dev/spec), version 0

mod read;

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame};

use crate::limits::BEFORE_ZERO;
use crate::row::{dlc, id, kind};
use crate::stream::WriteRecords;
use crate::{Buses, Counts, Direction, Record};

pub use read::Reader;

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;
const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

const HEADER: u8 = 1;
const FOOTER: u8 = 2;
const SCHEMA: u8 = 3;
const CHANNEL: u8 = 4;
const MESSAGE: u8 = 5;
const CHUNK_OF_RECORDS: u8 = 6;
const DATA_END: u8 = 15;

const SCHEMA_NUMBER: u16 = 1;
const SCHEMA_NAME: &str = "candor.CanFrame";
const ENCODING: &str = "json";
const SCHEMA_TEXT: &str = r#"{"type":"object","title":"candor.CanFrame","properties":{"id":{"type":"integer"},"extended":{"type":"boolean"},"kind":{"type":"string","enum":["data","remote","fd","error"]},"dlc":{"type":"integer"},"length":{"type":"integer"},"brs":{"type":"boolean"},"esi":{"type":"boolean"},"direction":{"type":["string","null"]},"data":{"type":"string","contentEncoding":"base64"}}}"#;

/// Writes an MCAP file.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
    /// Whether the channel of a bus, whose number is that of the bus, is described.
    described: Vec<bool>,
    /// The number of the next message.
    sequence: u32,
    early: u64,
}

impl<W: Write> Writer<W> {
    /// Writes here.
    pub fn new(output: W) -> Self {
        let mut bytes = MAGIC.to_vec();
        record(&mut bytes, HEADER, |body| {
            text(body, "");
            text(body, concat!("candor ", env!("CARGO_PKG_VERSION")));
        });
        record(&mut bytes, SCHEMA, |body| {
            body.extend(SCHEMA_NUMBER.to_le_bytes());
            text(body, SCHEMA_NAME);
            text(body, "jsonschema");
            text(body, SCHEMA_TEXT);
        });
        Self { output, bytes, described: Vec::new(), sequence: 0, early: 0 }
    }

    /// Describes the channel of a bus.
    fn describe(&mut self, bus: u16, name: &str) {
        record(&mut self.bytes, CHANNEL, |body| {
            body.extend(bus.to_le_bytes());
            body.extend(SCHEMA_NUMBER.to_le_bytes());
            text(body, &format!("/{name}"));
            text(body, ENCODING);
            body.extend([0; 4]); // no metadata
        });
        let bus = usize::from(bus);
        if self.described.len() <= bus {
            self.described.resize(bus + 1, false);
        }
        self.described[bus] = true;
    }
}

/// Appends a record, whose length precedes it.
fn record(bytes: &mut Vec<u8>, opcode: u8, content: impl FnOnce(&mut Vec<u8>)) {
    bytes.push(opcode);
    let start = bytes.len();
    bytes.extend([0; 8]);
    content(bytes);
    let len = (bytes.len() - start - 8) as u64;
    bytes[start..start + 8].copy_from_slice(&len.to_le_bytes());
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn json(bytes: &mut Vec<u8>, frame: &Frame, direction: Option<Direction>) -> io::Result<()> {
    let (id, extended, kind, dlc, len) = (id(frame), frame.id.is_eff(), kind(frame), dlc(frame), frame.len);
    let (brs, esi) = (frame.flags & CANFD_BRS != 0, frame.flags & CANFD_ESI != 0);
    write!(bytes, r#"{{"id":{id},"extended":{extended},"kind":"{kind}","dlc":{dlc},"length":{len},"#)?;
    write!(bytes, r#""brs":{brs},"esi":{esi},"direction":"#)?;
    match direction {
        None => write!(bytes, "null")?,
        Some(direction) => write!(bytes, "\"{}\"", direction.name())?,
    }
    bytes.extend(br#","data":""#);
    if !frame.id.is_rtr() {
        let mut letters = [0; CANFD_MAX_DLEN.div_ceil(3) * 4];
        let count = BASE64.encode_slice(frame.payload(), &mut letters).map_err(io::Error::other)?;
        bytes.extend(&letters[..count]);
    }
    bytes.extend(b"\"}");
    Ok(())
}

impl<W: Write> WriteRecords for Writer<W> {
    fn write(&mut self, one: &Record, buses: &Buses) -> io::Result<()> {
        let bus = one.bus.0;
        if self.described.get(usize::from(bus)) != Some(&true) {
            self.describe(bus, buses.name(one.bus));
        }
        let at_ns = u64::try_from(one.at_ns).unwrap_or_else(|_negative| {
            self.early += 1;
            0
        });
        let mut written = Ok(());
        record(&mut self.bytes, MESSAGE, |body| {
            body.extend(bus.to_le_bytes());
            body.extend(self.sequence.to_le_bytes());
            body.extend(at_ns.to_le_bytes()); // recorded
            body.extend(at_ns.to_le_bytes()); // published
            written = json(body, &one.frame, one.direction);
        });
        written?;
        self.sequence = self.sequence.wrapping_add(1);
        if self.bytes.len() >= CHUNK {
            self.output.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Counts> {
        record(&mut self.bytes, DATA_END, |body| body.extend([0; 4]));
        // No summary.
        record(&mut self.bytes, FOOTER, |body| body.extend([0; 20]));
        self.bytes.extend(MAGIC);
        self.output.write_all(&self.bytes)?;
        self.bytes.clear();
        self.output.flush()?;
        let mut lost = Counts::new();
        if self.early > 0 {
            lost.add_many(BEFORE_ZERO, self.early);
        }
        Ok(lost)
    }
}

#[cfg(test)]
mod tests;
