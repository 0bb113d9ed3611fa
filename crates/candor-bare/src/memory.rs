//! Where the program and what it shares with Linux are in memory. Linux is kept out of these areas by `memmap=`.

/// One page below 1 MiB: the first instructions of a processor that another one starts.
pub const TRAMPOLINE: u64 = 0x8000;
/// Size of the page.
pub const TRAMPOLINE_BYTES: u64 = 0x1000;

/// The program with its memory, as in `link.ld`.
pub const PROGRAM: u64 = 0x1000_0000;
/// Size of everything from [`PROGRAM`] on.
pub const BYTES: u64 = 0x0100_0000;

/// [`Parameters`](crate::Parameters) in bytes, up to [`REPORT`].
pub const PARAMETERS: u64 = PROGRAM + 0x00C0_0000;
/// A [`Report`](crate::Report) in bytes.
pub const REPORT: u64 = PROGRAM + 0x00F0_0000;
