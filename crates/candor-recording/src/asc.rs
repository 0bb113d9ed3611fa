//! Vector ASC: `0.015991 1  123  Rx   d 2 11 22`.
//!
//! Buses are numbered from 1; `can0` is 1. The date in the header is read and written as UTC, because it has no time zone.
//! Error frames have neither class nor bytes. Events that are no frames are left out.
//!
//! # Source
//! The format has no public specification. This is what [python-can](https://github.com/hardbyte/python-can) 4.6.1 reads and
//! writes, and the flags of lines of CANFD are as in BLF.

mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// Flags of a CAN FD line.
const FLAG_REMOTE: u32 = 1 << 4;
const FLAG_FDF: u32 = 1 << 12;
const FLAG_BRS: u32 = 1 << 13;
const FLAG_ESI: u32 = 1 << 14;

#[cfg(test)]
mod tests;
