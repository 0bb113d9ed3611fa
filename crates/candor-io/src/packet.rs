//! PF_PACKET sockets with memory-mapped rings (`TPACKET_V2`).
//!
//! A receive ring needs no system call for a frame that has arrived, a transmit ring one for all queued frames. Unlike
//! CAN_RAW, these sockets do not validate frames, receive their own frames, and do not mark FD frames.
//!
//! # Source
//! [`tpacket_rcv()`](https://github.com/gregkh/linux/blob/v6.1.192/net/packet/af_packet.c#L2310),
//! [`tpacket_snd()`](https://github.com/gregkh/linux/blob/v6.1.192/net/packet/af_packet.c#L2797);
//! [Packet MMAP](https://docs.kernel.org/networking/packet_mmap.html).

mod frame_ring;
mod layout;
mod mapping;
mod receive;
mod transmit;

pub use receive::{ReceiveRing, Received, RingFormats, Senders, TapDirection};
pub use transmit::{Batch, TransmitRing};

pub use crate::socket_filter::{Instruction, MAX_INSTRUCTIONS};

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::can::InterfaceIndex;
use crate::socket;

/// Reason why packet sockets are not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// It lacks the capability CAP_NET_RAW.
    Privilege,
    /// No PF_PACKET in the kernel, or the module af_packet is not loaded.
    Missing,
}

/// Tests packet sockets; `None` if they are available.
///
/// # Errors
/// Other errnos of `socket()`.
pub fn obstacle() -> io::Result<Option<Obstacle>> {
    match open() {
        Ok(_socket) => Ok(None),
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Ok(Some(Obstacle::Privilege)),
            Some(libc::EAFNOSUPPORT) => Ok(Some(Obstacle::Missing)),
            _ => Err(error),
        },
    }
}

/// A socket that receives nothing yet.
fn open() -> io::Result<OwnedFd> {
    let fd = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    socket::set_int(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
    Ok(fd)
}

fn address(interface: InterfaceIndex, protocol: libc::c_int) -> io::Result<libc::sockaddr_ll> {
    // SAFETY: sockaddr_ll consists of integers and an array of integers, for which all-zero bytes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).map_err(io::Error::other)?;
    address.sll_ifindex = libc::c_int::try_from(interface.number()).map_err(io::Error::other)?;
    address.sll_protocol = u16::try_from(protocol).map_err(io::Error::other)?.to_be();
    Ok(address)
}
/// The number of the interface to which a socket is bound; `None` if it is gone.
fn interface(fd: &OwnedFd) -> io::Result<Option<u32>> {
    // SAFETY: sockaddr_ll consists of integers and an array of integers, for which all-zero bytes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut len = socket::socklen::<libc::sockaddr_ll>();
    // SAFETY: the address is live and as long as said, the kernel writes at most so much of it, and the descriptor is open as
    // long as it is borrowed.
    socket::check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
    Ok(u32::try_from(address.sll_ifindex).ok())
}
