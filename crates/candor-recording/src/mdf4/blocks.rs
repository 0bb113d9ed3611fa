//! Blocks of a file, found by their links.

use std::io::{Read, Seek, SeekFrom};

use super::BLOCK_HEADER;
use crate::{Place, ReadError};

/// Longest block that is kept in memory, in bytes. Data is not.
const MOST_BYTES: u64 = 16 * 1024;
/// The same of a list of blocks.
const MOST_LIST_BYTES: u64 = 1 << 20;
/// What is read of a text. Names of channels are shorter.
const MOST_TEXT_BYTES: u64 = 1024;
/// Most blocks that describe the file.
const MOST_BLOCKS: u64 = 200_000;

/// A block without data.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) at: u64,
    links: Vec<u64>,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Blocks<R> {
    pub(super) input: R,
    /// Blocks read, because links may form a circle.
    count: u64,
}

/// Kind, length and number of links of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) at: u64,
    pub(super) kind: [u8; 2],
    pub(super) len: u64,
    links: u64,
}

impl<R: Read + Seek> Blocks<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, count: 0 }
    }

    /// Fills `bytes` from a place; less at the end of the file. Returns how many are there.
    pub(super) fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> Result<usize, ReadError> {
        self.input.seek(SeekFrom::Start(at))?;
        let mut there = 0;
        while there < bytes.len() {
            match self.input.read(&mut bytes[there..]) {
                Ok(0) => break,
                Ok(count) => there += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(there)
    }

    pub(super) fn head(&mut self, at: u64) -> Result<Head, ReadError> {
        self.count += 1;
        if self.count > MOST_BLOCKS {
            return Err(bad(at, format!("the file has more than {MOST_BLOCKS} blocks, or links in a circle")));
        }
        let mut bytes = [0; 24];
        if self.read_at(at, &mut bytes)? < bytes.len() {
            return Err(ReadError::Cut { at: Place::Byte(at), what: "the blocks that describe it" });
        }
        if &bytes[..2] != b"##" {
            return Err(bad(at, format!("a link leads to what is no block: {:02X?}", &bytes[..4])));
        }
        let (len, links) = (long(&bytes, 8), long(&bytes, 16));
        let kind = [bytes[2], bytes[3]];
        if len < BLOCK_HEADER || links > (len - BLOCK_HEADER) / 8 {
            return Err(bad(at, format!("a block has a length of {len} bytes with {links} links")));
        }
        Ok(Head { at, kind, len, links })
    }

    /// Reads a block of one of these kinds.
    pub(super) fn block(&mut self, at: u64, kinds: &[&[u8; 2]]) -> Result<Block, ReadError> {
        let head = self.head(at)?;
        self.rest(head, kinds)
    }

    /// Reads the rest of a block.
    pub(super) fn rest(&mut self, head: Head, kinds: &[&[u8; 2]]) -> Result<Block, ReadError> {
        let Head { at, kind, len, links } = head;
        if !kinds.contains(&&kind) {
            let wanted = String::from_utf8_lossy(kinds[0]).into_owned();
            return Err(bad(at, format!("a block of kind {} in place of {wanted}", String::from_utf8_lossy(&kind))));
        }
        let most = if &kind == b"DL" { MOST_LIST_BYTES } else { MOST_BYTES };
        if len > most {
            return Err(bad(at, format!("a block has a length of {len} bytes, more than {most}")));
        }
        let mut bytes = vec![0; usize::try_from(len - BLOCK_HEADER).unwrap_or(0)];
        if self.read_at(at + BLOCK_HEADER, &mut bytes)? < bytes.len() {
            return Err(ReadError::Cut { at: Place::Byte(at), what: "the blocks that describe it" });
        }
        let body = bytes.split_off(usize::try_from(8 * links).unwrap_or(0));
        let links = bytes.chunks_exact(8).map(|link| long(link, 0)).collect();
        Ok(Block { at, links, body })
    }

    /// The text of a block; empty without one.
    pub(super) fn text(&mut self, at: u64) -> Result<String, ReadError> {
        if at == 0 {
            return Ok(String::new());
        }
        let head = self.head(at)?;
        if ![b"TX", b"MD"].contains(&&head.kind) {
            return Err(bad(at, format!("a block of kind {} in place of TX", String::from_utf8_lossy(&head.kind))));
        }
        let mut bytes = vec![0; usize::try_from((head.len - BLOCK_HEADER).min(MOST_TEXT_BYTES)).unwrap_or(0)];
        let there = self.read_at(at + BLOCK_HEADER, &mut bytes)?;
        let text = bytes[..there].split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

impl Block {
    /// The links from this one on.
    pub(super) fn links_from(&self, first: usize) -> &[u64] {
        self.links.get(first..).unwrap_or_default()
    }

    /// A link; 0 if the block has fewer.
    pub(super) fn link(&self, number: usize) -> u64 {
        self.links.get(number).copied().unwrap_or(0)
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.body.get(at).copied().unwrap_or(0)
    }

    pub(super) fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.byte(at), self.byte(at + 1)])
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        u32::from(self.half(at)) | u32::from(self.half(at + 2)) << 16
    }

    pub(super) fn long(&self, at: usize) -> u64 {
        long(&self.body, at)
    }
}

/// Eight bytes; 0 beyond the end.
pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn bad(at: u64, why: String) -> ReadError {
    ReadError::Bad { at: Place::Byte(at), why }
}
