//! The bus: starts of frames and their results.

mod broken;
mod clean;
mod presence;

use candor_core::bits::{FrameBits, INTERMISSION_BITS, WireBits};
use candor_core::frame::{Frame, FrameFormat};
use candor_core::units::BitRate;

use crate::confinement::{Counters, ErrorState};
use crate::controller::{Pending, Priority, Tag};
use crate::event::Event;
use crate::fault::Faults;
use crate::node::{BusNs, NodeConfig, NodeId, NodeSet, Timing};
use broken::Broken;
use clean::Clean;
use presence::{Node, Presence};

/// A controller refuses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The node is bus-off.
    #[error("The node is bus-off")]
    BusOff,
    /// All transmit buffers are in use.
    #[error("The controller is full")]
    Full,
    /// The frame cannot be on a bus: an error message frame, or invalid bits or length.
    #[error("This frame cannot be sent on a CAN bus")]
    Malformed,
    /// A CAN FD frame for a classic controller.
    #[error("A classic controller cannot send FD frames")]
    NoFd,
    /// The node is switched off.
    #[error("The node is switched off")]
    Off,
    /// The node is listen-only.
    #[error("The node is listen-only")]
    ListenOnly,
    /// The node has a frame with this tag.
    #[error("The tag is already in use")]
    TagInUse,
}

/// The node is switched off or bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The node is not on the bus")]
pub struct NotOnBus;

/// A CAN bus and its nodes.
///
/// Call [`advance`](Self::advance) up to a time before other functions with that time.
#[derive(Clone, Debug)]
pub struct Bus {
    nodes: Vec<Node>,
    wire: Wire,
    faults: Faults,
    now: BusNs,
    /// End of the last dominant bit.
    quiet_since: BusNs,
    /// Bit rate while no node sends: that of the last frame, or of the first node.
    bit_rate: BitRate,
    busy_ns: u64,
    /// End of the intermission after the last frame.
    intermission_until: BusNs,
    /// Senders of the last frame.
    last_senders: NodeSet,
}

#[derive(Clone, Debug)]
enum Wire {
    Idle,
    /// A frame without disturbance, computed in one step.
    Clean(Clean),
    /// A disturbed frame or a dominant wire, simulated bit by bit.
    Broken(Broken),
}

