//! `mmap` and `mmapbusy`: a memory-mapped ring that the kernel fills.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_io::can::InterfaceIndex;
use candor_io::packet::{Instruction, ReceiveRing};

use super::{Arrived, MAX_AT_ONCE, Receive};
use crate::user::port::Port;

/// 130 ms of short frames at 500 kbit/s, 128 KiB.
const SLOTS: usize = 512;

/// Polls of an empty ring before the thread checks for orders.
const LOOKS: u32 = 1024;

/// With `BUSY` an empty ring is polled and the thread never blocks.
#[derive(Debug)]
pub(in crate::user) struct Ring<const BUSY: bool> {
    port: Arc<Port>,
    interface: InterfaceIndex,
    ring: ReceiveRing,
    /// Successors with other frame formats, whose frames arrived after all frames of this ring.
    later: VecDeque<ReceiveRing>,
    /// The filter program of the newest ring.
    instructions: Vec<Instruction>,
    /// The narrow program is in use, because a frame matched no job.
    is_narrow: bool,
}

impl<const BUSY: bool> Ring<BUSY> {
    fn open_on(port: &Arc<Port>, interface: InterfaceIndex) -> io::Result<Self> {
        let wanted = port.demand().wanted.clone();
        let instructions = wanted.programs.wide;
        let ring = ReceiveRing::open(interface, wanted.formats, &instructions, SLOTS)?;
        Ok(Self { port: Arc::clone(port), interface, ring, later: VecDeque::new(), instructions, is_narrow: false })
    }

    /// Switches to the current filters without losing a frame that matches both the old and the new ones.
    fn hear_what_is_wanted(&mut self) -> io::Result<()> {
        let wanted = self.port.demand().wanted.clone();
        let newest = self.later.back().unwrap_or(&self.ring);
        if newest.formats() != wanted.formats {
            // With the old program, so that the rings differ only in their formats.
            let next = newest.hand_over(self.interface, wanted.formats, &self.instructions)?;
            self.later.push_back(next);
        }
        let instructions = if self.is_narrow { wanted.programs.narrow } else { wanted.programs.wide };
        if self.instructions != instructions {
            self.later.back().unwrap_or(&self.ring).set_instructions(&instructions)?;
            self.instructions = instructions;
        }
        Ok(())
    }

    #[cold]
    fn narrow(&mut self) {
        self.is_narrow = true;
        // If the kernel has no memory for the program, the rule set keeps filtering.
        let _ = self.hear_what_is_wanted();
    }

    #[cold]
    fn go_on_to_later(&mut self) {
        if let Some(later) = self.later.pop_front() {
            self.port.accounting.count_ring(self.ring.take_lost());
            self.ring = later;
        }
    }
}

impl<const BUSY: bool> Receive for Ring<BUSY> {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Self::open_on(port, port.index())
    }

    fn receive(&mut self, patience: Option<Duration>, _all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        while !self.later.is_empty() && !self.ring.has_frame() {
            self.go_on_to_later();
        }
        // Polled before blocking: under load the ring is rarely empty, and a poll is cheaper than a system call.
        let mut looks = 0;
        while self.ring.receive_all(
            MAX_AT_ONCE,
            #[inline(always)]
            |received| take(Arrived { bytes: received.bytes, at: Some(received.at), more: received.more }),
        ) == 0
        {
            looks += 1;
            if looks == if BUSY { LOOKS } else { 2 } || (!BUSY && !self.ring.wait(patience)?) {
                return Ok(());
            }
        }
        self.port.accounting.count_ring(self.ring.known_lost());
        Ok(())
    }

    #[inline(always)]
    fn keep_unwanted_away(&mut self) {
        if !self.is_narrow {
            self.narrow();
        }
    }

    fn follow(&mut self) -> io::Result<()> {
        self.port.accounting.count_ring(self.ring.take_lost());
        if self.port.index() != self.interface {
            *self = Self::open_on(&self.port, self.port.index())?;
        } else if let Err(error) = self.hear_what_is_wanted() {
            // The old routes continue; the supervisor must know that the new ones would miss frames.
            self.port.refuse_demand(&error);
        }
        Ok(())
    }
}

impl<const BUSY: bool> Drop for Ring<BUSY> {
    fn drop(&mut self) {
        for ring in std::iter::once(&mut self.ring).chain(&mut self.later) {
            self.port.accounting.count_ring(ring.take_lost());
        }
    }
}
