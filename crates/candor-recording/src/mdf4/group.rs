//! The records of a data group.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, RawId};

use super::blocks::{Blocks, bad};
use super::data::Data;
use super::layout::{Bytes, Field, Kind, Layout};
use crate::limits::error_mark;
use crate::text::{classic, fd, fd_length, identifier};
use crate::{Direction, ReadError, Record};

/// Longest record in bytes.
pub(super) const MOST_RECORD: u64 = 64 * 1024;
/// Most records between a frame and its data bytes.
const MOST_BETWEEN: usize = 10_000;
/// Bytes of a length before data of variable length.
const LENGTH: usize = 4;

/// Records of one kind in the data of a group.
#[derive(Debug)]
pub(super) enum Records {
    /// Of this number of bytes; `None` if they are no frames.
    Fixed(usize, Option<Box<Frames>>),
    /// Data bytes of frames of other records.
    Values(Values),
}

/// Records that are frames.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) layout: Layout,
    pub(super) elsewhere: Elsewhere,
}

/// Where data bytes are that are not in the records.
#[derive(Debug)]
pub(super) enum Elsewhere {
    No,
    /// In blocks of their own, of which this many bytes have been used.
    Block {
        data: Data,
        used: u64,
    },
    /// In records with this number.
    Records(u64),
}

/// Data bytes by their offset. Each has its length before it, which counts.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The offset of the next one.
    end: u64,
    there: VecDeque<(u64, Vec<u8>)>,
}

/// A frame, with the number of its bus and its time since the start.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) since_ns: i64,
    pub(super) channel: u16,
    pub(super) direction: Option<Direction>,
    pub(super) frame: Frame,
}

/// What a record is.
#[derive(Debug)]
pub(super) enum Step {
    /// What is wrong with it is an error of the file.
    Frame(Result<Found, String>),
    Other,
    End,
}

/// A data group, and its next record.
#[derive(Debug)]
pub(super) struct Group {
    /// Bytes of the number before each record.
    number_bytes: usize,
    records: Vec<(u64, Records)>,
    pub(super) data: Data,
    /// Frames whose data bytes have not been read, and those after them: index of the records, and bytes.
    waiting: VecDeque<(usize, Vec<u8>)>,
    pub(super) next: Option<Record>,
    /// Why there is no next one, if the data is damaged.
    pub(super) problem: Option<ReadError>,
}

impl Group {
    pub(super) const fn new(number_bytes: usize, records: Vec<(u64, Records)>, data: Data) -> Self {
        Self { number_bytes, records, data, waiting: VecDeque::new(), next: None, problem: None }
    }

    /// The first frame that waits, if its data bytes are there.
    pub(super) fn ready(&mut self) -> Option<Result<Found, String>> {
        let (known, record) = self.waiting.front()?;
        let (known, record) = (*known, record.as_slice());
        let found = match &self.records[known].1 {
            Records::Fixed(_, Some(frames)) => match (&frames.elsewhere, frames.layout.data) {
                (Elsewhere::Records(number), Bytes::Elsewhere(offset, _)) => {
                    let found = match (offset.get(record), self.values(*number)) {
                        (Some(at), Some(values)) => {
                            values.get(at)?.and_then(|bytes| frame(&frames.layout, record, bytes))
                        }
                        _ => Err("data of variable length is nowhere".to_owned()),
                    };
                    if let Some(at) = offset.get(record) {
                        let number = *number;
                        self.forget(number, at);
                    }
                    found
                }
                _ => frames.here(record),
            },
            _ => return None,
        };
        self.waiting.pop_front();
        Some(found)
    }

    fn values(&self, number: u64) -> Option<&Values> {
        self.records.iter().find_map(|(known, records)| match records {
            Records::Values(values) if *known == number => Some(values),
            _ => None,
        })
    }

    /// Forgets data bytes before an offset.
    fn forget(&mut self, number: u64, before: u64) {
        for (known, records) in &mut self.records {
            if let Records::Values(values) = records
                && *known == number
            {
                values.there.retain(|(at, _)| *at >= before);
            }
        }
    }

