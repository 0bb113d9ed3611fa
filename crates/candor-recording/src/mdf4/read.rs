//! Records of all groups, in the order of their times.

use std::io::{Read, Seek};

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, RawId};

use super::blocks::{Blocks, bad};
use super::data::Data;
use super::layout::{Field, Kind, Layout, layout};
use super::{BUS_CAN, CG_BUS_EVENT, CG_VLSD, ID_BYTES, SOURCE_BUS};
use crate::channels::numbered;
use crate::limits::error_mark;
use crate::stream::ReadRecords;
use crate::text::{classic, fd, fd_length, identifier};
use crate::{Buses, Clock, Counts, Direction, Place, ReadError, Record};

/// Longest record in bytes.
const MOST_RECORD: u64 = 64 * 1024;
/// The second block.
const HD_AT: u64 = ID_BYTES as u64;
/// Most groups with data, each of which has a buffer.
const MOST_GROUPS: usize = 64;

/// Records of one kind in the data of a group.
#[derive(Debug)]
enum Records {
    /// Of this number of bytes; `None` if they are no frames.
    Fixed(usize, Option<Box<Layout>>),
    /// Of any number of bytes, which is before them.
    Variable,
}

/// A data group, and its next record.
#[derive(Debug)]
struct Group {
    /// Bytes of the number before each record.
    number_bytes: usize,
    records: Vec<(u64, Records)>,
    data: Data,
    next: Option<Record>,
    /// Why there is no next one, if the data is damaged.
    problem: Option<ReadError>,
}

/// Reads an MDF4 file.
#[derive(Debug)]
pub struct Reader<R> {
    file: Blocks<R>,
    buses: Buses,
    skipped: Counts,
    groups: Vec<Group>,
    is_open: bool,
    start_ns: i64,
    clock: Clock,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self {
            file: Blocks::new(input),
            buses: Buses::new(),
            skipped: Counts::new(),
            groups: Vec::new(),
            is_open: false,
            start_ns: 0,
            clock: Clock::Start,
        }
    }

    /// Reads the blocks that describe the file.
    fn open(&mut self) -> Result<(), ReadError> {
        let mut id = [0; ID_BYTES];
        let there = self.file.read_at(0, &mut id)?;
        let is_unfinalised = id.starts_with(b"UnFinMF ");
        if there < id.len() {
            return Err(ReadError::Cut { at: Place::Byte(0), what: "the first block" });
        }
        if !is_unfinalised && !id.starts_with(b"MDF     ") {
            return Err(bad(0, "the file does not begin with MDF".to_owned()));
        }
        let version = u16::from_le_bytes([id[28], id[29]]);
        if version < 400 {
            return Err(bad(0, format!("MDF of version {version}; known are those from 400")));
        }
        if is_unfinalised {
            self.skipped.add("recordings that did not end as they should (not finalised)");
        }
        let head = self.file.block(HD_AT, &[b"HD"])?;
        let start_ns = i64::try_from(head.long(0)).map_err(|_over| bad(HD_AT, "the start is after 2262".to_owned()))?;
        if Clock::of(start_ns) == Clock::Unix {
            (self.start_ns, self.clock) = (start_ns, Clock::Unix);
        }
        let mut next = head.link(0);
        while next != 0 {
            let group = self.file.block(next, &[b"DG"])?;
            next = group.link(0);
            if let Some(group) = self.group(&group, is_unfinalised)? {
                if self.groups.len() == MOST_GROUPS {
                    return Err(bad(next, format!("more than {MOST_GROUPS} groups of frames")));
                }
                self.groups.push(group);
            }
        }
        for at in 0..self.groups.len() {
            self.advance(at)?;
        }
        Ok(())
    }

    /// The records of a data group; `None` if it has no frames.
    fn group(&mut self, group: &super::blocks::Block, is_unfinalised: bool) -> Result<Option<Group>, ReadError> {
        let mut records = Vec::new();
        let mut has_frames = false;
        let mut next = group.link(1);
        while next != 0 {
            let block = self.file.block(next, &[b"CG"])?;
            next = block.link(0);
            let (number, flags) = (block.long(0), block.half(16));
            let bytes = u64::from(block.word(24)) + u64::from(block.word(28));
            if flags & CG_VLSD != 0 {
                records.push((number, Records::Variable));
                continue;
            }
            if bytes > MOST_RECORD {
                return Err(bad(block.at, format!("a record has {bytes} bytes, more than {MOST_RECORD}")));
            }
            let found = if flags & CG_BUS_EVENT != 0 && self.is_can(block.link(3))? {
                let found = layout(&mut self.file, block.link(1))?;
                if found.is_none() && block.long(8) > 0 {
                    self.skipped.add("groups of events left out: no frames, or bytes of variable length");
                }
                found
            } else {
                None
            };
            has_frames |= found.is_some();
            records.push((number, Records::Fixed(usize::try_from(bytes).unwrap_or(0), found.map(Box::new))));
        }
        let number_bytes = usize::from(group.byte(0));
        if ![0, 1, 2, 4, 8].contains(&number_bytes) {
            return Err(bad(group.at, format!("numbers of records have {number_bytes} bytes")));
        }
        let data = Data::new(group.link(2), is_unfinalised);
        Ok(has_frames.then_some(Group { number_bytes, records, data, next: None, problem: None }))
    }

    /// Returns true for the source of a CAN bus.
    fn is_can(&mut self, source: u64) -> Result<bool, ReadError> {
        if source == 0 {
            return Ok(false);
        }
        let source = self.file.block(source, &[b"SI"])?;
        Ok(source.byte(0) == SOURCE_BUS && source.byte(1) == BUS_CAN)
    }

    /// Reads the next record of a group.
    fn advance(&mut self, at: usize) -> Result<(), ReadError> {
        match self.next_of(at) {
            Err(ReadError::Io(error)) => return Err(error.into()),
            Err(problem) => (self.groups[at].next, self.groups[at].problem) = (None, Some(problem)),
            Ok(record) => self.groups[at].next = record,
        }
        Ok(())
    }

    fn next_of(&mut self, at: usize) -> Result<Option<Record>, ReadError> {
        let Self { file, buses, groups, start_ns, clock, .. } = self;
        let group = &mut groups[at];
        let number_bytes = group.number_bytes;
        loop {
            if !group.data.fill(file, number_bytes.max(1))? {
                let is_whole = group.data.rest().is_empty() && !group.data.is_cut();
                return if is_whole { Ok(None) } else { Err(group.data.cut()) };
            }
            let mut number = [0; 8];
            number[..number_bytes].copy_from_slice(&group.data.rest()[..number_bytes]);
            let number = u64::from_le_bytes(number);
            let known = group.records.iter().position(|(known, _)| number_bytes == 0 || *known == number);
            let Some(known) = known else {
                return Err(bad(group.data.begin, format!("a record has the unknown number {number}")));
            };
            let (bytes, layout) = match &group.records[known].1 {
                Records::Fixed(bytes, layout) => (number_bytes + bytes, layout.as_deref()),
                Records::Variable => {
                    if !group.data.fill(file, number_bytes + 4)? {
                        return Err(group.data.cut());
                    }
                    let rest = &group.data.rest()[number_bytes..];
                    let len = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
                    if u64::from(len) > MOST_RECORD {
                        return Err(bad(
                            group.data.begin,
                            format!("a record has {len} bytes, more than {MOST_RECORD}"),
                        ));
                    }
                    (number_bytes + 4 + len as usize, None)
                }
            };
            if bytes == 0 || !group.data.fill(file, bytes)? {
                return Err(group.data.cut());
            }
            let found = layout.map(|layout| parts(layout, &group.data.rest()[number_bytes..bytes]));
            group.data.consume(bytes);
            let (since_ns, channel, direction, frame) = match found {
                None => continue,
                Some(Ok(found)) => found,
                Some(Err(why)) => return Err(bad(group.data.begin, why)),
            };
            let wrong = |why: &str| bad(group.data.begin, why.to_owned());
            let bus = numbered(buses, channel, 0).ok_or_else(|| wrong("there are too many buses"))?;
            let at_ns = start_ns.checked_add(since_ns).ok_or_else(|| wrong("a time is after the year 2262"))?;
            return Ok(Some(Record { at_ns, clock: *clock, bus, direction, frame }));
        }
    }
}

