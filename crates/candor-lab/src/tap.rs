//! Ears for traffic that nobody waits for: the kernel writes down what passes an interface, and the tester reads it when
//! the gateway has nothing left to do.

use std::io;

use candor_core::frame::Frame;
use candor_io::packet::{Hears, ReceiveRing};
use candor_netlink::client::Client;

use crate::tester::{AdapterEar, InterfacesError, Stamped, find};

/// A tap on one interface.
#[derive(Debug)]
pub struct Tap {
    memory: Memory,
}

/// Where the kernel writes down what passes.
#[derive(Debug)]
enum Memory {
    Ring(ReceiveRing),
    /// A socket's queue. The frames of a ring have one stamp each, and who looks for them needs the kernel's.
    Queue {
        ear: AdapterEar,
        /// Frames that were missed before.
        missed: u32,
    },
}

impl Tap {
    /// Opens a tap that remembers at least so many frames until they are read.
    ///
    /// # Errors
    /// [`InterfacesError`] names the interface and what is wrong with it.
    pub fn open(client: &mut Client, name: &str, hears: Hears, frames: usize) -> Result<Self, InterfacesError> {
        let link = find(client, name)?;
        let ring = ReceiveRing::tap(link.index, hears, frames)
            .map_err(|source| InterfacesError::Open { name: name.to_owned(), source })?;
        Ok(Self { memory: Memory::Ring(ring) })
    }

    /// Opens a tap that hears what comes in, and has the stamps of the adapter, too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn with_adapter(client: &mut Client, name: &str, frames: usize) -> Result<Self, InterfacesError> {
        let ear = AdapterEar::open_with_room(client, name, frames)?;
        Ok(Self { memory: Memory::Queue { ear, missed: 0 } })
    }

    /// Gives all frames that passed since the last call, in their order, with the stamp of the moment when the kernel got them, or
    /// gave them to the driver.
    ///
    /// # Errors
    /// If the tap missed some: then nothing can be said of what passed.
    pub fn read(&mut self, mut take: impl FnMut(Stamped)) -> io::Result<()> {
        match &mut self.memory {
            Memory::Ring(ring) => {
                while ring.receive(|received| {
                    if let Ok(frame) = Frame::from_kernel(received.bytes) {
                        take(Stamped { frame, at: received.at, adapter: None });
                    }
                }) {}
                match ring.take_lost() {
                    0 => Ok(()),
                    missed => Err(io::Error::other(format!("a tap of the tester missed {missed} frames"))),
                }
            }
            Memory::Queue { ear, missed } => {
                while let Some(seen) = ear.waiting()? {
                    take(seen);
                }
                let before = std::mem::replace(missed, ear.missed()?);
                match missed.wrapping_sub(before) {
                    0 => Ok(()),
                    missed => Err(io::Error::other(format!(
                        "the tester's socket on {} had no room for {missed} frames; with CAP_NET_ADMIN it gets more",
                        ear.name()
                    ))),
                }
            }
        }
    }

    /// Forgets what passed.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn forget(&mut self) -> io::Result<()> {
        self.read(|_| {})
    }
}
