//! Logs of candump: `(1700000000.123456) can0 123#1122 R`.
//!
//! A line has a time in seconds with 6 digits, or 9 if it has nanoseconds; the bus; the frame as [`Frame`] prints it; and, with
//! `candump -x`, R or T for the direction.
//!
//! # Source
//! [`candump.c`](https://github.com/linux-can/can-utils/blob/master/candump.c) and
//! [`lib.h`](https://github.com/linux-can/can-utils/blob/master/lib.h) of can-utils.

mod fast;
mod write;

use std::io;

use candor_core::frame::Frame;

use crate::source::Source;
use crate::stream::ReadRecords;
use crate::{Buses, Clock, Counts, Direction, ReadError, Record};

pub use write::{Writer, line};

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Time in ns.
    pub at_ns: u64,
    /// The interface.
    pub interface: &'a str,
    /// The frame.
    pub frame: Frame,
    /// With `candump -x`.
    pub direction: Option<Direction>,
}

/// A line that is not one of a candump log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a line of a candump log ({why}); candump -L writes (1436509052.249713) can0 123#1122")]
pub struct LineError {
    /// Its number; the first is 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

impl<'a> Line<'a> {
    /// Reads a line without its end.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(line: &'a str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let (Some(time), Some(interface), Some(frame)) = (words.next(), words.next(), words.next()) else {
            return Err("it does not have three words".to_owned());
        };
        if frame.starts_with('[') || words.clone().next().is_some_and(|word| word.starts_with('[')) {
            return Err("candump printed it for people; candump -L or -l writes a log".to_owned());
        }
        let time = time.strip_prefix('(').and_then(|time| time.strip_suffix(')'));
        let at_ns = time.and_then(nanoseconds).ok_or("its time is not (seconds.microseconds)")?;
        let frame = frame.parse().map_err(|error| format!("{frame}: {error}"))?;
        let direction = match words.next() {
            Some("R") => Some(Direction::Received),
            Some("T") => Some(Direction::Sent),
            _ => None,
        };
        Ok(Self { at_ns, interface, frame, direction })
    }
}

/// The lines of a log that is in memory, with their numbers and without empty ones and comments.
pub fn lines(text: &str) -> impl Iterator<Item = Result<(usize, Line<'_>), LineError>> {
    let is_frame = |written: &str| !written.is_empty() && !written.starts_with('#');
    let written = (1..).zip(text.lines()).filter(move |(_, written)| is_frame(written.trim()));
    written.map(|(line, written)| match Line::parse(written) {
        Ok(parsed) => Ok((line, parsed)),
        Err(why) => Err(LineError { line, why }),
    })
}

/// `1436509052.249713`.
fn nanoseconds(text: &str) -> Option<u64> {
    const DIGITS: usize = 9;
    let (seconds, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > DIGITS || !is_number(part) || !is_number(seconds) {
        return None;
    }
    let part: u64 = format!("{part:0<DIGITS$}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// Reads a log.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    buses: Buses,
    skipped: Counts,
}

impl<R: io::Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self { source: Source::new(input), buses: Buses::new(), skipped: Counts::new() }
    }

    /// Any line, with errors.
    fn slow(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        loop {
            let Some(bytes) = self.source.line()? else { return Ok(false) };
            let len = bytes.len();
            // What is missing of a line is not to be seen in a candump log, so only the line end shows that it is whole.
            if !bytes.ends_with(b"\n") && !bytes.trim_ascii().is_empty() {
                self.source.consume_line(len);
                return Err(ReadError::Cut { at: self.source.line_place(), what: "a line, which has no line end" });
            }
            let found = match str::from_utf8(bytes).map(str::trim) {
                Ok("") => Ok(None),
                Ok(line) if line.starts_with('#') => Ok(Some(Err("comments left out"))),
                Ok(line) if is_xl(line) => Ok(Some(Err("CAN XL frames left out"))),
                Ok(line) => Line::parse(line).map(|line| Some(Ok(line))),
                Err(_bytes) => Err("it is not UTF-8".to_owned()),
            };
            let found = match found {
                Ok(Some(Ok(line))) => into_record(&line, &mut self.buses, record).map(Some),
                Ok(Some(Err(what))) => {
                    self.skipped.add(what);
                    Ok(None)
                }
                Ok(None) => Ok(None),
                Err(why) => Err(why),
            };
            self.source.consume_line(len);
            match found {
                Ok(Some(())) => return Ok(true),
                Ok(None) => {}
                Err(why) => return Err(ReadError::Bad { at: self.source.line_place(), why }),
            }
        }
    }
}

/// `45123#81:00:12345678#1122`.
fn is_xl(line: &str) -> bool {
    let frame = line.split_whitespace().nth(2);
    let id = frame.and_then(|frame| frame.split_once('#'));
    id.is_some_and(|(id, _)| id.len() == 5 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn into_record(line: &Line<'_>, buses: &mut Buses, record: &mut Record) -> Result<(), String> {
    let Line { at_ns, interface, frame, direction } = *line;
    let at_ns = i64::try_from(at_ns).map_err(|_overflow| "its time is after the year 2262".to_owned())?;
    let bus = buses.index(interface.as_bytes());
    let bus = bus.ok_or_else(|| format!("{interface:?} is not the name of a bus, or the log has too many buses"))?;
    *record = Record { at_ns, clock: Clock::of(at_ns), bus, direction, frame };
    Ok(())
}

impl<R: io::Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        // Enough for any usual line.
        self.source.fill(fast::MOST_BYTES)?;
        match fast::read(self.source.bytes(), &mut self.buses, record) {
            Some(len) => {
                self.source.consume_line(len);
                Ok(true)
            }
            None => self.slow(record),
        }
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}

#[cfg(test)]
mod tests;
