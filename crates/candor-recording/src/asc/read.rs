//! Lines of ASC.

use std::io;

use candor_core::frame::{CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame};

use super::{FLAG_BRS, FLAG_ESI, FLAG_FDF, FLAG_REMOTE};
use crate::channels::numbered;
use crate::date::{Date, start_of};
use crate::limits::error_mark;
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::text::{classic, excerpt, fd, identifier, is_whole, scaled, wrong};
use crate::{Buses, Clock, Counts, Direction, ReadError, Record};

/// Reads an ASC file.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    buses: Buses,
    skipped: Counts,
    /// Of identifiers and data.
    radix: u32,
    /// Times count from the event before.
    is_relative: bool,
    start_ns: i64,
    clock: Clock,
    last_ns: i64,
    state: State,
}

/// What the lines so far are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Perhaps not of an ASC file.
    Unknown,
    /// A header, after which a block or an event should follow.
    Header,
    /// A block, which has an end.
    Block,
    /// Events without a block, or after its end. The file may end.
    Open,
}

/// A line of an event.
enum Event {
    Frame { channel: u16, direction: Option<Direction>, frame: Frame },
    Other,
}

impl<R: io::Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            buses: Buses::new(),
            skipped: Counts::new(),
            radix: 16,
            is_relative: false,
            start_ns: 0,
            clock: Clock::Start,
            last_ns: 0,
            state: State::Unknown,
        }
    }

    /// Returns true if the line is one of the header or its like.
    fn is_header(&mut self, line: &str) -> bool {
        let lower = line.to_ascii_lowercase();
        let date = match lower.strip_prefix("date ") {
            Some(date) => Some((&line[line.len() - date.len()..], State::Header)),
            None => {
                let date = lower.strip_prefix("begin triggerblock");
                date.map(|date| (&line[line.len() - date.len()..], State::Block))
            }
        };
        if let Some((date, state)) = date {
            self.state = state;
            // A block without a date keeps that of the file.
            if let Some(date) = Date::parse(date) {
                (self.start_ns, self.clock) = start_of(Some(date));
            } else if !date.trim().is_empty() {
                self.skipped.add("dates that cannot be read, so that times count from the start");
            }
            self.last_ns = 0;
            return true;
        }
        if let Some(base) = lower.strip_prefix("base ") {
            let mut words = base.split_whitespace();
            self.radix = if words.next() == Some("dec") { 10 } else { 16 };
            self.is_relative = words.last() == Some("relative");
            self.state = State::Header;
            return true;
        }
        if is_end(line) {
            self.state = State::Open;
            return true;
        }
        const OTHERS: [&str; 4] = ["//", "internal events logged", "no internal events logged", "previous log file"];
        lower.is_empty() || OTHERS.iter().any(|one| lower.starts_with(one))
    }

    fn line(&mut self, line: &str, record: &mut Record) -> Result<bool, String> {
        if self.is_header(line) {
            return Ok(false);
        }
        let (time, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(since_ns) = scaled(time, 9) else {
            if self.state == State::Unknown {
                return Err(format!("\"{}\" is neither a header nor an event of Vector ASC", excerpt(line)));
            }
            self.skipped.add("lines that are no events left out");
            return Ok(false);
        };
        if self.state == State::Header {
            self.state = State::Open;
        }
        if self.is_relative {
            self.last_ns = self.last_ns.saturating_add(since_ns);
        } else {
            self.last_ns = since_ns;
        }
        if rest.trim_start().starts_with("Start of measurement") {
            return Ok(false);
        }
        let Event::Frame { channel, direction, frame } = self.event(rest)? else {
            self.skipped.add("events that are no frames left out");
            return Ok(false);
        };
        let bus = numbered(&mut self.buses, channel, 1).ok_or("there are too many buses")?;
        let at_ns = self.start_ns.checked_add(self.last_ns).ok_or("its time is after the year 2262")?;
        *record = Record { at_ns, clock: self.clock, bus, direction, frame };
        if self.state == State::Unknown {
            self.state = State::Open;
        }
        Ok(true)
    }

    /// A file is complete after the end of its block, or after events without one.
    fn end(&self) -> Result<bool, ReadError> {
        let at = self.source.line_place();
        match self.state {
            State::Open => Ok(false),
            State::Block => Err(ReadError::Cut { at, what: "a trigger block, which has no End TriggerBlock" }),
            State::Header => Err(ReadError::Cut { at, what: "its header" }),
            State::Unknown => Err(ReadError::Bad { at, why: "the file has no line of Vector ASC".to_owned() }),
        }
    }

    fn event(&self, text: &str) -> Result<Event, String> {
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return Ok(Event::Other) };
        if first.eq_ignore_ascii_case("CANFD") {
            return self.fd_event(&mut words);
        }
        let Ok(channel) = first.parse::<u16>() else { return Ok(Event::Other) };
        let Some(second) = words.next() else { return Ok(Event::Other) };
        if second.eq_ignore_ascii_case("ErrorFrame") {
            return Ok(Event::Frame { channel, direction: None, frame: error_mark() });
        }
        let (Some(direction), Some(kind)) = (words.next().and_then(direction_of), words.next()) else {
            return Ok(Event::Other);
        };
        let is_remote = match kind {
            "d" | "D" => false,
            "r" | "R" => true,
            _ => return Ok(Event::Other),
        };
        let id = self.id(second)?;
        let dlc = match words.next() {
            // Older files have no length of remote frames.
            None if is_remote => 0,
            Some(word) if is_remote && !word.bytes().all(|byte| byte.is_ascii_hexdigit()) => 0,
            Some(word) => u8::from_str_radix(word, self.radix).map_err(|_number| format!("the DLC {word:?}"))?,
            None => return Err("the DLC is missing".to_owned()),
        };
        let mut data = [0; 8];
        let there = if is_remote { 0 } else { self.data(&mut words, &mut data[..dlc.min(8).into()])? };
        let frame = classic(id, dlc, is_remote, &data[..there])?;
        Ok(Event::Frame { channel, direction: Some(direction), frame })
    }

    fn fd_event<'a>(&self, words: &mut impl Iterator<Item = &'a str>) -> Result<Event, String> {
        let channel = words.next().and_then(|word| word.parse::<u16>().ok());
        let (Some(channel), Some(direction)) = (channel, words.next().and_then(direction_of)) else {
            return Ok(Event::Other);
        };
        let Some(id) = words.next() else { return Err("the identifier is missing".to_owned()) };
        if id.eq_ignore_ascii_case("ErrorFrame") {
            return Ok(Event::Frame { channel, direction: None, frame: error_mark() });
        }
        let id = self.id(id)?;
        let is_bit = |word: &&str| *word == "0" || *word == "1";
        // A symbolic name may stand before the bits.
        let brs = words.next().and_then(|word| if is_bit(&word) { Some(word) } else { words.next() });
        let (Some(brs), Some(esi)) = (brs.filter(is_bit), words.next().filter(is_bit)) else {
            return Err("the bits BRS and ESI are missing".to_owned());
        };
        let dlc = words.next().and_then(|word| u8::from_str_radix(word, 16).ok()).filter(|dlc| *dlc <= 15);
        let len = words.next().and_then(|word| word.parse::<u8>().ok());
        let (Some(dlc), Some(len)) = (dlc, len.filter(|len| usize::from(*len) <= CANFD_MAX_DLEN)) else {
            return Err("DLC and length are missing, or too large".to_owned());
        };
        let mut data = [0; CANFD_MAX_DLEN];
        let there = self.data(words, &mut data[..len.into()])?;
        // After duration and length on the bus.
        let flags = words.nth(2).and_then(|word| u32::from_str_radix(word, 16).ok());
        let frame = match flags {
            // A classic frame on a bus that has both.
            Some(flags) if flags & FLAG_FDF == 0 => classic(id, dlc, flags & FLAG_REMOTE != 0, &data[..there])?,
            _ => {
                let flags = flags.unwrap_or(0);
                let bit = |word: &str, flag: u32, bit: u8| if word == "1" || flags & flag != 0 { bit } else { 0 };
                fd(id, len, bit(brs, FLAG_BRS, CANFD_BRS) | bit(esi, FLAG_ESI, CANFD_ESI), &data[..there])?
            }
        };
        Ok(Event::Frame { channel, direction: Some(direction), frame })
    }

    /// `123`, or `12345678x` for 29 bits.
    fn id(&self, word: &str) -> Result<candor_core::frame::RawId, String> {
        let digits = word.strip_suffix(['x', 'X']);
        let id = u32::from_str_radix(digits.unwrap_or(word), self.radix)
            .map_err(|_number| format!("the identifier {word:?}"))?;
        identifier(id, digits.is_some())
    }

    /// Reads as many bytes as there is room for, and returns how many are there.
    fn data<'a>(&self, words: &mut impl Iterator<Item = &'a str>, data: &mut [u8]) -> Result<usize, String> {
        let mut there = 0;
        for byte in data {
            let Some(word) = words.next() else { break };
            // In hexadecimal, one digit is what is left of two.
            let is_cut = self.radix == 16 && word.len() != 2;
            let value = u8::from_str_radix(word, self.radix).ok().filter(|_| !is_cut);
            *byte = value.ok_or_else(|| format!("the data byte {word:?}"))?;
            there += 1;
        }
        Ok(there)
    }
}

