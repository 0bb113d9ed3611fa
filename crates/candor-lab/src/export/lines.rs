//! Frames as lines of text: CSV or JSON.

use std::io::{self, BufWriter, Write};

use super::{DISPOSITION, Export, NUMBERS, Origin, constant, names};
use crate::record::Record;

pub(super) struct Lines<W: Write> {
    out: BufWriter<W>,
    factors: Vec<String>,
    is_json: bool,
}

impl<W: Write> Lines<W> {
    pub(super) fn json(out: W, factors: &[String]) -> Self {
        Self { out: BufWriter::new(out), factors: factors.to_vec(), is_json: true }
    }

    pub(super) fn csv(out: W, factors: &[String]) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        let numbers = NUMBERS.iter().map(|number| number.name);
        let head: Vec<String> = names(factors).chain(numbers).chain([DISPOSITION]).map(quoted).collect();
        writeln!(out, "{}", head.join(","))?;
        Ok(Self { out, factors: factors.to_vec(), is_json: false })
    }

    /// The columns that are constant within a record.
    fn constant(&self, origin: Origin<'_>, record: &Record) -> io::Result<String> {
        let values = constant(&self.factors, origin, &record.header);
        if !self.is_json {
            return Ok(values.map(quoted).collect::<Vec<_>>().join(","));
        }
        let pair = |(name, value): (&str, &str)| -> io::Result<String> {
            Ok(format!("{}:{},", serde_json::to_string(name)?, serde_json::to_string(value)?))
        };
        names(&self.factors).zip(values).map(pair).collect()
    }
}

impl<W: Write> Export for Lines<W> {
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()> {
        let constant = self.constant(origin, record)?;
        for sample in &record.samples {
            let numbers = NUMBERS.iter().map(|number| (number.name, (number.of)(&record.header, sample)));
            let disposition = sample.disposition.name();
            if self.is_json {
                write!(self.out, "{{{constant}")?;
                for (name, value) in numbers {
                    let value = value.map_or_else(|| "null".to_owned(), |value| value.to_string());
                    write!(self.out, "\"{name}\":{value},")?;
                }
                writeln!(self.out, "\"{DISPOSITION}\":\"{disposition}\"}}")?;
            } else {
                write!(self.out, "{constant}")?;
                for (_, value) in numbers {
                    write!(self.out, ",{}", value.map_or_else(String::new, |value| value.to_string()))?;
                }
                writeln!(self.out, ",{disposition}")?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

/// In quotes if it contains a delimiter.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_quoted() {
        assert_eq!(["50 %", "a,b", "a \"b\"", "a\nb"].map(quoted), ["50 %", "\"a,b\"", "\"a \"\"b\"\"\"", "\"a\nb\""]);
    }
}
