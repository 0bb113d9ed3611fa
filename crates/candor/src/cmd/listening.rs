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
use candor_io::packet::{ReceiveRing, Senders};
use candor_io::poll::{self, Interest, MAX_WATCHED, Watched};
use candor_io::signal::EndingSignals;
use candor_netlink::link::Link;

use super::init;
use crate::cli::Through;

/// For bursts while the terminal is slow; a frame takes about 800 bytes.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;
/// Frames until the next look at signals and the time, if no pause comes first.
const WITHOUT_A_LOOK: u32 = 256;

/// Slots of a ring: 0.8 s of the shortest frames at 1 Mbit/s, 4 MB. A bus has two.
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

/// A source of frames.
pub(super) struct Port<B> {
    pub(super) bus: B,
    pub(super) interface: String,
    inlets: Vec<Inlet>,
    /// It was told that the interface is gone.
    is_told: bool,
}

/// A socket or ring, and the frames that it received last.
struct Inlet {
    source: Source,
    /// The first frame of the batch that nobody has taken yet, and its number.
    held: Option<Heard>,
    at: usize,
    /// The socket was empty after the last look at it, in this round.
    is_drained: bool,
    interface: Interface,
}

/// What became of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    Here,
    /// Unplugged or deleted. Frames that came before may wait.
    Leaves,
    /// No frame waits any more.
    Gone,
}

impl<B> Port<B> {
    /// Listens on an interface, to all frames; through rings if that is possible, unless it is said.
    ///
    /// # Errors
    /// With what to do, if the kernel refuses it.
    pub(super) fn open(bus: B, link: &Link, through: Option<Through>) -> Result<Self, Box<dyn Error>> {
        let socket = || Source::socket(link).map(|source| vec![source]);
        let sources = match through {
            Some(Through::Ring) => Source::rings(link).map_err(|error| no_ring(link, &error))?,
            Some(Through::Socket) => socket()?,
            None => Source::rings(link).or_else(|_refused| socket())?,
        };
        let inlet = |source| Inlet { source, held: None, at: 0, is_drained: false, interface: Interface::Here };
        let inlets = sources.into_iter().map(inlet).collect();
        Ok(Self { bus, interface: link.name.clone(), inlets, is_told: false })
    }

    /// Frames that sockets or rings dropped, because they came faster than they were taken.
    pub(super) fn lost(&self) -> u64 {
        self.inlets.iter().map(|inlet| inlet.source.lost()).sum()
    }

    /// Receives frames if none is held.
    fn fill(&mut self) -> io::Result<()> {
        for inlet in &mut self.inlets {
            let interface = &self.interface;
            if inlet.fill()? {
                render::err(&format!("{interface} is down; set it up: sudo ip link set {interface} up\n"));
            }
            if inlet.interface != Interface::Here && !self.is_told {
                self.is_told = true;
                render::err(&format!("{interface} is gone: unplugged or deleted\n"));
            }
        }
        Ok(())
    }
}

fn no_ring(link: &Link, error: &io::Error) -> String {
    let is_privilege = error.raw_os_error() == Some(EPERM);
    let hint = if is_privilege { "; it needs CAP_NET_RAW and CAP_BPF: use sudo, or --through socket" } else { "" };
    format!("cannot open a ring on {}: {error}{hint}", link.name)
}

impl Inlet {
    /// Receives frames if none is held. True if the interface is down.
    fn fill(&mut self) -> io::Result<bool> {
        self.is_drained = self.interface == Interface::Gone;
        if self.held.is_some() || self.is_drained {
            return Ok(false);
        }
        loop {
            let errno = match self.source.receive() {
                Ok(received) if received > 0 || self.interface == Interface::Here => {
                    self.is_drained = received < MAX_BATCH;
                    return self.hold(0).map(|()| false);
                }
                Ok(_none) => ENODEV,
                Err(error) => match error.raw_os_error() {
                    Some(errno @ (ENETDOWN | ENODEV | ENXIO)) => errno,
                    _ => return Err(error),
                },
            };
            match self.interface {
                _ if errno == ENETDOWN => return Ok(true),
                // The kernel says it before it gives the frames that wait.
                Interface::Here => self.interface = Interface::Leaves,
                Interface::Leaves | Interface::Gone => {
                    self.interface = Interface::Gone;
                    self.is_drained = true;
                    return Ok(false);
                }
            }
        }
    }

    /// Holds the frame with this number, or none after the last one.
    fn hold(&mut self, at: usize) -> io::Result<()> {
        self.at = at;
        self.held = self.source.heard(at)?;
        Ok(())
    }

