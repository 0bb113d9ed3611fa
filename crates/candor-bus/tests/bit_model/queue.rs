//! Transmit buffers of a node.

use candor_core::frame::Frame;

use super::encode::arbitration_key;
use super::level::Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    Fifo,
    /// The frame that would win arbitration; the oldest of equals.
    LowestFirst,
}

#[derive(Clone, Debug)]
pub struct Pending {
    pub tag: u64,
    pub frame: Frame,
    key: Vec<Level>,
    serial: u64,
}

impl Pending {
    /// Unique in this queue, even among frames with the same tag.
    pub fn serial(&self) -> u64 {
        self.serial
    }
}

/// A frame leaves when it is sent or given up, so the one on the wire counts.
#[derive(Clone, Debug)]
pub struct Queue {
    order: Order,
    depth: usize,
    frames: Vec<Pending>,
    submitted: u64,
}

impl Queue {
    pub fn new(order: Order, depth: usize) -> Self {
        Self { order, depth, frames: Vec::new(), submitted: 0 }
    }

    /// Returns `false` if the queue is full.
    pub fn push(&mut self, tag: u64, frame: Frame) -> bool {
        if self.frames.len() >= self.depth {
            return false;
        }
        self.frames.push(Pending { tag, frame, key: arbitration_key(&frame), serial: self.submitted });
        self.submitted += 1;
        true
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The next frame.
    pub fn next(&self) -> Option<&Pending> {
        match self.order {
            Order::Fifo => self.frames.first(),
            Order::LowestFirst => self.frames.iter().min_by(|a, b| a.key.cmp(&b.key).then(a.serial.cmp(&b.serial))),
        }
    }

    /// Removes a frame that was sent or given up, and returns its tag.
    pub fn remove(&mut self, serial: u64) -> Option<u64> {
        let place = self.frames.iter().position(|pending| pending.serial == serial)?;
        Some(self.frames.remove(place).tag)
    }

    /// Removes all frames and returns their tags, oldest first.
    pub fn clear(&mut self) -> Vec<u64> {
        self.frames.drain(..).map(|pending| pending.tag).collect()
    }
}
