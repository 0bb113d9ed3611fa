//! One state for each identifier, in a bounded number.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use candor_core::frame::{CAN_EFF_FLAG, RawId};

/// Which frames share limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// All frames of the route.
    One,
    /// Those of each identifier; this many are expected. Room is left for twice as many, at most 8192; identifiers beyond
    /// that share one state, so that somebody who invents identifiers gains nothing.
    Each(usize),
}

/// The largest number of identifiers with states of their own.
const MOST: usize = 4096;

/// Identifiers that are looked at before one counts as beyond the room.
const PROBES: usize = 8;

/// Set in the key of a slot that is in use: no identifier has this bit.
const USED: u32 = 0x4000_0000;

/// What is known of the frames before. One thread writes.
#[derive(Debug, Default)]
pub(crate) struct State {
    key: AtomicU32,
    /// The stamp of the last frame that passed; 0 before the first one.
    pub(crate) last: AtomicI64,
    /// When the bucket of frames is full again.
    pub(crate) frames_full: AtomicI64,
    /// When the bucket of bits is full again.
    pub(crate) bits_full: AtomicI64,
}

#[derive(Debug)]
pub(crate) struct Table {
    /// The shared one.
    shared: State,
    /// A power of two, or none.
    slots: Box<[State]>,
}

impl Table {
    pub(crate) fn new(states: States) -> Self {
        let count = match states {
            States::One => 0,
            States::Each(count) => count.saturating_mul(4).clamp(64, 2 * MOST).next_power_of_two(),
        };
        Self { shared: State::default(), slots: (0..count).map(|_slot| State::default()).collect() }
    }

    /// The state of all frames, if they have one.
    #[inline]
    pub(crate) const fn shared(&self) -> &State {
        &self.shared
    }

    #[inline]
    pub(crate) fn of(&self, id: RawId) -> &State {
        if self.slots.is_empty() { &self.shared } else { self.find(id) }
    }

    // Separate, so that a single state needs no registers of it.
    #[inline(never)]
    fn find(&self, id: RawId) -> &State {
        let key = id.bits() | id.0 & CAN_EFF_FLAG | USED;
        let mask = self.slots.len() - 1;
        let first = (key.wrapping_mul(0x9E37_79B1) >> 12) as usize;
        for probe in 0..PROBES {
            let slot = &self.slots[(first + probe) & mask];
            match slot.key.load(Ordering::Relaxed) {
                found if found == key => return slot,
                0 => {
                    slot.key.store(key, Ordering::Relaxed);
                    return slot;
                }
                _ => {}
            }
        }
        &self.shared
    }

    /// The states of all identifiers that came, and the shared one if there is no other.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Option<RawId>, &State)> {
        let shared = self.slots.is_empty().then_some((None, &self.shared));
        let own = self.slots.iter().filter_map(|slot| {
            let key = slot.key.load(Ordering::Relaxed);
            (key != 0).then_some((Some(RawId(key & !USED)), slot))
        });
        shared.into_iter().chain(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_their_own_state_as_long_as_there_is_room() {
        let table = Table::new(States::Each(2048));
        let same = |one: u32, other: u32| core::ptr::eq(table.of(RawId(one)), table.of(RawId(other)));
        for id in 0..0x800 {
            assert!(same(id, id));
            assert!(!core::ptr::eq(table.of(RawId(id)), &table.shared), "{id:X}");
        }
        assert!(!same(1, 2));
        assert!(!same(1, 1 | CAN_EFF_FLAG));
        for id in 0..1 << 20 {
            table.of(RawId(id | CAN_EFF_FLAG));
        }
        assert!(same(CAN_EFF_FLAG | 0xF_0000, CAN_EFF_FLAG | 0xF_0001), "beyond the room they share one");
        assert!(table.slots.len() <= 2 * MOST);
        assert!(table.each().count() <= 2 * MOST);
    }
}
