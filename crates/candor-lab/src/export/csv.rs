//! Frames as comma-separated values.

use std::io::{self, BufWriter, Write};

use super::columns::{DISPOSITION, NUMBERS, constant, names};
use super::{Export, Origin};
use crate::record::Record;

pub(super) struct Csv<W: Write> {
    out: BufWriter<W>,
    factors: Vec<String>,
}

impl<W: Write> Csv<W> {
    pub(super) fn begin(out: W, factors: &[String]) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        let numbers = NUMBERS.iter().map(|number| number.name);
        let head: Vec<String> = names(factors).chain(numbers).chain([DISPOSITION]).map(quoted).collect();
        writeln!(out, "{}", head.join(","))?;
        Ok(Self { out, factors: factors.to_vec() })
    }
}

impl<W: Write> Export for Csv<W> {
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()> {
        let texts: Vec<String> = constant(&self.factors, origin, &record.header).map(quoted).collect();
        let texts = texts.join(",");
        for sample in &record.samples {
            self.out.write_all(texts.as_bytes())?;
            for number in NUMBERS {
                match (number.of)(&record.header, sample) {
                    Some(value) => write!(self.out, ",{value}")?,
                    None => self.out.write_all(b",")?,
                }
            }
            writeln!(self.out, ",{}", sample.disposition.name())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

/// In quotes where it would be taken for something else.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_field_is_quoted() {
        assert_eq!(["50 %", "a,b", "a \"b\"", "a\nb"].map(quoted), ["50 %", "\"a,b\"", "\"a \"\"b\"\"\"", "\"a\nb\""]);
    }
}
