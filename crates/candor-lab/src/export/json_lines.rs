//! Frames as JSON, one on each line.

use std::io::{self, BufWriter, Write};

use super::columns::{DISPOSITION, NUMBERS, constant, names};
use super::{Export, Origin};
use crate::record::Record;

pub(super) struct JsonLines<W: Write> {
    out: BufWriter<W>,
    factors: Vec<String>,
}

impl<W: Write> JsonLines<W> {
    pub(super) fn new(out: W, factors: &[String]) -> Self {
        Self { out: BufWriter::new(out), factors: factors.to_vec() }
    }
}

impl<W: Write> Export for JsonLines<W> {
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()> {
        let mut texts = String::from("{");
        for (name, value) in names(&self.factors).zip(constant(&self.factors, origin, &record.header)) {
            texts.push_str(&format!("{}:{},", string(name)?, string(value)?));
        }
        for sample in &record.samples {
            self.out.write_all(texts.as_bytes())?;
            for number in NUMBERS {
                match (number.of)(&record.header, sample) {
                    Some(value) => write!(self.out, "\"{}\":{value},", number.name)?,
                    None => write!(self.out, "\"{}\":null,", number.name)?,
                }
            }
            writeln!(self.out, "\"{DISPOSITION}\":\"{}\"}}", sample.disposition.name())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

/// In quotes, with all that JSON needs.
fn string(text: &str) -> io::Result<String> {
    Ok(serde_json::to_string(text)?)
}
