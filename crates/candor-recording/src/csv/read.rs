//! Lines of CSV.

use std::io;

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, RawId};

use super::HEADER;
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::text::{classic, excerpt, fd, fd_length, identifier, wrong};
use crate::{Buses, Clock, Counts, Direction, ReadError, Record};

/// Columns besides those of signals.
const OWN_COLUMNS: usize = 11;

/// Reads a table with the columns of [`Writer`](super::Writer).
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    buses: Buses,
    skipped: Counts,
    /// Columns of the header, signals included; 0 before it.
    columns: usize,
}

impl<R: io::Read> Reader<R> {
    /// Reads from here.
    pub const fn new(input: R) -> Self {
        Self { source: Source::new(input), buses: Buses::new(), skipped: Counts::new(), columns: 0 }
    }

    fn line(&mut self, line: &str, record: &mut Record) -> Result<bool, String> {
        if line.is_empty() {
            return Ok(false);
        }
        if self.columns == 0 {
            let signals = line.strip_prefix(HEADER).filter(|rest| rest.is_empty() || rest.starts_with(','));
            let Some(signals) = signals else {
                return Err(format!("the columns \"{}\" do not begin with {HEADER}", excerpt(line)));
            };
            self.columns = fields(line)?.len();
            if !signals.is_empty() {
                self.skipped.add_many("columns of signals left out", (self.columns - OWN_COLUMNS) as u64);
            }
            return Ok(false);
        }
        let fields = fields(line)?;
        if fields.len() != self.columns {
            return Err(format!("{} columns, not {}", fields.len(), self.columns));
        }
        let Some([at_ns, clock, bus, direction, kind, id, dlc, length, brs, esi, data]) =
            fields.first_chunk::<OWN_COLUMNS>()
        else {
            return Err(format!("{} columns, not {OWN_COLUMNS}", fields.len()));
        };
        let at_ns = at_ns.parse().map_err(|_number| format!("the time {at_ns:?}"))?;
        let clock = match clock.as_str() {
            "unix" => Clock::Unix,
            "start" => Clock::Start,
            other => return Err(format!("the clock {other:?} is neither unix nor start")),
        };
        let direction = match direction.as_str() {
            "Rx" => Some(Direction::Received),
            "Tx" => Some(Direction::Sent),
            "" => None,
            other => return Err(format!("the direction {other:?} is neither Rx nor Tx")),
        };
        let dlc = dlc.parse().map_err(|_number| format!("the DLC {dlc:?}"))?;
        let flag = |text: &str, flag: u8| match text {
            "0" => Ok(0),
            "1" => Ok(flag),
            other => Err(format!("a bit is 0 or 1, not {other:?}")),
        };
        let flags = flag(brs, CANFD_BRS)? | flag(esi, CANFD_ESI)?;
        let frame = frame(kind, id, dlc, flags, data)?;
        if length.parse() != Ok(frame.len) {
            return Err(format!("the length {length:?} is not that of DLC {dlc}, {}", frame.len));
        }
        let bus = self.buses.index(bus.as_bytes());
        let bus = bus.ok_or("the name of the bus is none, or there are too many buses")?;
        *record = Record { at_ns, clock, bus, direction, frame };
        Ok(true)
    }
}

fn frame(kind: &str, id: &str, dlc: u8, flags: u8, data: &str) -> Result<Frame, String> {
    let value = u32::from_str_radix(id, 16).map_err(|_number| format!("the identifier {id:?}"))?;
    let (mut bytes, pairs) = ([0; CANFD_MAX_DLEN], data.as_bytes().chunks(2));
    let there = pairs.len();
    if there > CANFD_MAX_DLEN || !data.len().is_multiple_of(2) {
        return Err(format!("{} digits of data", data.len()));
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let value = str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        *byte = value.ok_or_else(|| format!("the data {data:?}"))?;
    }
    let bytes = &bytes[..there];
    let plain = || identifier(value, id.len() == 8);
    match kind {
        "data" => classic(plain()?, dlc, false, bytes),
        "remote" => classic(plain()?, dlc, true, bytes),
        "error" if value <= CAN_EFF_MASK => classic(RawId(value | CAN_ERR_FLAG), dlc, false, bytes),
        "fd" => fd(plain()?, fd_length(dlc)?, flags, bytes),
        other => Err(format!("the kind {other:?} with identifier {id}")),
    }
}

/// The fields of a line without line ends in quotes.
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
            Some(quoted) => {
                let (mut field, mut quoted) = (String::new(), quoted);
                loop {
                    let (part, after) = quoted.split_once('"').ok_or("a quote is not closed")?;
                    field.push_str(part);
                    match after.strip_prefix('"') {
                        Some(more) => {
                            field.push('"');
                            quoted = more;
                        }
                        None => break (field, after),
                    }
                }
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(fields),
            None => return Err("text after a quote".to_owned()),
        }
    }
}

impl<R: io::Read> ReadRecords for Reader<R> {
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        while let Some((line, is_ended)) = self.source.take_line()? {
            let found = match str::from_utf8(&line) {
                Ok(line) => self.line(line.trim_end(), record),
                Err(_bytes) => Err("it is not UTF-8".to_owned()),
            };
            if found.map_err(|why| wrong(self.source.line_place(), why, is_ended))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}
