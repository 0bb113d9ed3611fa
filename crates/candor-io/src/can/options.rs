//! What a CAN_RAW socket is to receive and who hears what it sends.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;

use candor_core::filter::Filter;

use super::CanSocket;
use crate::packet::{self, Instruction};
use crate::socket;

/// `CAN_RAW_FILTER_MAX`: filters that one socket can have.
pub const MAX_FILTERS: usize = 512;

/// Whether other sockets of this machine see what a socket sends (`CAN_RAW_LOOPBACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loopback {
    /// They do, as with every ordinary sender.
    On,
    /// They do not; nor do can-gw jobs. On vcan, which has no wire, the frame then reaches nobody.
    Off,
}

/// Whether the kernel notes when it got a frame (`SO_TIMESTAMPNS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stamps {
    /// It does, and counts the frames that the socket lost.
    On,
    /// It need not.
    Off,
}

/// How a socket is opened.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Frames that match one of these are received, each once; none for a socket that only sends.
    pub filters: &'a [Filter],
    /// Do other sockets of this machine see what is sent?
    pub loopback: Loopback,
    /// Receive stamps?
    pub stamps: Stamps,
    /// The mark that what is sent bears (`SO_MARK`), so that other sockets of its sender can know it. Needs CAP_NET_RAW,
    /// before 5.17 CAP_NET_ADMIN.
    pub mark: Option<u32>,
    /// A program that passes over some of the frames that match a filter; an empty one passes over none.
    pub instructions: &'a [Instruction],
}

impl Default for Options<'_> {
    /// All data and remote frames, seen by others, without stamps.
    fn default() -> Self {
        Self { filters: &[Filter::ALL], loopback: Loopback::On, stamps: Stamps::Off, mark: None, instructions: &[] }
    }
}

impl Options<'_> {
    pub(super) fn apply(&self, fd: &OwnedFd) -> io::Result<()> {
        set_filters(fd, self.filters)?;
        socket::set_int(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_FD_FRAMES, 1)?;
        if self.loopback == Loopback::Off {
            set_loopback(fd, Loopback::Off)?;
        }
        if let Some(mark) = self.mark {
            set_mark(fd, mark)?;
        }
        packet::attach(fd, self.instructions)?;
        if self.stamps == Stamps::On {
            set_stamps(fd, Stamps::On)?;
        }
        Ok(())
    }
}

/// What can become different about a socket that is open. Nothing of this loses a frame that waits.
impl CanSocket {
    /// Frames that match one of these are received from now on. The kernel knows the new filters before it forgets the old
    /// ones, so none is missed that both take.
    ///
    /// # Errors
    /// `InvalidInput` for more than [`MAX_FILTERS`] filters, `ENODEV` if the interface is gone.
    pub fn set_filters(&self, filters: &[Filter]) -> io::Result<()> {
        set_filters(&self.fd, filters)
    }

    /// Whether others see what is sent from now on.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn set_loopback(&self, loopback: Loopback) -> io::Result<()> {
        set_loopback(&self.fd, loopback)
    }

    /// What is sent from now on bears this mark, and what is received goes through this program.
    ///
    /// # Errors
    /// `EPERM` without the capability that a mark needs.
    pub fn set_mark(&self, mark: u32, instructions: &[Instruction]) -> io::Result<()> {
        set_mark(&self.fd, mark)?;
        packet::attach(&self.fd, instructions)
    }

    /// So many bytes of what was sent may wait before the interface (`SO_SNDBUF`), of which a frame takes about 760; the kernel
    /// doubles the number, and grants at least 4608 and at most `net.core.wmem_max`.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn set_send_buffer(&self, bytes: u32) -> io::Result<()> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
    }

    /// `read()` and `write()` give up from now on where they would have to wait (`FIONBIO`): with `EAGAIN`.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn never_wait(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        // SAFETY: FIONBIO reads one int from the pointer, which refers to a live one. Its type differs between C libraries.
        socket::check(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::FIONBIO as _, &raw const on) }).map(drop)
    }

    /// Whether frames have receive stamps from now on; those that wait get theirs when they are read.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn set_stamps(&self, stamps: Stamps) -> io::Result<()> {
        set_stamps(&self.fd, stamps)?;
        self.has_control.store(stamps == Stamps::On, Ordering::Relaxed);
        Ok(())
    }

    /// Whether frames have receive stamps.
    #[must_use]
    pub fn stamps(&self) -> Stamps {
        if self.has_control.load(Ordering::Relaxed) { Stamps::On } else { Stamps::Off }
    }
}

fn set_filters(fd: &OwnedFd, filters: &[Filter]) -> io::Result<()> {
    if filters.len() > MAX_FILTERS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let filters: Vec<_> =
        filters.iter().map(|filter| libc::can_filter { can_id: filter.id, can_mask: filter.mask }).collect();
    socket::set_slice(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_FILTER, &filters)
}

fn set_loopback(fd: &OwnedFd, loopback: Loopback) -> io::Result<()> {
    socket::set_int(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_LOOPBACK, (loopback == Loopback::On).into())
}

fn set_mark(fd: &OwnedFd, mark: u32) -> io::Result<()> {
    socket::set_slice(fd, libc::SOL_SOCKET, libc::SO_MARK, &[mark])
}

fn set_stamps(fd: &OwnedFd, stamps: Stamps) -> io::Result<()> {
    let is_on = (stamps == Stamps::On).into();
    socket::set_int(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, is_on)?;
    socket::set_int(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, is_on)
}
