//! The sockets of a link: connecting without waiting, accepting one peer, reading and writing.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use crate::progress::{Io, is_later};
use crate::tls::{Tls, TlsError, TlsStream};

/// TCP finds out about a peer that is gone when nothing was sent for this long, plus three times [`PROBE_S`].
const IDLE_S: u32 = 5;
const PROBE_S: u32 = 2;
/// Stack of the threads that connect.
const STACK_BYTES: usize = 128 << 10;

/// Which side makes the connection, and how.
#[derive(Debug)]
pub(crate) enum Side {
    Connect { to: String },
    Listen(TcpListener),
    Udp { to: String, listen: Option<SocketAddr> },
}

/// A connection.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream>),
    Udp(UdpSocket),
}

/// What a thread that connects has found.
enum Found {
    Tcp(TcpStream, SocketAddr),
    Udp(UdpSocket, SocketAddr),
}

/// The network of one link.
#[derive(Debug)]
pub(crate) struct Network {
    side: Side,
    tls: Option<Arc<Tls>>,
    stream: Option<Stream>,
    peer: Option<SocketAddr>,
    attempt: Option<Attempt>,
    /// Whoever came while there was a peer.
    turned_away: Option<IpAddr>,
}

#[derive(Debug)]
struct Attempt {
    found: Receiver<Result<Found, NetworkError>>,
    /// Readable when there is something.
    wake: UnixStream,
}

/// What a peer or a socket did.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetworkError {
    #[error("the peer closed the connection")]
    End,
    #[error("cannot find the address {to}")]
    Resolve { to: String, source: io::Error },
    #[error("cannot connect to {to}")]
    Connect { to: String, source: io::Error },
    #[error("cannot use the address {listen}")]
    Bind { listen: SocketAddr, source: io::Error },
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// This datagram was not taken.
    #[error("the network does not take datagrams")]
    Refused,
    /// The one before was taken, and came back.
    #[error("no program receives datagrams at this port of the peer")]
    Bounced,
}

impl Side {
    pub(crate) fn listen(listen: SocketAddr) -> Result<Self, NetworkError> {
        let refused = |source| NetworkError::Bind { listen, source };
        let listener = TcpListener::bind(listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self::Listen(listener))
    }
}

impl Network {
    pub(crate) const fn new(side: Side, tls: Option<Arc<Tls>>) -> Self {
        Self { side, tls, stream: None, peer: None, attempt: None, turned_away: None }
    }

    /// False if there are only datagrams, whose receiver nobody knows.
    pub(crate) const fn has_connections(&self) -> bool {
        !matches!(self.side, Side::Udp { .. })
    }

    /// Another host that wanted to connect while there was a peer.
    pub(crate) const fn take_turned_away(&mut self) -> Option<IpAddr> {
        self.turned_away.take()
    }

    /// The address of the peer of the connection.
    pub(crate) const fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The address that peers connect to.
    pub(crate) fn listens_at(&self) -> Option<SocketAddr> {
        match &self.side {
            Side::Listen(listener) => listener.local_addr().ok(),
            _ => None,
        }
    }

    pub(crate) fn close(&mut self) {
        if let Some(Stream::Tls(stream)) = &mut self.stream {
            stream.say_good_bye();
        }
        (self.stream, self.peer, self.attempt) = (None, None, None);
    }

