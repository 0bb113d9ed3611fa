//! Ears for traffic that nobody waits for: the kernel writes down what passes an interface, and the tester reads it when
//! the gateway has nothing left to do.

use std::io;

use candor_core::frame::Frame;
use candor_io::clock::RealtimeNs;
use candor_io::packet::{Hears, ReceiveRing};
use candor_netlink::client::Client;

use crate::tester::{InterfacesError, find};

/// A tap on one interface.
#[derive(Debug)]
pub struct Tap {
    ring: ReceiveRing,
}

/// A frame that passed a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The frame.
    pub frame: Frame,
    /// When the kernel got it, or gave it to the driver.
    pub at: RealtimeNs,
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
        Ok(Self { ring })
    }

    /// Gives all frames that passed since the last call, in their order.
    ///
    /// # Errors
    /// If the tap missed some: then nothing can be said of what passed.
    pub fn read(&mut self, mut take: impl FnMut(Passed)) -> io::Result<()> {
        while self.ring.receive(|received| {
            if let Ok(frame) = Frame::from_kernel(received.bytes) {
                take(Passed { frame, at: received.at });
            }
        }) {}
        match self.ring.take_lost() {
            0 => Ok(()),
            missed => Err(io::Error::other(format!("a tap of the tester missed {missed} frames"))),
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
