//! What the gateway reports, in memory at [`memory::REPORT`](crate::memory::REPORT).

use alloc::string::String;
use alloc::vec::Vec;

use crate::gateway::Counters;

/// State of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It has not begun.
    #[default]
    Absent,
    /// It forwards frames.
    Running,
    /// It has stopped because it was asked to.
    Stopped,
    /// It has stopped because something is wrong, which the text of the report describes.
    Failed,
}

/// Time from the interrupt to the command that transmits the frame, in ticks of the processor's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Number of frames.
    pub frames: u64,
    /// Sum over all frames.
    pub sum: u64,
    /// Shortest time.
    pub shortest: u64,
    /// Longest time.
    pub longest: u64,
}

impl Own {
    /// No frames.
    pub const NONE: Self = Self { frames: 0, sum: 0, shortest: u64::MAX, longest: 0 };

    /// Adds a frame.
    #[inline]
    pub const fn add(&mut self, ticks: u64) {
        self.frames += 1;
        self.sum += ticks;
        if ticks < self.shortest {
            self.shortest = ticks;
        }
        if ticks > self.longest {
            self.longest = ticks;
        }
    }
}

/// State, counters, and the text of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// State.
    pub state: State,
    /// Counters of both directions.
    pub counters: Counters,
    /// Times of the frames that were sent at once.
    pub own: Own,
    /// Empty if nothing is wrong.
    pub text: String,
}

impl Report {
    /// Number of words before the text.
    pub const WORDS: usize = 2 + Counters::WORDS + 4;
    /// Longest text in bytes.
    pub const TEXT_BYTES: usize = 256;
    /// Size of a report in memory.
    pub const BYTES: usize = Self::WORDS * 8 + Self::TEXT_BYTES;
    /// Position of the word that asks the program to stop, if it is not 0.
    pub const STOP: usize = 1;

    /// The words of a state: it, the request to stop, counters, times.
    #[must_use]
    #[inline]
    pub fn words(state: State, counters: &Counters, own: &Own) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = match state {
            State::Absent => 0,
            State::Running => 1,
            State::Stopped => 2,
            State::Failed => 3,
        };
        words[2..2 + Counters::WORDS].copy_from_slice(&counters.words());
        words[2 + Counters::WORDS..].copy_from_slice(&[own.frames, own.sum, own.shortest, own.longest]);
        words
    }

    /// Reads a report. `None` if it is too short.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> =
            bytes.as_chunks().0.iter().take(Self::WORDS).map(|word| u64::from_le_bytes(*word)).collect();
        let counters = Counters::of_words(words.get(2..2 + Counters::WORDS)?)?;
        let &[frames, sum, shortest, longest] = words.get(2 + Counters::WORDS..)? else { return None };
        let state = match words.first()? {
            1 => State::Running,
            2 => State::Stopped,
            3 => State::Failed,
            _ => State::Absent,
        };
        let text = bytes.get(Self::WORDS * 8..Self::BYTES)?.split(|byte| *byte == 0).next()?;
        Some(Self {
            state,
            counters,
            own: Own { frames, sum, shortest, longest },
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }
}
