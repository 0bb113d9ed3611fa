//! Transmit buffers of a CAN controller.

use candor_core::frame::Frame;

use crate::arbitration::Priority;
use crate::time::BusNs;

/// Identifies a frame for its submitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// In which order a controller sends what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As submitted. An urgent frame waits for all before it, and so does the whole node while another one's wins.
    #[default]
    Fifo,
    /// Mailboxes: the frame that wins arbitration goes first; frames of one identifier in the order submitted.
    LowestId,
}

/// A frame in a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) tag: Tag,
    pub(crate) frame: Frame,
    pub(crate) priority: Priority,
    pub(crate) arrival: BusNs,
    pub(crate) retries: u32,
    pub(crate) lost: u32,
}

/// The transmit side of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    order: Order,
    depth: usize,
    pending: Vec<Pending>,
}

impl Controller {
    pub(crate) fn new(order: Order, depth: usize) -> Self {
        Self { order, depth: depth.max(1), pending: Vec::with_capacity(depth.max(1)) }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.pending.len() >= self.depth
    }

    pub(crate) fn push(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    /// The frame that this controller would send at `now`.
    pub(crate) fn next(&self, now: BusNs) -> Option<&Pending> {
        let here = self.pending.iter().filter(|pending| pending.arrival <= now);
        match self.order {
            Order::Fifo => self.pending.first().filter(|first| first.arrival <= now),
            Order::LowestId => here.min_by_key(|pending| pending.priority), // the first of equals
        }
    }

    /// When there is something to send, if there is not yet: the arrival of what can go first.
    pub(crate) fn next_arrival(&self) -> Option<BusNs> {
        match self.order {
            Order::Fifo => self.pending.first().map(|first| first.arrival),
            Order::LowestId => self.pending.iter().map(|pending| pending.arrival).min(),
        }
    }

    pub(crate) fn pending_mut(&mut self, tag: Tag) -> Option<&mut Pending> {
        self.pending.iter_mut().find(|pending| pending.tag == tag)
    }

    pub(crate) fn remove(&mut self, tag: Tag) {
        self.pending.retain(|pending| pending.tag != tag);
    }

    /// Everything that is left, in the order submitted.
    pub(crate) fn clear(&mut self) -> Vec<Tag> {
        self.pending.drain(..).map(|pending| pending.tag).collect()
    }

    pub(crate) fn holds(&self, tag: Tag) -> bool {
        self.pending.iter().any(|pending| pending.tag == tag)
    }
}
