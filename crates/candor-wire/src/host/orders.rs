//! Commands to the thread that plays the buses, and what it says to them.
//!
//! The thread must never wait for whoever commands, who may be any process of any priority. So a command is put into the
//! channel first, and then the bell is rung: a byte for each. The thread takes as many commands as it has read bytes and
//! does not look for more, where it might meet a sender in the middle of putting one in, and spin until that goes on. In the
//! other direction it is the same with replies, which nobody waits for in the channel itself.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use candor_bus::BusNs;
use candor_io::poll::{self, Interest, Watched};

use crate::fault::{Effect, FaultId, FaultOrder};
use crate::harness::DeviceId;

/// Bytes of the bell that are read at once.
const RINGS: usize = 64;

/// Something that the thread is to do.
#[derive(Debug)]
pub(super) enum Command {
    /// To a bus.
    Fault { bus: usize, order: FaultOrder },
    /// From now on this is the stream of the device.
    Stream { device: DeviceId, stream: UnixStream },
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// It was carried out, or refused.
    Effect {
        /// On which bus, in the order given to [`Running::start`](super::Running::start).
        bus: usize,
        /// What came of it.
        effect: Effect,
    },
    /// It will be carried out.
    Planned {
        /// Which.
        order: FaultId,
        /// When, on the time line of the bus.
        at: BusNs,
    },
}

/// The side of whoever commands. The thread ends with it.
#[derive(Debug)]
pub(super) struct Orders {
    commands: Sender<Command>,
    replies: Receiver<Reply>,
    bell: UnixStream,
}

/// The side of the thread.
#[derive(Debug)]
pub(super) struct Desk {
    commands: Receiver<Command>,
    replies: Sender<Reply>,
    bell: UnixStream,
}

impl Orders {
    pub(super) fn open() -> io::Result<(Self, Desk)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let (commands, to_obey) = mpsc::channel();
        let (to_reply, replies) = mpsc::channel();
        Ok((Self { commands, replies, bell: ours }, Desk { commands: to_obey, replies: to_reply, bell: theirs }))
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

impl Desk {
    /// Becomes readable when there is a command, or nobody to command. A copy, to be watched while the desk is used.
    pub(super) fn bell(&self) -> io::Result<UnixStream> {
        self.bell.try_clone()
    }

    /// How many commands have come; `None` if nobody commands any more.
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

    /// A command that the bell was rung for.
    pub(super) fn next(&mut self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        let _nobody_asks_any_more = self.replies.send(reply);
        // A bell that is full of rings is heard as well as with one more.
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
    fn there_is_a_ring_for_each_command() {
        let (orders, mut desk) = Orders::open().unwrap();
        assert_eq!(desk.answer_bell(), Some(0), "nobody has rung");
        for number in 0..3 {
            orders.send(order(number)).unwrap();
        }
        // One that is in the channel and was not rung for yet.
        orders.commands.send(order(3)).unwrap();
        assert_eq!(desk.answer_bell(), Some(3));
        for number in 0..3 {
            let Some(Command::Fault { order, .. }) = desk.next() else { panic!("{number} is missing") };
            assert_eq!(order.id, FaultId(number));
        }
        drop(orders);
        assert_eq!(desk.answer_bell(), None);
    }

    #[test]
    fn replies_come_in_order_and_a_full_bell_loses_none() {
        let (orders, mut desk) = Orders::open().unwrap();
        assert_eq!(orders.replies(Duration::ZERO).unwrap(), []);
        let reply = |number| Reply::Planned { order: FaultId(number), at: BusNs(number) };
        // More than any socket holds.
        for number in 0..100_000 {
            desk.reply(reply(number));
        }
        let replies = orders.replies(Duration::from_secs(20)).unwrap();
        assert_eq!(replies, (0..100_000).map(reply).collect::<Vec<_>>());
    }
}
