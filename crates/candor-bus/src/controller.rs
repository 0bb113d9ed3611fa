//! Transmit buffers and arbitration.

use candor_core::frame::{Frame, FrameFormat};

use crate::node::{BusNs, Order};

/// Identifies a submitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

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

    /// The arrival of the frame that can be sent first.
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

    /// Removes all frames and returns their tags, in the order of submission.
    pub(crate) fn clear(&mut self) -> Vec<Tag> {
        self.pending.drain(..).map(|pending| pending.tag).collect()
    }

    pub(crate) fn holds(&self, tag: Tag) -> bool {
        self.pending.iter().any(|pending| pending.tag == tag)
    }
}

/// The arbitration field of a frame as a number. The lowest number wins, because dominant is 0.
///
/// A standard frame has its RTR (FD: RRS) and IDE bits in the place of SRR and IDE of an extended one, so one layout
/// fits both: 11 identifier bits, RTR or SRR, IDE, then 18 identifier bits and RTR (FD: RRS) of an extended frame, or
/// zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Priority(u32);

impl Priority {
    pub(crate) fn of(frame: &Frame) -> Self {
        let bits = frame.id.bits();
        let remote = u32::from(frame.format == FrameFormat::Classic && frame.id.is_rtr());
        Self(if frame.id.is_eff() {
            bits >> 18 << 21 | 0b11 << 19 | (bits & 0x3_FFFF) << 1 | remote
        } else {
            bits << 21 | remote << 20
        })
    }
}
