//! Objects.

use std::io::Read;

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, RawId};

use super::containers::{Containers, word};
use super::{
    BASE_HEADER, BRS, CAN_ERROR, CAN_ERROR_EXT, CAN_FD_ERROR_64, CAN_FD_MESSAGE, CAN_FD_MESSAGE_64, CAN_MESSAGE,
    CAN_MESSAGE2, EDL, ESI, FLAG_64_BRS, FLAG_64_ESI, FLAG_64_FDF, FLAG_64_REMOTE, FLAG_REMOTE, FLAG_SENT, HEADER_1,
    ID_EXTENDED, TEN_MICROSECONDS,
};
use crate::channels::numbered;
use crate::date::start_of;
use crate::limits::error_mark;
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::text::{classic, fd, fd_length, identifier};
use crate::{Buses, Clock, Counts, Direction, ReadError, Record};

/// Longest object that is kept in memory, in bytes. Those of frames have at most a few hundred.
const MOST_OBJECT: usize = 64 * 1024;

/// Reads a BLF file.
#[derive(Debug)]
pub struct Reader<R> {
    objects: Source<Containers<R>>,
    buses: Buses,
    skipped: Counts,
    start: Option<(i64, Clock)>,
}

/// What an object has.
enum Found {
    Frame { channel: u16, direction: Option<Direction>, frame: Frame },
    Other,
}

impl<R: Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self { objects: Source::new(Containers::new(input)), buses: Buses::new(), skipped: Counts::new(), start: None }
    }

    /// The end of the stream, within an object or not.
    fn end(&mut self, is_within: bool) -> Result<bool, ReadError> {
        match self.objects.input().problem.take() {
            Some(problem) => Err(problem),
            None if is_within => {
                Err(ReadError::Cut { at: self.objects.input().begin(), what: "an object of the container" })
            }
            None => Ok(false),
        }
    }

    fn bad(&mut self, why: impl Into<String>) -> ReadError {
        ReadError::Bad { at: self.objects.input().begin(), why: why.into() }
    }

    /// Reads the object at the beginning, with this size and type.
    fn object(&mut self, size: usize, kind: u32, start: (i64, Clock), record: &mut Record) -> Result<bool, ReadError> {
        let bytes = &self.objects.bytes()[..size];
        let (header, version) = (half(bytes, 4), half(bytes, 6));
        let is_frame =
            [CAN_MESSAGE, CAN_MESSAGE2, CAN_ERROR, CAN_ERROR_EXT, CAN_FD_MESSAGE, CAN_FD_MESSAGE_64, CAN_FD_ERROR_64]
                .contains(&kind);
        if !is_frame {
            self.skipped.add("objects that are no frames left out");
            return Ok(false);
        }
        let Some(body) = bytes.get(usize::from(header)..).filter(|_| usize::from(header) >= HEADER_1) else {
            return Err(self.bad(format!("an object of type {kind} has a header of {header} bytes in {size}")));
        };
        // The time is at the same place in both.
        if version != 1 && version != 2 {
            return Err(self.bad(format!("an object of type {kind} has a header of version {version}")));
        }
        let time = u64::from(word(&bytes[24..])) | u64::from(word(&bytes[28..])) << 32;
        let unit_ns = if word(&bytes[16..]) == TEN_MICROSECONDS { 10_000 } else { 1 };
        let found = frame(kind, body);
        let at_ns = time.checked_mul(unit_ns).and_then(|since| start.0.checked_add_unsigned(since));
        let Some(at_ns) = at_ns else { return Err(self.bad(format!("the time {time} is after the year 2262"))) };
        match found {
            Ok(Found::Frame { channel, direction, frame }) => {
                let Some(bus) = numbered(&mut self.buses, channel, 1) else {
                    return Err(self.bad("there are too many buses"));
                };
                *record = Record { at_ns, clock: start.1, bus, direction, frame };
                Ok(true)
            }
            Ok(Found::Other) => Ok(false),
            Err(why) => Err(self.bad(format!("an object of type {kind}: {why}"))),
        }
    }
}

