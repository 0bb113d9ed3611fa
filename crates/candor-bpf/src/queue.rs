//! A queueing discipline in the order of arbitration, as programs of the kernel's `struct_ops` for `Qdisc_ops`.
//!
//! ```text
//!  Options ──┐
//!            ├─ compile ─▶ Queue: five programs, maps ──candor-io──▶ kernel ──tc──▶ interface
//!  Layout ───┘
//!  (offsets and functions of this kernel)
//! ```
//!
//! Frames wait in slots, each an element of the map [`SLOTS`]. A binary heap in [`STATE`] sorts them by [`key`]: the bits
//! of the arbitration field, then a sequence number. Entries of the heap behind its end hold the free slots. So no memory
//! is allocated for a frame, and nothing is locked: the kernel calls the programs of one queue under its lock.
//!
//! # What the verifier demands
//! * A program owns a buffer (`struct sk_buff`) until it is returned, dropped or exchanged with a field of type `kptr` of a
//!   map. A buffer that the exchange returns must be dropped on every path, also where there never is one.
//! * Only an array with one value can be addressed directly, and at most 11 fields of a value can hold buffers. So the heap
//!   is a value, and each slot an element.
//! * Offsets into a value are masked: a comparison with a number in memory proves nothing.
//! * Loops have a counter of the kernel ([`leave_if_endless`](crate::assembler::Assembler::leave_if_endless)). Where it leaves a loop, the heap has lost its
//!   order, not its frames. They start with a number from memory, also where it is always 0: the verifier would follow each
//!   round of a loop with numbers that it knows.
//! * `skb->data` is a number. `bpf_rdonly_cast` makes it the address of a structure that may be read.
//! * Functions of the kernel need a license that it takes for compatible with the GPL: [`LICENSE`].
//! * Of `struct Qdisc`, only the limit, the queue length and the statistics may be written.
//!
//! # Kernel
//! Linux 6.16 with `CONFIG_NET_SCH_BPF`, on processors with 64 bits.

mod generate;
mod layout;
pub mod oracle;

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK};

use crate::assembler::{MapIndex, Program, TooFar};
use crate::btf::{TypeId, Writer};
pub use layout::{Layout, Member};

/// License of the programs, as the kernel compares it.
pub const LICENSE: &str = "Dual MIT/GPL";

/// One value: numbers of 64 bits ([`Statistics`]), then the heap.
pub const STATE: MapIndex = MapIndex(0);
/// The frames that wait.
pub const SLOTS: MapIndex = MapIndex(1);
/// Frames that wait, by socket; only with a limit for each.
pub const SOCKETS: MapIndex = MapIndex(2);

/// Most frames that a queue can hold.
pub const MAX_FRAMES: u32 = 1 << 14;

/// What happens to frames that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Frames that may wait, 1 to [`MAX_FRAMES`].
    pub limit: u32,
    /// Frames of one socket that may wait. Frames of gateways have no socket.
    pub limit_per_socket: Option<u32>,
    /// Frames that have waited longer are dropped, in nanoseconds.
    pub max_age_ns: Option<u64>,
    /// A frame replaces one that waits with the same arbitration field, and takes its place.
    pub replace_same_id: bool,
}

/// The programs of a queue, and its maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// In the order of [`Operation::ALL`].
    pub programs: Vec<(Operation, Program)>,
    /// By [`MapIndex`].
    pub maps: Vec<Map>,
    pub limit: u32,
}

/// A member of `struct Qdisc_ops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Dequeue,
    Destroy,
    Enqueue,
    Init,
    Reset,
}

impl Operation {
    /// The members that the kernel demands.
    pub const ALL: [Self; 5] = [Self::Dequeue, Self::Destroy, Self::Enqueue, Self::Init, Self::Reset];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dequeue => "dequeue",
            Self::Destroy => "destroy",
            Self::Enqueue => "enqueue",
            Self::Init => "init",
            Self::Reset => "reset",
        }
    }
}

/// A map of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Map {
    /// An array with one value.
    State(Vec<u8>),
    /// An array of [`SLOT_BYTES`], described by [`slot_types`].
    Slots(u32),
    /// A hash table from the address of a socket to a number of 64 bits.
    Sockets(u32),
}

/// The buffer, the time at which it came (`CLOCK_MONOTONIC`), and its socket.
pub const SLOT_BYTES: u32 = 24;

/// Types for the map of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotTypes {
    pub bytes: Vec<u8>,
    pub key: TypeId,
    pub value: TypeId,
}

