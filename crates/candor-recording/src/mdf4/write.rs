//! The blocks of a file, and its records.

use std::io::{self, Seek, SeekFrom, Write};

use candor_core::frame::{
    CAN_EFF_MASK, CAN_MAX_DLEN, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, FrameFormat, fd_dlc,
};

use super::{
    BLOCK_HEADER, BUS_CAN, BYTES, CG_BUS_EVENT, CHANNEL_FIXED, CHANNEL_MASTER, CN_BUS_EVENT, CONVERSION_LINEAR,
    ID_BYTES, SIGNED, SOURCE_BUS, SYNC_TIME, UNFINALISED, UNSIGNED,
};
use crate::channels::Channels;
use crate::date::Base;
use crate::stream::WriteRecords;
use crate::{Buses, Counts, Direction, Record};

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

/// A group of records, whose number is its position from 1.
struct Group {
    name: &'static str,
    /// Bytes of data.
    data: u32,
    /// With the bits of CAN FD.
    has_bits: bool,
}

const GROUPS: [Group; 4] = [
    Group { name: "CAN_DataFrame", data: 8, has_bits: true },
    Group { name: "CAN_DataFrame", data: 64, has_bits: true },
    Group { name: "CAN_RemoteFrame", data: 0, has_bits: false },
    Group { name: "CAN_ErrorFrame", data: 8, has_bits: true },
];

/// Name, byte offset in the record and bits of the channels of a group.
const CHANNELS: [(&str, u32, u32); 9] = [
    ("BusChannel", 8, 8),
    ("ID", 9, 32),
    ("IDE", 13, 8),
    ("DLC", 14, 8),
    ("DataLength", 15, 8),
    ("Dir", 16, 8),
    ("EDL", 17, 8),
    ("BRS", 18, 8),
    ("ESI", 19, 8),
];
const BEFORE_DATA: u32 = 20;
/// Channels of groups without the bits of CAN FD.
const WITHOUT_BITS: usize = 6;

impl Group {
    const fn record_bytes(&self) -> u32 {
        if self.has_bits { BEFORE_DATA + self.data } else { 17 }
    }
}

