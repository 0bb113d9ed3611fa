//! Receiving the frames of several buses in the order of their times: `candor dump` and `candor watch`.

use std::error::Error;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use candor_cli::render;
use candor_core::frame::CANXL_MTU;
use candor_io::can::{CanSocket, Heard};
use candor_io::clock::RealtimeNs;
use candor_io::errno::{ENETDOWN, ENODEV, ENXIO};
use candor_io::poll::{self, Interest, MAX_WATCHED, Watched};
use candor_io::signal::EndingSignals;
use candor_netlink::link::Link;

use super::init;

/// For bursts while the terminal is slow; a frame takes about 800 bytes.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;
/// Frames until the next look at signals and the time, if no pause comes first.
const WITHOUT_A_LOOK: u32 = 256;

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The listener has enough.
    Enough,
    Signal,
    Time,
}

/// Gets the frames of ports, which have what it needs to know of their buses.
pub(super) trait Listener<B> {
    /// Takes a frame of the port with this number: the bytes of the kernel. False if it is the last one.
    fn frame(&mut self, number: usize, bus: &B, heard: Heard, bytes: &[u8]) -> bool;

    /// Writes what it has; called in pauses, and now and then. Returns the time until the next call, if that matters.
    ///
    /// # Errors
    /// If the output failed.
    fn look(&mut self) -> io::Result<Option<Duration>>;
}

/// A socket, and the frame that it received last.
pub(super) struct Port<B> {
    pub(super) bus: B,
    pub(super) interface: String,
    socket: CanSocket,
    buffer: Box<[u8; CANXL_MTU]>,
    /// A frame that nobody has taken yet.
    held: Option<Heard>,
    /// The interface was unplugged or deleted.
    is_gone: bool,
}

impl<B> Port<B> {
    /// Listens on an interface, to all frames.
    ///
    /// # Errors
    /// With what to do, if the kernel refuses the socket.
    pub(super) fn open(bus: B, link: &Link) -> Result<Self, Box<dyn Error>> {
        let socket = CanSocket::open_for_all(link.index).map_err(|error| init::no_socket(&link.name, &error))?;
        socket.set_receive_buffer(RECEIVE_BUFFER_BYTES)?;
        let (interface, buffer) = (link.name.clone(), Box::new([0; CANXL_MTU]));
        Ok(Self { bus, interface, socket, buffer, held: None, is_gone: false })
    }

    /// Frames that the socket dropped, because they came faster than they were taken.
    pub(super) fn lost(&self) -> u64 {
        self.socket.dropped().unwrap_or_default().into()
    }

    /// Receives the next frame if none is held.
    fn fill(&mut self) -> io::Result<()> {
        if self.held.is_some() || self.is_gone {
            return Ok(());
        }
        let error = match self.socket.hear(&mut self.buffer) {
            Ok(heard) => {
                self.held = heard;
                return Ok(());
            }
            Err(error) => error,
        };
        let interface = &self.interface;
        render::err(&match error.raw_os_error() {
            Some(ENETDOWN) => format!("{interface} is down; set it up: sudo ip link set {interface} up\n"),
            Some(ENODEV | ENXIO) => {
                self.is_gone = true;
                format!("{interface} is gone: unplugged or deleted\n")
            }
            _ => return Err(error),
        });
        Ok(())
    }
}

/// Refuses more interfaces than one call can wait for.
///
/// # Errors
/// With what to do.
pub(super) fn check_number(ports: usize) -> Result<(), String> {
    if ports < MAX_WATCHED { Ok(()) } else { Err("more than 63 interfaces; name some of them".into()) }
}

/// Hands over frames in the order in which they were received, until a signal, the end of the time, or the listener ends it.
///
/// # Errors
/// If no interface is left, or if the output or a system call failed.
pub(super) fn listen<B>(
    ports: &mut [Port<B>],
    time: Option<Duration>,
    signals: &EndingSignals,
    listener: &mut impl Listener<B>,
) -> Result<End, Box<dyn Error>> {
    let signal = signals.descriptor()?;
    let deadline = time.map(|time| Instant::now() + time);
    let mut before_look = WITHOUT_A_LOOK;
    loop {
        let mut next: Option<(RealtimeNs, usize)> = None;
        for (number, port) in ports.iter_mut().enumerate() {
            port.fill()?;
            if let Some(heard) = port.held
                && next.is_none_or(|(first, _)| heard.at < first)
            {
                next = Some((heard.at, number));
            }
        }
        if let Some((_, number)) = next
            && let port = &mut ports[number]
            && let Some(heard) = port.held.take()
            && !listener.frame(number, &port.bus, heard, &port.buffer[..heard.len])
        {
            return Ok(End::Enough);
        }
        before_look -= 1;
        if next.is_some() && before_look > 0 {
            continue;
        }
        before_look = WITHOUT_A_LOOK;
        let until_look = listener.look()?;
        if signals.wait(Duration::ZERO)?.is_some() {
            return Ok(End::Signal);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(End::Time);
        }
        if next.is_none() {
            wait(ports, signal.as_fd(), left.into_iter().chain(until_look).min())?;
        }
    }
}

/// Waits for a frame, a signal or the end of the time.
fn wait<B>(ports: &[Port<B>], signal: BorrowedFd<'_>, left: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let mut watched = vec![Watched::new(signal, Interest::Read)];
    for port in ports {
        if !port.is_gone {
            watched.push(Watched::new(port.socket.as_fd(), Interest::Read));
        }
    }
    if watched.len() == 1 {
        return Err("no interface is left".into());
    }
    match poll::wait(&mut watched, left) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
        _ => Ok(()),
    }
}
