//! `mmsg`: one `sendmmsg()` for all batched frames.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use candor_io::can::SendList;

use super::{Handed, Transmit};
use crate::user::port::Port;
use crate::user::queued::Queued;

#[derive(Debug)]
pub(in crate::user) struct Mmsg {
    port: Arc<Port>,
    list: SendList,
}

impl Transmit for Mmsg {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { port: Arc::clone(port), list: SendList::default() })
    }

    fn collects(_more: bool) -> bool {
        true
    }

    fn hand_over(&mut self, frames: &[Queued]) -> Handed {
        let mut send = || self.port.socket.send_batch(&mut self.list, frames.iter().map(Queued::bytes));
        // A send-only socket keeps a pending ENETDOWN for its next call, even if the interface is up again.
        let sent = match send() {
            Err(error) if error.kind() == ErrorKind::NetworkDown => send(),
            sent => sent,
        };
        match sent {
            // The kernel reports the reason at the next call.
            Ok(taken) => Handed { taken, refused: None },
            Err(error) => Handed { taken: 0, refused: Some(error) },
        }
    }
}