impl Bus {
    /// A bus without nodes. The seed is for its faults.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let bit_rate = BitRate::from_bits_per_second(500_000).expect("is not zero");
        Self {
            nodes: Vec::new(),
            wire: Wire::Idle,
            faults: Faults::new(seed),
            now: BusNs(0),
            quiet_since: BusNs(0),
            bit_rate,
            busy_ns: 0,
            intermission_until: BusNs(0),
            last_senders: NodeSet::default(),
        }
    }

    /// Adds a node, which is switched off. `None` if the bus has 64 nodes.
    pub fn add_node(&mut self) -> Option<NodeId> {
        let node = u8::try_from(self.nodes.len()).ok().filter(|&node| usize::from(node) < NodeSet::MAX_NODES)?;
        self.nodes.push(Node::off());
        Some(NodeId(node))
    }

    /// Switches a node on, with counters of zero. It is active after 11 recessive bits.
    pub fn switch_on(&mut self, now: BusNs, node: NodeId, config: NodeConfig) {
        if self.nodes.iter().all(|node| matches!(node.presence, Presence::Off)) {
            self.bit_rate = config.timing.nominal;
        }
        if let Some(node) = self.node_mut(node) {
            *node = Node { held: node.held, presence: Presence::Joining { since: now }, ..Node::new(config) };
        }
    }

    /// Switches a node off immediately. Drops its frames, including one on the wire, and returns their tags in the
    /// order of submission.
    pub fn switch_off(&mut self, now: BusNs, node: NodeId) -> Vec<Tag> {
        self.leave_wire(now, node);
        let Some(node) = self.node_mut(node) else { return Vec::new() };
        let forgotten = node.controller.clear();
        *node = Node { held: node.held, ..Node::off() };
        forgotten
    }

    /// Submits a frame to the controller of a node.
    ///
    /// # Errors
    /// [`SubmitError`] if the controller refuses it.
    pub fn submit(&mut self, arrival: BusNs, node: NodeId, tag: Tag, frame: Frame) -> Result<(), SubmitError> {
        let well_formed = is_well_formed(&frame);
        let node = self.node_mut(node).ok_or(SubmitError::Off)?;
        match node.presence {
            Presence::Off => return Err(SubmitError::Off),
            Presence::BusOff { .. } => return Err(SubmitError::BusOff),
            Presence::Joining { .. } | Presence::On => {}
        }
        if node.config.listen_only {
            return Err(SubmitError::ListenOnly);
        } else if !well_formed {
            return Err(SubmitError::Malformed);
        } else if frame.format == FrameFormat::Fd && node.config.timing.data.is_none() {
            return Err(SubmitError::NoFd);
        } else if node.controller.is_full() {
            return Err(SubmitError::Full);
        } else if node.controller.holds(tag) {
            return Err(SubmitError::TagInUse);
        }
        let priority = Priority::of(&frame);
        node.controller.push(Pending { tag, frame, priority, arrival, retries: 0, lost: 0 });
        Ok(())
    }

    /// Starts the recovery of a bus-off node: after 128 sequences of 11 recessive bits it is active again, with
    /// counters of zero.
    pub fn restart(&mut self, now: BusNs, node: NodeId) {
        if let Some(Node { presence: Presence::BusOff { recovery: recovery @ None }, .. }) = self.node_mut(node) {
            *recovery = Some(presence::Recovery { since: now, sequences: 0 });
        }
    }

    /// Removes a frame from the controller of a node, unless it is on the wire. Returns true if it was removed.
    pub fn cancel(&mut self, node: NodeId, tag: Tag) -> bool {
        let on_the_wire = self.tag_on_wire(node);
        let Some(node) = self.node_mut(node) else { return false };
        let is_free = node.controller.holds(tag) && on_the_wire != Some(tag);
        if is_free {
            node.controller.remove(tag);
        }
        is_free
    }

    /// Returns true if the node has a frame with this tag queued or on the wire.
    #[must_use]
    pub fn holds(&self, node: NodeId, tag: Tag) -> bool {
        self.node(node).is_some_and(|node| node.controller.holds(tag))
    }

    /// Prevents a node from starting frames, or allows it again. The node keeps its frames, receives and acknowledges.
    /// Switching it off and on does not change this.
    pub fn hold(&mut self, node: NodeId, held: bool) {
        if let Some(node) = self.node_mut(node) {
            node.held = held;
        }
    }

    /// Sets the error counters of a node, which may become bus-off.
    ///
    /// # Errors
    /// [`NotOnBus`] if the node is switched off or bus-off.
    pub fn set_counters(
        &mut self,
        now: BusNs,
        node: NodeId,
        counters: Counters,
        events: &mut Vec<Event>,
    ) -> Result<(), NotOnBus> {
        let known = self.node_mut(node).filter(|node| node.takes_part()).ok_or(NotOnBus)?;
        if let Some((player, _)) = &mut known.straggler {
            player.counters = counters;
        }
        if counters.state() == ErrorState::BusOff {
            self.leave_wire(now, node);
        } else if let Wire::Broken(broken) = &mut self.wire {
            broken.set_counters(now, node, counters);
        }
        self.count(now, node, counters, events);
        Ok(())
    }

    /// The bit rates of a node that is on the bus.
    #[must_use]
    pub fn timing(&self, node: NodeId) -> Option<Timing> {
        self.node(node).filter(|node| node.takes_part()).map(|node| node.config.timing)
    }

    /// The faults of this bus, to change them.
    pub const fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// The error counters of a node.
    #[must_use]
    pub fn counters(&self, node: NodeId) -> Counters {
        let playing = match &self.wire {
            Wire::Broken(broken) => broken.counters(node),
            Wire::Clean(_) | Wire::Idle => None,
        };
        playing.or_else(|| self.node(node).map(|node| node.counters)).unwrap_or_default()
    }

    /// Returns the busy time of the bus in nanoseconds, including intermissions and error frames.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// The time of the next event, if nothing is submitted before.
    #[must_use]
    pub fn next_event(&self) -> Option<BusNs> {
        match &self.wire {
            Wire::Idle => {
                let start = self.nodes.iter().filter_map(|node| self.earliest_start(node)).min();
                let recovery = self.nodes.iter().filter_map(|node| self.recovery(node)).min();
                [start, recovery].into_iter().flatten().min()
            }
            Wire::Clean(clean) => Some(clean.next),
            Wire::Broken(broken) => Some(broken.next),
        }
    }

    /// Advances the time to `to`, and appends all events up to and including it.
    pub fn advance(&mut self, to: BusNs, events: &mut Vec<Event>) {
        while let Some(at) = self.next_event().filter(|&at| at <= to) {
            self.now = self.now.max(at);
            match &self.wire {
                Wire::Idle => {
                    self.recover(at, events);
                    self.start(at);
                }
                Wire::Clean(clean) => match clean.breaks_at() {
                    Some(bit) => self.break_at(bit),
                    None => self.deliver(events),
                },
                Wire::Broken(_) => self.play(at, events),
            }
        }
        self.now = self.now.max(to);
        if let Wire::Broken(broken) = &mut self.wire {
            // No event, but later calls need the current state of the nodes.
            broken.catch_up(to);
        }
    }
}

/// Returns true if a CAN bus can carry the frame.
fn is_well_formed(frame: &Frame) -> bool {
    let id = frame.id;
    let short = id.is_eff() || id.0 & candor_core::frame::CAN_EFF_MASK == id.bits();
    let remote = id.is_rtr() && frame.format == FrameFormat::Fd;
    !id.is_err() && short && !remote && usize::from(frame.len) <= frame.format.max_len()
}

/// Duration of bits in nanoseconds, rounded to nearest.
fn bits_ns(bits: u64, rate: BitRate) -> u64 {
    let rate = u64::from(rate.bits_per_second());
    (bits.saturating_mul(1_000_000_000).saturating_add(rate / 2)) / rate
}
