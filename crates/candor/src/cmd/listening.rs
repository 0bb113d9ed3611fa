//! Receiving the frames of several buses in the order of their times: `candor dump`, `candor record` and
//! `candor watch`.

use std::error::Error;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use candor_cli::render;
use candor_core::frame::{CAN_MTU, CANFD_MTU, CANXL_MTU};
use candor_io::can::{Batch, CanSocket, First, Heard, MAX_BATCH};
use candor_io::clock::{self, RealtimeNs};
use candor_io::errno::{ENETDOWN, ENODEV, ENXIO, EPERM};
use candor_io::packet::{ReceiveRing, RingFormats};
use candor_io::poll::{self, Interest, MAX_WATCHED, Watched};
use candor_io::signal::EndingSignals;
use candor_netlink::link::Link;

use super::init;

/// For bursts while the terminal is slow; a frame takes about 800 bytes.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;
/// Frames until the next look at signals and the time, if no pause comes first.
const WITHOUT_A_LOOK: u32 = 256;

/// Slots of a ring: 0.8 s of the shortest frames at 1 Mbit/s, 4 MB.
const SLOTS: usize = 16_384;

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
    /// Time after the first frame in which others may arrive, so that fewer calls receive them.
    const GATHER: Duration = Duration::ZERO;

    /// Takes a frame of the port with this number: the bytes of the kernel. False if it is the last one.
    fn frame(&mut self, number: usize, bus: &B, heard: Heard, bytes: &[u8]) -> bool;

    /// Writes what it has; called in pauses, and now and then. Returns the time until the next call, if that matters.
    ///
    /// # Errors
    /// If the output failed.
    fn look(&mut self, ports: &[Port<B>]) -> io::Result<Option<Duration>>;
}

/// How frames are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// A memory-mapped ring (CAP_NET_RAW), at a part of the cost. It does not tell which frames a socket of this machine sent.
    Ring,
    Socket,
}

/// A source of frames, and those that it received last.
pub(super) struct Port<B> {
    pub(super) bus: B,
    pub(super) interface: String,
    source: Source,
    /// The first frame of the batch that nobody has taken yet, and its number.
    held: Option<Heard>,
    at: usize,
    /// The socket was empty after the last look at it, in this round.
    is_drained: bool,
    /// The interface was unplugged or deleted.
    is_gone: bool,
}

impl<B> Port<B> {
    /// Listens on an interface, to all frames.
    ///
    /// # Errors
    /// With what to do, if the kernel refuses the socket.
    pub(super) fn open(bus: B, link: &Link, through: Through) -> Result<Self, Box<dyn Error>> {
        let source = match through {
            Through::Ring => Source::ring(link)?,
            Through::Socket => Source::socket(link)?,
        };
        let interface = link.name.clone();
        Ok(Self { bus, interface, source, held: None, at: 0, is_drained: false, is_gone: false })
    }

    /// Frames that the socket dropped, because they came faster than they were taken.
    pub(super) fn lost(&self) -> u64 {
        match &self.source {
            Source::Ring { lost, .. } => *lost,
            Source::Socket { socket, .. } => socket.dropped().unwrap_or_default().into(),
        }
    }

