//! Lines of all versions.

use std::io;
use std::time::Duration;

use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, fd_dlc};

use super::{DAY_S, TO_1970_MS};
use crate::channels::numbered;
use crate::limits::error_mark;
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::text::{classic, excerpt, fd, fd_length, identifier, is_whole, scaled, wrong};
use crate::{Buses, Clock, Counts, Direction, ReadError, Record};

/// Columns of versions that do not name them, by the letters of version 2: number, time, bus, direction, identifier, reserved,
/// data length code and data.
const COLUMNS: [(&str, &str); 4] = [("1.0", "NOILD"), ("1.1", "NOdILD"), ("1.2", "NOBdILD"), ("1.3", "NOBdIRLD")];

/// Reads a TRC file.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    buses: Buses,
    skipped: Counts,
    /// A letter for each column.
    columns: Vec<u8>,
    /// It has a header or a frame of a TRC file.
    is_known: bool,
    start_ns: i64,
    clock: Clock,
}

/// The words of a line by their column.
#[derive(Default)]
struct Words<'a> {
    time: &'a str,
    kind: &'a str,
    bus: &'a str,
    id: &'a str,
    direction: &'a str,
    dlc: &'a str,
    length: &'a str,
    data: Vec<&'a str>,
}

impl<R: io::Read> Reader<R> {
    /// Reads from here.
    pub fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            buses: Buses::new(),
            skipped: Counts::new(),
            columns: COLUMNS[0].1.into(),
            is_known: false,
            start_ns: 0,
            clock: Clock::Start,
        }
    }

    /// A line that begins with a semicolon.
    fn header(&mut self, line: &str) -> Result<(), String> {
        let Some((key, value)) = line.strip_prefix(";$").and_then(|line| line.split_once('=')) else { return Ok(()) };
        let value = value.trim();
        self.is_known = true;
        match key {
            "FILEVERSION" => match COLUMNS.iter().find(|(version, _)| *version == value) {
                Some((_, columns)) => self.columns = (*columns).into(),
                None if value == "2.0" || value == "2.1" => self.columns.clear(),
                None => return Err(format!("version {value}; known are 1.0 to 1.3, 2.0 and 2.1")),
            },
            "STARTTIME" => {
                let start = start_of(value).ok_or_else(|| format!("the start time {value}"))?;
                if Clock::of(start) == Clock::Unix {
                    (self.start_ns, self.clock) = (start, Clock::Unix);
                }
            }
            "COLUMNS" => self.columns = value.split(',').filter_map(|name| name.trim().bytes().next()).collect(),
            _ => {}
        }
        Ok(())
    }

    fn words<'a>(&self, line: &'a str) -> Words<'a> {
        let mut found = Words::default();
        let mut words = line.split_whitespace();
        for column in &self.columns {
            if *column == b'D' {
                found.data = words.collect();
                break;
            }
            let Some(word) = words.next() else { break };
            match column {
                b'O' => found.time = word,
                b'T' => found.kind = word,
                b'B' => found.bus = word,
                b'I' => found.id = word,
                b'd' => found.direction = word,
                b'L' => found.dlc = word,
                b'l' => found.length = word,
                _ => {}
            }
        }
        found
    }

    fn line(&mut self, line: &str, record: &mut Record) -> Result<bool, String> {
        if line.is_empty() {
            return Ok(false);
        }
        if line.starts_with(';') {
            return self.header(line).map(|()| false);
        }
        if self.columns.is_empty() {
            return Err("a line before the columns, which versions 2.0 and 2.1 name".to_owned());
        }
        let words = self.words(line);
        let since_ns = scaled(words.time, 6).ok_or_else(|| match self.is_known {
            true => format!("the time {:?}", words.time),
            false => format!("\"{}\" is neither a header nor a line of PEAK TRC", excerpt(line)),
        })?;
        let direction = match words.direction {
            "Rx" => Some(Direction::Received),
            "Tx" => Some(Direction::Sent),
            _ => None,
        };
        let is_frame = match words.kind {
            "ER" => {
                let bus = words.bus.parse().unwrap_or(1);
                return self.record(since_ns, bus, None, error_mark(), record).map(|()| true);
            }
            "DT" | "FD" | "FB" | "FE" | "BI" | "RR" => true,
            // Version 1 has other kinds in place of the direction, and warnings by an identifier.
            "" => words.id != "FFFFFFFF" && (direction.is_some() || !self.columns.contains(&b'd')),
            _ => false,
        };
        if !is_frame {
            self.skipped.add("events that are no frames left out");
            return Ok(false);
        }
        let bus = if words.bus.is_empty() { Ok(1) } else { words.bus.parse() };
        let bus = bus.map_err(|_number| format!("the bus {:?}", words.bus))?;
        let frame = frame(&words)?;
        self.record(since_ns, bus, direction, frame, record).map(|()| true)
    }

    fn record(
        &mut self,
        since_ns: i64,
        bus: u16,
        direction: Option<Direction>,
        frame: Frame,
        record: &mut Record,
    ) -> Result<(), String> {
        let bus = numbered(&mut self.buses, bus, 1).ok_or("there are too many buses")?;
        let at_ns = self.start_ns.checked_add(since_ns).ok_or("its time is after the year 2262")?;
        *record = Record { at_ns, clock: self.clock, bus, direction, frame };
        self.is_known = true;
        Ok(())
    }
}

