//! Payload patterns, in words of 8 bytes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::pool::number;
use crate::frame::RawId;
use crate::payload::PayloadPattern;

/// All patterns of a rule set.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    patterns: Box<[Pattern]>,
    words: Box<[Word]>,
}

/// The patterns of a job. Empty if it accepts all payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pattern {
    /// Minimum payload in bytes.
    bytes: u8,
    /// Number of compared words.
    words: u8,
    first_word: u32,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    mask: u64,
    value: u64,
}

/// Patterns while they are collected.
#[derive(Debug, Default)]
pub(super) struct PatternPool {
    patterns: Vec<Pattern>,
    words: Vec<Word>,
    known: BTreeMap<Vec<PayloadPattern>, Choice>,
}

impl PatternPool {
    /// The position of the patterns of a job. Equal lists are stored once.
    pub(super) fn choice_of(&mut self, patterns: &[PayloadPattern]) -> Choice {
        if patterns.is_empty() {
            return Choice::default();
        }
        if let Some(choice) = self.known.get(patterns) {
            return *choice;
        }
        let start = number(self.patterns.len());
        for pattern in patterns {
            self.push(pattern);
        }
        let choice = Choice { start, end: number(self.patterns.len()) };
        self.known.insert(patterns.to_vec(), choice);
        choice
    }

    pub(super) fn finish(self) -> Patterns {
        Patterns { patterns: self.patterns.into(), words: self.words.into() }
    }

    fn push(&mut self, pattern: &PayloadPattern) {
        let bytes = pattern.bytes();
        let first_word = number(self.words.len());
        let (masks, values) = (pattern.mask.as_chunks().0, pattern.value.as_chunks().0);
        let words = masks.iter().zip(values).take(bytes.div_ceil(8));
        self.words.extend(
            words.map(|(mask, value)| Word { mask: u64::from_ne_bytes(*mask), value: u64::from_ne_bytes(*value) }),
        );
        let byte = |count: usize| u8::try_from(count).expect("a payload has at most 64 bytes");
        self.patterns.push(Pattern { bytes: byte(bytes), words: byte(bytes.div_ceil(8)), first_word });
    }
}

impl Choice {
    pub(super) fn is_any(self) -> bool {
        self.start == self.end
    }
}

impl Patterns {
    /// Returns true if the payload of a frame, in the kernel's layout, matches one of the patterns.
    pub(super) fn take(&self, choice: Choice, frame: &[u8]) -> bool {
        let [a, b, c, d, len, _, _, _, data @ ..] = frame else { return false };
        let carried = if RawId(u32::from_ne_bytes([*a, *b, *c, *d])).is_rtr() { 0 } else { *len };
        let patterns = self.patterns.get(choice.start as usize..choice.end as usize).unwrap_or_default();
        patterns.iter().any(|pattern| pattern.bytes <= carried && self.matches(*pattern, data))
    }

    fn matches(&self, pattern: Pattern, data: &[u8]) -> bool {
        let first = pattern.first_word as usize;
        let words = self.words.get(first..first + usize::from(pattern.words)).unwrap_or_default();
        let data = data.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        words.iter().zip(data).all(|(word, data)| data & word.mask == word.value)
    }
}
