//! What carries messages to the kernel and back.

use std::fmt::Debug;
use std::io;

use candor_io::netlink::RouteSocket;

/// A way to the kernel and back, one datagram at a time.
pub trait Transport: Debug + Send {
    /// Sends one message.
    ///
    /// # Errors
    /// Whatever the socket reports.
    fn send(&self, message: &[u8]) -> io::Result<()>;

    /// Receives one datagram into the buffer, which becomes exactly as long as the datagram.
    ///
    /// # Errors
    /// Whatever the socket reports: `WouldBlock` when no answer came for seconds.
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
