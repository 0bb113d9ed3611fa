//! Logs of candump that are sent again.

use crate::experiment::hash::name_of;
use candor_core::frame::{CAN_ERR_FLAG, Frame};

/// A log that a plan replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What the file holds.
    pub text: String,
    /// A name that stands for it.
    pub(super) name: String,
}

/// A frame of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// When it is due, in nanoseconds after the first one.
    pub at_ns: u64,
    /// The frame.
    pub frame: Frame,
}

/// A log that cannot be sent again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A line is none of a log.
    #[error(
        "line {line} is no line of a candump log ({why}); candump -L writes such as (1436509052.249713) can0 123#1122"
    )]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Times go back.
    #[error("line {line} is earlier than the one before it; a log is in the order of time, as `sort` makes it")]
    Back {
        /// Which, from 1.
        line: usize,
    },
    /// Frames of several buses cannot all be sent on one.
    #[error("line {line} is of {other}, and those before it are of {first}; choose with \"replay FILE of {first}\"")]
    Interfaces {
        /// Which, from 1.
        line: usize,
        /// The interface of the first line.
        first: String,
        /// Another one.
        other: String,
    },
    /// No frame is left.
    #[error("it has no frame{}", of.as_ref().map_or_else(String::new, |of| format!(" of {of}")))]
    Empty {
        /// The interface that was chosen.
        of: Option<String>,
    },
    /// It is not text.
    #[error("it is no text")]
    NoText,
}

impl Log {
    /// A file.
    ///
    /// # Errors
    /// [`LogError::NoText`].
    pub fn of(bytes: &[u8]) -> Result<Self, LogError> {
        let text = str::from_utf8(bytes).map_err(|_bytes| LogError::NoText)?;
        Ok(Self { text: text.to_owned(), name: name_of(bytes) })
    }

    /// Its frames; with `interface` only those that came by it. Error frames are no traffic, and left out.
    ///
    /// # Errors
    /// [`LogError`] of the first line that is wrong.
    pub fn frames(&self, interface: Option<&str>) -> Result<Vec<Replayed>, LogError> {
        frames(&self.text, interface)
    }
}

/// The frames of a log's text, as [`Log::frames`].
///
/// # Errors
/// [`LogError`] of the first line that is wrong.
pub fn frames(text: &str, interface: Option<&str>) -> Result<Vec<Replayed>, LogError> {
    let mut frames: Vec<Replayed> = Vec::new();
    let mut beginning: Option<(u64, &str)> = None;
    for (line, written) in (1..).zip(text.lines()).filter(|(_, written)| !written.trim().is_empty()) {
        let (at_ns, of, frame) = read(written).map_err(|why| LogError::Line { line, why })?;
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

/// Time in nanoseconds, interface and frame of a line. What newer versions write behind the frame (its direction) says nothing of
/// how to send it.
fn read(line: &str) -> Result<(u64, &str, Frame), String> {
    let mut words = line.split_whitespace();
    let (Some(time), Some(interface), Some(frame)) = (words.next(), words.next(), words.next()) else {
        return Err("it has not three words".to_owned());
    };
    let time = time.strip_prefix('(').and_then(|time| time.strip_suffix(')'));
    let time = time.and_then(nanoseconds).ok_or("its time is not (seconds.microseconds)")?;
    Ok((time, interface, frame.parse().map_err(|error| format!("{frame}: {error}"))?))
}

/// `1436509052.249713`.
fn nanoseconds(text: &str) -> Option<u64> {
    const DIGITS: usize = 9;
    let (seconds, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > DIGITS || !is_number(part) || !is_number(seconds) {
        return None;
    }
    let part: u64 = format!("{part:0<DIGITS$}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_with_its_times() {
        let text = "(1436509052.249713) can0 123#1122\n\n(1436509052.249813) can0 20000004#0000000000000000\n\
                    (1436509052.250713) can0 12345678##1AABB R\n(1436509053.1) can0 123#R8\n";
        let frames = frames(text, None).unwrap();
        let told: Vec<_> = frames.iter().map(|one| (one.at_ns, one.frame.to_string())).collect();
        let wanted = [(0, "123#1122"), (1_000_000, "12345678##5AABB"), (850_287_000, "123#R8")];
        assert_eq!(told, wanted.map(|(at, frame)| (at, frame.to_owned())));
    }

    #[test]
    fn one_of_several_interfaces_is_chosen() {
        let text = "(1.0) can0 001#\n(1.1) can1 002#\n(1.2) can0 003#\n";
        assert_eq!(frames(text, Some("can0")).unwrap().len(), 2);
        assert_eq!(frames(text, Some("can1")).unwrap()[0].at_ns, 0);
        let several = LogError::Interfaces { line: 2, first: "can0".into(), other: "can1".into() };
        assert_eq!(frames(text, None), Err(several));
        assert_eq!(frames(text, Some("can2")), Err(LogError::Empty { of: Some("can2".into()) }));
    }

    #[test]
    fn what_is_no_log_says_where() {
        for (text, part) in [
            ("(1.0) can0 001#\nnonsense\n", "line 2 is no line"),
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
