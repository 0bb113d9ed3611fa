use std::io;

use candor_core::filter::Filter;
use candor_core::frame::CANFD_MTU;
use candor_io::can::{Batch, CanSocket, First, Loopback, Options};
use candor_io::packet::{ReceiveRing, RingFormats};
use candor_io::uring::UringReceiver;

use super::{AT_ONCE, Way};

/// As in the engines.
const SLOTS: usize = 512;

pub(super) trait Receive: Send + Sized + 'static {
    fn open(way: Way) -> io::Result<Self>;

    /// Waits for frames and passes each to `take`, with whether another is known to wait. `all`: look for a second
    /// frame even if that costs a system call.
    fn receive(&mut self, all: bool, take: impl FnMut(&[u8], bool)) -> io::Result<()>;
}

pub(super) struct Read {
    socket: CanSocket,
    bytes: [u8; CANFD_MTU],
}

/// With `SO_BUSY_POLL`.
pub(super) struct BusyPoll(Read);

/// Non-blocking `recv()` in a loop.
pub(super) struct NonBlocking(Read);

pub(super) struct Mmsg {
    socket: CanSocket,
    batch: Box<Batch>,
}

/// Ring of a PF_PACKET socket; `BUSY`: polled.
pub(super) struct Ring<const BUSY: bool>(ReceiveRing);

/// Multishot receive of io_uring.
pub(super) struct Uring {
    socket: CanSocket,
    receiver: UringReceiver,
}

fn socket(way: Way) -> io::Result<CanSocket> {
    CanSocket::open(way.from, &Options { filters: &[Filter::ALL], loopback: Loopback::Off, ..Options::default() })
}

impl Read {
    fn take_rest(&mut self, all: bool, take: &mut impl FnMut(&[u8], bool)) -> io::Result<()> {
        for _ in 1..if all { AT_ONCE } else { 1 } {
            let Some(len) = self.socket.read_waiting(&mut self.bytes)? else { break };
            take(&self.bytes[..len], false);
        }
        Ok(())
    }
}

impl Receive for Read {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self { socket: socket(way)?, bytes: [0; CANFD_MTU] })
    }

    fn receive(&mut self, all: bool, mut take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        let len = self.socket.read(&mut self.bytes)?;
        take(&self.bytes[..len], false);
        self.take_rest(all, &mut take)
    }
}

impl Receive for BusyPoll {
    fn open(way: Way) -> io::Result<Self> {
        let read = Read::open(way)?;
        read.socket.poll_driver()?;
        Ok(Self(read))
    }

    fn receive(&mut self, all: bool, take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        self.0.receive(all, take)
    }
}

impl Receive for NonBlocking {
    fn open(way: Way) -> io::Result<Self> {
        Read::open(way).map(Self)
    }

    fn receive(&mut self, all: bool, mut take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        let Read { socket, bytes } = &mut self.0;
        let len = loop {
            if let Some(len) = socket.read_waiting(bytes)? {
                break len;
            }
        };
        take(&bytes[..len], false);
        self.0.take_rest(all, &mut take)
    }
}

impl Receive for Mmsg {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self { socket: socket(way)?, batch: Box::default() })
    }

    fn receive(&mut self, _all: bool, mut take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        let mut left = self.socket.recv_batch(&mut self.batch, First::Waits)?;
        for received in self.batch.frames() {
            left -= 1;
            take(received.bytes, left > 0);
        }
        Ok(())
    }
}

impl<const BUSY: bool> Receive for Ring<BUSY> {
    fn open(way: Way) -> io::Result<Self> {
        ReceiveRing::open(way.from, RingFormats::Both, &[], SLOTS).map(Self)
    }

    fn receive(&mut self, _all: bool, mut take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        while !self.0.has_frame() {
            if !BUSY {
                self.0.wait(None)?;
            }
        }
        for _ in 0..AT_ONCE {
            let mut more = false;
            self.0.receive(|received| {
                more = received.more;
                take(received.bytes, more);
            });
            if !more {
                break;
            }
        }
        Ok(())
    }
}

impl Receive for Uring {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self { socket: socket(way)?, receiver: UringReceiver::new()? })
    }

    fn receive(&mut self, _all: bool, take: impl FnMut(&[u8], bool)) -> io::Result<()> {
        self.receiver.receive(&self.socket, None, AT_ONCE, take)
    }
}
