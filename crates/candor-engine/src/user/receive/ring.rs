//! `mmap` and `mmapbusy`: a ring in memory that the kernel fills.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_io::can::InterfaceIndex;
use candor_io::packet::ReceiveRing;

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
}

impl<const BUSY: bool> Ring<BUSY> {
    fn open_on(port: &Port, interface: InterfaceIndex) -> io::Result<ReceiveRing> {
        let wanted = port.wanted();
        ReceiveRing::open(interface, wanted.takes, &wanted.instructions, SLOTS)
    }

    /// Waits for a frame; `false` if there is none.
    fn wait(&self, patience: Option<Duration>) -> io::Result<bool> {
        if BUSY {
            return Ok((0..LOOKS).any(|_| self.ring.has_frame()));
        }
        // While frames come one after the other, the ring is seldom empty: a look is cheaper than a call.
        if self.ring.has_frame() { Ok(true) } else { self.ring.wait(patience) }
    }
}

impl<const BUSY: bool> Receive for Ring<BUSY> {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        let interface = port.index();
        let ring = Self::open_on(port, interface)?;
        Ok(Self { port: Arc::clone(port), interface, ring })
    }

    fn receive(&mut self, patience: Option<Duration>, _all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        if !self.wait(patience)? {
            return Ok(());
        }
        for _ in 0..MAX_AT_ONCE {
            let mut more = false;
            self.ring.receive(|received| {
                more = received.more;
                if let Ok(frame) = Frame::from_kernel(received.bytes) {
                    take(Arrived { frame: &frame, at: Some(received.at), more });
                }
            });
            if !more {
                break;
            }
        }
        self.port.count_lost(self.ring.known_lost());
        Ok(())
    }

    fn follow(&mut self) -> io::Result<()> {
        self.port.count_lost(self.ring.take_lost());
        if self.port.index() != self.interface {
            self.ring = Self::open_on(&self.port, self.port.index())?;
            self.interface = self.port.index();
        }
        Ok(())
    }
}

impl<const BUSY: bool> Drop for Ring<BUSY> {
    fn drop(&mut self) {
        self.port.count_lost(self.ring.take_lost());
    }
}
