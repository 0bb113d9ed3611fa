//! USB/IP: USB transfers of a virtual host controller as packets in a byte stream.
//!
//! ```text
//!  vhci-hcd (kernel)                               device (here)
//!      │ submit 17, endpoint 1, in, room for 24        │
//!      ├──────────────────────────────────────────────▶│  held until there is a message
//!      │ submit 18, endpoint 2, out, 20 bytes ┊ bytes  │
//!      ├──────────────────────────────────────────────▶│
//!      │ reply 18, status 0, 20 bytes taken            │
//!      │◀──────────────────────────────────────────────┤  in any order, at any time, each number once
//!      │ reply 17, status 0, 24 bytes         ┊ bytes  │
//!      │◀──────────────────────────────────────────────┤
//!      │ unlink 19 of 16                               │
//!      ├──────────────────────────────────────────────▶│
//!      │ unlinked 19, status -104 (or 0: too late)     │
//!      │◀──────────────────────────────────────────────┤
//! ```
//!
//! The stream starts with submissions: the import that the usbip tools perform precedes handing a socket to vhci-hcd and
//! is not needed here. A reply with a number that was never submitted makes vhci-hcd shut the port down.
//!
//! ```text
//!  byte  0        4        8        12         16        20 ...
//!       │command │seqnum  │devid   │direction │endpoint │
//!  1 CMD_SUBMIT                                         │flags│length│start frame│packets│interval│setup, 8 bytes│
//!  2 CMD_UNLINK                                         │seqnum of the victim│ 24 unused bytes                  │
//!  3 RET_SUBMIT                                         │status│actual length│start frame│packets│errors│ 8 × 0 │
//!  4 RET_UNLINK                                         │status│ 24 unused bytes                                │
//! ```
//!
//! All words are big endian; the setup bytes are in USB byte order.
//!
//! # Source
//! Linux 6.1: [`struct usbip_header`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/usbip_common.h#L208),
//! [`vhci_send_cmd_submit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_tx.c#L52) (requests),
//! [`vhci_recv_ret_submit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_rx.c#L55) (accepted replies),
//! [`Documentation/usb/usbip_protocol.rst`](https://github.com/gregkh/linux/blob/v6.1.192/Documentation/usb/usbip_protocol.rst).

mod command;
pub mod reply;

use std::fmt;

pub use command::{Command, MAX_OUT_BYTES, ProtocolError, Reader, Submit, Transfer};
pub use reply::{Reply, Status};

/// Size of `struct usbip_header`.
pub const HEADER_BYTES: usize = 48;

/// The number of a submission or of an unlink request; they share one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seqnum(pub u32);

impl fmt::Display for Seqnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A header as twelve words. Any bytes are a header; [`Command`] and [`Reply`] validate them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header([u8; HEADER_BYTES]);

impl Header {
    pub(crate) const CMD_SUBMIT: u32 = 1;
    pub(crate) const CMD_UNLINK: u32 = 2;
    pub(crate) const RET_SUBMIT: u32 = 3;
    pub(crate) const RET_UNLINK: u32 = 4;
    pub(crate) const DIRECTION_OUT: u32 = 0;
    pub(crate) const DIRECTION_IN: u32 = 1;

    // Indices of words.
    const COMMAND: usize = 0;
    const SEQNUM: usize = 1;
    const DIRECTION: usize = 3;
    const ENDPOINT: usize = 4;
    const VICTIM: usize = 5;
    const STATUS: usize = 5;
    const LENGTH: usize = 6;
    const PACKETS: usize = 8;

    fn new(command: u32, Seqnum(seqnum): Seqnum) -> Self {
        let mut header = Self([0; HEADER_BYTES]);
        header.set(Self::COMMAND, command);
        header.set(Self::SEQNUM, seqnum);
        header
    }

    /// The header at the beginning of `bytes`, if it is complete.
    pub fn first_of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|&bytes| Self(bytes))
    }

    const fn seqnum(&self) -> Seqnum {
        Seqnum(self.word(Self::SEQNUM))
    }

    fn set(&mut self, index: usize, value: u32) {
        if let Some(word) = self.0.chunks_exact_mut(4).nth(index) {
            word.copy_from_slice(&value.to_be_bytes());
        }
    }

    const fn word(&self, index: usize) -> u32 {
        let at = index * 4;
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}
