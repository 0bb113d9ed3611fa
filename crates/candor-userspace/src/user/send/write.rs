//! `write`: one system call for each frame.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::{Handed, Transmit};
use crate::user::port::Port;
use crate::user::queued::Queued;

/// Non-blocking `send()` rather than `write()`: a full bus must not block the others.
#[derive(Debug)]
pub(in crate::user) struct Write {
    port: Arc<Port>,
}

impl Transmit for Write {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { port: Arc::clone(port) })
    }

    fn collects(_more: bool) -> bool {
        false
    }

    fn hand_over(&mut self, frames: &[Queued]) -> Handed {
        let send = |queued: &Queued| match self.port.socket.send_now(queued.bytes()) {
            // A send-only socket keeps a pending ENETDOWN for its next call, even if the interface is up again.
            Err(error) if error.kind() == ErrorKind::NetworkDown => self.port.socket.send_now(queued.bytes()),
            result => result,
        };
        for (taken, queued) in frames.iter().enumerate() {
            if let Err(error) = send(queued) {
                return Handed { taken, refused: Some(error) };
            }
        }
        Handed { taken: frames.len(), refused: None }
    }
}
