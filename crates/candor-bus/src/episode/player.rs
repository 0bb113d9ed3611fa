//! A node, bit by bit: what it drives, and what it makes of what it sees.

use candor_core::bits::{BitRule, WireBits};

use crate::confinement::{Counters, ErrorState};
use crate::event::ErrorKind;
use crate::node::NodeId;

use super::reading::Expected;

/// Bits of an error flag, and as many equal bits end a passive one.
const FLAG_BITS: u32 = 6;
/// Recessive bits after the flags.
const DELIMITER_BITS: u32 = 8;
/// Equal bits that stuffing forbids.
const STUFF_ERROR_RUN: u32 = 6;
/// Bits after the acknowledge delimiter.
const END_OF_FRAME_BITS: u32 = 7;
/// Bits between two frames; a dominant one among the first of them is a call for time.
const INTERMISSION_BITS: u32 = 3;
const OVERLOAD_BITS: u32 = 2;
/// A node whose flag is followed by so many dominant bits counts another error, and again after as many more. (The
/// standard speaks of the fourteenth bit where the flag was an active one, which counts its own six.)
const DOMINANT_AGAIN: u32 = 8;

/// A node in an episode.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) node: NodeId,
    pub(crate) counters: Counters,
    pub(crate) listen_only: bool,
    /// The bit that this node takes for wrong, whatever it is.
    pub(crate) misreads: Option<u32>,
    /// How long its active flags are, in bits of the sender: 6 but for a node with another bit rate.
    pub(crate) flag_bits: u32,
    phase: Phase,
    /// The number of the frame that it sends.
    sends: Option<usize>,
    /// It was a sender, and is until it is ready for the next frame: its errors count as those of one.
    transmitter: bool,
    report: Report,
}

