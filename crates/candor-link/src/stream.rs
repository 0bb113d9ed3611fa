//! Decoding of a stream that arrives in pieces of any size.

use crate::{DecodeError, Fault};

/// What the first bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// An item, and its number of bytes, at least 1.
    Item(T, usize),
    /// At least this many bytes, more than there are, belong to the next item.
    Needs(usize),
    /// This many bytes carry nothing, at least 1.
    Skip(usize),
}

/// The items of a stream.
pub trait Grammar {
    /// A message or a frame.
    type Item;

    /// Reads the first item of these bytes, which are never empty. `at` is the position of the first in the stream.
    ///
    /// The answer must not depend on bytes after the item, nor an error on bytes after its place.
    ///
    /// # Errors
    /// If no item starts with these bytes.
    fn read(&mut self, at: u64, bytes: &[u8]) -> Result<Step<Self::Item>, DecodeError>;
}

/// Splits a stream into items. Holds the bytes of one unfinished item, and nothing else. An error is final.
///
/// ```
/// use candor_link::cannelloni::Tcp;
/// use candor_link::stream::Decoder;
///
/// let mut decoder = Decoder::<Tcp>::default();
/// assert_eq!(decoder.next(&mut b"CANNELLONIv1\x00\x00\x01\x23\x02".as_slice()), Ok(None));
/// let mut rest = b"\x11\x22\x00\x00".as_slice();
/// assert_eq!(decoder.next(&mut rest), Ok("123#1122".parse().ok()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoder<G> {
    grammar: G,
    /// The start of an item.
    held: Vec<u8>,
    /// How many bytes of the next item are taken into `held` at most.
    needs: usize,
    /// Position of the next item.
    at: u64,
    /// Position of the item before it.
    last: u64,
    failed: Option<DecodeError>,
}

impl<G: Grammar> Decoder<G> {
    /// The state of the grammar.
    pub const fn grammar(&self) -> &G {
        &self.grammar
    }

    /// Position of the last item in the stream.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Number of bytes held for an unfinished item.
    pub const fn held(&self) -> usize {
        self.held.len()
    }

    /// The next item, whose bytes are taken from `input`. `None` if it is not complete; all bytes are taken then.
    ///
    /// # Errors
    /// The same one for all later calls, too.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<G::Item>, DecodeError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.advance(input).inspect_err(|error| {
            self.failed = Some(*error);
            self.held = Vec::new();
        })
    }

    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<G::Item>, DecodeError> {
        while !input.is_empty() {
            if !self.held.is_empty() {
                let (more, rest) = input.split_at(input.len().min(self.needs.saturating_sub(self.held.len())));
                self.held.extend_from_slice(more);
                *input = rest;
                // Before it is complete, too, because a mistake in it is an error now.
                match self.grammar.read(self.at, &self.held)? {
                    Step::Item(item, _) => {
                        self.forget();
                        return Ok(Some(item));
                    }
                    Step::Needs(needs) => self.needs = needs,
                    Step::Skip(_) => self.forget(),
                }
                continue;
            }
            let len = match self.grammar.read(self.at, input)? {
                Step::Item(item, len) => {
                    self.skip(len, input);
                    return Ok(Some(item));
                }
                Step::Needs(needs) => {
                    self.needs = needs;
                    self.held.extend_from_slice(input);
                    *input = &[];
                    break;
                }
                Step::Skip(len) => len,
            };
            self.skip(len, input);
        }
        Ok(None)
    }

    /// The held bytes were an item: no item is shorter than its grammar said before.
    fn forget(&mut self) {
        self.last = self.at;
        self.at += self.held.len() as u64;
        self.held.clear();
    }

    fn skip(&mut self, len: usize, input: &mut &[u8]) {
        self.last = self.at;
        self.at += len as u64;
        *input = input.get(len..).unwrap_or_default();
    }
}

/// An error at a byte after the start of an item.
pub(crate) fn fault<T>(at: u64, offset: usize, fault: Fault) -> Result<T, DecodeError> {
    Err(DecodeError { at: at + offset as u64, fault })
}
