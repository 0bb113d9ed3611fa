//! Where the parts of a frame are in a record.

use std::io::{Read, Seek};
use std::time::Duration;

use super::blocks::{Block, Blocks, bad};
use super::{
    BYTES, CHANNEL_FIXED, CHANNEL_MASTER, CHANNEL_MAX_LENGTH, CHANNEL_VARIABLE, CONVERSION_LINEAR, FLOAT, SIGNED,
    UNSIGNED,
};
use crate::ReadError;

/// A number in a record: little-endian and of at most 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    byte: usize,
    bit: u32,
    bits: u32,
}

impl Field {
    /// The value; `None` if the record is too short.
    pub(super) fn get(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.byte..self.byte + usize::try_from((self.bit + self.bits).div_ceil(8)).ok()?)?;
        let mut wide = [0; 16];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let value = u128::from_le_bytes(wide) >> self.bit;
        u64::try_from(value & ((1 << self.bits) - 1)).ok()
    }
}

/// The time of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    field: Field,
    is_float: bool,
    /// Of a linear conversion to seconds.
    offset: f64,
    factor: f64,
}

impl Time {
    /// In ns. `None` for what is no time.
    pub(super) fn get_ns(self, record: &[u8]) -> Option<i64> {
        let bits = self.field.get(record)?;
        if !self.is_float && self.offset == 0.0 && self.factor == 1e-9 {
            return i64::try_from(bits).ok();
        }
        let value = match (self.is_float, self.field.bits) {
            (true, 64) => f64::from_bits(bits),
            (true, 32) => f64::from(f32::from_bits(u32::try_from(bits).ok()?)),
            (true, _) => return None,
            (false, _) => bits as f64,
        };
        // python-can has times before the start of its file.
        let seconds = value * self.factor + self.offset;
        let since_ns = i64::try_from(Duration::try_from_secs_f64(seconds.abs()).ok()?.as_nanos()).ok()?;
        Some(if seconds < 0.0 { -since_ns } else { since_ns })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Remote,
    Error,
}

/// The parts of the frames of a group.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) kind: Kind,
    pub(super) time: Time,
    pub(super) id: Field,
    pub(super) bus: Option<Field>,
    pub(super) extended: Option<Field>,
    pub(super) dlc: Option<Field>,
    pub(super) length: Option<Field>,
    pub(super) sent: Option<Field>,
    pub(super) is_fd: Option<Field>,
    pub(super) brs: Option<Field>,
    pub(super) esi: Option<Field>,
    pub(super) data: Bytes,
}

/// The data bytes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bytes {
    None,
    /// In the record: offset and number.
    Here(usize, usize),
    /// Elsewhere: the record has their offset, and the link is to a block of data or to a group of the same data.
    Elsewhere(Field, u64),
}

/// Most channels of a group, each of which is kept in memory.
const MOST_CHANNELS: usize = 10_000;

/// A channel with its name.
struct Channel {
    name: String,
    block: Block,
}

const KINDS: [(&str, Kind); 3] =
    [("CAN_DataFrame", Kind::Data), ("CAN_RemoteFrame", Kind::Remote), ("CAN_ErrorFrame", Kind::Error)];

/// The layout of the records of a group. `None` if they are no CAN frames, or their data has an unknown type.
pub(super) fn layout<R: Read + Seek>(file: &mut Blocks<R>, first: u64) -> Result<Option<Layout>, ReadError> {
    let mut channels = Vec::new();
    collect(file, first, &mut channels, 0)?;
    let Some((prefix, kind)) = KINDS.into_iter().find(|(name, _)| channels.iter().any(|one| one.name == *name)) else {
        return Ok(None);
    };
    let named = |part: &str| {
        channels.iter().find(|one| one.name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) == Some(part))
    };
    let field = |part: &str| named(part).and_then(|channel| field(&channel.block, &[UNSIGNED]));
    let Some(master) = channels.iter().find(|one| one.block.byte(0) == CHANNEL_MASTER) else { return Ok(None) };
    let time = time(file, &master.block)?;
    let Some(id) = field("ID") else { return Ok(None) };
    let data = match named("DataBytes") {
        None => Bytes::None,
        Some(Channel { block, .. }) => {
            let (at, bit, bits) = (block.word(4), u32::from(block.byte(3)), block.word(8));
            match block.byte(0) {
                _ if block.byte(2) != BYTES || bits % 8 != 0 => return Ok(None),
                CHANNEL_FIXED | CHANNEL_MAX_LENGTH => Bytes::Here(at as usize, (bits / 8) as usize),
                CHANNEL_VARIABLE if bit < 8 && (1..=64).contains(&bits) => {
                    Bytes::Elsewhere(Field { byte: at as usize, bit, bits }, block.link(5))
                }
                _ => return Ok(None),
            }
        }
    };
    Ok(Some(Layout {
        kind,
        time,
        id,
        bus: field("BusChannel"),
        extended: field("IDE"),
        dlc: field("DLC"),
        length: field("DataLength"),
        sent: field("Dir"),
        is_fd: field("EDL"),
        brs: field("BRS"),
        esi: field("ESI"),
        data,
    }))
}

/// Adds a channel, those that it consists of, and those after it.
fn collect<R: Read + Seek>(
    file: &mut Blocks<R>,
    first: u64,
    all: &mut Vec<Channel>,
    depth: u32,
) -> Result<(), ReadError> {
    let mut next = first;
    while next != 0 {
        let block = file.block(next, &[b"CN"])?;
        if all.len() == MOST_CHANNELS {
            return Err(bad(next, format!("a group has more than {MOST_CHANNELS} channels, or links in a circle")));
        }
        if depth > 8 {
            return Err(bad(next, "channels consist of channels more than 8 times".to_owned()));
        }
        let parts = block.link(1);
        next = block.link(0);
        let name = file.text(block.link(2))?;
        all.push(Channel { name, block });
        // Arrays consist of blocks of other kinds.
        if parts != 0 {
            let head = file.head(parts)?;
            if &head.kind == b"CN" {
                collect(file, parts, all, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// A number of one of these types.
fn field(channel: &Block, types: &[u8]) -> Option<Field> {
    let (kind, data_type, bit) = (channel.byte(0), channel.byte(2), u32::from(channel.byte(3)));
    let (byte, bits) = (channel.word(4), channel.word(8));
    let is_number = [CHANNEL_FIXED, CHANNEL_MASTER].contains(&kind) && types.contains(&data_type);
    (is_number && bit < 8 && (1..=64).contains(&bits)).then_some(Field { byte: byte as usize, bit, bits })
}

fn time<R: Read + Seek>(file: &mut Blocks<R>, channel: &Block) -> Result<Time, ReadError> {
    let Some(field) = field(channel, &[UNSIGNED, SIGNED, FLOAT]) else {
        return Err(bad(channel.at, format!("times have the type {}", channel.byte(2))));
    };
    let (mut offset, mut factor) = (0.0, 1.0);
    if channel.link(4) != 0 {
        let conversion = file.block(channel.link(4), &[b"CC"])?;
        match conversion.byte(0) {
            0 => {}
            CONVERSION_LINEAR => {
                (offset, factor) = (f64::from_bits(conversion.long(24)), f64::from_bits(conversion.long(32)));
            }
            other => return Err(bad(conversion.at, format!("times have a conversion of type {other}"))),
        }
    }
    Ok(Time { field, is_float: channel.byte(2) == FLOAT, offset, factor })
}
