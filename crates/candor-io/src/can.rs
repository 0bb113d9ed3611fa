//! CAN_RAW sockets: one per interface, frames in the kernel's layout.

mod adapter;
mod ancillary;
mod batch;
mod heard;
mod interface;
mod messages;
mod operational;
mod options;
mod poll;
mod rebind;
mod send_stamps;
mod timed;
mod wire_clock;

pub use adapter::{AdapterReceiver, TwiceStamped};
pub use batch::{Batch, First, InBatch, MAX_BATCH, SendList};
pub use heard::Heard;
pub use interface::InterfaceIndex;
pub use messages::Messages;
pub use operational::wait_until_operational;
pub use options::{Loopback, MAX_FILTERS, Options, Stamps};
pub use poll::{MAX_POLLED, Ready, poll, poll_each};
pub use send_stamps::{SendStage, SendStamp};
pub use timed::{ChangeReceiver, TimedSender};
pub use wire_clock::stamps_receptions;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;

use candor_core::frame::CANFD_MTU;

use crate::clock::RealtimeNs;
use crate::socket;
use ancillary::{ControlBuffer, Seen};

/// `SO_MEMINFO`: counters of a socket's memory, of which the last is the number of drops.
const SO_MEMINFO: libc::c_int = 55;
/// Busy-poll time in µs, that of the 2014 report.
const POLLING_US: libc::c_int = 300;
const SK_MEMINFO_VARS: usize = 9;
const SK_MEMINFO_DROPS: usize = 8;

/// A CAN_RAW socket bound to one interface. It sends and receives classic and FD frames, and does not receive its own
/// frames.
#[derive(Debug)]
pub struct CanSocket {
    fd: OwnedFd,
    /// Frames carry control messages.
    has_control: AtomicBool,
}

/// A frame with its receive timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Bytes of the frame in the buffer: 16 or 72.
    pub len: usize,
    /// Receive timestamp, if the socket was opened with [`Stamps::On`].
    pub at: Option<RealtimeNs>,
    /// Frames lost so far because the receive buffer was full; wraps.
    pub dropped: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// None: built without CAN, or the module can is not loaded.
    None,
    /// The core, but no CAN_RAW sockets.
    WithoutRaw,
    Raw,
}

/// Detects CAN support by opening a CAN_RAW socket.
///
/// # Errors
/// Other errnos of `socket()`.
pub fn support() -> io::Result<Support> {
    match socket::open(libc::PF_CAN, libc::SOCK_RAW, libc::CAN_RAW) {
        Ok(_socket) => Ok(Support::Raw),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT) => Ok(Support::None),
            Some(libc::EPROTONOSUPPORT) => Ok(Support::WithoutRaw),
            _ => Err(error),
        },
    }
}

/// Reason why [`CanSocket::poll_driver`] is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PollObstacle {
    /// It lacks the capability CAP_NET_ADMIN.
    Privilege,
    /// The kernel was built without `CONFIG_NET_RX_BUSY_POLL`, as Debian's real-time 6.1 was.
    Missing,
}

/// Tests [`CanSocket::poll_driver`]; `None` if it is available. The kernel must have CAN_RAW sockets.
///
/// # Errors
/// Any other error of `socket()` or `setsockopt()`.
pub fn poll_obstacle() -> io::Result<Option<PollObstacle>> {
    let socket = socket::open(libc::PF_CAN, libc::SOCK_RAW, libc::CAN_RAW)?;
    match socket::set_int(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, POLLING_US) {
        Ok(()) => Ok(None),
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM) => Ok(Some(PollObstacle::Privilege)),
            Some(libc::ENOPROTOOPT) => Ok(Some(PollObstacle::Missing)),
            _ => Err(error),
        },
    }
}

impl CanSocket {
    /// Opens a socket on an interface.
    ///
    /// # Kernel
    /// Needs the module can-raw (loaded on demand), no capability. FD frames since 3.6.
    ///
    /// # Errors
    /// `EAFNOSUPPORT` or `EPROTONOSUPPORT` if the kernel has no CAN, `ENODEV` if the interface is gone or no CAN
    /// device, `InvalidInput` for more than [`MAX_FILTERS`] filters.
    pub fn open(interface: InterfaceIndex, options: &Options<'_>) -> io::Result<Self> {
        let fd = socket::open(libc::PF_CAN, libc::SOCK_RAW, libc::CAN_RAW)?;
        options.apply(&fd)?;
        Self::bound(fd, interface, options.stamps == Stamps::On)
    }

    /// Binds a configured socket.
    fn bound(fd: OwnedFd, interface: InterfaceIndex, has_control: bool) -> io::Result<Self> {
        // Filters are set before the bind, so that no unwanted frame enters the receive buffer.
        socket::with_address(&fd, libc::bind, &address(interface)?)?;
        Ok(Self { fd, has_control: AtomicBool::new(has_control) })
    }

