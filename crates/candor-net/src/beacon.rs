//! The beacon of a socketcand server: a UDP broadcast that programs find it by.
//!
//! # Source
//! [`beacon.c`](https://github.com/linux-can/socketcand/blob/6dd5d33/src/beacon.c) of socketcand.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const PORT: u16 = 42_000;
const INTERVAL: Duration = Duration::from_secs(3);

/// Sends a beacon now and then.
#[derive(Debug)]
pub(crate) struct Beacon {
    socket: UdpSocket,
    to: SocketAddr,
    text: String,
    next: Instant,
}

impl Beacon {
    /// Of a server at this address, for this bus.
    ///
    /// # Errors
    /// Those of the socket.
    pub(crate) fn new(server: SocketAddr, bus: &str) -> io::Result<Self> {
        let (from, to) = match server {
            // Broadcasts leave by the interface of the address.
            SocketAddr::V4(server) if server.ip().is_loopback() => (*server.ip(), Ipv4Addr::LOCALHOST),
            SocketAddr::V4(server) => (*server.ip(), Ipv4Addr::BROADCAST),
            SocketAddr::V6(_) => (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST),
        };
        let socket = UdpSocket::bind((from, 0))?;
        socket.set_broadcast(true)?;
        let host = if from.is_unspecified() { "0.0.0.0".to_owned() } else { from.to_string() };
        let text = format!(
            "<CANBeacon name=\"candor\" type=\"SocketCAN\" description=\"candor\">\n<URL>can://{host}:{}</URL><Bus name=\"{bus}\"/></CANBeacon>",
            server.port()
        );
        Ok(Self { socket, to: (to, PORT).into(), text, next: Instant::now() })
    }

    /// Sends one if it is time. Returns the time until the next.
    pub(crate) fn look(&mut self) -> Duration {
        let now = Instant::now();
        if now >= self.next {
            // Without a network there is nobody to tell.
            let _ = self.socket.send_to(self.text.as_bytes(), self.to);
            self.next = now + INTERVAL;
        }
        self.next.saturating_duration_since(now)
    }
}
