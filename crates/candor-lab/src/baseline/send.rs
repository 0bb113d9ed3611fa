use std::io;

use candor_core::frame::CANFD_MTU;
use candor_io::can::{CanSocket, Options, SendList};
use candor_io::packet::TransmitRing;
use candor_io::uring::UringSender;

use super::{AT_ONCE, Way};

/// As in the engines.
const SLOTS: usize = 128;

pub(super) trait Transmit: Send + 'static {
    /// Whether frames are kept to be sent together; `more`: another one waits.
    fn collects(&self, more: bool) -> bool;

    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    fn keep(&mut self, frame: &[u8]);

    fn holds(&self) -> bool;

    fn send_kept(&mut self) -> io::Result<()>;
}

struct Kept {
    frames: Box<[([u8; CANFD_MTU], usize); AT_ONCE]>,
    count: usize,
}

impl Kept {
    fn new() -> Self {
        Self { frames: Box::new([([0; CANFD_MTU], 0); AT_ONCE]), count: 0 }
    }

    fn push(&mut self, frame: &[u8]) {
        if let Some((bytes, len)) = self.frames.get_mut(self.count) {
            *len = frame.len().min(CANFD_MTU);
            bytes[..*len].copy_from_slice(&frame[..*len]);
            self.count += 1;
        }
    }

    fn take(&mut self) -> impl Iterator<Item = &[u8]> {
        let count = std::mem::take(&mut self.count);
        self.frames[..count].iter().map(|(bytes, len)| &bytes[..*len])
    }
}

pub(super) trait Together: Send + 'static {
    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()>;
}

pub(super) struct Write(CanSocket);

/// One system call for all kept frames.
pub(super) struct Collecting<T> {
    kept: Kept,
    calls: T,
}

pub(super) struct MmsgCalls(CanSocket, SendList);
pub(super) struct RingCalls(TransmitRing);
pub(super) struct UringCalls(CanSocket, UringSender);

pub(super) type Mmsg = Collecting<MmsgCalls>;
pub(super) type Ring = Collecting<RingCalls>;
pub(super) type Uring = Collecting<UringCalls>;

/// [`Write`] for a single frame, [`Ring`] for several if its echo is right.
pub(super) struct Adaptive(Write, Option<Ring>);

fn socket(way: Way) -> io::Result<CanSocket> {
    CanSocket::open(way.to, &Options { filters: &[], loopback: way.loopback, ..Options::default() })
}

impl Write {
    pub(super) fn open(way: Way) -> io::Result<Self> {
        socket(way).map(Self)
    }
}

impl Mmsg {
    pub(super) fn open(way: Way) -> io::Result<Self> {
        Ok(Self { kept: Kept::new(), calls: MmsgCalls(socket(way)?, SendList::default()) })
    }
}

impl Ring {
    pub(super) fn open(way: Way) -> io::Result<Self> {
        Ok(Self { kept: Kept::new(), calls: RingCalls(TransmitRing::open(way.to, SLOTS, None)?) })
    }
}

impl Uring {
    pub(super) fn open(way: Way) -> io::Result<Self> {
        Ok(Self { kept: Kept::new(), calls: UringCalls(socket(way)?, UringSender::new()?) })
    }
}

impl Adaptive {
    pub(super) fn open(way: Way) -> io::Result<Self> {
        let ring = way.ring_echoes_right.then(|| Ring::open(way)).transpose()?;
        Ok(Self(Write::open(way)?, ring))
    }
}

impl Together for MmsgCalls {
    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        self.0.send_batch(&mut self.1, frames).map(drop)
    }
}

impl Together for RingCalls {
    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        self.0.send(frames).refused.map_or(Ok(()), Err)
    }
}

impl Together for UringCalls {
    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let (_taken, refused) = self.1.send(&self.0, frames)?;
        refused.map_or(Ok(()), Err)
    }
}

impl Transmit for Write {
    fn collects(&self, _more: bool) -> bool {
        false
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.send_now(frame)
    }

    fn keep(&mut self, _frame: &[u8]) {}

    fn holds(&self) -> bool {
        false
    }

    fn send_kept(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Together> Transmit for Collecting<T> {
    fn collects(&self, _more: bool) -> bool {
        true
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.calls.send(std::iter::once(frame))
    }

    fn keep(&mut self, frame: &[u8]) {
        self.kept.push(frame);
    }

    fn holds(&self) -> bool {
        self.kept.count > 0
    }

    fn send_kept(&mut self) -> io::Result<()> {
        self.calls.send(self.kept.take())
    }
}

impl Transmit for Adaptive {
    fn collects(&self, more: bool) -> bool {
        more && self.1.is_some()
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame)
    }

    fn keep(&mut self, frame: &[u8]) {
        if let Some(ring) = &mut self.1 {
            ring.keep(frame);
        }
    }

    fn holds(&self) -> bool {
        self.1.as_ref().is_some_and(Transmit::holds)
    }

    fn send_kept(&mut self) -> io::Result<()> {
        self.1.as_mut().map_or(Ok(()), Transmit::send_kept)
    }
}
