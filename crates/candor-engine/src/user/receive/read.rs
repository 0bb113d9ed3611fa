//! `read`, `readnb` and `readbusy`: a `read()` for each frame.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_core::frame::CANFD_MTU;
use candor_io::can::{self, Stamps};

use super::{Arrived, MAX_AT_ONCE, Receive};
use crate::user::port::Port;

/// How often a spinning receiver asks in vain before its thread looks for orders.
const LOOKS: u32 = 64;

/// `read`: a call that waits.
#[derive(Debug)]
pub(in crate::user) struct Read(Socket);

/// `readnb`: a call that does not wait, again and again.
#[derive(Debug)]
pub(in crate::user) struct Spinning(Socket);

/// `readbusy`: a call that waits, on a socket that asks the kernel to poll the driver meanwhile.
///
/// No CAN driver of today's kernels has what the kernel would poll (a NAPI number at the socket), so this is `read`.
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

    /// Takes a frame that waits; `false` if none does.
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

    /// Takes the frames that wait behind the first.
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

    /// The supervisor has exchanged the socket, and the new one has not been asked yet.
    fn follow(&mut self) -> io::Result<()> {
        self.0.0.port.socket.poll_driver()
    }
}
