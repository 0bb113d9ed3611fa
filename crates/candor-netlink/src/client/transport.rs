//! Transports for netlink messages.

use std::fmt::Debug;
use std::io;

use candor_io::netlink::RouteSocket;

/// Exchanges datagrams with the kernel.
pub trait Transport: Debug + Send {
    /// Sends one message.
    ///
    /// # Errors
    /// Errors of the socket.
    fn send(&self, message: &[u8]) -> io::Result<()>;

    /// Receives one datagram and resizes the buffer to it.
    ///
    /// # Errors
    /// Errors of the socket; `WouldBlock` after a timeout.
    fn recv(&self, buffer: &mut Vec<u8>) -> io::Result<()>;
}

impl Transport for RouteSocket {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        Self::send(self, message)
    }

    fn recv(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        Self::recv(self, buffer)
    }
}
