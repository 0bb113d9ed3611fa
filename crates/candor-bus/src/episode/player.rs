//! A node, bit by bit: what it is doing. What makes it do something else is in `seeing`.

mod seeing;

use candor_core::bits::INTERMISSION_BITS;

use super::reading::Expected;
use crate::confinement::Counters;
use crate::event::ErrorKind;
use crate::node::NodeId;

pub(super) use seeing::View;

/// Bits of an error flag, and as many equal bits end a passive one.
pub(crate) const FLAG_BITS: u32 = 6;
/// Recessive bits after the flags.
const DELIMITER_BITS: u32 = 8;
/// A dominant bit among so many of an intermission is no start of frame, but a call for time.
const OVERLOAD_BITS: u32 = 2;

/// A node whose flag is followed by so many dominant bits counts another error, and again after as many more. (The
/// standard speaks of the fourteenth bit where the flag was an active one, which counts its own six.)
const DOMINANT_AGAIN: u32 = 8;

/// Recessive bits that make anybody ready: a flag that needs six equal ones, a bit after it, and a delimiter.
const READY_WITHIN_BITS: u32 = FLAG_BITS + 1 + DELIMITER_BITS;

/// A node in an episode.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) node: NodeId,
    pub(crate) counters: Counters,
    pub(crate) listen_only: bool,
    /// The bit that this node takes for wrong, whatever it is.
    pub(crate) misreads: Option<u32>,
    /// Length of its active error flags, in bits of the sender: 6 unless the node has another bit rate.
    pub(crate) flag_bits: u32,
    phase: Phase,
    /// The number of the frame that it sends.
    sends: Option<usize>,
    /// It was a sender, and is until it is ready for the next frame: its errors count as those of one.
    transmitter: bool,
    report: Report,
}

/// Outcome of a frame for one node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    /// It has received the frame.
    pub(crate) accepted: bool,
    /// It was a sender and saw the frame to its end.
    pub(crate) sent: bool,
    /// It was a sender, and lost arbitration to nobody at this bit.
    pub(crate) lost: Option<u32>,
    /// The wrong bit and what was wrong with it.
    pub(crate) error: Option<(u32, ErrorKind)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In the frame. `corrupt`: the bits seen so far do not fit its CRC.
    Following { corrupt: bool },
    /// Sending six dominant bits.
    ActiveFlag { sent: u32, overload: bool },
    /// Waiting for six equal bits. `forgiven`: a missing acknowledgement that counts only if somebody sends a flag.
    PassiveFlag { run: u32, level: bool, forgiven: bool },
    /// Waiting for others to end their flags. `dominant` bits since the last one that counted.
    AfterFlag { first: bool, dominant: u32 },
    /// So many recessive bits after the flags.
    Delimiter { seen: u32 },
    /// In something that began like a frame, and is none.
    Noise,
    /// Waiting for a frame, so many bits after the last one.
    Ready { bits: u32 },
    /// Off the bus.
    Gone,
}

impl Player {
    /// A node that receives the frame, or hears nothing yet.
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

    /// A node that waits for the next frame, so many bits of the intermission before it may come. Up to
    /// then the sender of the last one still is a `transmitter`.
    pub(crate) fn waiting(self, left: u32, transmitter: bool) -> Self {
        Self {
            transmitter: transmitter && left > 0,
            phase: Phase::Ready { bits: INTERMISSION_BITS.saturating_sub(left) },
            ..self
        }
    }

    pub(crate) const fn report(&self) -> Report {
        self.report
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

    /// Returns true if it counts nothing more, however long the wire stays dominant.
    pub(crate) const fn is_numb(&self) -> bool {
        match self.phase {
            Phase::AfterFlag { first: false, .. } => {
                self.listen_only || !self.transmitter && self.counters.receive >= Counters::RECEIVE_MAX
            }
            Phase::Gone => true,
            _ => false,
        }
    }

    /// Lets so many dominant bits go by that it does not count.
    pub(crate) fn pass_over(&mut self, bits: u64) {
        if let Phase::AfterFlag { dominant, .. } = &mut self.phase {
            let rest = u32::try_from(bits % u64::from(DOMINANT_AGAIN)).unwrap_or(0);
            *dominant = (*dominant + rest) % DOMINANT_AGAIN;
        }
    }

    /// The same node when all others are done with the frame: it has no part in the next one yet.
    pub(crate) fn left_behind(&self) -> Self {
        Self {
            phase: self.phase,
            transmitter: self.transmitter,
            ..Self::receiver(self.node, self.counters, self.listen_only)
        }
    }

    /// Returns the number of recessive bits it needs to be ready.
    pub(crate) fn bits_until_ready(&self) -> u32 {
        let mut ahead = self.clone();
        let mut bits = 0;
        while !ahead.is_ready() && bits < READY_WITHIN_BITS {
            ahead.wait(1);
            bits += 1;
        }
        bits
    }

    /// Lets a node that was not ready when others were hear so many recessive bits.
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

    /// Additional bits it waits before it sends again.
    pub(crate) fn suspend_bits(&self) -> u32 {
        if self.transmitter { self.counters.suspend_bits() } else { 0 }
    }

    /// Returns true if it was the sender, or one of them.
    pub(crate) const fn is_transmitter(&self) -> bool {
        self.transmitter
    }

    /// Returns true if it is in the frame, as a sender or a receiver.
    pub(super) const fn is_following(&self) -> bool {
        matches!(self.phase, Phase::Following { .. })
    }

    pub(super) const fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Gone)
    }

    /// The number of the frame that it sends.
    pub(super) const fn sends(&self) -> Option<usize> {
        self.sends
    }
}
