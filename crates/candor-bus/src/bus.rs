//! The bus: who starts when, and what comes of it.

mod broken;
mod clean;
mod presence;

use candor_core::bits::{FrameBits, INTERMISSION_BITS, WireBits};
use candor_core::frame::{Frame, FrameFormat};
use candor_core::units::BitRate;

use crate::arbitration::Priority;
use crate::confinement::{Counters, ErrorState};
use crate::controller::{Pending, Tag};
use crate::event::Event;
use crate::fault::Faults;
use crate::node::{NodeConfig, NodeId, NodeSet, Timing};
use crate::time::BusNs;
use broken::Broken;
use clean::Clean;
use presence::{Node, Presence};

/// A frame that a controller does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The node is bus-off.
    #[error("The node is bus-off")]
    BusOff,
    /// The controller holds as many frames as it can.
    #[error("The controller is full")]
    Full,
    /// A frame that no bus carries: an error message, or bits and bytes where there is no place for them.
    #[error("This frame cannot be sent on a CAN bus")]
    Malformed,
    /// A CAN FD frame, and the controller is a classic one.
    #[error("A classic controller cannot send FD frames")]
    NoFd,
    /// The node is switched off.
    #[error("The node is switched off")]
    Off,
    /// The controller listens only.
    #[error("The node is listen-only")]
    ListenOnly,
    /// The node holds a frame of this name.
    #[error("The tag is already in use")]
    TagInUse,
}

/// A node that has no part in what happens on the bus: switched off, or bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The node is not on the bus")]
pub struct NotOnBus;

/// A CAN bus and its nodes.
///
/// What is done to it at a time is done after [`advance`](Self::advance) to that time.
#[derive(Clone, Debug)]
pub struct Bus {
    nodes: Vec<Node>,
    wire: Wire,
    faults: Faults,
    now: BusNs,
    /// The end of the last dominant bit.
    quiet_since: BusNs,
    /// Length of a bit while no node sends: that of the last frame, or of the node first switched on.
    bit_rate: BitRate,
    busy_ns: u64,
    /// End of the intermission after the last frame.
    intermission_until: BusNs,
    /// Sender.
    last_senders: NodeSet,
}

#[derive(Clone, Debug)]
enum Wire {
    Idle,
    /// A frame that nothing has disturbed yet.
    Clean(Clean),
    /// Something is wrong, and is played bit by bit.
    Broken(Broken),
}

impl Bus {
    /// A bus without nodes. The seed is that of its faults.
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

    /// A further node, switched off. `None` if the bus has 64.
    pub fn add_node(&mut self) -> Option<NodeId> {
        let node = u8::try_from(self.nodes.len()).ok().filter(|&node| usize::from(node) < NodeSet::MAX_NODES)?;
        self.nodes.push(Node::off());
        Some(NodeId(node))
    }

    /// Switches a node on, with its counters at zero. It takes part after 11 recessive bits.
    pub fn switch_on(&mut self, now: BusNs, node: NodeId, config: NodeConfig) {
        if self.nodes.iter().all(|node| matches!(node.presence, Presence::Off)) {
            self.bit_rate = config.timing.nominal;
        }
        if let Some(node) = self.node_mut(node) {
            *node = Node { held: node.held, presence: Presence::Joining { since: now }, ..Node::new(config) };
        }
    }

    /// Switches a node off in the middle of whatever it does: its frames are forgotten, and one that is on the wire
    /// breaks. Gives the tags of those frames, in the order submitted.
    pub fn switch_off(&mut self, now: BusNs, node: NodeId) -> Vec<Tag> {
        self.leave_wire(now, node);
        let Some(node) = self.node_mut(node) else { return Vec::new() };
        let forgotten = node.controller.clear();
        *node = Node { held: node.held, ..Node::off() };
        forgotten
    }

    /// Gives a node a frame to send, as soon as the bus and the frames before it let it.
    ///
    /// # Errors
    /// [`SubmitError`] if the controller does not take it.
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

    /// Has a bus-off node wait for 128 times 11 recessive bits and then take part again, with counters at zero.
    pub fn restart(&mut self, now: BusNs, node: NodeId) {
        if let Some(Node { presence: Presence::BusOff { recovery: recovery @ None }, .. }) = self.node_mut(node) {
            *recovery = Some(presence::Recovery { since: now, sequences: 0 });
        }
    }

    /// Takes a frame out of a node's controller, unless it is on the wire just now. Says whether it did.
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

    /// Keeps a node from starting frames, or lets it again. What it holds stays; it hears and acknowledges as before. Switching
    /// it off and on changes nothing.
    pub fn hold(&mut self, node: NodeId, held: bool) {
        if let Some(node) = self.node_mut(node) {
            node.held = held;
        }
    }

    /// Holds the wire dominant from now on, or lets go of it.
    pub fn stick(&mut self, now: BusNs, stuck: bool) {
        self.set_stuck(now, stuck);
    }

    /// Gives a node error counters, as if it had earned them. Moves it to bus-off where they say so.
    ///
    /// # Errors
    /// [`NotOnBus`] if the node is switched off or bus-off: its counters mean nothing then.
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

    /// The bit rates of a node, if it is on the bus.
    #[must_use]
    pub fn timing(&self, node: NodeId) -> Option<Timing> {
        self.node(node).filter(|node| node.takes_part()).map(|node| node.config.timing)
    }

    /// Sets the faults that apply from now on.
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

    /// Returns how long the bus was busy so far, in nanoseconds, including intermissions and error frames.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// When something happens next, if nobody submits anything before.
    #[must_use]
    pub fn next_event(&self) -> Option<BusNs> {
        match &self.wire {
            Wire::Idle => {
                let start = self.nodes.iter().filter_map(|node| self.earliest_start(node)).min();
                let recovery = self.nodes.iter().filter_map(|node| self.recovery(node)).min();
                [start, recovery].into_iter().flatten().min()
            }
            Wire::Clean(clean) => Some(clean.next_event()),
            Wire::Broken(broken) => Some(broken.next_event()),
        }
    }

    /// Lets time pass, and appends what happened up to and including `to`.
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
            // There is nothing to tell yet; but who comes now must find everybody where they are.
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

/// So many bits in nanoseconds, rounded to the nearest.
fn bits_ns(bits: u64, rate: BitRate) -> u64 {
    let rate = u64::from(rate.bits_per_second());
    (bits.saturating_mul(1_000_000_000).saturating_add(rate / 2)) / rate
}
