//! What frames count as, and the marks of those that are forwarded.

use candor_core::job::BusIndex;

/// What a frame counts as in a tree with a size table: the least quantum of kernels since 2025.
pub const FRAME_BYTES: u32 = 256;

/// Marks of frames that the kernel forwards from a bus: this, and the number of the bus. Nobody else gives such a mark, and
/// frames that come in have none.
const SOURCE_MARK: u32 = 0x6361_0000;

/// The mark that frames bear which came in from a bus, as long as the kernel has them.
#[must_use]
pub fn source_mark(bus: BusIndex) -> u32 {
    SOURCE_MARK | (u32::try_from(bus.0).unwrap_or(u32::MAX) & 0xFFFF)
}
