//! `mmap`: a ring in memory that the kernel empties, and `adaptive`, which uses it for two frames or more.

use std::io;
use std::sync::Arc;

use candor_io::can::InterfaceIndex;
use candor_io::packet::TransmitRing;

use super::{Handed, Transmit, Write};
use crate::user::port::Port;
use crate::user::queued::Queued;

/// Frames that are in the queue of the interface or on their way there. 32 KiB for each way from bus to bus.
const SLOTS: usize = 128;

/// One `send()` for all frames that were waiting.
#[derive(Debug)]
pub(in crate::user) struct Ring {
    port: Arc<Port>,
    interface: InterfaceIndex,
    ring: TransmitRing,
}

impl Transmit for Ring {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        let interface = port.index();
        Ok(Self { port: Arc::clone(port), interface, ring: TransmitRing::open(interface, SLOTS, port.mark())? })
    }

    fn collects(_more: bool) -> bool {
        true
    }

    fn hand_over(&mut self, frames: &[Queued]) -> Handed {
        let batch = self.ring.send(frames.iter().map(Queued::bytes));
        Handed { taken: batch.taken, refused: batch.refused }
    }

    fn follow(&mut self) -> io::Result<()> {
        if self.port.index() != self.interface {
            *self = Self::open(&self.port)?;
        }
        Ok(())
    }
}

/// [`Write`] for a frame that came alone, [`Ring`] for two or more.
#[derive(Debug)]
pub(in crate::user) struct Adaptive {
    write: Write,
    /// `None` where a ring would echo frames that are not to be echoed, or not echo those that are.
    ring: Option<Ring>,
}

impl Transmit for Adaptive {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { write: Write::open(port)?, ring: port.ring_echoes_right().then(|| Ring::open(port)).transpose()? })
    }

    fn collects(more: bool) -> bool {
        more
    }

    fn hand_over(&mut self, frames: &[Queued]) -> Handed {
        match &mut self.ring {
            Some(ring) if frames.len() > 1 => ring.hand_over(frames),
            _ => self.write.hand_over(frames),
        }
    }

    fn follow(&mut self) -> io::Result<()> {
        self.ring.iter_mut().try_for_each(Transmit::follow)
    }
}
