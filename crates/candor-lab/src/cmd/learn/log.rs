//! Recorded frames.

use std::path::Path;

use candor_cli::gateway_file::{ReadError, read_bytes};
use candor_cli::render;
use candor_core::frame::{Frame, RawId};
use candor_lab::experiment::replay::LogError;
use candor_recording::candump::{Line, lines};

use crate::cmd::convert::files;

/// An hour of a busy bus has about 300 MB.
const MOST_BYTES: usize = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub(super) enum LogFileError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{0} has more than {MOST_BYTES} bytes; split it, for example by `head -n 10000000`")]
    TooLarge(String),
    #[error("{name} is compressed with {with}; unpack it on the way: {tool} {name} | candor-lab learn … -")]
    Compressed { name: String, with: &'static str, tool: &'static str },
    #[error("cannot use {name}: {error}")]
    Line { name: String, error: LogError },
    #[error("{name} has frames of {first} and {other}; select one with --interface {first}")]
    Interfaces { name: String, first: String, other: String },
    #[error("{name} has no frames{}", of.as_ref().map_or_else(String::new, |of| format!(" of {of}")))]
    Empty { name: String, of: Option<String> },
}

/// A frame of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    /// Line of the log.
    pub(super) line: usize,
    /// Time of the log.
    pub(super) at_ns: u64,
    pub(super) frame: Frame,
}

/// The frames of a file with one interface, without error frames.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) frames: Vec<Recorded>,
}

impl Log {
    /// Reads a log; `-` is standard input. Frames of other interfaces are left out.
    pub(super) fn read(path: &Path, interface: Option<&str>) -> Result<Self, LogFileError> {
        let (name, bytes) = read_bytes(path, MOST_BYTES)?;
        if bytes.len() > MOST_BYTES {
            return Err(LogFileError::TooLarge(name));
        }
        if let Some((with, tool)) = files::compression(&bytes) {
            return Err(LogFileError::Compressed { name, with, tool });
        }
        let text = match str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(_bytes) => return Err(LogFileError::Line { name, error: LogError::NoText }),
        };
        Self::of_text(name, text, interface)
    }

    /// The log in a text.
    fn of_text(name: String, text: &str, wanted: Option<&str>) -> Result<Self, LogFileError> {
        let text = match text.rsplit_once('\n') {
            Some((whole, last)) if !last.is_empty() && lines(last).any(|line| line.is_err()) => {
                render::err(&format!("note: the last line of {name} is not complete and is left out\n"));
                whole
            }
            _ => text,
        };
        let mut log = Self { name, interface: String::new(), frames: Vec::new() };
        let mut last = None;
        for found in lines(text) {
            let (line, Line { at_ns, interface, frame, .. }) = match found {
                Ok(found) => found,
                Err(error) => return Err(LogFileError::Line { name: log.name, error: error.into() }),
            };
            if frame.id.is_err() || wanted.is_some_and(|wanted| wanted != interface) {
                continue;
            }
            if last.is_none() {
                interface.clone_into(&mut log.interface);
            }
            if log.interface != interface {
                return Err(LogFileError::Interfaces {
                    name: log.name,
                    first: log.interface,
                    other: interface.to_owned(),
                });
            }
            if last.is_some_and(|last| last > at_ns) {
                return Err(LogFileError::Line { name: log.name, error: LogError::Back { line } });
            }
            last = Some(at_ns);
            log.frames.push(Recorded { line, at_ns, frame });
        }
        if last.is_none() {
            return Err(LogFileError::Empty { name: log.name, of: wanted.map(str::to_owned) });
        }
        Ok(log)
    }
}

/// The identifier without the bit of remote frames.
pub(super) fn identifier(id: RawId) -> RawId {
    RawId(id.0 & !candor_core::frame::CAN_RTR_FLAG)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<usize, String> {
        let log = Log::of_text("a.log".into(), text, None);
        log.map(|log| log.frames.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_log_may_end_within_a_line() {
        let whole = "(1.000000) can0 123#1122\n(1.100000) can0 123#1122\n";
        assert_eq!(read(whole), Ok(2));
        assert_eq!(read(&format!("{whole}(1.2000")), Ok(2));
        assert_eq!(read(whole.trim_end()), Ok(2));
        let inside = read(&format!("(1.2000\n{whole}")).unwrap_err();
        assert!(inside.contains("line 1 is not a line"), "{inside}");
        assert!(read("(1.2000").is_err());
    }
}
