//! NETLINK_ROUTE sockets, and a watch for interface changes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::signal;
use crate::socket;

/// Initial receive buffer; a dump datagram has at most 32 KiB.
const FIRST_BUFFER_BYTES: usize = 32 * 1024;
/// Holds a dump of a few hundred jobs, so that the kernel does not pause.
const RECEIVE_BUFFER_BYTES: libc::c_int = 1024 * 1024;
/// Timeout. The kernel answers from within `send()`, so a longer silence is a fault.
const ANSWER_WITHIN_SECONDS: u8 = 10;

/// A socket that exchanges messages with rtnetlink only.
#[derive(Debug)]
pub struct RouteSocket {
    fd: OwnedFd,
}

impl RouteSocket {
    /// Opens the socket, with extended and short acknowledgements.
    ///
    /// # Kernel
    /// `NETLINK_EXT_ACK` and `NETLINK_CAP_ACK` since 4.12; without them errors carry no text. No capability needed.
    ///
    /// # Errors
    /// Those of `socket()`, `setsockopt()` and `connect()`.
    pub fn open() -> io::Result<Self> {
        let fd = socket::open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        // Without NETLINK_GET_STRICT_CHK: a strict kernel without can-gw answers a job dump with EINVAL instead of the
        // foreign routes by which its absence is recognised.
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            ignore_unknown_option(socket::set_int(&fd, libc::SOL_NETLINK, option, 1))?;
        }
        socket::set_int(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES)?;
        let timeout = libc::timeval { tv_sec: ANSWER_WITHIN_SECONDS.into(), tv_usec: 0 };
        socket::set_slice(&fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &[timeout])?;
        // A connected netlink socket rejects messages of other processes.
        socket::with_address(&fd, libc::connect, &kernel_address())?;
        Ok(Self { fd })
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Errnos of `send()`; `WriteZero` if the message was truncated.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length describe the borrowed slice, which the kernel only reads; the descriptor is open
        // as long as `self` is borrowed.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        match socket::check_len(sent)? {
            len if len == message.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Receives one datagram and resizes the buffer to it.
    ///
    /// # Errors
    /// Those of `recv()`: `ENOBUFS` if messages were lost, `WouldBlock` if no reply arrived for seconds.
    pub fn recv(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(buffer.capacity().max(FIRST_BUFFER_BYTES), 0);
        // MSG_TRUNC returns the real length.
        let needed = self.recv_flags(buffer, libc::MSG_PEEK | libc::MSG_TRUNC)?;
        if needed > buffer.len() {
            buffer.resize(needed, 0);
        }
        let len = self.recv_flags(buffer, 0)?;
        buffer.truncate(len);
        Ok(())
    }

    fn recv_flags(&self, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
        loop {
            // SAFETY: the kernel writes at most `buffer.len()` bytes into the exclusively borrowed slice, whatever
            // length it returns; the descriptor is open as long as `self` is borrowed.
            let received = unsafe { libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
            match socket::check_len(received) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Wakes this process ([`signal::nudge`]) when an interface or its qdisc changes.
#[derive(Debug)]
pub struct LinkWatch {
    fd: OwnedFd,
}

impl LinkWatch {
    /// Starts watching the network namespace of the thread.
    ///
    /// # Errors
    /// Those of `socket()`, `bind()` and `fcntl()`.
    pub fn start() -> io::Result<Self> {
        let fd = socket::open(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_NONBLOCK, libc::NETLINK_ROUTE)?;
        signal::nudge_when_readable(&fd)?;
        let mut address = kernel_address();
        address.nl_groups = (libc::RTMGRP_LINK | libc::RTMGRP_TC).cast_unsigned();
        socket::with_address(&fd, libc::bind, &address)?;
        Ok(Self { fd })
    }

    /// Discards pending messages; call it before reading the interfaces.
    pub fn drain(&self) {
        let mut buffer = [0_u8; 16];
        loop {
            // SAFETY: the kernel writes at most `buffer.len()` bytes into the live array; what does not fit is dropped
            // with the message. The descriptor is open as long as `self` is borrowed.
            let received = unsafe { libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            match socket::check_len(received) {
                Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return,
                Ok(0) => return,
                Ok(_) | Err(_) => {}
            }
        }
    }
}

fn kernel_address() -> libc::sockaddr_nl {
    // SAFETY: sockaddr_nl consists of integers only, for which all-zero bytes are valid values.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::sa_family_t::try_from(libc::AF_NETLINK).expect("AF_NETLINK is 16");
    address
}

fn ignore_unknown_option(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `RTM_GETLINK` dump request: length 32, type 18, REQUEST|DUMP, sequence 1, `ifinfomsg` of zeros.
    const GETLINK: [u8; 32] = {
        let mut bytes = [0; 32];
        bytes[0] = 32;
        bytes[4] = 18;
        bytes[6] = 1;
        bytes[7] = 3;
        bytes[8] = 1;
        bytes
    };

    #[test]
    fn the_kernel_answers_a_link_dump() {
        let socket = RouteSocket::open().unwrap();
        socket.send(&GETLINK).unwrap();
        let mut buffer = Vec::new();
        socket.recv(&mut buffer).unwrap();
        let kind = u16::from_ne_bytes([buffer[4], buffer[5]]);
        assert!(kind == 16 || kind == 3, "RTM_NEWLINK or NLMSG_DONE, not {kind}");
    }
}
