//! `mmsg`: one `sendmmsg()` for all frames that were waiting.

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
        // A socket on which nobody reads keeps for its next sender that the interface was down, even if it is up by now.
        let sent = match send() {
            Err(error) if error.kind() == ErrorKind::NetworkDown => send(),
            sent => sent,
        };
        match sent {
            // The kernel says why it stopped at the next call, which the caller makes for the rest.
            Ok(taken) => Handed { taken, refused: None },
            Err(error) => Handed { taken: 0, refused: Some(error) },
        }
    }
}