    /// The connection, to wait for.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(|stream| match stream {
            Stream::Tcp(socket) => socket.as_fd(),
            Stream::Tls(stream) => stream.as_fd(),
            Stream::Udp(socket) => socket.as_fd(),
        })
    }

    /// What is waited for while there is no connection.
    pub(crate) fn arrival(&self) -> Option<BorrowedFd<'_>> {
        match (&self.attempt, &self.side) {
            (Some(attempt), _) => Some(attempt.wake.as_fd()),
            (None, Side::Listen(listener)) => Some(listener.as_fd()),
            _ => None,
        }
    }

    /// Whether to wait until the socket takes bytes, if the session has some or not.
    pub(crate) fn wants_to_write(&self, has_bytes: bool) -> bool {
        match &self.stream {
            Some(Stream::Tls(stream)) => stream.wants_to_write(has_bytes),
            _ => has_bytes,
        }
    }

    /// Starts to connect, in a thread: names and addresses may take their time.
    ///
    /// # Errors
    /// If there is no thread.
    pub(crate) fn connect(&mut self, time_out: Duration) -> Result<(), NetworkError> {
        let (sender, found) = mpsc::channel();
        let (wake, mut waker) = UnixStream::pair()?;
        let connect: Box<dyn FnOnce() -> Result<Found, NetworkError> + Send> = match &self.side {
            Side::Connect { to } => {
                let to = to.clone();
                Box::new(move || tcp(&to, time_out))
            }
            Side::Udp { to, listen } => {
                let (to, listen) = (to.clone(), *listen);
                Box::new(move || udp(&to, listen))
            }
            Side::Listen(_) => return Ok(()),
        };
        let work = move || {
            // The link may have given up.
            let _ = sender.send(connect());
            let _ = waker.write_all(&[1]);
        };
        thread::Builder::new().name("connect".into()).stack_size(STACK_BYTES).spawn(work)?;
        self.attempt = Some(Attempt { found, wake });
        Ok(())
    }

    /// Takes what came of connecting or listening; true for a new connection.
    pub(crate) fn look(&mut self) -> Result<bool, NetworkError> {
        let found = match (&self.attempt, &self.side) {
            (Some(attempt), _) => match attempt.found.try_recv() {
                Err(mpsc::TryRecvError::Empty) => return Ok(false),
                Err(mpsc::TryRecvError::Disconnected) => Err(NetworkError::End),
                Ok(found) => found,
            },
            (None, Side::Listen(listener)) => match listener.accept() {
                // One peer at a time: the others see that the connection ends.
                Ok((_, other)) if self.stream.is_some() => {
                    self.turned_away = Some(other.ip());
                    return Ok(false);
                }
                Ok((socket, peer)) => Ok(Found::Tcp(socket, peer)),
                Err(error) if is_later(&error) => return Ok(false),
                // The peer is gone already.
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        self.attempt = None;
        let (stream, peer) = match found? {
            Found::Udp(socket, peer) => (Stream::Udp(socket), peer),
            Found::Tcp(socket, peer) => {
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                watch_over(&socket)?;
                let is_server = matches!(self.side, Side::Listen(_));
                let stream = match &self.tls {
                    None => Stream::Tcp(socket),
                    Some(tls) if is_server => Stream::Tls(Box::new(tls.accept(socket)?)),
                    Some(tls) => Stream::Tls(Box::new(tls.connect(socket)?)),
                };
                (stream, peer)
            }
        };
        (self.stream, self.peer) = (Some(stream), Some(peer));
        Ok(true)
    }

    /// Reads bytes of a stream, or one datagram.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<Io, NetworkError> {
        let read = match &mut self.stream {
            None => return Ok(Io::Later),
            Some(Stream::Tls(stream)) => return Ok(stream.read(bytes)?),
            Some(Stream::Tcp(socket)) => match socket.read(bytes) {
                Ok(0) => return Err(NetworkError::End),
                read => read,
            },
            Some(Stream::Udp(socket)) => match socket.recv(bytes) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(NetworkError::Bounced),
                read => read,
            },
        };
        progress(read)
    }

    /// Writes some of these bytes, or the datagram.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<Io, NetworkError> {
        let written = match &mut self.stream {
            None => return Ok(Io::Later),
            Some(Stream::Tls(stream)) => return Ok(stream.write(bytes)?),
            Some(Stream::Tcp(socket)) => socket.write(bytes),
            Some(Stream::Udp(socket)) => match socket.send(bytes) {
                Err(error) if is_later(&error) => Err(error),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(NetworkError::Bounced),
                Err(_) => return Err(NetworkError::Refused),
                sent => sent,
            },
        };
        progress(written)
    }
}

fn progress(done: io::Result<usize>) -> Result<Io, NetworkError> {
    match done {
        Ok(len) => Ok(Io::Bytes(len)),
        Err(error) if is_later(&error) => Ok(Io::Later),
        Err(error) => Err(error.into()),
    }
}

fn resolve(to: &str) -> Result<Vec<SocketAddr>, NetworkError> {
    let refused = |source| NetworkError::Resolve { to: to.to_owned(), source };
    let found: Vec<_> = to.to_socket_addrs().map_err(refused)?.collect();
    if found.is_empty() { Err(refused(io::ErrorKind::NotFound.into())) } else { Ok(found) }
}

fn tcp(to: &str, time_out: Duration) -> Result<Found, NetworkError> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in resolve(to)? {
        match TcpStream::connect_timeout(&address, time_out) {
            Ok(socket) => return Ok(Found::Tcp(socket, address)),
            Err(error) => last = error,
        }
    }
    Err(NetworkError::Connect { to: to.to_owned(), source: last })
}

fn udp(to: &str, listen: Option<SocketAddr>) -> Result<Found, NetworkError> {
    let found = resolve(to)?;
    let fits = |address: &&SocketAddr| listen.is_none_or(|listen| listen.is_ipv4() == address.is_ipv4());
    let refused = |source| NetworkError::Connect { to: to.to_owned(), source };
    let address = *found.iter().find(fits).ok_or_else(|| refused(io::ErrorKind::AddrNotAvailable.into()))?;
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let listen = listen.unwrap_or_else(|| SocketAddr::new(any, 0));
    let socket = UdpSocket::bind(listen).map_err(|source| NetworkError::Bind { listen, source })?;
    // The kernel drops datagrams of other addresses.
    socket.connect(address).map_err(refused)?;
    socket.set_nonblocking(true)?;
    Ok(Found::Udp(socket, address))
}

/// Lets TCP find out that the peer is gone.
fn watch_over(socket: &TcpStream) -> io::Result<()> {
    setsockopt(socket, sockopt::KeepAlive, &true)?;
    setsockopt(socket, sockopt::TcpKeepIdle, &IDLE_S)?;
    setsockopt(socket, sockopt::TcpKeepInterval, &PROBE_S)?;
    setsockopt(socket, sockopt::TcpKeepCount, &3)?;
    Ok(())
}
