//! Options of CAN_RAW sockets.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;

use candor_core::filter::Filter;

use super::CanSocket;
use crate::socket_filter::{self, Instruction};
use crate::{signal, socket};

/// `CAN_RAW_FILTER_MAX`: maximum filters per socket.
pub const MAX_FILTERS: usize = 512;

/// `include/uapi/linux/can/raw.h`.
const CAN_RAW_XL_FRAMES: libc::c_int = 7;
/// A `struct can_raw_vcid_options`: flags, network of sent frames, network and mask of received ones.
const CAN_RAW_XL_VCID_OPTS: libc::c_int = 8;
/// `CAN_RAW_XL_VCID_TX_PASS` and `CAN_RAW_XL_VCID_RX_FILTER`, whose mask of 0 matches every network.
const EVERY_NETWORK: [u8; 4] = [0x02 | 0x04, 0, 0, 0];

/// Local echo (`CAN_RAW_LOOPBACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loopback {
    /// Other local sockets receive the frames, the default.
    On,
    /// Other local sockets and can-gw do not receive the frames. vcan, which has no wire, then delivers them nowhere.
    Off,
}

/// Receive timestamps (`SO_TIMESTAMPNS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stamps {
    /// On, with the drop count.
    On,
    Off,
}

#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Receives frames that match one of these, once each; empty for a send-only socket.
    pub filters: &'a [Filter],
    pub loopback: Loopback,
    pub stamps: Stamps,
    /// Mark of sent frames (`SO_MARK`), by which other sockets of the sender can recognise them. Needs CAP_NET_RAW,
    /// before Linux 5.17 CAP_NET_ADMIN.
    pub mark: Option<u32>,
    /// Classic BPF program that further filters received frames; empty for none.
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
        socket_filter::attach(fd, self.instructions)?;
        if self.stamps == Stamps::On {
            set_stamps(fd, Stamps::On)?;
        }
        Ok(())
    }
}

/// Options that can change while the socket is open. No change loses a waiting frame.
impl CanSocket {
    /// Sends and receives CAN XL frames of all virtual networks, too (`CAN_RAW_XL_FRAMES`). They are longer than the buffers of the methods that
    /// receive, which truncate them.
    ///
    /// # Kernel
    /// Since 6.1; other networks than 0 since 6.9.
    ///
    /// # Errors
    /// `ENOPROTOOPT` on older kernels.
    pub fn enable_xl(&self) -> io::Result<()> {
        socket::set_int(&self.fd, libc::SOL_CAN_RAW, CAN_RAW_XL_FRAMES, 1)?;
        match socket::set_slice(&self.fd, libc::SOL_CAN_RAW, CAN_RAW_XL_VCID_OPTS, &[u32::from_ne_bytes(EVERY_NETWORK)])
        {
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
            other => other,
        }
    }

    /// Replaces the filters. The kernel registers the new ones before it removes the old ones, so no frame that matches
    /// both is missed.
    ///
    /// # Errors
    /// `InvalidInput` for more than [`MAX_FILTERS`] filters, `ENODEV` if the interface is gone.
    pub fn set_filters(&self, filters: &[Filter]) -> io::Result<()> {
        set_filters(&self.fd, filters)
    }

    /// Switches local echo for subsequent frames.
    pub fn set_loopback(&self, loopback: Loopback) -> io::Result<()> {
        set_loopback(&self.fd, loopback)
    }

    /// Sets the mark of sent frames, and the program for received ones.
    ///
    /// # Errors
    /// `EPERM` without the capability that a mark needs.
    pub fn set_mark(&self, mark: u32, instructions: &[Instruction]) -> io::Result<()> {
        set_mark(&self.fd, mark)?;
        socket_filter::attach(&self.fd, instructions)
    }

    /// Sets the send buffer (`SO_SNDBUF`) in bytes, of which a frame takes about 760; the kernel doubles the value, and
    /// limits it to between 4608 and `net.core.wmem_max`.
    pub fn set_send_buffer(&self, bytes: u32) -> io::Result<()> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
    }

    /// Makes `read()` and `write()` fail with `EAGAIN` instead of blocking (`FIONBIO`).
    pub fn never_wait(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        // SAFETY: FIONBIO reads one int from the pointer, which refers to a live one. Its type differs between C libraries.
        socket::check(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::FIONBIO as _, &raw const on) }).map(drop)
    }

    /// Nudges this process for each arriving frame ([`nudge`](crate::signal::nudge)); as [`never_wait`](Self::never_wait)
    /// otherwise.
    ///
    /// # Errors
    /// Those of `fcntl()`.
    pub fn nudge_on_arrival(&self) -> io::Result<()> {
        signal::nudge_when_readable(&self.fd)
    }

    /// Switches receive timestamps; waiting frames get theirs when they are read.
    pub fn set_stamps(&self, stamps: Stamps) -> io::Result<()> {
        set_stamps(&self.fd, stamps)?;
        self.has_control.store(stamps == Stamps::On, Ordering::Relaxed);
        Ok(())
    }

    /// Current setting of the receive timestamps.
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
