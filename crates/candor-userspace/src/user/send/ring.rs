//! `mmap`: a memory-mapped ring that the kernel empties; `adaptive`: uses it for two frames or more.

use std::io;
use std::sync::Arc;

use candor_io::can::InterfaceIndex;
use candor_io::packet::TransmitRing;

use super::{Handed, Transmit, Write};
use crate::user::port::Port;
use crate::user::queued::Queued;

/// Frames in the ring or in the transmit queue; 32 KiB for each pair of buses.
const SLOTS: usize = 128;

/// One `send()` for all batched frames.
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

/// [`Write`] for a single frame, [`Ring`] for two or more.
#[derive(Debug)]
pub(in crate::user) struct Adaptive {
    write: Write,
    /// `None` if a ring would not echo as the routes require.
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
