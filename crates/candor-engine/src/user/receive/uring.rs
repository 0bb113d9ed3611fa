//! `uring`: a request of io_uring that stays, and a completion for each frame.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_io::can::InterfaceIndex;
use candor_io::uring::UringReceiver;

use super::{Arrived, MAX_AT_ONCE, Receive};
use crate::user::port::Port;

#[derive(Debug)]
pub(in crate::user) struct Uring {
    port: Arc<Port>,
    /// That of the socket which the request names.
    interface: InterfaceIndex,
    receiver: UringReceiver,
}

impl Receive for Uring {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { port: Arc::clone(port), interface: port.index(), receiver: UringReceiver::new()? })
    }

    fn receive(&mut self, patience: Option<Duration>, _all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        self.receiver
            .receive(&self.port.socket, patience, MAX_AT_ONCE, |bytes, more| take(Arrived { bytes, at: None, more }))
    }

    /// The request holds the socket that the supervisor may have exchanged.
    fn follow(&mut self) -> io::Result<()> {
        if self.port.index() != self.interface {
            self.interface = self.port.index();
            self.receiver.forget_socket()?;
        }
        Ok(())
    }
}