/// A number of days as ns since 1970, rounded to ms: no more can be told.
fn start_of(days: &str) -> Option<i64> {
    let days = days.parse::<f64>().ok().filter(|days| (0.0..100_000.0).contains(days))?;
    let since_1899 = Duration::try_from_secs_f64(days * DAY_S).ok()? + Duration::from_micros(500);
    let since_1970_ms = i64::try_from(since_1899.as_millis()).ok()? - TO_1970_MS;
    since_1970_ms.checked_mul(1_000_000)
}

fn frame(words: &Words<'_>) -> Result<Frame, String> {
    let id = u32::from_str_radix(words.id, 16).map_err(|_number| format!("the identifier {:?}", words.id))?;
    let id = identifier(id, words.id.len() > 4)?;
    let is_fd = matches!(words.kind, "FD" | "FB" | "FE" | "BI");
    let is_remote = words.kind == "RR" || words.data.first() == Some(&"RTR");
    let number = |word: &str| word.parse::<u8>().map_err(|_number| format!("the length {word:?}"));
    let (dlc, len) = match (words.dlc, words.length) {
        ("", length) => {
            let len = number(length)?;
            (if is_fd { fd_dlc(len) } else { len }, len)
        }
        (dlc, _) if is_fd => {
            let dlc = number(dlc)?;
            (dlc, fd_length(dlc)?)
        }
        (dlc, _) => {
            let dlc = number(dlc)?;
            (dlc, dlc.min(8))
        }
    };
    let mut data = [0; CANFD_MAX_DLEN];
    let mut there = 0;
    let wanted = if is_remote { 0 } else { usize::from(len).min(CANFD_MAX_DLEN) };
    for (byte, word) in data[..wanted].iter_mut().zip(&words.data) {
        *byte = u8::from_str_radix(word, 16)
            .ok()
            .filter(|_| word.len() == 2)
            .ok_or_else(|| format!("the data byte {word:?}"))?;
        there += 1;
    }
    if !is_fd {
        return classic(id, dlc, is_remote, &data[..there]);
    }
    let flags = match words.kind {
        "FB" => CANFD_BRS,
        "FE" => CANFD_BRS | CANFD_ESI,
        "BI" => CANFD_ESI,
        _ => 0,
    };
    fd(id, len, flags, &data[..there])
}

impl<R: io::Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        while let Some((line, is_ended)) = self.source.take_line()? {
            // Of a line that is cut, nothing is counted.
            let skipped = (!is_ended).then(|| self.skipped.clone());
            // Names in comments may have any encoding.
            let found = self.line(String::from_utf8_lossy(&line).trim(), record);
            let is_frame = found.map_err(|why| wrong(self.source.line_place(), why, is_ended))?;
            // Kinds and lengths of a line that is cut may be others.
            let is_whole = is_ended || line.trim_ascii().is_empty() || is_frame && is_whole(&record.frame);
            if !is_whole {
                self.skipped = skipped.unwrap_or_default();
                return Err(ReadError::Cut { at: self.source.line_place(), what: "a line" });
            }
            if is_frame {
                return Ok(true);
            }
        }
        if self.is_known {
            return Ok(false);
        }
        Err(ReadError::Bad { at: self.source.line_place(), why: "the file has no line of PEAK TRC".to_owned() })
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}
