//! `struct tcmsg`, the numbers of messages and attributes, and the names of interfaces.
//!
//! # Source
//! [`struct tcmsg`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/rtnetlink.h#L601) and
//! [`RTM_NEWQDISC`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/rtnetlink.h#L66) in Linux 6.1.

use crate::handle::Handle;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::codec::{Attribute, DecodeError, Message, MessageWriter};
use candor_netlink::link;

use super::codec;

pub(super) const RTM_NEWQDISC: u16 = 36;
pub(super) const RTM_DELQDISC: u16 = 37;
pub(super) const RTM_NEWTCLASS: u16 = 40;
pub(super) const RTM_NEWTFILTER: u16 = 44;
pub(super) const RTM_DELTFILTER: u16 = 45;
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
pub(super) const TCA_STATS2: u16 = 7;
pub(super) const TCA_STAB: u16 = 8;
pub(super) const TCA_CHAIN: u16 = 11;

/// Bytes of `struct tcmsg`.
const HEADER_BYTES: usize = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of the interface; 0 for all.
    pub(super) interface: u32,
    pub(super) handle: Handle,
    pub(super) parent: Handle,
    /// Preference and protocol of a filter; a counter of the kernel for other objects.
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

    /// The header and attributes of a message.
    pub(super) fn split<'a, const N: usize>(
        message: &Message<'a>,
    ) -> Result<(Self, [Option<Attribute<'a>>; N]), DecodeError> {
        let (header, _) = message.split::<HEADER_BYTES>()?;
        let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let header =
            Self { interface: number(4), handle: Handle(number(8)), parent: Handle(number(12)), info: number(16) };
        Ok((header, codec::by_number(&message.payload[HEADER_BYTES..])?))
    }
}

/// Prefix of the names of unknown interfaces, before their index.
const NUMBERED: &str = "if";

/// Names and indexes of interfaces: messages have indexes, values have names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceNames {
    names: Vec<(u32, String)>,
}

impl InterfaceNames {
    /// Reads those of the network namespace.
    pub fn read(client: &mut Client) -> Result<Self, NetlinkError> {
        Ok(link::list(client)?.into_iter().map(|link| (link.index, link.name)).collect())
    }

    /// The interface of this name; `if7` is index 7 unless an interface has that name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<InterfaceIndex> {
        let number = self.names.iter().find(|(_, own)| own == name).map(|(number, _)| *number);
        InterfaceIndex::new(number.or_else(|| name.strip_prefix(NUMBERED)?.parse().ok())?)
    }

    /// The name of this interface; `if7` if it is unknown.
    #[must_use]
    pub fn name(&self, number: u32) -> String {
        let name = self.names.iter().find(|(own, _)| *own == number).map(|(_, name)| name.clone());
        name.unwrap_or_else(|| format!("{NUMBERED}{number}"))
    }
}

impl FromIterator<(InterfaceIndex, String)> for InterfaceNames {
    fn from_iter<T: IntoIterator<Item = (InterfaceIndex, String)>>(names: T) -> Self {
        Self { names: names.into_iter().map(|(index, name)| (index.number(), name)).collect() }
    }
}
