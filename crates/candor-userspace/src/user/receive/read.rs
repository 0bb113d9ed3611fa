//! `read`, `readnb` and `readbusy`: a `read()` for each frame.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_core::frame::CANFD_MTU;
use candor_io::can::{self, Stamps};

use super::{Arrived, MAX_AT_ONCE, Receive};
use crate::user::port::Port;

/// Polls of an empty socket before the thread checks for orders.
const LOOKS: u32 = 64;

/// `read`: blocking `read()`.
#[derive(Debug)]
pub(in crate::user) struct Read(Socket);

/// `readnb`: non-blocking `read()` in a loop.
#[derive(Debug)]
pub(in crate::user) struct Spinning(Socket);

/// `readbusy`: blocking `read()` with `SO_BUSY_POLL`.
///
/// No CAN driver sets the NAPI id that busy polling needs, so this behaves like `read`.
#[derive(Debug)]
pub(in crate::user) struct BusyPolled(Read);

#[derive(Debug)]
struct Socket {
    port: Arc<Port>,
    bytes: [u8; CANFD_MTU],
}

impl Socket {
    fn open(port: &Arc<Port>) -> Self {
        Self { port: Arc::clone(port), bytes: [0; CANFD_MTU] }
    }

    /// Receives a frame without blocking; false if there is none.
    fn take_waiting(&mut self, take: &mut impl FnMut(Arrived<'_>)) -> io::Result<bool> {
        let Self { port, bytes } = self;
        let received = if port.stamps() == Stamps::On {
            port.socket.recv_waiting(bytes)?.map(|stamped| (stamped.len, stamped.at))
        } else {
            port.socket.read_waiting(bytes)?.map(|len| (len, None))
        };
        let Some((len, at)) = received else { return Ok(false) };
        take(Arrived { bytes: &bytes[..len], at, more: false });
        Ok(true)
    }

    /// Receives the frames that are waiting after the first.
    fn take_rest(&mut self, all: bool, take: &mut impl FnMut(Arrived<'_>)) -> io::Result<()> {
        let mut left = if all { MAX_AT_ONCE - 1 } else { 0 };
        while left > 0 && self.take_waiting(take)? {
            left -= 1;
        }
        Ok(())
    }
}

impl Receive for Read {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self(Socket::open(port)))
    }

    fn receive(&mut self, patience: Option<Duration>, all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        let Socket { port, bytes } = &mut self.0;
        if patience.is_some() && can::poll(&[&port.socket], patience)?.is_empty() {
            return Ok(());
        }
        let (len, at) = if port.stamps() == Stamps::On {
            let stamped = port.socket.recv_stamped(bytes)?;
            (stamped.len, stamped.at)
        } else {
            (port.socket.read(bytes)?, None)
        };
        take(Arrived { bytes: &bytes[..len], at, more: false });
        self.0.take_rest(all, &mut take)
    }
}

impl Receive for Spinning {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self(Socket::open(port)))
    }

    fn receive(&mut self, _patience: Option<Duration>, all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        for _ in 0..LOOKS {
            if self.0.take_waiting(&mut take)? {
                return self.0.take_rest(all, &mut take);
            }
        }
        Ok(())
    }
}

impl Receive for BusyPolled {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        port.socket.poll_driver()?;
        Read::open(port).map(Self)
    }

    fn receive(&mut self, patience: Option<Duration>, all: bool, take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        self.0.receive(patience, all, take)
    }

    /// The supervisor has replaced the socket, which lacks the option.
    fn follow(&mut self) -> io::Result<()> {
        self.0.0.port.socket.poll_driver()
    }
}
