//! Replay of candump logs.

use crate::experiment::blocks::name_of;
use candor_core::frame::{CAN_ERR_FLAG, Frame};
use candor_recording::candump::{Line, LineError, lines};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    pub text: String,
    /// Hash of the text.
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Time in ns after the first one.
    pub at_ns: u64,
    pub frame: Frame,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("line {line} is earlier than the one before it; sort the log by time")]
    Back { line: usize },
    #[error("line {line} is from {other}, those before it from {first}; select one with \"replay FILE of {first}\"")]
    Interfaces { line: usize, first: String, other: String },
    #[error("it has no frame{}", of.as_ref().map_or_else(String::new, |of| format!(" of {of}")))]
    Empty { of: Option<String> },
    #[error("it is not UTF-8")]
    NoText,
}

impl Log {
    /// # Errors
    /// [`LogError::NoText`].
    pub fn of(bytes: &[u8]) -> Result<Self, LogError> {
        let text = str::from_utf8(bytes).map_err(|_bytes| LogError::NoText)?;
        Ok(Self { text: text.to_owned(), name: name_of(bytes) })
    }

    /// As [`frames`].
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn frames(&self, interface: Option<&str>) -> Result<Vec<Replayed>, LogError> {
        frames(&self.text, interface)
    }
}

/// The frames of a log, with `interface` only those received there. Error frames are skipped.
///
/// # Errors
/// The first line that is wrong.
pub fn frames(text: &str, interface: Option<&str>) -> Result<Vec<Replayed>, LogError> {
    let mut frames: Vec<Replayed> = Vec::new();
    let mut beginning: Option<(u64, &str)> = None;
    for found in lines(text) {
        let (line, Line { at_ns, interface: of, frame, .. }) = found?;
        if interface.is_some_and(|chosen| chosen != of) || frame.id.0 & CAN_ERR_FLAG != 0 {
            continue;
        }
        let &mut (begin, first) = beginning.get_or_insert((at_ns, of));
        if first != of {
            return Err(LogError::Interfaces { line, first: first.to_owned(), other: of.to_owned() });
        }
        let at_ns = at_ns.checked_sub(begin).ok_or(LogError::Back { line })?;
        if frames.last().is_some_and(|last| last.at_ns > at_ns) {
            return Err(LogError::Back { line });
        }
        frames.push(Replayed { at_ns, frame });
    }
    if frames.is_empty() { Err(LogError::Empty { of: interface.map(str::to_owned) }) } else { Ok(frames) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_read_with_its_times() {
        let text = "(1436509052.249713) can0 123#1122\n\n(1436509052.249813) can0 20000004#0000000000000000\n\
                    (1436509052.250713) can0 12345678##1AABB R\n(1436509053.1) can0 123#R8\n";
        let frames = frames(text, None).unwrap();
        let found: Vec<_> = frames.iter().map(|one| (one.at_ns, one.frame.to_string())).collect();
        let wanted = [(0, "123#1122"), (1_000_000, "12345678##5AABB"), (850_287_000, "123#R8")];
        assert_eq!(found, wanted.map(|(at, frame)| (at, frame.to_owned())));
    }

    /// The snapshot of its test.
    #[test]
    fn log_of_candor_dump_is_read() {
        let snapshot = include_str!(
            "../../../candor/src/cmd/dump/text/snapshots/candor__cmd__dump__text__tests__log_has_the_format_of_candump.snap"
        );
        let lines: Vec<_> = snapshot.lines().filter(|line| line.starts_with('(')).collect();
        let read = frames(&lines.join("\n"), Some("can0")).unwrap();
        let is_error = |line: &&&str| line.contains(" 20000088#");
        assert_eq!(read.len(), lines.len() - lines.iter().filter(is_error).count());
        for (line, Replayed { frame, .. }) in lines.iter().filter(|line| !is_error(line)).zip(read) {
            assert!(line.ends_with(&format!(" {frame}")), "{line}");
        }
    }

    #[test]
    fn one_of_several_interfaces_is_selected() {
        let text = "(1.0) can0 001#\n(1.1) can1 002#\n(1.2) can0 003#\n";
        assert_eq!(frames(text, Some("can0")).unwrap().len(), 2);
        assert_eq!(frames(text, Some("can1")).unwrap()[0].at_ns, 0);
        let several = LogError::Interfaces { line: 2, first: "can0".into(), other: "can1".into() };
        assert_eq!(frames(text, None), Err(several));
        assert_eq!(frames(text, Some("can2")), Err(LogError::Empty { of: Some("can2".into()) }));
    }

    #[test]
    fn invalid_log_is_reported_with_its_line() {
        for (text, part) in [
            ("(1.0) can0 001#\nnonsense\n", "line 2 is not a line"),
            ("(1.0) can0\n", "line 1"),
            ("1.0 can0 001#\n", "its time is not"),
            ("(1.0000000001) can0 001#\n", "its time is not"),
            ("(+1.0) can0 001#\n", "its time is not"),
            ("(99999999999999999999) can0 001#\n", "its time is not"),
            ("(1.0) can0 001#1\n", "001#1: A data byte"),
            ("(2.0) can0 001#\n(1.0) can0 001#\n", "line 2 is earlier"),
            ("(2.0) can0 001#\n(3.0) can0 001#\n(2.5) can0 001#\n", "line 3 is earlier"),
            ("\n", "it has no frame"),
        ] {
            let error = frames(text, None).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(Log::of(&[0xFF, 0xFE]), Err(LogError::NoText));
    }
}
