//! Records of an MCAP file from its beginning to the end of its data.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use base64::Engine as _;
use serde::Deserialize;

use super::{BASE64, CHANNEL, CHUNK_OF_RECORDS, DATA_END, ENCODING, FOOTER, MAGIC, MESSAGE, SCHEMA, SCHEMA_NAME};
use crate::buses::MOST_NAME_BYTES;
use crate::row::Row;
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::{Buses, Clock, Counts, ReadError, Record};

/// Longest record that is kept in memory, in bytes.
const MOST_RECORD_BYTES: u64 = 1 << 20;
/// Opcode and length.
const HEAD_BYTES: usize = 9;
/// Of a chunk, before the name of its compression.
const CHUNK_HEAD_BYTES: usize = 28;
/// Longest name of a compression.
const MOST_COMPRESSION_BYTES: usize = 16;
/// Counted for each of them.
const OTHERS: &str = "messages that are no frames of candor left out";

/// Reads an MCAP file with messages of [`Writer`](super::Writer).
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    content: Content,
    has_begun: bool,
    has_ended: bool,
}

/// The names of their buses; `None` if their messages are no frames.
type Channels = BTreeMap<u16, Option<String>>;

/// What its records say.
#[derive(Debug)]
struct Content {
    buses: Buses,
    skipped: Counts,
    /// Those of frames.
    schemas: BTreeSet<u16>,
    channels: Channels,
    /// Of the last message.
    data: Vec<u8>,
}

/// A message in JSON.
#[derive(Deserialize)]
struct Message<'a> {
    id: u32,
    extended: bool,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    dlc: u8,
    length: u8,
    brs: bool,
    esi: bool,
    #[serde(borrow)]
    direction: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

impl<R: Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        let content = Content {
            buses: Buses::new(),
            skipped: Counts::new(),
            schemas: BTreeSet::new(),
            channels: Channels::new(),
            data: Vec::new(),
        };
        Self { source: Source::new(input), content, has_begun: false, has_ended: false }
    }

    fn bad(&self, why: impl Into<String>) -> ReadError {
        ReadError::Bad { at: self.source.byte(), why: why.into() }
    }

    const fn cut(&self, what: &'static str) -> ReadError {
        ReadError::Cut { at: self.source.byte(), what }
    }

    /// Has this number of bytes in memory.
    fn need(&mut self, count: usize) -> Result<(), ReadError> {
        if self.source.fill(count)? { Ok(()) } else { Err(self.cut("a record")) }
    }

    fn begin(&mut self) -> Result<(), ReadError> {
        if !self.has_begun {
            if !self.source.fill(MAGIC.len())? || !self.source.bytes().starts_with(MAGIC) {
                return Err(self.bad("the file does not begin with the magic of MCAP, version 0"));
            }
            self.source.consume(MAGIC.len());
            self.has_begun = true;
        }
        Ok(())
    }

    /// Reads a record; true if it is a frame.
    fn record(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        if !self.source.fill(HEAD_BYTES)? {
            let what = if self.source.bytes().is_empty() { "its data" } else { "a record" };
            return Err(self.cut(what));
        }
        let mut head = Fields(self.source.bytes());
        let (opcode, len) = (head.byte().unwrap_or_default(), head.long().unwrap_or_default());
        match opcode {
            // What follows is a summary.
            DATA_END | FOOTER => {
                self.has_ended = true;
                return Ok(false);
            }
            CHUNK_OF_RECORDS => return self.chunk(len).map(|()| false),
            SCHEMA | CHANNEL | MESSAGE if len <= MOST_RECORD_BYTES => {}
            CHANNEL | MESSAGE => return self.long(opcode, len).map(|()| false),
            _ => return self.skip(len).map(|()| false),
        }
        let len = usize::try_from(len).map_err(|_more| self.bad("a record is too long"))?;
        self.need(HEAD_BYTES + len)?;
        let body = Fields(&self.source.bytes()[HEAD_BYTES..HEAD_BYTES + len]);
        let found = match opcode {
            SCHEMA => self.content.schema(body),
            CHANNEL => self.content.channel(body),
            _ => self.content.message(body, record),
        };
        let is_frame = found.map_err(|why| self.bad(why))?;
        self.source.consume(HEAD_BYTES + len);
        Ok(is_frame)
    }

    /// Skips a record whose content has this number of bytes.
    fn skip(&mut self, len: u64) -> Result<(), ReadError> {
        let begin = self.source.byte();
        match self.source.skip((HEAD_BYTES as u64).saturating_add(len))? {
            true => Ok(()),
            false => Err(ReadError::Cut { at: begin, what: "a record" }),
        }
    }

    /// What no frame has: a message such as a picture, or the description of its channel.
    fn long(&mut self, opcode: u8, len: u64) -> Result<(), ReadError> {
        self.need(HEAD_BYTES + 2)?;
        let channel = Fields(&self.source.bytes()[HEAD_BYTES..]).half().unwrap_or_default();
        if opcode == CHANNEL {
            self.content.channels.insert(channel, None);
            return self.skip(len);
        }
        if bus(&self.content.channels, channel).map_err(|why| self.bad(why))?.is_some() {
            return Err(self.bad(format!("a message of a frame has {len} bytes")));
        }
        self.skip(len)?;
        self.content.skipped.add(OTHERS);
        Ok(())
    }

    /// The records of a chunk follow its head.
    fn chunk(&mut self, len: u64) -> Result<(), ReadError> {
        self.need(HEAD_BYTES + CHUNK_HEAD_BYTES + 4)?;
        let mut fields = Fields(&self.source.bytes()[HEAD_BYTES + CHUNK_HEAD_BYTES..]);
        let name_len = fields.word().unwrap_or_default() as usize;
        if name_len > MOST_COMPRESSION_BYTES {
            return Err(self.bad(format!("the compression of a chunk has a name of {name_len} bytes")));
        }
        let head = CHUNK_HEAD_BYTES + 4 + name_len + 8;
        self.need(HEAD_BYTES + head)?;
        let mut fields = Fields(&self.source.bytes()[HEAD_BYTES + CHUNK_HEAD_BYTES..]);
        let (name, records) = (fields.text().unwrap_or_default().to_owned(), fields.long().unwrap_or_default());
        if !name.is_empty() {
            let way = "unpack the file first: mcap decompress IN -o OUT";
            return Err(self.bad(format!("a chunk is compressed with {name:?}; {way}")));
        }
        if (head as u64).checked_add(records) != Some(len) {
            return Err(self.bad(format!("a chunk of {len} bytes has records of {records} bytes")));
        }
        self.source.consume(HEAD_BYTES + head);
        Ok(())
    }
}

