//! Taps: the kernel records traffic of an interface, and the tester reads it when the gateway is idle.

use std::io;

use candor_cli::gateway_file::plural;
use candor_core::frame::Frame;
use candor_io::packet::{ReceiveRing, TapDirection};
use candor_netlink::client::Client;

use crate::tester::{AdapterListener, InterfacesError, Stamped, find};

#[derive(Debug)]
pub struct Tap {
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Ring(ReceiveRing),
    /// Socket queue. A ring has one stamp per frame, and matching also needs the kernel's.
    Queue {
        listener: AdapterListener,
        missed: u32,
    },
}

impl Tap {
    /// Opens a tap that holds at least `frames` until they are read.
    pub fn open(
        client: &mut Client,
        name: &str,
        direction: TapDirection,
        frames: usize,
    ) -> Result<Self, InterfacesError> {
        let link = find(client, name)?;
        let ring = ReceiveRing::tap(link.index, direction, frames).map_err(InterfacesError::opening(name))?;
        Ok(Self { memory: Memory::Ring(ring) })
    }

    /// A tap for incoming frames, with adapter stamps too.
    pub(crate) fn with_adapter(client: &mut Client, name: &str, frames: usize) -> Result<Self, InterfacesError> {
        let listener = AdapterListener::open_with_room(client, name, frames)?;
        Ok(Self { memory: Memory::Queue { listener, missed: 0 } })
    }

    /// Passes on all frames since the last call, in order, stamped when the kernel received them or handed them to the
    /// driver. Missed frames are an error.
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
                    missed => Err(io::Error::other(format!(
                        "a tap of the tester missed {}",
                        plural(missed as usize, "frame")
                    ))),
                }
            }
            Memory::Queue { listener, missed } => {
                while let Some(seen) = listener.waiting()? {
                    take(seen);
                }
                let before = std::mem::replace(missed, listener.missed()?);
                match missed.wrapping_sub(before) {
                    0 => Ok(()),
                    missed => Err(io::Error::other(format!(
                        "the tester's socket on {} had no room for {}; CAP_NET_ADMIN allows a larger buffer",
                        listener.name(),
                        plural(missed as usize, "frame")
                    ))),
                }
            }
        }
    }

    pub fn forget(&mut self) -> io::Result<()> {
        self.read(|_| {})
    }
}
