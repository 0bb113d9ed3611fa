//! The state of a node, bit by bit. Its transitions are in `seeing`.

mod seeing;

use candor_core::bits::INTERMISSION_BITS;

use super::reading::Expected;
use crate::confinement::Counters;
use crate::event::ErrorKind;
use crate::node::NodeId;

pub(super) use seeing::View;

/// Bits of an error flag, and equal bits that end a passive one.
pub(crate) const FLAG_BITS: u32 = 6;
/// Recessive bits after the flags.
const DELIMITER_BITS: u32 = 8;
/// First bits of an intermission, in which a dominant bit is an overload condition and not a start of frame.
const OVERLOAD_BITS: u32 = 2;

/// Dominant bits after a flag that count as another error. (After an active flag, the standard counts its own six bits
/// too: the fourteenth bit.)
const DOMINANT_AGAIN: u32 = 8;

/// Recessive bits after which any node is ready: a passive flag, a bit after it, and a delimiter.
const READY_WITHIN_BITS: u32 = FLAG_BITS + 1 + DELIMITER_BITS;

/// A node in an episode.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) node: NodeId,
    pub(crate) counters: Counters,
    pub(crate) listen_only: bool,
    /// The bit that this node misreads.
    pub(crate) misreads: Option<u32>,
    /// Length of its active error flags in bits of the sender: 6, unless the node has another bit rate.
    pub(crate) flag_bits: u32,
    phase: Phase,
    /// The number of its frame, while it sends.
    pub(super) sends: Option<usize>,
    /// Set for a sender until it is ready for the next frame. Its errors count as transmit errors.
    pub(crate) transmitter: bool,
    pub(crate) report: Report,
}

/// Outcome of a frame for one node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    /// It received the frame.
    pub(crate) accepted: bool,
    /// It sent the frame to its end.
    pub(crate) sent: bool,
    /// It lost arbitration at this bit, to no other node.
    pub(crate) lost: Option<u32>,
    /// The first wrong bit and its error.
    pub(crate) error: Option<(u32, ErrorKind)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In the frame. `corrupt`: the bits so far do not match the CRC.
    Following { corrupt: bool },
    /// Sending six dominant bits.
    ActiveFlag { sent: u32, overload: bool },
    /// Waiting for six equal bits. `forgiven`: a missing acknowledgement, which counts only if another node sends a
    /// flag.
    PassiveFlag { run: u32, level: bool, forgiven: bool },
    /// Waiting for the end of the flags of other nodes. `dominant` bits since the last one that counted.
    AfterFlag { first: bool, dominant: u32 },
    /// Recessive bits after the flags.
    Delimiter { seen: u32 },
    /// After a dominant bit that looked like a start of frame.
    Noise,
    /// Waiting for a frame, this number of bits after the last one.
    Ready { bits: u32 },
    /// Off the bus: neither sends nor receives.
    Gone,
}

impl Player {
    /// A node that receives the frame or waits.
    pub(crate) fn receiver(node: NodeId, counters: Counters, listen_only: bool) -> Self {
        Self {
            node,
            counters,
            listen_only,
            misreads: None,
            flag_bits: FLAG_BITS,
            phase: Phase::Following { corrupt: false },
            sends: None,
            transmitter: false,
            report: Report::default(),
        }
    }

    /// A node that sends the frame with this number.
    pub(crate) fn sender(node: NodeId, counters: Counters, frame: usize) -> Self {
        Self { sends: Some(frame), transmitter: true, ..Self::receiver(node, counters, false) }
    }

    /// A node that waits for the next frame, with this number of bits left in the intermission. Until then, the sender
    /// of the last frame is a `transmitter`.
    pub(crate) fn waiting(self, left: u32, transmitter: bool) -> Self {
        Self {
            transmitter: transmitter && left > 0,
            phase: Phase::Ready { bits: INTERMISSION_BITS.saturating_sub(left) },
            ..self
        }
    }

    /// Returns true if it waits for the next frame.
    pub(crate) const fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    /// Returns true if it reads a dominant bit as start of frame: not before the last bit of the intermission.
    pub(crate) const fn is_listening(&self) -> bool {
        matches!(self.phase, Phase::Ready { bits: OVERLOAD_BITS.. })
    }

    /// Returns true if it is still in the frame, or sends an error flag.
    pub(super) const fn is_busy(&self) -> bool {
        match self.phase {
            Phase::ActiveFlag { .. } => !self.listen_only,
            Phase::Following { .. } | Phase::Noise => true,
            _ => false,
        }
    }

    /// Returns true if its counters do not change while the wire stays dominant.
    pub(crate) const fn is_saturated(&self) -> bool {
        match self.phase {
            Phase::AfterFlag { first: false, .. } => {
                self.listen_only || !self.transmitter && self.counters.receive >= Counters::RECEIVE_MAX
            }
            Phase::Gone => true,
            _ => false,
        }
    }

    /// Skips dominant bits that do not count.
    pub(crate) fn skip(&mut self, bits: u64) {
        if let Phase::AfterFlag { dominant, .. } = &mut self.phase {
            let rest = u32::try_from(bits % u64::from(DOMINANT_AGAIN)).unwrap_or(0);
            *dominant = (*dominant + rest) % DOMINANT_AGAIN;
        }
    }

    /// The same node after all others finished the frame. It does not take part in the next one yet.
    pub(crate) fn unfinished(&self) -> Self {
        Self {
            phase: self.phase,
            transmitter: self.transmitter,
            ..Self::receiver(self.node, self.counters, self.listen_only)
        }
    }

    /// Returns the number of recessive bits until it is ready.
    pub(crate) fn bits_until_ready(&self) -> u32 {
        let mut ahead = self.clone();
        let mut bits = 0;
        while !ahead.is_ready() && bits < READY_WITHIN_BITS {
            ahead.wait(1);
            bits += 1;
        }
        bits
    }

    /// Advances a node that was not ready in time by recessive bits.
    pub(crate) fn wait(&mut self, bits: u64) {
        let idle = View {
            bit: u32::MAX,
            expected: Expected::Free,
            recessive: true,
            before: (1, true),
            run: 1,
            bits_after: None,
            driven: false,
        };
        for _ in 0..bits.min(u64::from(READY_WITHIN_BITS + INTERMISSION_BITS)) {
            self.see(idle, None, true);
        }
    }

    /// Additional bits before it sends again.
    pub(crate) fn suspend_bits(&self) -> u32 {
        if self.transmitter { self.counters.suspend_bits() } else { 0 }
    }

    /// Returns true if it is in the frame, as a sender or a receiver.
    pub(super) const fn is_following(&self) -> bool {
        matches!(self.phase, Phase::Following { .. })
    }

    pub(super) const fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Gone)
    }
}