/// Writes an MDF4 file.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
    channels: Channels,
    base: Base,
    /// Where the data block begins, once the blocks before it are written.
    data_at: Option<u64>,
    /// Where the cycle counter of each group is.
    counters_at: [u64; GROUPS.len()],
    counters: [u64; GROUPS.len()],
    data_bytes: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Writes here. The file is complete only after [`finish`](WriteRecords::finish).
    pub fn new(output: W) -> Self {
        Self {
            output,
            bytes: Vec::new(),
            channels: Channels::new(0),
            base: Base::new(),
            data_at: None,
            counters_at: [0; GROUPS.len()],
            counters: [0; GROUPS.len()],
            data_bytes: 0,
        }
    }

    /// The blocks before the records.
    fn begin(&mut self, start_ns: i64) -> io::Result<()> {
        let mut file = Blocks { bytes: id_block(true) };
        let start = start_ns.to_le_bytes();
        let time = [&start[..], &[0; 8]].concat();
        let head = file.block(b"HD", &[0; 6], &[&time[..], &[0; 16]].concat());
        let tool = "<FHcomment><TX>converted</TX><tool_id>candor</tool_id><tool_vendor>candor</tool_vendor>";
        let tool = format!("{tool}<tool_version>{}</tool_version></FHcomment>", env!("CARGO_PKG_VERSION"));
        let comment = file.text(b"MD", &tool);
        let history = file.block(b"FH", &[0, comment], &time);
        file.link(head, 1, history);
        let source_name = file.text(b"TX", "CAN");
        let source = file.block(b"SI", &[source_name, source_name, 0], &[SOURCE_BUS, BUS_CAN, 0, 0, 0, 0, 0, 0]);
        let seconds = file.text(b"TX", "s");
        let linear = [CONVERSION_LINEAR, 0, 0, 0, 0, 0, 2, 0];
        let range = [0_f64, 0.0, 0.0, 1e-9].map(f64::to_le_bytes).concat();
        let conversion = file.block(b"CC", &[0; 4], &[&linear[..], &range].concat());
        let data_group = file.block(b"DG", &[0; 4], &[1, 0, 0, 0, 0, 0, 0, 0]);
        file.link(head, 0, data_group);
        let mut before = (data_group, 1);
        for (at, group) in GROUPS.iter().enumerate() {
            let number = (at as u64 + 1).to_le_bytes();
            let name = file.text(b"TX", "CAN");
            let flags = CG_BUS_EVENT.to_le_bytes();
            let sizes = [group.record_bytes().to_le_bytes(), [0; 4]].concat();
            // The path separator is a dot.
            let body = [&number[..], &[0; 8], &flags, b".\0", &[0; 4], &sizes].concat();
            let channel_group = file.block(b"CG", &[0, 0, name, source, 0, 0], &body);
            self.counters_at[at] = channel_group + BLOCK_HEADER + 6 * 8 + 8;
            file.link(before.0, before.1, channel_group);
            before = (channel_group, 0);
            file.channels(channel_group, group, seconds, conversion);
        }
        let data = file.block(b"DT", &[], &[]);
        file.link(data_group, 2, data);
        self.data_at = Some(data);
        self.bytes = file.bytes;
        Ok(())
    }

    /// Appends the record of a frame.
    fn record(&mut self, since_ns: u64, channel: u8, direction: Option<Direction>, frame: &Frame) {
        let is_fd = frame.format == FrameFormat::Fd;
        let (number, data) = match (frame.id.is_err(), frame.id.is_rtr()) {
            (true, _) => (4, &frame.data[..CAN_MAX_DLEN]),
            (false, true) => (3, &[][..]),
            (false, false) if is_fd => (2, &frame.data[..CANFD_MAX_DLEN]),
            (false, false) => (1, &frame.data[..CAN_MAX_DLEN]),
        };
        let (id, is_extended) = match frame.id.is_err() {
            true => (frame.id.0 & CAN_EFF_MASK, true),
            false => (frame.id.bits(), frame.id.is_eff()),
        };
        let dlc = if is_fd { fd_dlc(frame.len) } else { frame.raw_dlc() };
        let sent = u8::from(direction == Some(Direction::Sent));
        let start = self.bytes.len();
        self.bytes.push(number);
        self.bytes.extend(since_ns.to_le_bytes());
        self.bytes.push(channel);
        self.bytes.extend(id.to_le_bytes());
        self.bytes.extend([u8::from(is_extended), dlc, frame.len, sent]);
        if number != 3 {
            let bit = |flag: u8| u8::from(frame.flags & flag != 0);
            self.bytes.extend([u8::from(is_fd), bit(CANFD_BRS), bit(CANFD_ESI)]);
            self.bytes.extend(data);
        }
        self.data_bytes += (self.bytes.len() - start) as u64;
        self.counters[usize::from(number) - 1] += 1;
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.output.seek(SeekFrom::Start(at))?;
        self.output.write_all(bytes)
    }
}

