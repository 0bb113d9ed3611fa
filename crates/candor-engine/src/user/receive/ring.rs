//! `mmap` and `mmapbusy`: a ring in memory that the kernel fills.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_io::can::InterfaceIndex;
use candor_io::packet::{Instruction, ReceiveRing};

use super::{Arrived, MAX_AT_ONCE, Receive};
use crate::user::port::Port;

/// Frames that wait while the thread does not run: 130 ms of a bus with 500 kbit/s and short frames. 128 KiB.
const SLOTS: usize = 512;

/// So often an empty ring is looked at before the thread looks for orders.
const LOOKS: u32 = 1024;

/// `BUSY` says that an empty ring is looked at again and again, and that the kernel is never waited for.
#[derive(Debug)]
pub(in crate::user) struct Ring<const BUSY: bool> {
    port: Arc<Port>,
    interface: InterfaceIndex,
    ring: ReceiveRing,
    /// Rings for other formats, whose frames came after all that wait in this one.
    later: VecDeque<ReceiveRing>,
    /// What lets frames into the newest ring.
    instructions: Vec<Instruction>,
    /// Whether a frame has come that no job takes.
    is_narrow: bool,
}

impl<const BUSY: bool> Ring<BUSY> {
    fn open_on(port: &Arc<Port>, interface: InterfaceIndex) -> io::Result<Self> {
        let wanted = port.demand().wanted.clone();
        let instructions = wanted.programs.wide;
        let ring = ReceiveRing::open(interface, wanted.takes, &instructions, SLOTS)?;
        Ok(Self { port: Arc::clone(port), interface, ring, later: VecDeque::new(), instructions, is_narrow: false })
    }

    /// Hears what is wanted now, without missing a frame that is wanted before and after.
    fn hear_what_is_wanted(&mut self) -> io::Result<()> {
        let wanted = self.port.demand().wanted.clone();
        let newest = self.later.back().unwrap_or(&self.ring);
        if newest.takes() != wanted.takes {
            // With the filter of before, so that the rings differ by their formats only.
            let next = newest.hand_over(self.interface, wanted.takes, &self.instructions)?;
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
        // What the kernel cannot keep away, for want of memory, the rules sort out as they did until now.
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
        // Looked at before it is waited for: while frames come one after the other the ring is seldom empty, and a look is
        // cheaper than a call.
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
            // The old routes go on, and the supervisor has to know that the new ones would not hear everything.
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
