//! What a CAN_RAW socket is to receive and who hears what it sends.

use std::io;
use std::os::fd::OwnedFd;

use candor_core::filter::Filter;

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
        if self.filters.len() > MAX_FILTERS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let filters: Vec<_> =
            self.filters.iter().map(|filter| libc::can_filter { can_id: filter.id, can_mask: filter.mask }).collect();
        socket::set_slice(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_FILTER, &filters)?;
        socket::set_int(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_FD_FRAMES, 1)?;
        if self.loopback == Loopback::Off {
            socket::set_int(fd, libc::SOL_CAN_RAW, libc::CAN_RAW_LOOPBACK, 0)?;
        }
        if let Some(mark) = self.mark {
            socket::set_slice(fd, libc::SOL_SOCKET, libc::SO_MARK, &[mark])?;
        }
        packet::attach(fd, self.instructions)?;
        if self.stamps == Stamps::On {
            socket::set_int(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
            socket::set_int(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        }
        Ok(())
    }
}
