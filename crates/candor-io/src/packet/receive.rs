//! Receiving through a ring.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use candor_core::frame::CANFD_MTU;

use super::filter::{self, Instruction};
use super::layout::{self, FREE, LOSING, SLOT_BYTES, USER};
use super::mapping::Mapping;
use crate::can::InterfaceIndex;
use crate::clock::RealtimeNs;
use crate::socket;

/// Which frames reach the ring before its filter looks at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Takes {
    /// Classic frames (`ETH_P_CAN`).
    Classic,
    /// FD frames (`ETH_P_CANFD`).
    Fd,
    /// Both, in the order in which they came (`ETH_P_ALL`).
    Both,
}

/// A PF_PACKET socket that receives through a ring. It hears everything on its interface that comes in, also what this
/// process sent with echo, unless the filter knows it by its mark; it does not hear what goes out.
#[derive(Debug)]
pub struct ReceiveRing {
    mapping: Mapping,
    /// The next slot that the kernel fills.
    next: usize,
    /// Frames lost since the last [`take_lost`](Self::take_lost).
    lost: u32,
    fd: OwnedFd,
}

/// A frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// `struct can_frame` or `struct canfd_frame`, or whatever else came.
    pub bytes: &'a [u8],
    /// When the kernel got it.
    pub at: RealtimeNs,
    /// Whether another one waits behind it.
    pub more: bool,
}

impl ReceiveRing {
    /// Opens a ring on an interface for at least so many frames; those that its filter takes.
    ///
    /// # Kernel
    /// Needs CAP_NET_RAW. A waiting frame takes 256 bytes of locked memory.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENODEV` if the interface is gone, `EINVAL` for a filter that the kernel does not
    /// take, `ENOMEM`.
    pub fn open(
        interface: InterfaceIndex,
        takes: Takes,
        instructions: &[Instruction],
        slots: usize,
    ) -> io::Result<Self> {
        let fd = super::open()?;
        filter::attach(&fd, instructions)?;
        // Kernels before 4.20 do not know it; a filter can look at the packet type instead.
        match socket::set_int(&fd, libc::SOL_PACKET, layout::PACKET_IGNORE_OUTGOING, 1) {
            Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => return Err(error),
            _ => {}
        }
        let mapping = Mapping::new(&fd, libc::PACKET_RX_RING, &layout::request(slots)?)?;
        let protocol = match takes {
            Takes::Classic => layout::ETH_P_CAN,
            Takes::Fd => libc::ETH_P_CANFD,
            Takes::Both => libc::ETH_P_ALL,
        };
        socket::with_address(&fd, libc::bind, &super::address(interface, protocol)?)?;
        Ok(Self { mapping, next: 0, lost: 0, fd })
    }

    /// Frames that fit into the ring.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.mapping.slots()
    }

    /// Waits until a frame is there; `false` if the time ran out.
    ///
    /// # Errors
    /// `Interrupted` if a signal came, `ENETDOWN` once when the interface goes down or away.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut entry = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN | libc::POLLERR, revents: 0 };
        let time = timeout.map(socket::timespec);
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: one live, exclusively borrowed pollfd; `time` is null or points to the live timespec above, which the
        // call only reads; a null signal mask leaves signals alone.
        socket::check(unsafe { libc::ppoll(&raw mut entry, 1, time, std::ptr::null()) })?;
        if entry.revents & libc::POLLERR != 0 {
            self.fault()?;
        }
        Ok(entry.revents & libc::POLLIN != 0)
    }

    /// The error that the kernel has noted for the socket, told once (`SO_ERROR`).
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn fault(&self) -> io::Result<()> {
        match socket::get_int(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Whether a frame is there.
    #[must_use]
    pub fn has_frame(&self) -> bool {
        self.mapping.status(self.next) & USER != 0
    }

    /// Gives the oldest frame to `take`, and the slot back to the kernel; `false` if there is none.
    pub fn receive(&mut self, take: impl FnOnce(Received<'_>)) -> bool {
        let Self { mapping, next, .. } = self;
        let status = mapping.status(*next);
        if status & USER == 0 {
            return false;
        }
        let after = mapping.after(*next);
        let header = mapping.header(*next);
        // SAFETY: the status says that the slot is ours, so the kernel writes nothing into it until the status is set
        // back below. The header is aligned and inside the mapping, and consists of integers.
        let header = unsafe { header.read() };
        let (mac, sec, nsec) = (header.tp_mac, header.tp_sec, header.tp_nsec);
        let len = (header.tp_snaplen as usize).min(CANFD_MTU + 1);
        let start = usize::from(mac);
        if start + len <= SLOT_BYTES {
            // SAFETY: start and length are inside the slot, which is ours until its status is set back after the last
            // use of the slice; nobody else in this process writes into it, because `self` is borrowed exclusively.
            let bytes = unsafe { std::slice::from_raw_parts(mapping.at(*next, start), len) };
            let at = RealtimeNs(i64::from(sec) * 1_000_000_000 + i64::from(nsec));
            take(Received { bytes, at, more: mapping.status(after) & USER != 0 });
        }
        mapping.set_status(*next, FREE);
        *next = after;
        if status & LOSING != 0 {
            self.count_lost();
        }
        true
    }

    /// Frames that were lost since the last call of this or the next one, as far as it is known without asking the kernel.
    pub fn known_lost(&mut self) -> u32 {
        std::mem::take(&mut self.lost)
    }

    /// Frames that were lost since the last call because the ring was full.
    pub fn take_lost(&mut self) -> u32 {
        self.count_lost();
        std::mem::take(&mut self.lost)
    }

    /// Reading them sets the kernel's numbers back.
    #[cold]
    fn count_lost(&mut self) {
        let statistics: io::Result<[u32; 2]> = socket::get_array(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        if let Ok([_packets, drops]) = statistics {
            self.lost = self.lost.wrapping_add(drops);
        }
    }
}