/// The frame in the body of an object.
fn frame(kind: u32, body: &[u8]) -> Result<Found, String> {
    let need = |len: usize| body.get(..len).ok_or_else(|| format!("{} bytes, not {len}", body.len()));
    let sent = |is_sent: bool| Some(if is_sent { Direction::Sent } else { Direction::Received });
    let id = |word: u32| identifier(word & CAN_EFF_MASK, word & ID_EXTENDED != 0);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    Ok(match kind {
        CAN_MESSAGE | CAN_MESSAGE2 => {
            let body = need(16)?;
            let (flags, dlc) = (body[2], body[3] & 0xF);
            let frame = classic(id(word(&body[4..]))?, dlc, flags & FLAG_REMOTE != 0, &body[8..16])?;
            Found::Frame { channel: half(body, 0), direction: sent(flags & FLAG_SENT != 0), frame }
        }
        CAN_FD_MESSAGE => {
            need(20)?;
            let (flags, dlc, fd_flags, valid) = (body[2], body[3], body[13], body[14]);
            let id = id(word(&body[4..]))?;
            let data = data(&body[20..], valid);
            let frame = if fd_flags & EDL == 0 {
                classic(id, dlc & 0xF, flags & FLAG_REMOTE != 0, &data)?
            } else {
                let flags = flag(fd_flags & BRS != 0, CANFD_BRS) | flag(fd_flags & ESI != 0, CANFD_ESI);
                fd(id, fd_length(dlc)?, flags, &data)?
            };
            Found::Frame { channel: half(body, 0), direction: sent(flags & FLAG_SENT != 0), frame }
        }
        CAN_FD_MESSAGE_64 => {
            need(40)?;
            let (channel, dlc, valid, direction) = (body[0], body[1], body[2], body[34]);
            let id = id(word(&body[4..]))?;
            let flags = word(&body[12..]);
            let data = data(&body[40..], valid);
            let frame = if flags & FLAG_64_FDF == 0 {
                classic(id, dlc & 0xF, flags & FLAG_64_REMOTE != 0, &data)?
            } else {
                let flags = flag(flags & FLAG_64_BRS != 0, CANFD_BRS) | flag(flags & FLAG_64_ESI != 0, CANFD_ESI);
                fd(id, fd_length(dlc)?, flags, &data)?
            };
            Found::Frame { channel: channel.into(), direction: sent(direction != 0), frame }
        }
        CAN_ERROR_EXT => {
            let body = need(32)?;
            let class = word(&body[16..]) & CAN_EFF_MASK;
            // Of Vector's programs, code and flags are those of a controller, and the identifier is that of the frame.
            let has_class = body[2..10] == [0; 8] && body[10] == 8 && class != 0;
            let frame =
                if has_class { classic(RawId(class | CAN_ERR_FLAG), 8, false, &body[24..32])? } else { error_mark() };
            Found::Frame { channel: half(body, 0), direction: None, frame }
        }
        CAN_ERROR => Found::Frame { channel: half(need(2)?, 0), direction: None, frame: error_mark() },
        CAN_FD_ERROR_64 => Found::Frame { channel: need(1)?[0].into(), direction: None, frame: error_mark() },
        _ => Found::Other,
    })
}

/// Data bytes; those that are not in the object are 0, as in Vector's programs.
fn data(body: &[u8], valid: u8) -> [u8; CANFD_MAX_DLEN] {
    let mut data = [0; CANFD_MAX_DLEN];
    let len = body.len().min(valid.into()).min(CANFD_MAX_DLEN);
    data[..len].copy_from_slice(&body[..len]);
    data
}

impl<R: Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        let start = match self.start {
            Some(start) => start,
            None => {
                self.objects.input().header()?;
                let start = start_of(self.objects.input().start);
                self.start = Some(start);
                start
            }
        };
        loop {
            // Padding, whose length differs between programs.
            while self.objects.bytes().first() == Some(&0) {
                self.objects.consume(1);
            }
            if !self.objects.fill(BASE_HEADER)? {
                let is_within = self.objects.bytes().iter().any(|byte| *byte != 0);
                return self.end(is_within);
            }
            if self.objects.bytes()[0] == 0 {
                continue;
            }
            let bytes = self.objects.bytes();
            let (size, kind) = (word(&bytes[8..]) as usize, word(&bytes[12..]));
            if !bytes.starts_with(b"LOBJ") || size < BASE_HEADER {
                return Err(
                    self.bad(format!("what follows an object is none: {:02X?}", &self.objects.bytes()[..8].to_vec()))
                );
            }
            if size > MOST_OBJECT {
                self.skipped.add("objects that are no frames left out");
                if !self.objects.skip(size as u64)? {
                    return self.end(true);
                }
                continue;
            }
            if !self.objects.fill(size)? {
                return self.end(true);
            }
            let found = self.object(size, kind, start, record)?;
            self.objects.consume(size);
            if found {
                return Ok(true);
            }
        }
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}

/// Two bytes; 0 beyond the end.
fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |pair| u16::from_le_bytes([pair[0], pair[1]]))
}
