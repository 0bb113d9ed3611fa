//! Nodes joining and leaving the bus.

use super::{Bus, Wire, bits_ns};
use crate::confinement::{Counters, ErrorState};
use crate::controller::Controller;
use crate::episode::Player;
use crate::event::Event;
use crate::node::{BusNs, NodeConfig, NodeId, Order, Timing};
use candor_core::units::BitRate;

/// Recessive bits after which a node may take part.
const IDLE_BITS: u64 = 11;
/// Number of these sequences until a bus-off node recovers.
const RECOVERY_SEQUENCES: u64 = 128;

/// State of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) config: NodeConfig,
    pub(super) controller: Controller,
    pub(super) counters: Counters,
    pub(super) presence: Presence,
    /// Set if the node must not start frames.
    pub(super) held: bool,
    /// Time from which the node may send.
    pub(super) free_at: BusNs,
    /// Unfinished state after a frame, and its start: an error-passive node may take longer than the others.
    pub(super) straggler: Option<(Player, BusNs)>,
}

/// Participation of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Presence {
    /// Off the bus because of its transmit error counter.
    BusOff {
        /// Recovery after a restart.
        recovery: Option<Recovery>,
    },
    /// Waits for 11 recessive bits.
    Joining {
        /// Start of the wait.
        since: BusNs,
    },
    /// Switched off: neither sends, receives nor acknowledges.
    Off,
    /// Active: sends and receives.
    On,
}

/// Recovery of a bus-off node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// Start of the recovery.
    pub(super) since: BusNs,
    /// Sequences of 11 recessive bits before the last start of frame.
    pub(super) sequences: u64,
}

impl Node {
    pub(super) fn new(config: NodeConfig) -> Self {
        Self {
            config,
            controller: Controller::new(config.order, config.depth),
            counters: Counters::default(),
            presence: Presence::Off,
            held: false,
            free_at: BusNs(0),
            straggler: None,
        }
    }

    /// Removes and returns the unfinished state after the last frame, advanced to this time.
    pub(super) fn take_straggler(&mut self, at: BusNs, rate: BitRate) -> Option<Player> {
        let (mut player, since) = self.straggler.take()?;
        let bit = bits_ns(1, rate).max(1);
        player.wait((at.since(since) + bit / 2) / bit);
        Some(player)
    }

    /// Returns true if the node has a frame and may start with the next bit, because it is late with its intermission.
    /// It then takes the start of frame of another node for its own. (A suspended node does not.)
    pub(super) fn straggler_is_about_to_start(&self, at: BusNs, start: BusNs, rate: BitRate) -> bool {
        let late = self.straggler.as_ref().is_some_and(|(player, _)| player.suspend_bits() == 0);
        late && start.since(at) <= bits_ns(1, rate) && self.controller.next(at).is_some()
    }

    /// Returns true if the node receives, or will after enough recessive bits.
    pub(super) const fn takes_part(&self) -> bool {
        matches!(self.presence, Presence::Joining { .. } | Presence::On)
    }

    pub(super) fn off() -> Self {
        let nominal = BitRate::from_bits_per_second(1).expect("is not zero");
        let timing = Timing { nominal, data: None };
        Self::new(NodeConfig { timing, order: Order::Fifo, depth: 1, listen_only: false, one_shot: false })
    }
}

impl Bus {
    pub(super) fn node(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(usize::from(node.0))
    }

    pub(super) fn node_mut(&mut self, node: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(usize::from(node.0))
    }

    /// Earliest start of the next frame of a node, if no other node starts before.
    pub(super) fn earliest_start(&self, node: &Node) -> Option<BusNs> {
        let arrival = node.controller.next_arrival().filter(|_| !node.held)?;
        let ready = self.ready_at(node)?;
        Some(arrival.max(ready).max(node.free_at).max(self.now))
    }

    /// Time from which a node is active.
    pub(super) fn ready_at(&self, node: &Node) -> Option<BusNs> {
        match node.presence {
            Presence::BusOff { .. } | Presence::Off => None,
            Presence::Joining { since } => {
                Some(since.max(self.quiet_since) + bits_ns(IDLE_BITS, node.config.timing.nominal))
            }
            Presence::On => Some(BusNs(0)),
        }
    }

    /// End of the recovery of a bus-off node, if no node sends before.
    pub(super) fn recovery(&self, node: &Node) -> Option<BusNs> {
        let Presence::BusOff { recovery: Some(recovery) } = node.presence else { return None };
        let missing = RECOVERY_SEQUENCES.saturating_sub(recovery.sequences) * IDLE_BITS;
        Some(recovery.since.max(self.quiet_since) + bits_ns(missing, node.config.timing.nominal))
    }

    /// Ends the recovery of bus-off nodes.
    pub(super) fn recover(&mut self, at: BusNs, events: &mut Vec<Event>) {
        for index in 0..self.nodes.len() {
            if self.recovery(&self.nodes[index]).is_some_and(|time| time <= at) {
                let id = NodeId(u8::try_from(index).expect("there are at most 64"));
                self.nodes[index].presence = Presence::On;
                self.nodes[index].free_at = at;
                self.nodes[index].straggler = None;
                self.count(at, id, Counters::default(), events);
            }
        }
    }

    /// Ends an idle phase: waiting nodes count it.
    pub(super) fn end_silence(&mut self, at: BusNs) {
        for index in 0..self.nodes.len() {
            let ready = self.ready_at(&self.nodes[index]);
            let quiet_since = self.quiet_since;
            let node = &mut self.nodes[index];
            match &mut node.presence {
                presence @ Presence::Joining { .. } if ready.is_some_and(|ready| ready <= at) => {
                    *presence = Presence::On
                }
                Presence::BusOff { recovery: Some(recovery) } => {
                    let silence = at.since(recovery.since.max(quiet_since));
                    recovery.sequences += silence / bits_ns(IDLE_BITS, node.config.timing.nominal).max(1);
                }
                _ => {}
            }
        }
    }

    /// Sets the counters of a node and reports a new state.
    pub(super) fn count(&mut self, at: BusNs, id: NodeId, counters: Counters, events: &mut Vec<Event>) {
        let Some(node) = self.node_mut(id) else { return };
        let was = std::mem::replace(&mut node.counters, counters).state();
        let state = counters.state();
        if state == was {
            return;
        }
        if state == ErrorState::BusOff {
            node.presence = Presence::BusOff { recovery: None };
            node.straggler = None;
        }
        events.push(Event::State { at, node: id, state, counters });
    }

    /// Removes a node from the frame on the wire.
    pub(super) fn leave_wire(&mut self, now: BusNs, node: NodeId) {
        if let Wire::Clean(clean) = &self.wire
            && clean.involves(node)
        {
            let bit = clean.bit_at(now);
            self.break_at(bit);
        }
        if let Wire::Broken(broken) = &mut self.wire {
            broken.leave(now, node);
        }
    }
}