/// The end of a block.
fn is_end(line: &str) -> bool {
    const END: &str = "End TriggerBlock";
    line.get(..END.len()).is_some_and(|start| start.eq_ignore_ascii_case(END))
}

fn direction_of(word: &str) -> Option<Direction> {
    [Direction::Received, Direction::Sent].into_iter().find(|one| one.name().eq_ignore_ascii_case(word))
}

impl<R: io::Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        while let Some((line, is_ended)) = self.source.take_line()? {
            // Of a line that is cut, nothing is counted.
            let skipped = (!is_ended).then(|| self.skipped.clone());
            // Names in comments may have any encoding.
            let line = String::from_utf8_lossy(&line);
            let line = line.trim();
            let found = self.line(line, record);
            let is_frame = found.map_err(|why| wrong(self.source.line_place(), why, is_ended))?;
            // Lines of CAN FD have columns after the data.
            let is_fd = || line.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("CANFD"));
            let is_data = || is_frame && is_whole(&record.frame) && !is_fd();
            let is_whole = is_ended || line.is_empty() || is_end(line) || is_data();
            if !is_whole {
                self.skipped = skipped.unwrap_or_default();
                return Err(ReadError::Cut { at: self.source.line_place(), what: "a line" });
            }
            if is_frame {
                return Ok(true);
            }
        }
        self.end()
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}
