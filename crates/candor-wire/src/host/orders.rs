//! Commands to the bus thread, and its replies.
//!
//! The thread must not wait for the sender, which may have any priority. So a command is sent to the channel first, then
//! a byte to the doorbell socket. The thread receives one command for each byte and no more: a receive during a concurrent
//! send would spin until the sender runs again. Replies use a second channel and the same socket in the other direction.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use candor_bus::{BusNs, NodeSet};
use candor_io::poll::{self, Interest, Watched};

use crate::fault::{DeviceId, Effect, FaultId, FaultOrder};
use crate::segment::Script;

/// Doorbell bytes of one read.
const RINGS: usize = 64;

#[derive(Debug)]
pub(super) enum Command {
    Fault { bus: usize, order: FaultOrder },
    Stream { device: DeviceId, stream: UnixStream },
    Play { bus: usize, scripts: Vec<Script> },
}

/// Reply to an order. Buses count in the order given to [`Running::start`](super::Running::start).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// It was carried out or refused.
    Effect { bus: usize, effect: Effect },
    /// Scripts are played by these nodes, in this order; by none if the bus has no room for them.
    Playing { bus: usize, nodes: NodeSet },
    /// It is scheduled for this bus time.
    Planned { order: FaultId, at: BusNs },
}

/// Sends commands. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct Orders {
    commands: Sender<Command>,
    replies: Receiver<Reply>,
    bell: UnixStream,
}

#[derive(Debug)]
pub(super) struct Commands {
    commands: Receiver<Command>,
    replies: Sender<Reply>,
    bell: UnixStream,
}

impl Orders {
    pub(super) fn open() -> io::Result<(Self, Commands)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let (commands, received) = mpsc::channel();
        let (sent, replies) = mpsc::channel();
        Ok((Self { commands, replies, bell: ours }, Commands { commands: received, replies: sent, bell: theirs }))
    }

    pub(super) fn send(&self, command: Command) -> io::Result<()> {
        self.commands.send(command).map_err(|_ended| io::Error::from(io::ErrorKind::BrokenPipe))?;
        (&self.bell).write_all(&[0])
    }

    pub(super) fn replies(&self, at_most: Duration) -> io::Result<Vec<Reply>> {
        let here: Vec<Reply> = self.replies.try_iter().collect();
        if !here.is_empty() || at_most.is_zero() {
            return Ok(here);
        }
        match poll::wait(&mut [Watched::new(self.bell.as_fd(), Interest::Read)], Some(at_most)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut rings = [0; RINGS];
        while (&self.bell).read(&mut rings).is_ok_and(|got| got == RINGS) {}
        Ok(self.replies.try_iter().collect())
    }
}

impl Commands {
    /// A copy of the doorbell, readable when there is a command or the sender is dropped.
    pub(super) fn bell(&self) -> io::Result<UnixStream> {
        self.bell.try_clone()
    }

    /// The number of new commands; `None` if the sender is dropped.
    pub(super) fn answer_bell(&mut self) -> Option<usize> {
        let mut rings = [0; RINGS];
        match self.bell.read(&mut rings) {
            Ok(0) => None,
            Ok(count) => Some(count),
            Err(error) => {
                let nothing = [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].contains(&error.kind());
                nothing.then_some(0)
            }
        }
    }

    /// Receives a command that [`answer_bell`](Self::answer_bell) has counted.
    pub(super) fn next(&mut self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        let _sender_is_dropped = self.replies.send(reply);
        // A full socket is readable already.
        let _full = self.bell.write(&[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    fn order(number: u64) -> Command {
        let id = FaultId(number);
        Command::Fault { bus: 0, order: FaultOrder { id, at: None, lasts_ns: None, fault: Fault::Stuck } }
    }

    #[test]
    fn bell_counts_commands() {
        let (orders, mut commands) = Orders::open().unwrap();
        assert_eq!(commands.answer_bell(), Some(0), "no command was sent");
        for number in 0..3 {
            orders.send(order(number)).unwrap();
        }
        // Sent, but the doorbell byte is still missing.
        orders.commands.send(order(3)).unwrap();
        assert_eq!(commands.answer_bell(), Some(3));
        for number in 0..3 {
            let Some(Command::Fault { order, .. }) = commands.next() else { panic!("{number} is missing") };
            assert_eq!(order.id, FaultId(number));
        }
        drop(orders);
        assert_eq!(commands.answer_bell(), None);
    }

    #[test]
    fn replies_keep_their_order_when_bell_is_full() {
        let (orders, mut commands) = Orders::open().unwrap();
        assert_eq!(orders.replies(Duration::ZERO).unwrap(), []);
        let reply = |number| Reply::Planned { order: FaultId(number), at: BusNs(number) };
        // More than the socket buffer holds.
        for number in 0..100_000 {
            commands.reply(reply(number));
        }
        let replies = orders.replies(Duration::from_secs(20)).unwrap();
        assert_eq!(replies, (0..100_000).map(reply).collect::<Vec<_>>());
    }
}
