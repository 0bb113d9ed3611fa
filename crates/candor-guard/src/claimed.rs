//! Source addresses of J1939 that nodes of the protected bus have.

use alloc::collections::BTreeMap;
use core::any::Any;
use core::sync::atomic::{AtomicU64, Ordering};

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_ERR_FLAG, CAN_RTR_FLAG, FrameFormat, RawId};
use candor_core::job::{Compute, Seen};
use candor_core::rule::Verdict;

use crate::rule::{OnViolation, Rule};
use crate::tally::Tally;

/// Extended data page, data page and PDU format, which tell the parameter groups up to `EFxx` apart.
const GROUP: u32 = 0x03FF_0000;
/// Address claimed (60928), also as "cannot claim".
const ADDRESS_CLAIMED: u32 = 0x00EE_0000;
/// Connection management of the transport protocol (60416).
const TRANSPORT: u32 = 0x00EC_0000;
/// Commanded address (65240), whose last byte is that of the group.
const COMMANDED_ADDRESS: u32 = 0x00FE_D800;
/// The same in bytes 5 to 7 of a frame that announces a transfer.
const COMMANDED_ADDRESS_LE: [u8; 3] = [0xD8, 0xFE, 0x00];
/// Control bytes of such frames: request to send, and broadcast announcement.
const ANNOUNCEMENTS: [u8; 2] = [16, 32];

/// Source addresses of J1939.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses([u64; 4]);

impl Addresses {
    /// The highest address that a node can have; 254 means none, and 255 all nodes.
    pub const LAST: u8 = 253;

    /// Adds an address.
    pub const fn insert(&mut self, address: u8) {
        self.0[(address >> 6) as usize] |= 1 << (address & 63);
    }

    /// True if it is one of them.
    #[must_use]
    pub const fn contains(&self, address: u8) -> bool {
        self.0[(address >> 6) as usize] >> (address & 63) & 1 != 0
    }
}

impl FromIterator<u8> for Addresses {
    fn from_iter<T: IntoIterator<Item = u8>>(iter: T) -> Self {
        let mut all = Self::default();
        iter.into_iter().for_each(|address| all.insert(address));
        all
    }
}

/// Refuses frames of 29 bits with the source address of a node of the protected bus, and frames that claim or assign
/// addresses: address claimed, commanded address, and the announcement of a transfer of the latter.
#[derive(Debug)]
pub struct Claimed {
    fixed: Addresses,
    learns: bool,
    on_violation: OnViolation,
    /// A bit for each address. Another thread adds what it learns.
    protected: [AtomicU64; 4],
    tally: Tally,
}

impl Claimed {
    /// Protects these addresses; with `learns` also those of [`protect`](Self::protect).
    #[must_use]
    pub fn new(fixed: Addresses, learns: bool, on_violation: OnViolation) -> Self {
        let protected = fixed.0.map(AtomicU64::new);
        Self { fixed, learns, on_violation, protected, tally: Tally::default() }
    }

    /// Its violations.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// True if it drops the frames that violate it.
    #[must_use]
    pub fn drops(&self) -> bool {
        self.on_violation == OnViolation::Drop
    }

    /// True if it protects addresses that are claimed on the bus.
    #[must_use]
    pub const fn learns(&self) -> bool {
        self.learns
    }

    /// Protects these addresses from now on, in place of those of the last call.
    pub fn protect(&self, learned: Addresses) {
        for (word, (fixed, learned)) in self.protected.iter().zip(self.fixed.0.into_iter().zip(learned.0)) {
            word.store(fixed | learned, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn judge_of(&self, format: FrameFormat, seen: Seen, payload: &[u8]) -> Verdict {
        if self.is_broken(seen.id, payload) {
            return self.tally.violated(Rule::J1939, format, seen, payload, self.on_violation);
        }
        Verdict::Send
    }

    #[inline]
    fn is_broken(&self, id: RawId, payload: &[u8]) -> bool {
        if id.0 & (CAN_EFF_FLAG | CAN_ERR_FLAG) != CAN_EFF_FLAG {
            return false;
        }
        let [source, ..] = id.0.to_le_bytes();
        let word = self.protected[usize::from(source >> 6)].load(Ordering::Relaxed);
        word >> (source & 63) & 1 != 0 || is_about_addresses(id, payload)
    }
}

fn is_about_addresses(id: RawId, payload: &[u8]) -> bool {
    match id.0 & GROUP {
        ADDRESS_CLAIMED => true,
        TRANSPORT => {
            id.carries_data()
                && matches!(payload, [control, _, _, _, _, group @ ..]
                    if ANNOUNCEMENTS.contains(control) && group.starts_with(&COMMANDED_ADDRESS_LE))
        }
        _ => id.0 & (GROUP | 0xFF00) == COMMANDED_ADDRESS,
    }
}

impl Compute for Claimed {
    fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict {
        self.judge(seen, payload)
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(FrameFormat::Classic, seen, payload)
    }

    fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(FrameFormat::Fd, seen, payload)
    }

    fn fault(&self, id: RawId, payload: &[u8]) -> Option<&'static str> {
        self.is_broken(id, payload).then_some(Rule::J1939.name())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| {
            (self.fixed, self.learns, self.on_violation) == (other.fixed, other.learns, other.on_violation)
        };
        other.downcast_ref().is_some_and(same)
    }
}

/// Who has claimed which address on a bus.
///
/// An address stays claimed until its node claims another one. If several nodes have claimed it, it stays claimed for good,
/// because it is not known which of them has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// By address, the NAME of its node; `None` after claims of several nodes.
    names: BTreeMap<u8, Option<[u8; 8]>>,
}

impl Claims {
    /// The frames that [`hear`](Self::hear) looks at.
    pub const FILTER: Filter = Filter { id: CAN_EFF_FLAG | ADDRESS_CLAIMED, mask: CAN_EFF_FLAG | CAN_RTR_FLAG | GROUP };

    /// Learns from a frame of the bus. Other frames than claims of an address, to any destination, change nothing.
    pub fn hear(&mut self, id: RawId, payload: &[u8]) {
        let [address, ..] = id.0.to_le_bytes();
        let Ok(name) = <[u8; 8]>::try_from(payload) else { return };
        if !Self::FILTER.normalise().matches(id) || address > Addresses::LAST {
            return;
        }
        self.names.retain(|claimed, by| *claimed == address || *by != Some(name));
        let by = self.names.entry(address).or_insert(Some(name));
        if *by != Some(name) {
            *by = None;
        }
    }

    /// The claimed addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.names.keys().copied().collect()
    }
}