impl<W: Write + Seek> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let channel = self.channels.number(record.bus, buses)?;
        if self.data_at.is_none() {
            let start_ns = self.base.start_ns(record);
            self.begin(start_ns)?;
        }
        let since_ns = self.base.since_ns(record);
        self.record(since_ns, u8::try_from(channel).unwrap_or(u8::MAX), record.direction, &record.frame);
        if self.bytes.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<Counts> {
        if self.data_at.is_none() {
            self.begin(0)?;
        }
        self.flush()?;
        if let Some(data_at) = self.data_at {
            self.patch(data_at + 8, &(BLOCK_HEADER + self.data_bytes).to_le_bytes())?;
        }
        for (at, counter) in self.counters_at.into_iter().zip(self.counters) {
            self.patch(at, &counter.to_le_bytes())?;
        }
        // Last, because it says that all others are right.
        self.patch(0, &id_block(false))?;
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

pub(super) fn id_block(is_unfinalised: bool) -> Vec<u8> {
    let (file, flags) = if is_unfinalised { (b"UnFinMF ", UNFINALISED) } else { (b"MDF     ", 0) };
    let mut bytes = [&file[..], b"4.10    ", b"candor  ", &[0; 4], &410_u16.to_le_bytes()].concat();
    bytes.resize(60, 0);
    bytes.extend(flags.to_le_bytes());
    bytes.extend([0; 2]);
    debug_assert_eq!(bytes.len(), ID_BYTES);
    bytes
}

/// The beginning of the file in memory.
pub(super) struct Blocks {
    pub(super) bytes: Vec<u8>,
}

impl Blocks {
    /// Appends a block and returns where it is.
    pub(super) fn block(&mut self, kind: &[u8; 2], links: &[u64], body: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.bytes.len() as u64;
        let len = BLOCK_HEADER + 8 * links.len() as u64 + body.len() as u64;
        self.bytes.extend([b"##", &kind[..], &[0; 4]].concat());
        self.bytes.extend(len.to_le_bytes());
        self.bytes.extend((links.len() as u64).to_le_bytes());
        links.iter().for_each(|link| self.bytes.extend(link.to_le_bytes()));
        self.bytes.extend(body);
        at
    }

    pub(super) fn text(&mut self, kind: &[u8; 2], text: &str) -> u64 {
        let mut body = [text.as_bytes(), &[0]].concat();
        body.resize(body.len().next_multiple_of(8), 0);
        self.block(kind, &[], &body)
    }

    /// Sets a link of a block.
    pub(super) fn link(&mut self, block: u64, number: u64, to: u64) {
        let at = usize::try_from(block + BLOCK_HEADER + 8 * number).unwrap_or(usize::MAX);
        self.bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
    }

    /// The channels of a group.
    fn channels(&mut self, channel_group: u64, group: &Group, seconds: u64, conversion: u64) {
        let name = self.text(b"TX", "Timestamp");
        let links = [0, 0, name, 0, conversion, 0, seconds, 0];
        let master = self.block(b"CN", &links, &channel(CHANNEL_MASTER, SIGNED, 0, 64, 0));
        self.link(channel_group, 1, master);
        let name = self.text(b"TX", group.name);
        let bits = 8 * (group.record_bytes() - 8);
        let whole =
            self.block(b"CN", &[0, 0, name, 0, 0, 0, 0, 0], &channel(CHANNEL_FIXED, BYTES, 8, bits, CN_BUS_EVENT));
        self.link(master, 0, whole);
        let mut before = (whole, 1);
        let count = if group.has_bits { CHANNELS.len() } else { WITHOUT_BITS };
        let data = (group.data > 0).then_some(("DataBytes", BEFORE_DATA, 8 * group.data));
        for (part, at, bits) in CHANNELS[..count].iter().copied().chain(data) {
            let kind = if part == "DataBytes" { BYTES } else { UNSIGNED };
            let name = self.text(b"TX", &format!("{}.{part}", group.name));
            let body = channel(CHANNEL_FIXED, kind, at, bits, CN_BUS_EVENT);
            let one = self.block(b"CN", &[0, 0, name, 0, 0, 0, 0, 0], &body);
            self.link(before.0, before.1, one);
            before = (one, 0);
        }
    }
}

/// The body of a channel.
pub(super) fn channel(kind: u8, data_type: u8, byte_offset: u32, bits: u32, flags: u32) -> Vec<u8> {
    let sync = if kind == CHANNEL_MASTER { SYNC_TIME } else { 0 };
    let mut body = vec![kind, sync, data_type, 0];
    [byte_offset, bits, flags, 0].iter().for_each(|word| body.extend(word.to_le_bytes()));
    // Precision, attachments and ranges, none of which are given.
    body.resize(72, 0);
    body
}
