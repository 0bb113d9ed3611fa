//! Records of all groups, in the order of their times.

use std::io::{Read, Seek};

use super::blocks::{Blocks, bad};
use super::data::Data;
use super::group::{Elsewhere, Found, Frames, Group, MOST_RECORD, Records, Step, Values};
use super::layout::{Bytes, Layout, layout};
use super::{BUS_CAN, CG_BUS_EVENT, CG_VLSD, ID_BYTES, SOURCE_BUS};
use crate::channels::numbered;
use crate::stream::ReadRecords;
use crate::{Buses, Clock, Counts, Place, ReadError, Record};

/// The second block.
const HD_AT: u64 = ID_BYTES as u64;
/// Most groups with data, each of which has a buffer.
const MOST_GROUPS: usize = 64;

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
                records.push((number, Records::Values(Values::default())));
                continue;
            }
            if bytes > MOST_RECORD {
                return Err(bad(block.at, format!("a record has {bytes} bytes, more than {MOST_RECORD}")));
            }
            let found = if flags & CG_BUS_EVENT != 0 && self.is_can(block.link(3))? {
                let found = layout(&mut self.file, block.link(1))?;
                if found.is_none() && block.long(8) > 0 {
                    self.skipped.add("groups of events that are no frames left out");
                }
                found
            } else {
                None
            };
            has_frames |= found.is_some();
            let frames = found.map(|layout| self.frames(layout, is_unfinalised)).transpose()?;
            records.push((number, Records::Fixed(usize::try_from(bytes).unwrap_or(0), frames.map(Box::new))));
        }
        let number_bytes = usize::from(group.byte(0));
        if ![0, 1, 2, 4, 8].contains(&number_bytes) {
            return Err(bad(group.at, format!("numbers of records have {number_bytes} bytes")));
        }
        let data = Data::new(group.link(2), is_unfinalised);
        Ok(has_frames.then(|| Group::new(number_bytes, records, data)))
    }

    /// Frames with this layout, and where their data is if not in their records.
    fn frames(&mut self, layout: Layout, is_unfinalised: bool) -> Result<Frames, ReadError> {
        let Bytes::Elsewhere(_, link) = layout.data else { return Ok(Frames { layout, elsewhere: Elsewhere::No }) };
        let elsewhere = if link == 0 {
            return Err(bad(link, "data of variable length is nowhere".to_owned()));
        } else if &self.file.head(link)?.kind == b"CG" {
            Elsewhere::Records(self.file.block(link, &[b"CG"])?.long(0))
        } else {
            Elsewhere::Block { data: Data::new(link, is_unfinalised), used: 0 }
        };
        Ok(Frames { layout, elsewhere })
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
        loop {
            let found = match group.ready() {
                Some(found) => found,
                None => match group.step(file)? {
                    Step::Frame(found) => found,
                    Step::Other => continue,
                    Step::End => return Ok(None),
                },
            };
            let Found { since_ns, channel, direction, frame } = found.map_err(|why| bad(group.data.begin, why))?;
            let wrong = |why: &str| bad(group.data.begin, why.to_owned());
            let bus = numbered(buses, channel, 0).ok_or_else(|| wrong("there are too many buses"))?;
            let at_ns = start_ns.checked_add(since_ns).ok_or_else(|| wrong("a time is after the year 2262"))?;
            return Ok(Some(Record { at_ns, clock: *clock, bus, direction, frame }));
        }
    }
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
