//! pcapng: captures of Wireshark, with an interface for each bus.
//!
//! ```text
//!  section header │ interface description (each bus) │ enhanced packet (each frame), …
//!  block: type │ length │ body │ options: code, length, value, padding to 4 │ length
//! ```
//!
//! Packets have link type 227, whose identifier is big-endian in files of either byte order. A file may be cut after any block,
//! so one that is still written can be read.
//!
//! # Source
//! [draft-ietf-opsawg-pcapng](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/), sections 3 and 4;
//! <https://www.tcpdump.org/linktypes/LINKTYPE_CAN_SOCKETCAN.html>

mod packet;
mod read;
mod write;

pub use read::Reader;
pub use write::{Writer, interface, packet as packet_block, packets, section, statistics, whole};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_CAN_SOCKETCAN: u16 = 227;

/// Codes of options; 0 ends them.
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

#[cfg(test)]
mod tests;
