//! USB/IP: USB transfers of a virtual host controller as packets in a byte stream.
//!
//! ```text
//!  vhci-hcd (kernel)                               device (here)
//!      │ submit 17, endpoint 1, in, room for 24        │
//!      ├──────────────────────────────────────────────▶│  held until there is something to say
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
//! The stream starts right with submissions: what usbip's tools call import happens before a socket is handed to
//! vhci-hcd, and not at all here. A reply with a number that was never submitted makes vhci-hcd tear the port down.
//!
//! # Source
//! `drivers/usb/usbip/usbip_common.h` (headers), `vhci_tx.c` (what is asked), `vhci_rx.c` (what may be answered),
//! `Documentation/usb/usbip_protocol.rst`; read at 6.1.

mod command;
mod error;
mod header;
mod reader;
pub mod reply;

pub use command::{Command, Submit, Transfer};
pub use error::ProtocolError;
pub use header::{HEADER_BYTES, Header, Seqnum};
pub use reader::{MAX_OUT_BYTES, Reader};
pub use reply::{Reply, Status};
