//! What is in the containers of a file, as one stream of objects.

use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};

use super::{BASE_HEADER, CONTAINER_HEADER, FILE_HEADER, LOG_CONTAINER};
use crate::date::Date;
use crate::source::Source;
use crate::{Place, ReadError};

/// Of the file that are decompressed at once.
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Containers<R> {
    source: Source<R>,
    /// Bytes of the container, or of an object outside containers, that have not been read.
    rest: u64,
    /// After it.
    padding: u64,
    unpack: Option<Box<Decompress>>,
    /// Where the container begins.
    begin: Place,
    has_header: bool,
    /// Date of the header.
    pub(super) start: Option<Date>,
    /// Why the stream ends, if not with the file.
    pub(super) problem: Option<ReadError>,
}

impl<R: Read> Containers<R> {
    pub(super) const fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            rest: 0,
            padding: 0,
            unpack: None,
            begin: Place::Byte(0),
            has_header: false,
            start: None,
            problem: None,
        }
    }

    /// Where the container begins whose objects have been given last.
    pub(super) const fn begin(&self) -> Place {
        self.begin
    }

    /// Reads the header of the file, once.
    pub(super) fn header(&mut self) -> Result<(), ReadError> {
        if std::mem::replace(&mut self.has_header, true) {
            return Ok(());
        }
        let bad = |why: &str| ReadError::Bad { at: Place::Byte(0), why: why.to_owned() };
        let cut = ReadError::Cut { at: Place::Byte(0), what: "the header of the file" };
        let is_whole = self.source.fill(FILE_HEADER)?;
        let bytes = self.source.bytes();
        if !bytes.starts_with(b"LOGG") {
            let is_cut = b"LOGG".starts_with(bytes);
            return Err(if is_cut { cut } else { bad("the file does not begin with LOGG") });
        }
        if !is_whole {
            return Err(cut);
        }
        let size = word(&bytes[4..]);
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let small = |at: usize| u8::try_from(half(at)).unwrap_or(u8::MAX);
        self.start = Some(Date {
            year: half(40),
            month: small(42),
            day: small(46),
            hour: small(48),
            minute: small(50),
            second: small(52),
            ms: half(54),
        });
        if (size as usize) < FILE_HEADER {
            return Err(bad("the header of the file is shorter than 144 bytes"));
        }
        if self.source.skip(size.into())? { Ok(()) } else { Err(cut) }
    }

    /// Begins the next container; false at the end.
    fn next(&mut self) -> Result<bool, ReadError> {
        if !self.source.skip(self.padding)? {
            return Ok(false);
        }
        (self.padding, self.begin) = (0, self.source.byte());
        let cut = ReadError::Cut { at: self.begin, what: "a container" };
        let bad = |why: String| ReadError::Bad { at: self.begin, why };
        if !self.source.fill(BASE_HEADER)? {
            let is_end = self.source.bytes().iter().all(|byte| *byte == 0);
            return if is_end { Ok(false) } else { Err(cut) };
        }
        let bytes = self.source.bytes();
        if !bytes.starts_with(b"LOBJ") {
            return Err(bad("an object does not begin with LOBJ".to_owned()));
        }
        let (size, kind) = (word(&bytes[8..]), word(&bytes[12..]));
        self.padding = u64::from(size % 4);
        if kind != LOG_CONTAINER {
            // An object outside containers.
            if (size as usize) < BASE_HEADER {
                return Err(bad(format!("an object has a size of {size} bytes")));
            }
            (self.unpack, self.rest) = (None, size.into());
            return Ok(true);
        }
        if !self.source.fill(BASE_HEADER + CONTAINER_HEADER)? {
            return Err(cut);
        }
        let head = &self.source.bytes()[BASE_HEADER..];
        let method = u16::from_le_bytes([head[0], head[1]]);
        let Some(rest) = (size as usize).checked_sub(BASE_HEADER + CONTAINER_HEADER) else {
            return Err(bad(format!("a container has a size of {size} bytes")));
        };
        self.unpack = match method {
            0 => None,
            2 => Some(Box::new(Decompress::new(true))),
            other => return Err(bad(format!("a container has the unknown compression {other}"))),
        };
        self.rest = rest as u64;
        self.source.consume(BASE_HEADER + CONTAINER_HEADER);
        Ok(true)
    }

    fn some(&mut self, bytes: &mut [u8]) -> Result<usize, ReadError> {
        loop {
            if self.rest == 0 && !self.next()? {
                return Ok(0);
            }
            let cut = ReadError::Cut { at: self.begin, what: "a container" };
            if self.rest > 0 && !self.source.fill(1)? {
                return Err(cut);
            }
            let there = self.source.bytes();
            let input = &there[..there.len().min(usize::try_from(self.rest).unwrap_or(CHUNK)).min(CHUNK)];
            let (used, made) = match &mut self.unpack {
                None => {
                    let count = input.len().min(bytes.len());
                    bytes[..count].copy_from_slice(&input[..count]);
                    (count, count)
                }
                Some(unpack) => {
                    let (before_in, before_out) = (unpack.total_in(), unpack.total_out());
                    let status = unpack.decompress(input, bytes, FlushDecompress::None);
                    let used = usize::try_from(unpack.total_in() - before_in).unwrap_or(0);
                    let made = usize::try_from(unpack.total_out() - before_out).unwrap_or(0);
                    match status {
                        // What follows the compressed bytes in the container is left out.
                        Ok(Status::StreamEnd) => {
                            let rest = self.rest - used as u64;
                            self.unpack = None;
                            self.source.consume(used);
                            self.rest = 0;
                            if !self.source.skip(rest)? {
                                return Err(cut);
                            }
                            if made > 0 {
                                return Ok(made);
                            }
                            continue;
                        }
                        Ok(_) if used > 0 || made > 0 => (used, made),
                        Ok(_) => return Err(self.damaged("it ends early")),
                        Err(error) => return Err(self.damaged(&error.to_string())),
                    }
                }
            };
            self.source.consume(used);
            self.rest -= used as u64;
            if self.rest == 0 && self.unpack.is_some() && made == 0 {
                return Err(self.damaged("it ends early"));
            }
            if made > 0 {
                return Ok(made);
            }
        }
    }

    fn damaged(&self, why: &str) -> ReadError {
        ReadError::Bad { at: self.begin, why: format!("a container cannot be decompressed: {why}") }
    }
}

impl<R: Read> Read for Containers<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() || self.problem.is_some() {
            return Ok(0);
        }
        match self.some(bytes) {
            Ok(count) => Ok(count),
            Err(ReadError::Io(error)) => Err(error),
            Err(problem) => {
                self.problem = Some(problem);
                Ok(0)
            }
        }
    }
}

/// The first four bytes.
pub(super) fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default())
}