#[must_use]
pub fn slot_types() -> SlotTypes {
    let mut writer = Writer::new();
    let key = writer.integer("unsigned int", 4);
    let number = writer.integer("unsigned long", 8);
    // The kernel looks its own structure up by this name.
    let buffer = writer.structure("sk_buff", 0, &[]);
    let owned = writer.tag("kptr", buffer);
    let pointer = writer.pointer(owned);
    let members = [("frame", pointer, 0), ("time", number, 8), ("socket", number, 16)];
    let value = writer.structure("candor_slot", SLOT_BYTES, &members);
    SlotTypes { bytes: writer.finish(), key, value }
}

/// Numbers of a queue since it was made, from the value of [`STATE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that wait.
    pub waiting: u64,
    /// Index of the interface in the lower half, number of its network namespace (inode of `/proc/PID/ns/net`) in the
    /// upper one.
    pub owner: u64,
    /// Dropped because the queue was full.
    pub full: u64,
    /// Dropped because too many frames of the socket waited.
    pub socket: u64,
    /// Dropped because they had waited too long.
    pub expired: u64,
    /// Replaced by a newer frame.
    pub replaced: u64,
    /// Dropped by a mistake in the programs.
    pub failed: u64,
}

impl Statistics {
    /// `None` if the value is too short.
    #[must_use]
    pub fn read(state: &[u8]) -> Option<Self> {
        let number = |field: i16| -> Option<u64> {
            let at = usize::try_from(field).ok()?;
            Some(u64::from_ne_bytes(state.get(at..at + 8)?.try_into().ok()?))
        };
        Some(Self {
            waiting: number(field::WAITING)?,
            owner: number(field::OWNER)?,
            full: number(field::FULL)?,
            socket: number(field::SOCKET)?,
            expired: number(field::EXPIRED)?,
            replaced: number(field::REPLACED)?,
            failed: number(field::FAILED)?,
        })
    }
}

/// Offsets in the value of [`STATE`].
mod field {
    pub(super) const WAITING: i16 = 0;
    pub(super) const SEQUENCE: i16 = 8;
    pub(super) const OWNER: i16 = 16;
    pub(super) const FULL: i16 = 24;
    pub(super) const SOCKET: i16 = 32;
    pub(super) const EXPIRED: i16 = 40;
    pub(super) const REPLACED: i16 = 48;
    pub(super) const FAILED: i16 = 56;
    pub(super) const ZERO: i16 = 64;
    /// Entries of 16 bytes: key and slot.
    pub(super) const HEAP: i16 = 72;
}

/// Bytes of an entry of the heap, as a shift.
const ENTRY_SHIFT: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error("a queue of {0} frames is impossible: use 1 to {MAX_FRAMES}")]
    Limit(u32),
    #[error("a limit of 0 frames for each socket stops all sockets: use at least 1")]
    SocketLimit,
    #[error(transparent)]
    TooFar(#[from] TooFar),
}

/// The bits of the arbitration field of a classic frame, most significant first: base identifier, RTR or SRR, IDE, extended
/// identifier, RTR. The lowest value wins. `id` is that of `struct can_frame`.
#[must_use]
pub const fn key(id: u32) -> u32 {
    let remote = (id & CAN_RTR_FLAG) >> 30;
    if id & CAN_EFF_FLAG == 0 {
        (id & CAN_SFF_MASK) << 21 | remote << 20
    } else {
        let id = id & CAN_EFF_MASK;
        id >> 18 << 21 | 0b11 << 19 | (id & 0x3_FFFF) << 1 | remote
    }
}

/// # Errors
/// [`CompileError`].
pub fn compile(options: &Options, layout: &Layout) -> Result<Queue, CompileError> {
    if !(1..=MAX_FRAMES).contains(&options.limit) {
        return Err(CompileError::Limit(options.limit));
    }
    if options.limit_per_socket == Some(0) {
        return Err(CompileError::SocketLimit);
    }
    let programs = Operation::ALL.map(|operation| Ok((operation, generate::program(operation, options, layout)?)));
    let programs = programs.into_iter().collect::<Result<_, TooFar>>()?;
    let mut maps = vec![Map::State(state(options.limit)), Map::Slots(options.limit)];
    maps.extend(options.limit_per_socket.map(|_| Map::Sockets(options.limit)));
    Ok(Queue { programs, maps, limit: options.limit })
}

/// Entries of the heap: a power of two, for a mask. One more follows, since the programs read pairs.
const fn capacity(limit: u32) -> u32 {
    limit.next_power_of_two()
}

/// The first value of [`STATE`]: all slots are free.
fn state(limit: u32) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(field::HEAP).expect("72")];
    for slot in 0..=capacity(limit) {
        bytes.extend([0_u64.to_ne_bytes(), u64::from(slot).to_ne_bytes()].as_flattened());
    }
    bytes
}

#[cfg(test)]
mod tests;