    fn head(&self) -> RealtimeNs {
        self.held.map_or(NOTHING, |heard| heard.at)
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
        is_local: bool,
        /// It was, once.
        was_down: bool,
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
    /// One for frames of others and one for those of this machine, because a ring does not tell which they are.
    fn rings(link: &Link) -> io::Result<Vec<Self>> {
        let ring = |senders: Senders| {
            let ring = ReceiveRing::from_senders(link.index, senders, SLOTS)?;
            let empty = (Heard { len: 0, at: RealtimeNs(0), is_local: false }, [0; CANFD_MTU]);
            let is_local = senders == Senders::ThisMachine;
            let places = vec![empty; MAX_BATCH].into();
            Ok::<_, io::Error>(Self::Ring { ring, is_local, was_down: false, places, count: 0, lost: 0 })
        };
        Ok(vec![ring(Senders::Others)?, ring(Senders::ThisMachine)?])
    }

    fn socket(link: &Link) -> Result<Self, Box<dyn Error>> {
        let socket = CanSocket::open_for_all(link.index).map_err(|error| init::no_socket(&link.name, &error))?;
        socket.set_receive_buffer(RECEIVE_BUFFER_BYTES)?;
        Ok(Self::Socket { socket, batch: Batch::default() })
    }

    /// Receives at most [`MAX_BATCH`] frames, and returns their number.
    fn receive(&mut self) -> io::Result<usize> {
        match self {
            Self::Ring { ring, is_local, was_down, places, count, lost } => {
                // Places are used again, because clearing their bytes takes time.
                let mut places = places.iter_mut();
                *count = ring.receive_all(MAX_BATCH, |frame| {
                    let Some((heard, bytes)) = places.next() else { return };
                    let len = frame.bytes.len().min(CANFD_MTU);
                    *heard = Heard { len, at: frame.at, is_local: *is_local };
                    match (frame.bytes.first_chunk::<CAN_MTU>(), bytes.first_chunk_mut::<CAN_MTU>()) {
                        (Some(from), Some(to)) if len == CAN_MTU => *to = *from,
                        _ => bytes[..len].copy_from_slice(&frame.bytes[..len]),
                    }
                });
                if *count > 0 {
                    *lost += u64::from(ring.known_lost());
                    return Ok(*count);
                }
                // Frames that are lost are known with the next one, which may never come.
                *lost += u64::from(ring.take_lost());
                let fault = ring.fault();
                *was_down |= fault.is_err();
                if *was_down && ring.is_detached()? {
                    return Err(io::Error::from_raw_os_error(ENODEV));
                }
                match fault {
                    // The other ring of the interface says it, too.
                    Err(error) if !*is_local || error.raw_os_error() != Some(ENETDOWN) => Err(error),
                    _ => Ok(0),
                }
            }
            Self::Socket { socket, batch } => socket.recv_batch(batch, First::DoesNotWait),
        }
    }

    fn lost(&self) -> u64 {
        match self {
            Self::Ring { lost, .. } => *lost,
            Self::Socket { socket, .. } => socket.dropped().unwrap_or_default().into(),
        }
    }

    /// Time and length of the frame with this number, of those that were received last.
    #[inline]
    fn heard(&self, at: usize) -> io::Result<Option<Heard>> {
        match self {
            Self::Ring { places, count, .. } => Ok(places[..*count].get(at).map(|(heard, _)| *heard)),
            Self::Socket { batch, .. } => {
                let Some(frame) = batch.frame(at) else { return Ok(None) };
                let stamp = frame.at.map_or_else(clock::realtime, Ok)?;
                Ok(Some(Heard { len: frame.bytes.len(), at: stamp, is_local: frame.is_local }))
            }
        }
    }

    /// Its bytes; none if there is no such frame.
    #[inline]
    fn bytes(&self, at: usize) -> &[u8] {
        match self {
            Self::Ring { places, .. } => places.get(at).map_or(&[], |(heard, bytes)| &bytes[..heard.len]),
            Self::Socket { batch, .. } => batch.frame(at).map_or(&[], |frame| frame.bytes),
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
    // A port has one or two inlets, and a signal is watched, too.
    const MOST: usize = (MAX_WATCHED - 1) / 2;
    if ports <= MOST { Ok(()) } else { Err(format!("more than {MOST} interfaces; name some of them")) }
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
    let mut heads = Vec::new();
    loop {
        // Frames of the same round are compared. Later ones wait for the next round, because one of another port may precede them.
        let held =
            ports.iter().flat_map(|port| &port.inlets).filter_map(|inlet| inlet.held).map(|heard| heard.at).max();
        let now = clock::realtime()?;
        let until = held.map_or(now, |held| held.max(now));
        heads.clear();
        for (number, port) in ports.iter_mut().enumerate() {
            port.fill()?;
            heads.extend(port.inlets.iter().enumerate().map(|(which, inlet)| Head { at: inlet.head(), number, which }));
        }
        let mut is_idle = heads.iter().all(|head| head.at == NOTHING);
        while let Some(head) = heads.iter_mut().min_by_key(|head| head.at).filter(|head| head.at <= until) {
            is_idle = false;
            if let Some((end, signalled)) = end
                && head.at > signalled
            {
                return Ok(end);
            }
            let Port { bus, inlets, .. } = &mut ports[head.number];
            let inlet = &mut inlets[head.which];
            if let Some(heard) = inlet.held
                && !listener.frame(head.number, bus, heard, inlet.source.bytes(inlet.at))
            {
                return Ok(End::Enough);
            }
            inlet.hold(inlet.at + 1)?;
            head.at = inlet.head();
            before_look = before_look.saturating_sub(1);
            if inlet.may_have_more() {
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

/// Time of the frame that an inlet holds, with the numbers of its port and its own.
struct Head {
    at: RealtimeNs,
    number: usize,
    which: usize,
}

/// Of an inlet that holds no frame.
const NOTHING: RealtimeNs = RealtimeNs(i64::MAX);

/// Waits for a frame, a signal or the end of the time.
fn wait<B>(ports: &[Port<B>], signal: BorrowedFd<'_>, left: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let mut watched = vec![Watched::new(signal, Interest::Read)];
    let there = ports.iter().flat_map(|port| &port.inlets).filter(|inlet| inlet.interface != Interface::Gone);
    watched.extend(there.map(|inlet| Watched::new(inlet.source.as_fd(), Interest::Read)));
    if watched.len() == 1 && !ports.is_empty() {
        return Err("no interface is left".into());
    }
    match poll::wait(&mut watched, left) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
        _ => Ok(()),
    }
}
