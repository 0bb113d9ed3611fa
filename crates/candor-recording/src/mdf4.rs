//! ASAM MDF4 with CAN bus logging: groups of records, each with the channels `CAN_DataFrame.ID`, `.DataBytes` and others.
//!
//! ```text
//!  ID │ HD ─▶ DG ─▶ CG (CAN_DataFrame: CC, CAN FD; CAN_RemoteFrame; CAN_ErrorFrame) ─▶ CN (channels of a record)
//!             └──▶ DT: record number, time, bus, identifier, … │ record number, …
//! ```
//!
//! Written are records of all groups in one data block, in their order. Until it is complete, the file is marked as not
//! finalised. Read are data blocks of any number, compressed or not, of sorted and unsorted groups; data of variable
//! length is in a block of its own, or in records of a group of its own. `can0` is bus 0, as in python-can. Both read and write seek.
//!
//! # Source
//! ASAM MDF 4.1 with its bus logging, as [asammdf](https://github.com/danielhrisca/asammdf) 8.8 implements them

mod blocks;
mod data;
mod group;
mod layout;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// Bytes of the first block.
const ID_BYTES: usize = 64;
/// Bytes before the links of a block.
const BLOCK_HEADER: u64 = 24;

/// Of records: events on a bus.
const CG_BUS_EVENT: u16 = 1 << 1;
/// Of records with data of variable length.
const CG_VLSD: u16 = 1;
/// Of channels.
const CN_BUS_EVENT: u32 = 1 << 10;
const SOURCE_BUS: u8 = 2;
const BUS_CAN: u8 = 2;
const CHANNEL_FIXED: u8 = 0;
/// The record has the offset of the data, which is elsewhere.
const CHANNEL_VARIABLE: u8 = 1;
const CHANNEL_MASTER: u8 = 2;
/// The record has room for the longest data.
const CHANNEL_MAX_LENGTH: u8 = 5;
const SYNC_TIME: u8 = 1;
const UNSIGNED: u8 = 0;
const SIGNED: u8 = 2;
const FLOAT: u8 = 4;
const BYTES: u8 = 10;
const CONVERSION_LINEAR: u8 = 1;

/// In the first block of a file that is still written: cycle counters, and the length of the last data block.
const UNFINALISED: u16 = 1 | 4;

#[cfg(test)]
mod tests;
