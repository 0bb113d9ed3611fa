//! Pending frames of a node.

use candor_core::frame::Frame;

use super::encode::arbitration_key;
use super::level::Level;

/// Transmit order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    Fifo,
    /// The one that would win arbitration; the oldest of equals.
    LowestFirst,
}

/// A frame in a controller.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Tag of the frame.
    pub tag: u64,
    /// The frame.
    pub frame: Frame,
    key: Vec<Level>,
    serial: u64,
}

impl Pending {
    /// Tells it from every other frame of this queue, also from those with its tag.
    pub fn serial(&self) -> u64 {
        self.serial
    }
}

/// The transmit buffers of a controller. A frame leaves when it was sent or given up, so the one on the wire counts.
#[derive(Clone, Debug)]
pub struct Queue {
    order: Order,
    depth: usize,
    frames: Vec<Pending>,
    submitted: u64,
}

impl Queue {
    /// An empty queue for `depth` frames.
    pub fn new(order: Order, depth: usize) -> Self {
        Self { order, depth, frames: Vec::new(), submitted: 0 }
    }

    /// Takes a frame; `false` if there is no room.
    pub fn push(&mut self, tag: u64, frame: Frame) -> bool {
        if self.frames.len() >= self.depth {
            return false;
        }
        self.frames.push(Pending { tag, frame, key: arbitration_key(&frame), serial: self.submitted });
        self.submitted += 1;
        true
    }

    /// Returns the number of frames it holds.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frame whose turn it is.
    pub fn next(&self) -> Option<&Pending> {
        match self.order {
            Order::Fifo => self.frames.first(),
            Order::LowestFirst => self.frames.iter().min_by(|a, b| a.key.cmp(&b.key).then(a.serial.cmp(&b.serial))),
        }
    }

    /// Takes out a frame that was sent or given up; its tag.
    pub fn remove(&mut self, serial: u64) -> Option<u64> {
        let place = self.frames.iter().position(|pending| pending.serial == serial)?;
        Some(self.frames.remove(place).tag)
    }

    /// Gives up everything; the tags, oldest first.
    pub fn clear(&mut self) -> Vec<u64> {
        self.frames.drain(..).map(|pending| pending.tag).collect()
    }
}
