//! `uring`: a multishot receive with a completion for each frame.

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
    /// Interface of the socket that the request refers to.
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

    /// The request still refers to the old socket if the supervisor has replaced it.
    fn follow(&mut self) -> io::Result<()> {
        if self.port.index() != self.interface {
            self.interface = self.port.index();
            self.receiver.forget_socket()?;
        }
        Ok(())
    }
}
