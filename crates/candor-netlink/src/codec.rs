//! Netlink messages and attributes: a writer that maintains all lengths, and readers that check them.

mod read;
mod write;

pub use read::{Attribute, Attributes, DecodeError, Message, Messages};
pub use write::MessageWriter;

/// Bytes of `struct nlmsghdr`.
pub const MESSAGE_HEADER_BYTES: usize = 16;
/// Bytes of `struct nlattr`.
pub const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// `NLM_F_REQUEST`: the message is a request.
pub const NLM_F_REQUEST: u16 = 0x001;
/// `NLM_F_MULTI`: one of several messages that end with `NLMSG_DONE`.
pub const NLM_F_MULTI: u16 = 0x002;
/// `NLM_F_ACK`: request a confirmation.
pub const NLM_F_ACK: u16 = 0x004;
/// `NLM_F_DUMP_INTR`: the list changed during the dump.
pub const NLM_F_DUMP_INTR: u16 = 0x010;
/// `NLM_F_DUMP` of a GET request: return all entries.
pub const NLM_F_DUMP: u16 = 0x300;
/// `NLM_F_CAPPED` of an error: only the header of the request is echoed.
pub const NLM_F_CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS` of an error: extended acknowledgement attributes follow.
pub const NLM_F_ACK_TLVS: u16 = 0x200;
/// `NLM_F_REPLACE` of a NEW request: replace an existing entry.
pub const NLM_F_REPLACE: u16 = 0x100;
/// `NLM_F_EXCL` of a NEW request: fail if it exists.
pub const NLM_F_EXCL: u16 = 0x200;
/// `NLM_F_CREATE` of a NEW request: create a missing entry.
pub const NLM_F_CREATE: u16 = 0x400;

/// `NLMSG_ERROR`: an errno, 0 for a confirmation.
pub const NLMSG_ERROR: u16 = 2;
/// `NLMSG_DONE`: the end of a dump.
pub const NLMSG_DONE: u16 = 3;

/// Netlink pads messages and attributes to multiples of 4 bytes.
const fn align(len: usize) -> usize {
    (len + 3) & !3
}

#[cfg(test)]
mod tests;
