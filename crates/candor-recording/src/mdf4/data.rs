//! The data of a group as one stream of bytes, from blocks of any number.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use flate2::read::ZlibDecoder;

use super::BLOCK_HEADER;
use super::blocks::{Blocks, bad, long};
use crate::{Place, ReadError};

/// What is read at once.
const CHUNK: usize = 64 * 1024;
/// Largest compressed block, before compression, in bytes. The standard recommends 4 MiB.
const MOST_BYTES: u64 = 16 << 20;
/// In a compressed block, before the compressed bytes.
const ZIP_HEADER: usize = 24;

#[derive(Debug)]
pub(super) struct Data {
    /// Blocks of data that follow.
    blocks: VecDeque<u64>,
    /// The list after these.
    list: u64,
    /// The part of a plain block that has not been read: its place and its bytes.
    plain: (u64, u64),
    /// The block may be longer than it says.
    is_unfinalised: bool,
    bytes: Vec<u8>,
    /// Of `bytes`, what has been used.
    used: usize,
    /// Where the block begins that is read.
    pub(super) begin: u64,
    /// A block ends after the end of the file.
    is_cut: bool,
}

impl Data {
    /// The data that a link leads to.
    pub(super) fn new(link: u64, is_unfinalised: bool) -> Self {
        Self {
            blocks: VecDeque::new(),
            list: link,
            plain: (0, 0),
            is_unfinalised,
            bytes: Vec::new(),
            used: 0,
            begin: link,
            is_cut: false,
        }
    }

    /// What has been read and not used.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
    }

    /// Reads until `count` bytes are there; false if there are fewer.
    pub(super) fn fill<R: Read + Seek>(&mut self, file: &mut Blocks<R>, count: usize) -> Result<bool, ReadError> {
        while self.rest().len() < count {
            if self.used > 0 {
                self.bytes.drain(..self.used);
                self.used = 0;
            }
            if self.is_cut || !self.more(file)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The error of data that ends within a record.
    pub(super) const fn cut(&self) -> ReadError {
        ReadError::Cut { at: Place::Byte(self.begin), what: "a block of data" }
    }

    /// Returns true if the end of the data is that of the file, in the middle of a block.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn more<R: Read + Seek>(&mut self, file: &mut Blocks<R>) -> Result<bool, ReadError> {
        let (at, len) = self.plain;
        if len > 0 {
            let there = self.bytes.len();
            let wanted = CHUNK.min(usize::try_from(len).unwrap_or(CHUNK));
            self.bytes.resize(there + wanted, 0);
            let read = file.read_at(at, &mut self.bytes[there..])?;
            self.bytes.truncate(there + read);
            self.plain = (at + read as u64, len - read as u64);
            // A file that was not finalised ends where it ends.
            self.is_cut = read < wanted && !self.is_unfinalised;
            if read < wanted {
                self.plain.1 = 0;
            }
            return Ok(read > 0);
        }
        let Some(next) = self.blocks.pop_front() else {
            if self.list == 0 {
                return Ok(false);
            }
            let list = std::mem::take(&mut self.list);
            return self.open(file, list).map(|()| true);
        };
        self.open(file, next).map(|()| true)
    }

    /// Begins a block, or reads a list of them.
    fn open<R: Read + Seek>(&mut self, file: &mut Blocks<R>, at: u64) -> Result<(), ReadError> {
        let head = file.head(at)?;
        match &head.kind {
            b"DT" | b"DV" | b"SD" => {
                let is_open = self.is_unfinalised && head.len == BLOCK_HEADER;
                let len = if is_open { u64::MAX / 2 } else { head.len - BLOCK_HEADER };
                (self.begin, self.plain) = (at, (at + BLOCK_HEADER, len));
            }
            b"DZ" => {
                self.begin = at;
                self.unpack(file, at, head.len)?;
            }
            b"HL" => {
                let block = file.rest(head, &[b"HL"])?;
                self.list = block.link(0);
            }
            _ => {
                let block = file.rest(head, &[b"DL"])?;
                self.list = block.link(0);
                self.blocks.extend(block.links_from(1).iter().filter(|link| **link != 0));
            }
        }
        Ok(())
    }

    /// Appends the bytes of a compressed block.
    fn unpack<R: Read + Seek>(&mut self, file: &mut Blocks<R>, at: u64, len: u64) -> Result<(), ReadError> {
        let mut head = [0; ZIP_HEADER];
        let there = file.read_at(at + BLOCK_HEADER, &mut head)?;
        let (kind, columns) = (head[2], u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize);
        let (original, packed) = (long(&head, 8), long(&head, 16));
        if there < head.len() {
            self.is_cut = true;
            return Ok(());
        }
        if original > MOST_BYTES || packed > len.saturating_sub(BLOCK_HEADER + ZIP_HEADER as u64) {
            return Err(bad(
                at,
                format!("a compressed block has {packed} bytes in {len}, and {original} without compression"),
            ));
        }
        let mut plain = Vec::new();
        file.input.seek(std::io::SeekFrom::Start(at + BLOCK_HEADER + ZIP_HEADER as u64))?;
        let mut unpacked = ZlibDecoder::new((&mut file.input).take(packed)).take(original);
        match unpacked.read_to_end(&mut plain) {
            Ok(_) if plain.len() as u64 == original => {}
            Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof && error.get_ref().is_none() => {
                return Err(error.into());
            }
            Ok(_) | Err(_) => {
                // Not whole: of columns, nothing can be used.
                self.is_cut = true;
                if kind != 0 {
                    plain.clear();
                }
            }
        }
        match kind {
            0 => self.bytes.append(&mut plain),
            1 if columns > 0 => {
                let rows = plain.len() / columns;
                let whole = rows * columns;
                let there = self.bytes.len();
                self.bytes.resize(there + whole, 0);
                for (row, record) in self.bytes[there..].chunks_exact_mut(columns).enumerate() {
                    for (column, byte) in record.iter_mut().enumerate() {
                        *byte = plain[column * rows + row];
                    }
                }
                self.bytes.extend(&plain[whole..]);
            }
            other => return Err(bad(at, format!("a block has the unknown compression {other} of {columns} columns"))),
        }
        Ok(())
    }
}
