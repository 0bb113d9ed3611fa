use std::io;

use candor_core::frame::CANFD_MTU;
use candor_io::can::{CanSocket, Options, SendList};
use candor_io::packet::TransmitRing;
use candor_io::uring::UringSender;

use super::{AT_ONCE, Way};

/// As in the engines.
const SLOTS: usize = 128;

pub(super) trait Transmit: Send + Sized + 'static {
    fn open(way: Way) -> io::Result<Self>;

    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// True if frames are collected into batches; `more`: another one waits.
    fn collects(&self, _more: bool) -> bool {
        false
    }

    fn keep(&mut self, _frame: &[u8]) {}

    fn holds(&self) -> bool {
        false
    }

    fn send_kept(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) trait Together: Send + Sized + 'static {
    fn open(way: Way) -> io::Result<Self>;

    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()>;
}

pub(super) struct Write(CanSocket);

/// One system call for all kept frames.
pub(super) struct Collecting<T> {
    kept: Box<[([u8; CANFD_MTU], usize); AT_ONCE]>,
    count: usize,
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

impl Together for MmsgCalls {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self(socket(way)?, SendList::default()))
    }

    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        self.0.send_batch(&mut self.1, frames).map(drop)
    }
}

impl Together for RingCalls {
    fn open(way: Way) -> io::Result<Self> {
        TransmitRing::open(way.to, SLOTS, None).map(Self)
    }

    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        self.0.send(frames).refused.map_or(Ok(()), Err)
    }
}

impl Together for UringCalls {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self(socket(way)?, UringSender::new()?))
    }

    fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let (_taken, refused) = self.1.send(&self.0, frames)?;
        refused.map_or(Ok(()), Err)
    }
}

impl Transmit for Write {
    fn open(way: Way) -> io::Result<Self> {
        socket(way).map(Self)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.send_now(frame)
    }
}

impl<T: Together> Transmit for Collecting<T> {
    fn open(way: Way) -> io::Result<Self> {
        Ok(Self { kept: Box::new([([0; CANFD_MTU], 0); AT_ONCE]), count: 0, calls: T::open(way)? })
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.calls.send(std::iter::once(frame))
    }

    fn collects(&self, _more: bool) -> bool {
        true
    }

    fn keep(&mut self, frame: &[u8]) {
        if let Some((bytes, len)) = self.kept.get_mut(self.count) {
            *len = frame.len().min(CANFD_MTU);
            bytes[..*len].copy_from_slice(&frame[..*len]);
            self.count += 1;
        }
    }

    fn holds(&self) -> bool {
        self.count > 0
    }

    fn send_kept(&mut self) -> io::Result<()> {
        let count = std::mem::take(&mut self.count);
        self.calls.send(self.kept[..count].iter().map(|(bytes, len)| &bytes[..*len]))
    }
}

impl Transmit for Adaptive {
    fn open(way: Way) -> io::Result<Self> {
        let ring = way.ring_echoes_right.then(|| Ring::open(way)).transpose()?;
        Ok(Self(Write::open(way)?, ring))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame)
    }

    fn collects(&self, more: bool) -> bool {
        more && self.1.is_some()
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