    /// Reads a record.
    pub(super) fn step<R: Read + Seek>(&mut self, file: &mut Blocks<R>) -> Result<Step, ReadError> {
        let Self { number_bytes, records, data, waiting, .. } = self;
        let number_bytes = *number_bytes;
        if !data.fill(file, number_bytes.max(1))? {
            let is_whole = data.rest().is_empty() && !data.is_cut() && waiting.is_empty();
            return if is_whole { Ok(Step::End) } else { Err(data.cut()) };
        }
        let mut number = [0; 8];
        number[..number_bytes].copy_from_slice(&data.rest()[..number_bytes]);
        let number = u64::from_le_bytes(number);
        let Some(known) = records.iter().position(|(known, _)| number_bytes == 0 || *known == number) else {
            return Err(bad(data.begin, format!("a record has the unknown number {number}")));
        };
        let bytes = number_bytes
            + match &records[known].1 {
                Records::Fixed(bytes, _) => *bytes,
                Records::Values(_) => LENGTH + length(data, file, number_bytes)?,
            };
        if bytes == 0 || !data.fill(file, bytes)? {
            return Err(data.cut());
        }
        let record = &data.rest()[number_bytes..bytes];
        let step = match &mut records[known].1 {
            Records::Values(values) => {
                values.add(&record[LENGTH..]);
                Step::Other
            }
            Records::Fixed(_, None) => Step::Other,
            Records::Fixed(_, Some(frames)) => match &mut frames.elsewhere {
                Elsewhere::No if waiting.is_empty() => Step::Frame(frames.here(record)),
                Elsewhere::Block { data: block, used } => {
                    let Bytes::Elsewhere(offset, _) = frames.layout.data else { return Err(data.cut()) };
                    let at = offset.get(record).ok_or_else(|| bad(block.begin, "a record is too short".to_owned()))?;
                    let len = seek(block, file, used, at)?;
                    let found = frame(&frames.layout, record, &block.rest()[LENGTH..LENGTH + len]);
                    block.consume(LENGTH + len);
                    *used += (LENGTH + len) as u64;
                    Step::Frame(found)
                }
                Elsewhere::No | Elsewhere::Records(_) => {
                    if waiting.len() == MOST_BETWEEN {
                        let why = format!("the data bytes of a frame are not within {MOST_BETWEEN} records");
                        return Err(bad(data.begin, why));
                    }
                    waiting.push_back((known, record.to_vec()));
                    Step::Other
                }
            },
        };
        data.consume(bytes);
        Ok(step)
    }
}

impl Frames {
    /// The frame of a record that has its data bytes.
    fn here(&self, record: &[u8]) -> Result<Found, String> {
        let bytes = match self.layout.data {
            Bytes::Here(at, len) => record.get(at..at + len).ok_or("bytes after the end of the record")?,
            Bytes::None | Bytes::Elsewhere(..) => &[],
        };
        frame(&self.layout, record, bytes)
    }
}

impl Values {
    fn add(&mut self, bytes: &[u8]) {
        // Of frames that are left out, nobody takes them.
        if self.there.len() == MOST_BETWEEN {
            self.there.pop_front();
        }
        self.there.push_back((self.end, bytes.to_vec()));
        self.end += (LENGTH + bytes.len()) as u64;
    }

    /// The bytes at an offset; `None` if they have not been read.
    fn get(&self, offset: u64) -> Option<Result<&[u8], String>> {
        match self.there.iter().find(|(at, _)| *at == offset) {
            Some((_, bytes)) => Some(Ok(bytes)),
            None if offset >= self.end => None,
            None => Some(Err(format!("no data bytes are at the offset {offset}"))),
        }
    }
}

/// The length after these bytes.
fn length<R: Read + Seek>(data: &mut Data, file: &mut Blocks<R>, after: usize) -> Result<usize, ReadError> {
    if !data.fill(file, after + LENGTH)? {
        return Err(data.cut());
    }
    let rest = &data.rest()[after..];
    let len = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    if u64::from(len) > MOST_RECORD {
        return Err(bad(data.begin, format!("a record has {len} bytes, more than {MOST_RECORD}")));
    }
    Ok(len as usize)
}

