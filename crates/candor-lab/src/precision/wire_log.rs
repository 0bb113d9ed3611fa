//! The log of `candor-lab wire`, read while it is written.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use candor_core::frame::Frame;

/// First line; docs/wire.md describes the format.
const HEADLINE: &str = "# candor-lab wire log, form 1";

/// A frame on a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnWire {
    pub bus: String,
    /// Start of frame, on the time line of the buses.
    pub start_ns: i64,
    /// End of frame.
    pub end_ns: i64,
    pub frame: Frame,
}

#[derive(Debug)]
pub struct WireLog {
    file: File,
    /// Incomplete last line.
    rest: String,
}

impl WireLog {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, rest: String::new() })
    }

    /// Frames written since the last call.
    pub fn read(&mut self) -> io::Result<Vec<OnWire>> {
        self.file.read_to_string(&mut self.rest)?;
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let frames = frames(&self.rest[..end])?;
        self.rest.drain(..end);
        Ok(frames)
    }
}

fn frames(lines: &str) -> io::Result<Vec<OnWire>> {
    let mut all = Vec::new();
    for line in lines.lines() {
        if line.starts_with('#') && line != HEADLINE {
            return Err(unreadable(line));
        }
        if let Some(words) = line.strip_prefix("frame ") {
            all.push(frame(words).ok_or_else(|| unreadable(line))?);
        }
    }
    Ok(all)
}

fn unreadable(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is no line of candor-lab wire --log, form 1: {line}"))
}

/// `BUS START END NODE FRAME RETRIES LOST`.
fn frame(words: &str) -> Option<OnWire> {
    let mut words = words.split(' ');
    let mut next = || words.next();
    let (bus, start_ns, end_ns) = (next()?.to_owned(), nanoseconds(next()?)?, nanoseconds(next()?)?);
    let _node = next()?;
    Some(OnWire { bus, start_ns, end_ns, frame: next()?.parse().ok()? })
}

/// Seconds with nine decimals.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (whole, part) = seconds.split_once('.')?;
    let (whole, part): (i64, i64) = (whole.parse().ok()?, (part.len() == 9).then(|| part.parse().ok())??);
    whole.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn frames_come_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wire.log");
        let mut file = File::create(&path).unwrap();
        let mut log = WireLog::open(&path).unwrap();
        file.write_all(
            b"# candor-lab wire log, form 1\nstate b0 1.000222000 can2 error-passive 128 3\nframe b0 1.000000000 1.00",
        )
        .unwrap();
        assert_eq!(log.read().unwrap(), []);
        file.write_all(b"0222000 can0 123#1122 2 1\nlost b0 1.000000000 can2 7\n").unwrap();
        let frame = "123#1122".parse().unwrap();
        let seen = OnWire { bus: "b0".to_owned(), start_ns: 1_000_000_000, end_ns: 1_000_222_000, frame };
        assert_eq!(log.read().unwrap(), [seen]);
        assert_eq!(log.read().unwrap(), []);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for wrong in ["# candor-lab wire log, form 2\n", "frame b0 1.0 1.000222000 can0 123#1122 2 1\n", "frame b0\n"] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
    }
}
