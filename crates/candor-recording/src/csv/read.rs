//! Lines of CSV.

use std::io;

use super::HEADER;
use crate::row::{Row, clock_of};
use crate::source::Source;
use crate::stream::ReadRecords;
use crate::text::{excerpt, wrong};
use crate::{Buses, Counts, ReadError, Record};

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
            let columns = fields(line)?;
            if !HEADER.split(',').eq(columns.iter().take(OWN_COLUMNS).map(String::as_str)) {
                return Err(format!("the columns \"{}\" do not begin with {HEADER}", excerpt(line)));
            }
            self.columns = columns.len();
            if self.columns > OWN_COLUMNS {
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
        let bit = |text: &str| match text {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(format!("a bit is 0 or 1, not {other:?}")),
        };
        let row = Row {
            at_ns: at_ns.parse().map_err(|_number| format!("the time {at_ns:?}"))?,
            clock: clock_of(clock)?,
            bus,
            direction,
            kind,
            id: u32::from_str_radix(id, 16).map_err(|_number| format!("the identifier {id:?}"))?,
            is_extended: id.len() == 8,
            dlc: dlc.parse().map_err(|_number| format!("the DLC {dlc:?}"))?,
            length: length.parse().map_err(|_number| format!("the length {length:?}"))?,
            brs: bit(brs)?,
            esi: bit(esi)?,
            data: &bytes(data)?,
        };
        *record = row.record(&mut self.buses)?;
        Ok(true)
    }
}

/// Hexadecimal digits.
fn bytes(data: &str) -> Result<Vec<u8>, String> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2);
    let bytes: Option<Vec<u8>> = data.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| format!("the data {:?}", excerpt(data)))
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
            let is_header = self.columns == 0;
            let found = match str::from_utf8(&line) {
                Ok(line) => self.line(line.trim_end(), record),
                Err(_bytes) => Err("it is not UTF-8".to_owned()),
            };
            if found.map_err(|why| wrong(self.source.line_place(), why, is_ended))? {
                return Ok(true);
            }
            if is_header && !is_ended && self.columns > 0 {
                self.skipped = Counts::new();
                return Err(ReadError::Cut { at: self.source.line_place(), what: "a line" });
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