/// What became of a node's part in the frame.
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

    /// Whether it waits for the next frame.
    pub(crate) const fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    /// Whether it takes a dominant bit for the start of a frame: not before the last bit of the intermission.
    pub(crate) const fn is_listening(&self) -> bool {
        matches!(self.phase, Phase::Ready { bits: OVERLOAD_BITS.. })
    }

    /// Whether it is still in the frame, or says that it is wrong.
    pub(super) const fn is_busy(&self) -> bool {
        match self.phase {
            Phase::ActiveFlag { .. } => !self.listen_only,
            Phase::Following { .. } | Phase::Noise => true,
            _ => false,
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

    /// How many recessive bits it needs to be ready.
    pub(crate) fn bits_until_ready(&self) -> u64 {
        let mut ahead = self.clone();
        let most = u64::from(FLAG_BITS + DELIMITER_BITS + 1);
        (0..most)
            .find(|_| {
                ahead.is_ready() || {
                    ahead.wait(1);
                    false
                }
            })
            .unwrap_or(most)
    }

    /// Lets a node that was not ready when others were hear so many recessive bits.
    pub(crate) fn wait(&mut self, bits: u64) {
        // A flag that needs six equal bits, a bit after it, a delimiter and an intermission.
        for bit in 0..bits.min(u64::from(FLAG_BITS + 1 + DELIMITER_BITS + INTERMISSION_BITS)) {
            let run = if bit == 0 { 1 } else { 2 };
            let before = (run, true);
            let idle = View {
                bit: u32::MAX,
                expected: Expected::Free,
                recessive: true,
                before,
                run,
                bits_after: None,
                driven: false,
            };
            self.see(idle, None, true);
        }
    }

    /// Whether it was the sender, or one of them.
    pub(crate) const fn is_transmitter(&self) -> bool {
        self.transmitter
    }

    /// Whether it is in the frame, as a sender or a receiver.
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

/// One bit as all nodes see it.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) bit: u32,
    /// What receivers expect of it.
    pub(super) expected: Expected,
    pub(super) recessive: bool,
    /// The run of equal bits before it, and their level.
    pub(super) before: (u32, bool),
    /// The run that it belongs to.
    pub(super) run: u32,
    /// How many bits receivers expect after it, once they know.
    pub(super) bits_after: Option<u32>,
    /// Whether a node drives it dominant.
    pub(super) driven: bool,
}

impl Player {
    /// Whether it lets the wire be recessive.
    pub(super) fn drives_recessive(
        &self,
        bit: u32,
        expected: Expected,
        frames: &[WireBits],
        acknowledged: bool,
    ) -> bool {
        match self.phase {
            // Who listens only keeps its flags to itself.
            Phase::ActiveFlag { .. } => self.listen_only,
            Phase::Following { corrupt } => match self.sends {
                Some(frame) => frames[frame].is_recessive(bit),
                None => expected != Expected::Acknowledge || corrupt || self.listen_only || !acknowledged,
            },
            _ => true,
        }
    }

    /// Looks at a bit. `own`: the frame that it sends, `right`: whether the bit is that of the frame.
    pub(super) fn see(&mut self, view: View, own: Option<&WireBits>, right: bool) {
        match &mut self.phase {
            Phase::Following { corrupt } => {
                let stuffed = matches!(view.expected, Expected::Dominant | Expected::Stuffed | Expected::Free);
                *corrupt |= stuffed && !right;
                let corrupt = *corrupt;
                if self.misreads == Some(view.bit) {
                    self.detect(view.bit, ErrorKind::Stuff);
                } else if let Some(own) = own {
                    self.compare(view, own);
                } else {
                    self.receive(view, corrupt);
                }
            }
            // Another bit error, and another flag.
            Phase::ActiveFlag { .. } if view.recessive && !self.listen_only => self.detect_in_flag(),
            Phase::ActiveFlag { sent, overload } => {
                *sent += 1;
                if *sent >= self.flag_bits {
                    self.phase = Phase::AfterFlag { first: !*overload, dominant: 0 };
                }
            }
            Phase::PassiveFlag { run, level, forgiven } => {
                *run = if *run > 0 && *level == view.recessive { *run + 1 } else { 1 };
                *level = view.recessive;
                let ends = *run == FLAG_BITS;
                if *forgiven && !view.recessive {
                    *forgiven = false;
                    self.counters.transmit_error();
                }
                if ends {
                    self.phase = Phase::AfterFlag { first: true, dominant: 0 };
                }
            }
            Phase::AfterFlag { first, dominant } => {
                if view.recessive {
                    self.phase = Phase::Delimiter { seen: 1 };
                } else {
                    let first = std::mem::take(first);
                    *dominant += 1;
                    let again = *dominant == DOMINANT_AGAIN;
                    *dominant %= DOMINANT_AGAIN;
                    if !self.listen_only {
                        self.met_dominant(first, again);
                    }
                }
            }
            Phase::Delimiter { seen } => {
                *seen += 1;
                let last = *seen == DELIMITER_BITS;
                match (view.recessive, last) {
                    (true, true) => self.phase = Phase::Ready { bits: 0 },
                    (true, false) => {}
                    (false, true) => self.phase = Phase::ActiveFlag { sent: 0, overload: true },
                    (false, false) => self.detect(view.bit, ErrorKind::Form),
                }
            }
            Phase::Ready { bits } => match (view.recessive, *bits) {
                (true, _) => {
                    *bits = (*bits + 1).min(INTERMISSION_BITS);
                    self.transmitter &= *bits < INTERMISSION_BITS;
                }
                // Nobody may send here, so it is somebody who asks for time.
                (false, 0..OVERLOAD_BITS) => self.phase = Phase::ActiveFlag { sent: 0, overload: true },
                // Taken for a start of frame.
                (false, _) => self.phase = Phase::Noise,
            },
            Phase::Noise => {
                if view.run >= STUFF_ERROR_RUN {
                    self.detect(view.bit, ErrorKind::Stuff);
                }
            }
            Phase::Gone => {}
        }
        if self.counters.state() == ErrorState::BusOff {
            self.phase = Phase::Gone;
        }
    }

    /// A sender looks at what has become of its bit.
    fn compare(&mut self, view: View, frame: &WireBits) {
        let (bit, recessive) = (view.bit, view.recessive);
        let own = frame.is_recessive(bit);
        match frame.rule(bit) {
            BitRule::Acknowledge if recessive => self.detect(bit, ErrorKind::Ack),
            BitRule::Acknowledge => {}
            BitRule::Arbitration if own && !recessive => {
                if view.before == (STUFF_ERROR_RUN - 1, false) {
                    // A stuff bit, which no other sender of these bits can overwrite: it counts for nobody.
                    let counters = self.counters;
                    self.detect(bit, ErrorKind::Stuff);
                    self.counters = counters;
                } else {
                    self.report.lost = Some(bit);
                    self.sends = None;
                    self.transmitter = false;
                }
            }
            BitRule::Recessive if !recessive => self.detect(bit, ErrorKind::Form),
            _ if own != recessive => self.detect(bit, ErrorKind::Bit),
            _ if bit + 1 == frame.len() => {
                self.report.sent = true;
                self.counters.sent();
                self.phase = Phase::Ready { bits: 0 };
            }
            _ => {}
        }
    }

    /// A receiver looks whether the bit is a legal one.
    fn receive(&mut self, view: View, corrupt: bool) {
        let (bit, recessive) = (view.bit, view.recessive);
        match view.expected {
            Expected::Stuffed | Expected::Dominant if view.run == STUFF_ERROR_RUN => self.detect(bit, ErrorKind::Stuff),
            Expected::Dominant if recessive => self.detect(bit, ErrorKind::Form),
            Expected::FixedStuff if view.before.1 == recessive => self.detect(bit, ErrorKind::Form),
            // It has driven this bit dominant, if anybody has.
            Expected::Acknowledge if recessive && view.driven && !corrupt && !self.listen_only => {
                self.detect(bit, ErrorKind::Bit);
            }
            Expected::Recessive if view.bits_after == Some(0) => {
                self.phase =
                    if recessive { Phase::Ready { bits: 0 } } else { Phase::ActiveFlag { sent: 0, overload: true } };
            }
            Expected::Recessive if !recessive => self.detect(bit, ErrorKind::Form),
            Expected::Recessive if corrupt && view.bits_after == Some(END_OF_FRAME_BITS) => {
                self.detect(bit, ErrorKind::Crc);
            }
            // Whatever goes wrong after this, the frame was read and acknowledged.
            Expected::Acknowledge if view.driven && !corrupt && !self.listen_only => self.counters.received(),
            Expected::Recessive if view.bits_after == Some(1) => self.report.accepted = true,
            _ => {}
        }
    }

    fn detect(&mut self, bit: u32, kind: ErrorKind) {
        self.report.error = self.report.error.or(Some((bit, kind)));
        let passive = self.counters.is_passive();
        let forgiven = passive && kind == ErrorKind::Ack;
        if self.listen_only {
            // Says nothing and counts nothing.
        } else if !self.transmitter {
            self.counters.receive_error();
        } else if !forgiven {
            self.counters.transmit_error();
        }
        self.flag(passive, forgiven);
    }

    fn detect_in_flag(&mut self) {
        let passive = self.counters.is_passive();
        if self.transmitter {
            self.counters.transmit_error();
        } else {
            self.counters.receive_error_of_mine();
        }
        self.flag(passive, false);
    }

    fn flag(&mut self, passive: bool, forgiven: bool) {
        self.phase = if passive {
            Phase::PassiveFlag { run: 0, level: false, forgiven }
        } else {
            Phase::ActiveFlag { sent: 0, overload: false }
        };
    }

    fn met_dominant(&mut self, first: bool, again: bool) {
        if self.transmitter {
            if again {
                self.counters.transmit_error();
            }
        } else if first || again {
            self.counters.receive_error_of_mine();
        }
    }
}