impl Content {
    fn schema(&mut self, mut body: Fields<'_>) -> Result<bool, String> {
        let (Some(number), Some(name)) = (body.half(), body.text()) else {
            return Err("a schema has no name".to_owned());
        };
        if name == SCHEMA_NAME {
            self.schemas.insert(number);
        }
        Ok(false)
    }

    fn channel(&mut self, mut body: Fields<'_>) -> Result<bool, String> {
        let fields = (body.half(), body.half(), body.text(), body.text());
        let (Some(number), Some(schema), Some(topic), Some(encoding)) = fields else {
            return Err("a channel has no topic or encoding".to_owned());
        };
        let is_of_frames = encoding == ENCODING && self.schemas.contains(&schema);
        let name = topic.strip_prefix('/').unwrap_or(topic);
        if is_of_frames && name.len() > MOST_NAME_BYTES {
            return Err(format!("a channel of frames has a topic of {} bytes", topic.len()));
        }
        self.channels.insert(number, is_of_frames.then(|| name.to_owned()));
        Ok(false)
    }

    fn message(&mut self, mut body: Fields<'_>, record: &mut Record) -> Result<bool, String> {
        let fields = (body.half(), body.word(), body.long(), body.long());
        let (Some(channel), Some(_sequence), Some(at_ns), Some(_published)) = fields else {
            return Err("a message has less than 22 bytes before its data".to_owned());
        };
        let Some(bus) = bus(&self.channels, channel)? else {
            self.skipped.add(OTHERS);
            return Ok(false);
        };
        let message: Message<'_> = serde_json::from_slice(body.0).map_err(|error| format!("a message: {error}"))?;
        self.data.clear();
        BASE64.decode_vec(&*message.data, &mut self.data).map_err(|error| format!("data in base64: {error}"))?;
        let at_ns = i64::try_from(at_ns).map_err(|_more| format!("the time {at_ns} of a message is after 2262"))?;
        let row = Row {
            at_ns,
            clock: Clock::of(at_ns),
            bus,
            direction: message.direction.as_deref().unwrap_or_default(),
            kind: &message.kind,
            id: message.id,
            is_extended: message.extended,
            dlc: message.dlc,
            length: message.length,
            brs: message.brs,
            esi: message.esi,
            data: &self.data,
        };
        *record = row.record(&mut self.buses)?;
        Ok(true)
    }
}

impl<R: Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        self.begin()?;
        while !self.has_ended {
            if self.record(record)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn buses(&self) -> &Buses {
        &self.content.buses
    }

    fn skipped(&self) -> &Counts {
        &self.content.skipped
    }
}

fn bus(channels: &Channels, channel: u16) -> Result<Option<&str>, String> {
    let bus = channels.get(&channel).map(Option::as_deref);
    bus.ok_or_else(|| format!("a message is of channel {channel}, which is not described"))
}

/// Values at the beginning of bytes, in little-endian order.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    fn half(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A text, whose length precedes it.
    fn text(&mut self) -> Option<&'a str> {
        let len = self.word()? as usize;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }
}