    /// Receives frames if none is held.
    fn fill(&mut self) -> io::Result<()> {
        self.is_drained = self.is_gone;
        if self.held.is_some() || self.is_gone {
            return Ok(());
        }
        let error = match self.source.receive() {
            Ok(received) => {
                self.is_drained = received < MAX_BATCH;
                return self.hold(0);
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

    /// Holds the frame with this number, or none after the last one.
    fn hold(&mut self, at: usize) -> io::Result<()> {
        self.at = at;
        self.held = self.source.frame(at)?.map(|(heard, _)| heard);
        Ok(())
    }

    /// True if nothing is held, but frames of this round may wait in the socket.
    const fn may_have_more(&self) -> bool {
        self.held.is_none() && !self.is_drained
    }
}

enum Source {
    /// The first `count` places are taken.
    Ring {
        ring: ReceiveRing,
        places: Box<[(Heard, [u8; CANFD_MTU])]>,
        count: usize,
        lost: u64,
    },
    Socket {
        socket: CanSocket,
        batch: Batch<CANXL_MTU>,
    },
}

impl Source {
    fn ring(link: &Link) -> Result<Self, Box<dyn Error>> {
        let ring = ReceiveRing::open(link.index, RingFormats::Both, &[], SLOTS).map_err(|error| {
            let hint =
                if error.raw_os_error() == Some(EPERM) { "; it needs CAP_NET_RAW: use sudo, or no --ring" } else { "" };
            format!("cannot open a ring on {}: {error}{hint}", link.name)
        })?;
        let empty = (Heard { len: 0, at: RealtimeNs(0), is_local: false }, [0; CANFD_MTU]);
        Ok(Self::Ring { ring, places: vec![empty; MAX_BATCH].into(), count: 0, lost: 0 })
    }

    fn socket(link: &Link) -> Result<Self, Box<dyn Error>> {
        let socket = CanSocket::open_for_all(link.index).map_err(|error| init::no_socket(&link.name, &error))?;
        socket.set_receive_buffer(RECEIVE_BUFFER_BYTES)?;
        Ok(Self::Socket { socket, batch: Batch::default() })
    }

    /// Receives at most [`MAX_BATCH`] frames, and returns their number.
    fn receive(&mut self) -> io::Result<usize> {
        match self {
            Self::Ring { ring, places, count, lost } => {
                // Places are used again, because clearing their bytes takes time.
                let mut places = places.iter_mut();
                *count = ring.receive_all(MAX_BATCH, |frame| {
                    let Some((heard, bytes)) = places.next() else { return };
                    let len = frame.bytes.len().min(CANFD_MTU);
                    *heard = Heard { len, at: frame.at, is_local: false };
                    match (frame.bytes.first_chunk::<CAN_MTU>(), bytes.first_chunk_mut::<CAN_MTU>()) {
                        (Some(from), Some(to)) if len == CAN_MTU => *to = *from,
                        _ => bytes[..len].copy_from_slice(&frame.bytes[..len]),
                    }
                });
                *lost += u64::from(ring.known_lost());
                if *count == 0 {
                    ring.fault()?;
                }
                Ok(*count)
            }
            Self::Socket { socket, batch } => socket.recv_batch(batch, First::DoesNotWait),
        }
    }

    /// The frame with this number of those that were received last.
    fn frame(&self, at: usize) -> io::Result<Option<(Heard, &[u8])>> {
        match self {
            Self::Ring { places, count, .. } => {
                Ok(places[..*count].get(at).map(|(heard, bytes)| (*heard, &bytes[..heard.len])))
            }
            Self::Socket { batch, .. } => {
                let Some(frame) = batch.frame(at) else { return Ok(None) };
                let stamp = frame.at.map_or_else(clock::realtime, Ok)?;
                Ok(Some((Heard { len: frame.bytes.len(), at: stamp, is_local: frame.is_local }, frame.bytes)))
            }
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ring { ring, .. } => ring.as_fd(),
            Self::Socket { socket, .. } => socket.as_fd(),
        }
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
/// Frames that were received before the signal or the end are handed over, too.
///
/// # Errors
/// If no interface is left, or if the output or a system call failed.
pub(super) fn listen<B, L: Listener<B>>(
    ports: &mut [Port<B>],
    time: Option<Duration>,
    signals: &EndingSignals,
    listener: &mut L,
) -> Result<End, Box<dyn Error>> {
    let signal = signals.descriptor()?;
    let deadline = time.map(|time| Instant::now() + time);
    let mut end: Option<(End, RealtimeNs)> = None;
    let mut before_look = WITHOUT_A_LOOK;
    loop {
        // Frames of the same round are compared. Later ones wait for the next round, because one of another port may precede them.
        let held = ports.iter().filter_map(|port| port.held).map(|heard| heard.at).max();
        let now = clock::realtime()?;
        let until = held.map_or(now, |held| held.max(now));
        for port in ports.iter_mut() {
            port.fill()?;
        }
        let mut is_idle = ports.iter().all(|port| port.held.is_none());
        while let Some((at, number)) = first(ports).filter(|(at, _)| *at <= until) {
            is_idle = false;
            if let Some((end, signalled)) = end
                && at > signalled
            {
                return Ok(end);
            }
            let port = &mut ports[number];
            if let Some((heard, bytes)) = port.source.frame(port.at)?
                && !listener.frame(number, &port.bus, heard, bytes)
            {
                return Ok(End::Enough);
            }
            port.hold(port.at + 1)?;
            before_look = before_look.saturating_sub(1);
            if port.may_have_more() {
                break;
            }
        }
        if !is_idle && before_look > 0 {
            continue;
        }
        before_look = WITHOUT_A_LOOK;
        let until_look = listener.look(ports)?;
        match end {
            Some((end, _)) if is_idle => return Ok(end),
            Some(_) => continue,
            None => {}
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if signals.wait(Duration::ZERO)?.is_some() {
            end = Some((End::Signal, clock::realtime()?));
        } else if left == Some(Duration::ZERO) {
            end = Some((End::Time, clock::realtime()?));
        } else if is_idle {
            wait(ports, signal.as_fd(), left.into_iter().chain(until_look).min())?;
            if !L::GATHER.is_zero() {
                wait::<B>(&[], signal.as_fd(), Some(left.map_or(L::GATHER, |left| left.min(L::GATHER))))?;
            }
        }
    }
}

/// The port with the oldest frame, and the time of the frame.
fn first<B>(ports: &[Port<B>]) -> Option<(RealtimeNs, usize)> {
    let held = ports.iter().enumerate().filter_map(|(number, port)| Some((port.held?.at, number)));
    held.min_by_key(|(at, _)| *at)
}

/// Waits for a frame, a signal or the end of the time.
fn wait<B>(ports: &[Port<B>], signal: BorrowedFd<'_>, left: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let mut watched = vec![Watched::new(signal, Interest::Read)];
    let there = ports.iter().filter(|port| !port.is_gone);
    watched.extend(there.map(|port| Watched::new(port.source.as_fd(), Interest::Read)));
    if watched.len() == 1 && !ports.is_empty() {
        return Err("no interface is left".into());
    }
    match poll::wait(&mut watched, left) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
        _ => Ok(()),
    }
}
