//! Reactions of a node to bits.

use candor_core::bits::{BitRule, END_OF_FRAME_BITS, INTERMISSION_BITS, WireBits};

use super::{DELIMITER_BITS, DOMINANT_AGAIN, FLAG_BITS, OVERLOAD_BITS, Phase, Player};
use crate::confinement::ErrorState;
use crate::episode::reading::Expected;
use crate::event::ErrorKind;

/// Equal bits that stuffing forbids.
const STUFF_ERROR_RUN: u32 = 6;

/// One bit as all nodes see it.
#[derive(Clone, Copy)]
pub(in crate::episode) struct View {
    pub(in crate::episode) bit: u32,
    /// Bit that receivers expect.
    pub(in crate::episode) expected: Expected,
    pub(in crate::episode) recessive: bool,
    /// Length and level of the run of equal bits before it.
    pub(in crate::episode) before: (u32, bool),
    /// Length of the run including it.
    pub(in crate::episode) run: u32,
    /// Bits that receivers expect after it, once the length is known.
    pub(in crate::episode) bits_after: Option<u32>,
    /// Set if a node drives it dominant.
    pub(in crate::episode) driven: bool,
}

impl Player {
    /// Returns true if the node does not drive the wire dominant.
    pub(in crate::episode) fn drives_recessive(
        &self,
        bit: u32,
        expected: Expected,
        frames: &[WireBits],
        acknowledged: bool,
    ) -> bool {
        match self.phase {
            // Listen-only nodes do not send their flags.
            Phase::ActiveFlag { .. } => self.listen_only,
            Phase::Following { corrupt } => match self.sends {
                Some(frame) => frames[frame].is_recessive(bit),
                None => expected != Expected::Acknowledge || corrupt || self.listen_only || !acknowledged,
            },
            _ => true,
        }
    }

    /// Processes a bit. `own` is the frame that the node sends, `right` is set if the bit is that of the frame.
    pub(in crate::episode) fn see(&mut self, view: View, own: Option<&WireBits>, right: bool) {
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
            // A bit error in the flag starts another flag.
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
                        self.dominant_after_flag(first, again);
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
                // An overload flag.
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

    /// Compares a bit of a sender with the wire.
    fn compare(&mut self, view: View, frame: &WireBits) {
        let (bit, recessive) = (view.bit, view.recessive);
        let own = frame.is_recessive(bit);
        match frame.rule(bit) {
            BitRule::Acknowledge if recessive => self.detect(bit, ErrorKind::Ack),
            BitRule::Acknowledge => {}
            BitRule::Arbitration if own && !recessive => {
                if view.before == (STUFF_ERROR_RUN - 1, false) {
                    // A stuff bit, which no other sender of these bits can overwrite. Not counted.
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

    /// Checks a bit of a receiver.
    fn receive(&mut self, view: View, corrupt: bool) {
        let (bit, recessive) = (view.bit, view.recessive);
        match view.expected {
            Expected::Stuffed | Expected::Dominant if view.run == STUFF_ERROR_RUN => self.detect(bit, ErrorKind::Stuff),
            Expected::Dominant if recessive => self.detect(bit, ErrorKind::Form),
            Expected::FixedStuff if view.before.1 == recessive => self.detect(bit, ErrorKind::Form),
            // If any node drives this bit dominant, this one does.
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
            // The frame is acknowledged, even if errors follow.
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
            // No flag and no count.
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
            self.counters.receive_error_in_flag();
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

    fn dominant_after_flag(&mut self, first: bool, again: bool) {
        if self.transmitter {
            if again {
                self.counters.transmit_error();
            }
        } else if first || again {
            self.counters.receive_error_in_flag();
        }
    }
}
