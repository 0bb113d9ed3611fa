//! A buffer before a file, for lines and for records of bytes.

use std::io::{self, Read};

use crate::{Place, ReadError};

/// What is read at once.
const CHUNK: usize = 256 * 1024;
/// Longest line in bytes.
const MOST_LINE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// What is not consumed yet.
    start: usize,
    end: usize,
    /// Bytes consumed.
    consumed: u64,
    /// Lines consumed.
    lines: u64,
    has_ended: bool,
}

impl<R: Read> Source<R> {
    pub(crate) const fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, end: 0, consumed: 0, lines: 0, has_ended: false }
    }

    /// What is in memory and not consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    #[cfg(feature = "all")]
    pub(crate) const fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Bytes consumed, as a place.
    pub(crate) const fn byte(&self) -> Place {
        Place::Byte(self.consumed)
    }

    /// The line consumed last, as a place.
    pub(crate) const fn line_place(&self) -> Place {
        Place::Line(self.lines)
    }

    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.consumed += count as u64;
    }

    /// The next line without its place in the buffer, consumed, and whether it has an end; `None` after the last one.
    #[cfg(feature = "all")]
    pub(crate) fn take_line(&mut self) -> Result<Option<(Vec<u8>, bool)>, ReadError> {
        let Some(line) = self.line()?.map(<[u8]>::to_vec) else { return Ok(None) };
        self.consume_line(line.len());
        let is_ended = line.ends_with(b"\n");
        Ok(Some((line, is_ended)))
    }

    /// Consumes a line of this many bytes, its end included.
    pub(crate) fn consume_line(&mut self, count: usize) {
        self.consume(count);
        self.lines += 1;
    }

    /// Reads until `count` bytes are in memory; false if the file has fewer.
    pub(crate) fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.end - self.start < count && !self.has_ended {
            self.more(count)?;
        }
        Ok(self.end - self.start >= count)
    }

    fn more(&mut self, count: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        // Grows with what is there, not with what a length in the file says.
        let room = (self.end + CHUNK).min(count.max(CHUNK));
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.has_ended = true,
            Ok(read) => self.end += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The next line with its end, which only the last line may lack. It is not consumed.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let mut searched = 0;
        loop {
            let bytes = &self.buffer[self.start..self.end];
            if let Some(at) = bytes[searched..].iter().position(|byte| *byte == b'\n') {
                let len = searched + at + 1;
                return Ok(Some(&self.buffer[self.start..self.start + len]));
            }
            searched = bytes.len();
            if searched > MOST_LINE_BYTES {
                let why = format!("the line has more than {MOST_LINE_BYTES} bytes");
                return Err(ReadError::Bad { at: Place::Line(self.lines + 1), why });
            }
            if !self.fill(searched + 1)? {
                return Ok((searched > 0).then(|| &self.buffer[self.start..self.end]));
            }
        }
    }

    /// Skips bytes without keeping them; false if the file has fewer.
    pub(crate) fn skip(&mut self, mut count: u64) -> io::Result<bool> {
        loop {
            let there = (self.end - self.start) as u64;
            let now = there.min(count);
            self.consume(usize::try_from(now).unwrap_or(usize::MAX));
            count -= now;
            if count == 0 {
                return Ok(true);
            }
            if !self.fill(1)? {
                return Ok(false);
            }
        }
    }
}