    /// Blocks until a frame arrives, and returns its size in the buffer: 16 or 72.
    ///
    /// # Errors
    /// `Interrupted` if a signal came, `ENETDOWN` once when the interface goes down, `ENODEV` once when it goes away.
    pub fn read(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<usize> {
        // SAFETY: the kernel writes at most `frame.len()` bytes into the exclusively borrowed array; the descriptor is
        // open as long as `self` is borrowed.
        socket::check_len(unsafe { libc::read(self.fd.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len()) })
    }

    /// Receives the next frame as [`read`](Self::read) does; `None` if none is waiting.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_waiting(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<Option<usize>> {
        let (data, len) = (frame.as_mut_ptr().cast(), frame.len());
        // SAFETY: the kernel writes at most `len` bytes into the exclusively borrowed array; the descriptor is open as long
        // as `self` is borrowed.
        let received = unsafe { libc::recv(self.fd.as_raw_fd(), data, len, libc::MSG_DONTWAIT) };
        match socket::check_len(received) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            received => received.map(Some),
        }
    }

    /// Lets the kernel poll the driver while a call blocks (`SO_BUSY_POLL`), for at most 300 µs, as in the 2014 report.
    ///
    /// # Kernel
    /// Since 3.11. Needs CAP_NET_ADMIN on 6.1, no capability on 6.12 and later. Without effect as long as `net/can` gives its
    /// sockets no NAPI number; true of all kernels up to 7.3.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENOPROTOOPT` if the kernel was built without it.
    pub fn poll_driver(&self) -> io::Result<()> {
        socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_BUSY_POLL, POLLING_US)
    }

    /// Sends a frame of 16 or 72 bytes; blocks while the send buffer of the socket is full.
    ///
    /// # Errors
    /// `ENOBUFS` if the interface's queue is full, `ENETDOWN` if the interface is down, `EINVAL` if the frame does not
    /// fit its MTU, `ENXIO` or `ENODEV` if it is gone, `Interrupted` if a signal came.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length describe the borrowed slice, which the kernel only reads; the descriptor is open
        // as long as `self` is borrowed.
        let written = unsafe { libc::write(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        // CAN_RAW accepts whole frames only.
        socket::check_len(written).map(|_len| ())
    }

    /// Sends a frame of 16 or 72 bytes without blocking.
    ///
    /// # Errors
    /// As [`write`](Self::write), and `EAGAIN` if the socket's own share of waiting frames is used up.
    pub fn send_now(&self, frame: &[u8]) -> io::Result<()> {
        let (data, flags) = (frame.as_ptr().cast(), libc::MSG_DONTWAIT);
        // SAFETY: pointer and length describe the borrowed slice, which the kernel only reads; the descriptor is open
        // as long as `self` is borrowed.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), data, frame.len(), flags) };
        socket::check_len(sent).map(|_len| ())
    }

    /// Blocks until a frame arrives, and returns it with receive timestamp and drop count.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn recv_stamped(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<Stamped> {
        self.recv(frame, 0)
    }

    /// Receives the next frame as [`recv_stamped`](Self::recv_stamped) does; `None` if none is waiting.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn recv_waiting(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<Option<Stamped>> {
        match self.recv(frame, libc::MSG_DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            result => result.map(Some),
        }
    }

    fn recv(&self, frame: &mut [u8; CANFD_MTU], flags: libc::c_int) -> io::Result<Stamped> {
        let (len, Seen { stamp, dropped }) =
            self.recv_with(frame, flags, |control, _flags| ancillary::parse(control))?;
        Ok(Stamped { len, at: stamp, dropped })
    }

    /// Receives a frame and parses its control messages and flags.
    #[inline]
    fn recv_with<T>(
        &self,
        frame: &mut [u8],
        flags: libc::c_int,
        parse: impl FnOnce(&[u8], libc::c_int) -> T,
    ) -> io::Result<(usize, T)> {
        let mut control = ControlBuffer::new();
        let mut iov = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        // SAFETY: msghdr consists of integers and raw pointers, for which all-zero bytes are valid values.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut iov;
        message.msg_iovlen = 1;
        control.attach_to(&mut message);
        // SAFETY: `message` points to one live iovec over the exclusively borrowed frame and to the live control
        // buffer, each with its true length; all outlive the call, and nothing else refers to them during it.
        let len = socket::check_len(unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, flags) })?;
        Ok((len, parse(control.written(&message), message.msg_flags)))
    }

    /// Sets the receive buffer to this many bytes (a frame takes about 800), as root also beyond `net.core.rmem_max`. A
    /// smaller limit of the kernel is not an error.
    ///
    /// # Errors
    /// Those of `setsockopt()`.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
            .or_else(|_not_root| socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
    }

    /// Number of frames lost because the receive buffer was full; wraps.
    ///
    /// # Kernel
    /// Since 4.12 (`SO_MEMINFO`).
    ///
    /// # Errors
    /// `ENOPROTOOPT` on older kernels.
    pub fn dropped(&self) -> io::Result<u32> {
        let values: [u32; SK_MEMINFO_VARS] = socket::get_array(&self.fd, libc::SOL_SOCKET, SO_MEMINFO)?;
        Ok(values[SK_MEMINFO_DROPS])
    }
}

impl AsRawFd for CanSocket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for CanSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn address(interface: InterfaceIndex) -> io::Result<libc::sockaddr_can> {
    // SAFETY: sockaddr_can consists of integers and a union of structs of integers, for which all-zero bytes are valid.
    let mut address: libc::sockaddr_can = unsafe { std::mem::zeroed() };
    address.can_family = libc::sa_family_t::try_from(libc::AF_CAN).expect("AF_CAN is 29");
    address.can_ifindex = libc::c_int::try_from(interface.number()).map_err(io::Error::other)?;
    Ok(address)
}