/// Skips to an offset, and reads the data there with its length, which is returned.
fn seek<R: Read + Seek>(data: &mut Data, file: &mut Blocks<R>, used: &mut u64, to: u64) -> Result<usize, ReadError> {
    if to < *used {
        let why = format!("data bytes at the offset {to} are before those of the frame before, which end at {used}");
        return Err(bad(data.begin, why));
    }
    while *used < to {
        if !data.fill(file, 1)? {
            return Err(data.cut());
        }
        let skipped = data.rest().len().min(usize::try_from(to - *used).unwrap_or(usize::MAX));
        data.consume(skipped);
        *used += skipped as u64;
    }
    let len = length(data, file, 0)?;
    if data.fill(file, LENGTH + len)? { Ok(len) } else { Err(data.cut()) }
}

/// The frame of a record with these data bytes.
fn frame(layout: &Layout, record: &[u8], bytes: &[u8]) -> Result<Found, String> {
    let get = |field: Option<Field>| field.and_then(|field| field.get(record));
    let is_set = |field: Option<Field>| get(field).is_some_and(|value| value != 0);
    let small = |field: Option<Field>| {
        get(field).map(|value| u8::try_from(value).map_err(|_over| format!("a length of {value}")))
    };
    let since_ns = layout.time.get_ns(record).ok_or("a time that is none")?;
    let id = layout.id.get(record).and_then(|id| u32::try_from(id).ok()).ok_or("an identifier of more than 32 bits")?;
    let is_extended = layout.extended.map_or(id >> 31 != 0, |field| is_set(Some(field)));
    let channel = get(layout.bus).unwrap_or(0);
    let channel = u16::try_from(channel).map_err(|_over| format!("bus {channel}"))?;
    let direction = layout.sent.map(|sent| if is_set(Some(sent)) { Direction::Sent } else { Direction::Received });
    let is_fd = is_set(layout.is_fd);
    let mut data = [0; CANFD_MAX_DLEN];
    let there = bytes.len().min(data.len());
    data[..there].copy_from_slice(&bytes[..there]);
    let (dlc, len) = match (small(layout.dlc).transpose()?, small(layout.length).transpose()?) {
        (Some(dlc), Some(len)) => (dlc, len),
        (Some(dlc), None) => (dlc, if is_fd { fd_length(dlc)? } else { dlc.min(8) }),
        (None, Some(len)) => (len.min(8), len),
        (None, None) => return Err("neither DLC nor length".to_owned()),
    };
    if matches!(layout.data, Bytes::Elsewhere(..)) && layout.kind == Kind::Data && there < usize::from(len) {
        return Err(format!("{there} of {len} data bytes are there"));
    }
    let frame = match layout.kind {
        Kind::Error => {
            let class = id & CAN_EFF_MASK;
            let error = RawId(class | CAN_ERR_FLAG);
            let frame = if len == 8 && class != 0 { classic(error, 8, false, &data)? } else { error_mark() };
            return Ok(Found { since_ns, channel, direction: None, frame });
        }
        Kind::Remote => classic(identifier(id & CAN_EFF_MASK, is_extended)?, dlc, true, &[])?,
        Kind::Data if is_fd => {
            let flag = |field: Option<Field>, flag: u8| if is_set(field) { flag } else { 0 };
            let flags = flag(layout.brs, CANFD_BRS) | flag(layout.esi, CANFD_ESI);
            fd(identifier(id & CAN_EFF_MASK, is_extended)?, len, flags, &data)?
        }
        Kind::Data => {
            let dlc = if len == 8 && dlc > 8 { dlc } else { len };
            classic(identifier(id & CAN_EFF_MASK, is_extended)?, dlc, false, &data)?
        }
    };
    Ok(Found { since_ns, channel, direction, frame })
}