/// Time, bus, direction and frame of a record.
fn parts(layout: &Layout, record: &[u8]) -> Result<(i64, u16, Option<Direction>, Frame), String> {
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
    if let Some((at, len)) = layout.data {
        let bytes = record.get(at..at + len).ok_or("bytes after the end of the record")?;
        let len = len.min(data.len());
        data[..len].copy_from_slice(&bytes[..len]);
    }
    let (dlc, len) = match (small(layout.dlc).transpose()?, small(layout.length).transpose()?) {
        (Some(dlc), Some(len)) => (dlc, len),
        (Some(dlc), None) => (dlc, if is_fd { fd_length(dlc)? } else { dlc.min(8) }),
        (None, Some(len)) => (len.min(8), len),
        (None, None) => return Err("neither DLC nor length".to_owned()),
    };
    let frame = match layout.kind {
        Kind::Error => {
            let class = id & CAN_EFF_MASK;
            let error = RawId(class | CAN_ERR_FLAG);
            let frame = if len == 8 && class != 0 { classic(error, 8, false, &data)? } else { error_mark() };
            return Ok((since_ns, channel, None, frame));
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
    Ok((since_ns, channel, direction, frame))
}

impl<R: Read + Seek> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        if !self.is_open {
            self.is_open = true;
            self.open()?;
        }
        let times = self.groups.iter().enumerate().filter_map(|(at, group)| Some((group.next?.at_ns, at)));
        if let Some((_, at)) = times.min() {
            if let Some(next) = self.groups[at].next {
                *record = next;
            }
            self.advance(at)?;
            return Ok(true);
        }
        match self.groups.iter_mut().find_map(|group| group.problem.take()) {
            Some(problem) => Err(problem),
            None => Ok(false),
        }
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}
