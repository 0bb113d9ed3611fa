//! `uring`: one io_uring submission for all batched frames.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use candor_io::uring::UringSender;

use super::{Handed, Transmit};
use crate::user::port::Port;
use crate::user::queued::Queued;

#[derive(Debug)]
pub(in crate::user) struct Uring {
    port: Arc<Port>,
    sender: UringSender,
}

impl Uring {
    fn send(&mut self, frames: &[Queued]) -> Handed {
        match self.sender.send(&self.port.socket, frames.iter().map(Queued::bytes)) {
            Ok((taken, refused)) => Handed { taken, refused },
            Err(error) => Handed { taken: 0, refused: Some(error) },
        }
    }
}

impl Transmit for Uring {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { port: Arc::clone(port), sender: UringSender::new()? })
    }

    fn collects(_more: bool) -> bool {
        true
    }

    fn hand_over(&mut self, frames: &[Queued]) -> Handed {
        let handed = self.send(frames);
        // A send-only socket keeps a pending ENETDOWN for its next call, even if the interface is up again.
        let was_down = handed.refused.as_ref().is_some_and(|error| error.kind() == ErrorKind::NetworkDown);
        if handed.taken == 0 && was_down { self.send(frames) } else { handed }
    }
}
