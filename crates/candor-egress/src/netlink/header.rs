//! `struct tcmsg`, with which every message begins.

use crate::handle::Handle;

use super::read;
use candor_netlink::codec::Attribute;
use candor_netlink::codec::{DecodeError, Message, MessageWriter};

/// Bytes of `struct tcmsg`.
const HEADER_BYTES: usize = 20;

/// What a message is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of the interface; 0 for all.
    pub(super) interface: u32,
    pub(super) handle: Handle,
    pub(super) parent: Handle,
    /// Of a filter its preference and protocol; of others something that the kernel counts.
    pub(super) info: u32,
}

impl Header {
    pub(super) fn message(self, kind: u16, flags: u16) -> MessageWriter {
        let mut header = [0; HEADER_BYTES];
        for (at, number) in [(4, self.interface), (8, self.handle.0), (12, self.parent.0), (16, self.info)] {
            header[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        let mut message = MessageWriter::new(kind, flags);
        message.header(&header);
        message
    }

    /// The header of a message and the attributes behind it.
    pub(super) fn split<'a, const N: usize>(
        message: &Message<'a>,
    ) -> Result<(Self, [Option<Attribute<'a>>; N]), DecodeError> {
        let (header, _) = message.split::<HEADER_BYTES>()?;
        let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let header =
            Self { interface: number(4), handle: Handle(number(8)), parent: Handle(number(12)), info: number(16) };
        Ok((header, read::by_number(&message.payload[HEADER_BYTES..])?))
    }
}
