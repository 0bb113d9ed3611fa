//! Vector BLF: objects in containers that zlib compresses.
//!
//! ```text
//!  LOGG, sizes, dates, to byte 144 │ container: LOBJ, 16-byte header, method, size, zlib │ container, …
//!  object in a container: LOBJ │ header size, version │ size │ type │ flags, time │ frame │ padding
//! ```
//!
//! Objects may cross from one container into the next. Buses are numbered from 1; `can0` is 1. The class of an error frame and
//! its bytes are where python-can has them: in the identifier and the data of an extended error object.
//!
//! # Source
//! The format has no public specification. This is what [python-can](https://github.com/hardbyte/python-can) 4.6.1 reads and
//! writes; object numbers are those of its `can/io/blf.py`. Where the two differ, the header is that of
//! [vblf](https://pypi.org/project/vblf/) 0.3.1.

mod containers;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// Bytes of the header of a file.
const FILE_HEADER: usize = 144;
/// Signature, header size and version, size and type.
const BASE_HEADER: usize = 16;
/// The header of version 1, with flags and time.
const HEADER_1: usize = 32;
/// Method and size in a container.
const CONTAINER_HEADER: usize = 16;

const CAN_MESSAGE: u32 = 1;
const CAN_ERROR: u32 = 2;
const LOG_CONTAINER: u32 = 10;
const CAN_ERROR_EXT: u32 = 73;
const CAN_MESSAGE2: u32 = 86;
const CAN_FD_MESSAGE: u32 = 100;
const CAN_FD_MESSAGE_64: u32 = 101;
const CAN_FD_ERROR_64: u32 = 104;

/// Times in 10 us; otherwise they are in ns.
const TEN_MICROSECONDS: u32 = 1;
const NANOSECONDS: u32 = 2;

const ID_EXTENDED: u32 = 0x8000_0000;
/// Flags of CC frames and of type 100.
const FLAG_SENT: u8 = 1;
const FLAG_REMOTE: u8 = 0x80;
/// CAN FD flags of type 100.
const EDL: u8 = 1;
const BRS: u8 = 2;
const ESI: u8 = 4;
/// Flags of type 101.
const FLAG_64_REMOTE: u32 = 1 << 4;
const FLAG_64_FDF: u32 = 1 << 12;
const FLAG_64_BRS: u32 = 1 << 13;
const FLAG_64_ESI: u32 = 1 << 14;

#[cfg(test)]
mod tests;
