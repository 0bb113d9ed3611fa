//! One link: its bus, its session and its network, in one thread.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_cli::link::{Pem, State};
use candor_cli::{Exit, Outcome};
use candor_io::poll::{Interest, Watched, wait};
use candor_io::signal::EndingSignals;
use candor_link::Origin;
use candor_link::session::{
    Action, Candor, Options, Outgoing, Protocol, Received, Role, Session, SocketcandClient, SocketcandServer, Tcp, Udp,
};

use crate::bands::Bands;
use crate::beacon::Beacon;
use crate::bus::{Bus, BusError, OfBus};
use crate::cli::{LinkArgs, OpenArgs, ProtocolName};
use crate::network::{Network, NetworkError, Side};
use crate::onward::Onward;
use crate::progress::Io;
use crate::reports::{self, Outlet, Reports};
use crate::tls::{Tls, TlsError};

/// Frames that are taken from the bus before the network has its turn.
const AT_ONCE: usize = 256;
/// Bytes that are read from the network at once, which is more than a datagram has.
const READ_BYTES: usize = 64 << 10;
/// How often an interface is looked for that is away.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Why a link cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("cannot read {file}")]
    File { file: String, source: io::Error },
    #[error("{0}")]
    Arguments(&'static str),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// This gateway, the same for all its links.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) origin: Origin,
    pub(crate) onward: Arc<Onward>,
}

impl Identity {
    /// A random number, so that no two gateways have the same.
    pub(crate) fn random() -> Result<Self, LinkError> {
        loop {
            let mut bytes = [0; 8];
            let random = &mut std::fs::File::open("/dev/urandom")?;
            io::Read::read_exact(random, &mut bytes)?;
            if let Some(origin) = Origin::new(u64::from_ne_bytes(bytes)) {
                return Ok(Self { origin, onward: Arc::default() });
            }
        }
    }
}

/// `candor-link open`.
pub(crate) fn open(args: &OpenArgs) -> Outcome {
    let link = &args.link;
    let bus = match (&link.interface, args.stdio) {
        (_, true) => Bus::lines()?,
        (Some(interface), false) => Bus::can(interface).map_err(LinkError::from)?,
        (None, false) => return Err(LinkError::Arguments("write --interface NAME or --stdio").into()),
    };
    let text = |path: &std::path::Path| {
        let refused = |source| LinkError::File { file: path.display().to_string(), source };
        std::fs::read_to_string(path).map_err(refused)
    };
    let pem = match (&link.ca, &link.cert, &link.key) {
        (Some(ca), Some(cert), Some(key)) => Some(Pem { ca: text(ca)?, cert: text(cert)?, key: text(key)? }),
        _ => None,
    };
    foreground(link, pem.as_ref(), bus, &link.bus, args.json)
}

/// Runs a link until a signal.
pub(crate) fn foreground(link: &LinkArgs, pem: Option<&Pem>, bus: Bus, name: &str, json: bool) -> Outcome {
    let signals = EndingSignals::block()?;
    let stop = signals.descriptor()?;
    let outlet = Outlet::People { json };
    run(link, pem, bus, Reports::new(outlet, name), Identity::random()?, stop.as_fd())?;
    Ok(Exit::Fine)
}

/// Runs a link until `stop` is readable, or nothing more comes from the lines of its bus.
///
/// # Errors
/// If it cannot start.
pub(crate) fn run(
    args: &LinkArgs,
    pem: Option<&Pem>,
    bus: Bus,
    reports: Reports,
    identity: Identity,
    stop: BorrowedFd<'_>,
) -> Result<(), LinkError> {
    let host = args.connect.as_ref().map(|to| to.rsplit_once(':').map_or(to.as_str(), |(host, _)| host));
    let name = args.peer_name.as_deref().or_else(|| host.map(|host| host.trim_matches(['[', ']'])));
    let tls = pem.map(|pem| Tls::new(pem, name)).transpose()?.map(Arc::new);
    let side = match (args.protocol, &args.connect, args.listen) {
        (ProtocolName::CannelloniUdp, Some(to), listen) => Side::Udp { to: to.clone(), listen },
        (ProtocolName::CannelloniUdp, None, _) => {
            return Err(LinkError::Arguments("cannelloni-udp needs the address of the peer: --connect HOST:PORT"));
        }
        (_, Some(_), Some(_)) => return Err(LinkError::Arguments("write --connect or --listen, not both")),
        (_, Some(to), None) => Side::Connect { to: to.clone() },
        (_, None, Some(listen)) => Side::listen(listen)?,
        (_, None, None) => return Err(LinkError::Arguments("write --connect HOST:PORT or --listen ADDRESS:PORT")),
    };
    let mut options = args.options();
    options.origin = identity.origin;
    // New for each start of the link, because the clock goes on.
    options.epoch = candor_io::clock::realtime()?.0.cast_unsigned();
    let network = Network::new(side, tls);
    let address = network.listens_at();
    let beacon = match (args.beacon, address) {
        (true, Some(address)) => Some(Beacon::new(address, &args.bus)?),
        _ => None,
    };
    if let Some(address) = address {
        reports.tell(&format!("listens at {address}"), false);
    }
    let bands = Bands::new(&args.band);
    let (onward, from) = (args.onward, args.from.clone());
    let parts = Parts { bus, network, reports, bands, beacon, identity, onward, from };
    match (args.protocol, options.role) {
        (ProtocolName::Candor, _) => Link::<Candor>::new(&options, parts).run(stop),
        (ProtocolName::CannelloniTcp, _) => Link::<Tcp>::new(&options, parts).run(stop),
        (ProtocolName::CannelloniUdp, _) => Link::<Udp>::new(&options, parts).run(stop),
        (ProtocolName::Socketcand, Role::Connects) => Link::<SocketcandClient>::new(&options, parts).run(stop),
        (ProtocolName::Socketcand, Role::Listens) => Link::<SocketcandServer>::new(&options, parts).run(stop),
    }
}

struct Parts {
    bus: Bus,
    network: Network,
    reports: Reports,
    bands: Bands,
    beacon: Option<Beacon>,
    identity: Identity,
    /// Other links may send on what this one receives.
    onward: bool,
    /// Links whose frames may be sent by this one.
    from: Vec<String>,
}

struct Link<P> {
    session: Session<P>,
    parts: Parts,
    start: Instant,
    connect_time_out: Duration,
    /// Frames that this thread did not take from the bus in time.
    missed: u64,
    /// Frames that the bus did not take.
    no_room: u64,
    was_up: bool,
    told_loop: bool,
    /// The last trouble, so that it is told once.
    trouble: Option<String>,
    /// The last host that was told.
    turned_away: Option<IpAddr>,
    bytes: Box<[u8]>,
}

impl<P: Protocol> Link<P> {
    fn new(options: &Options, parts: Parts) -> Self {
        let seed = parts.identity.origin.0.get() ^ options.epoch;
        Self {
            session: Session::new(options, Duration::ZERO, seed),
            parts,
            start: Instant::now(),
            connect_time_out: options.connect_time_out,
            missed: 0,
            no_room: 0,
            was_up: false,
            told_loop: false,
            trouble: None,
            turned_away: None,
            bytes: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn run(mut self, stop: BorrowedFd<'_>) -> Result<(), LinkError> {
        loop {
            let pause = self.act();
            self.report();
            let Some(ready) = self.wait(stop, pause)? else { break };
            if ready.arrival {
                match self.parts.network.look() {
                    Ok(true) => self.session.connected(self.start.elapsed()),
                    Ok(false) => {}
                    Err(error) => self.lost(&error),
                }
                self.tell_turned_away();
            }
            if ready.bus {
                self.read_bus();
            }
            if ready.network {
                self.read_network();
            }
            if self.parts.bus.has_ended() && self.session.waiting() == 0 {
                break;
            }
        }
        self.parts.network.close();
        self.session.disconnected(self.start.elapsed());
        self.was_up = !self.was_up;
        self.report();
        Ok(())
    }

    /// Does what the session wants, as far as the network takes it. Returns how long it can wait.
    fn act(&mut self) -> Option<Duration> {
        loop {
            let now = self.now();
            match self.session.poll(now) {
                Action::Close(reason) => {
                    self.parts.network.close();
                    self.tell_trouble(reason.to_string());
                }
                Action::Connect => {
                    if let Err(error) = self.parts.network.connect(self.connect_time_out) {
                        self.lost(&error);
                    }
                }
                Action::Write => match self.parts.network.write(self.session.outgoing()) {
                    Ok(Io::Bytes(len)) => self.session.written(now, len),
                    Ok(Io::Later) => return self.session.deadline().map(|at| at.saturating_sub(now)),
                    Err(NetworkError::Refused) => self.session.refused(),
                    Err(NetworkError::Bounced) => self.bounced(),
                    Err(error) => self.lost(&error),
                },
                Action::Wait(until) => return until.map(|at| at.saturating_sub(now)),
            }
        }
    }

    /// It tries again and again.
    fn tell_turned_away(&mut self) {
        let Some(other) = self.parts.network.take_turned_away() else { return };
        if self.turned_away != Some(other) {
            self.turned_away = Some(other);
            self.parts.reports.tell(&format!("refused a connection from {other}, because there is a peer"), true);
        }
    }

    fn read_bus(&mut self) {
        let now = self.start.elapsed();
        let Parts { bands, bus, from, identity, .. } = &mut self.parts;
        let session = &mut self.session;
        let lost = bus.read(AT_ONCE, |OfBus { frame, stamp }| {
            let known = if from.is_empty() { None } else { identity.onward.recall(from, &frame) };
            let mut outgoing = Outgoing { band: bands.of(frame.id), ..Outgoing::local(0, frame, stamp) };
            if let Some((origin, hops)) = known {
                (outgoing.origin, outgoing.hops) = (Some(origin), hops);
            }
            session.send(now, outgoing);
        });
        self.missed += u64::from(lost);
    }

    fn read_network(&mut self) {
        match self.parts.network.read(&mut self.bytes) {
            Ok(Io::Later) => {}
            Ok(Io::Bytes(len)) => {
                let Parts { bus, identity, reports, onward, .. } = &mut self.parts;
                let no_room = &mut self.no_room;
                let put = |Received { frame, origin, hops, .. }: Received| {
                    if let Some(origin) = origin.filter(|_| *onward) {
                        identity.onward.remember(reports.link(), &frame, origin, hops);
                    }
                    *no_room += u64::from(!bus.write(&frame));
                };
                self.session.received(self.start.elapsed(), &self.bytes[..len], put);
            }
            Err(NetworkError::Bounced) => self.bounced(),
            Err(error) => self.lost(&error),
        }
    }

    fn bounced(&mut self) {
        self.session.bounced();
        self.tell_trouble(NetworkError::Bounced.to_string());
    }

    /// The connection is gone, or there is none.
    fn lost(&mut self, error: &NetworkError) {
        let peer = self.parts.network.peer();
        self.parts.network.close();
        let reason = self.session.disconnected(self.start.elapsed()).map(|reason| reason.to_string());
        let text = reason.unwrap_or_else(|| candor_core::causes::in_full(error));
        self.tell_trouble(match peer {
            Some(peer) => format!("{peer}: {text}"),
            None => text,
        });
    }

    fn tell_trouble(&mut self, text: String) {
        if self.trouble.as_ref() != Some(&text) {
            self.parts.reports.tell(&text, true);
            self.trouble = Some(text);
        }
    }

    fn report(&mut self) {
        let (session, is_up) = (&self.session, self.session.is_up());
        let peer = self.parts.network.peer();
        let has_changed = is_up != self.was_up;
        if has_changed && let (true, Some(peer)) = (is_up, peer) {
            let what = if self.parts.network.has_connections() { "connected with" } else { "sends to" };
            self.parts.reports.tell(&format!("{what} {peer}"), false);
            self.trouble = None;
        }
        self.was_up = is_up;
        let in_circles = session.counts().looped + session.counts().too_many_hops;
        if in_circles > 0 && !std::mem::replace(&mut self.told_loop, true) {
            let text =
                "frames of this gateway come back: links and routes make a loop; such frames are not put on the bus";
            self.parts.reports.tell(text, true);
        }
        let (missed, no_room) = (self.missed, self.no_room);
        self.parts.reports.state(has_changed, || {
            let counts = session.counts();
            State {
                link: String::new(),
                is_up,
                peer: peer.filter(|_| is_up).map(|peer: SocketAddr| peer.to_string()),
                connections: counts.connections,
                received_frames: counts.received - no_room,
                sent_frames: counts.sent,
                waiting_frames: session.waiting(),
                lost_frames: counts.lost,
                lost_datagrams: counts.lost_datagrams,
                dropped_frames: reports::dropped(counts, missed),
                refused_frames: reports::refused(counts, no_room),
            }
        });
    }

    /// Waits for what comes next. `None` if the link is to end.
    fn wait(&mut self, stop: BorrowedFd<'_>, pause: Option<Duration>) -> Result<Option<Ready>, LinkError> {
        let report = self.parts.reports.due_within();
        let mut pause = pause.map_or(report, |pause| pause.min(report));
        // Nothing has changed, so nothing is due.
        pause = pause.max(Duration::from_micros(1));
        if let Some(beacon) = &mut self.parts.beacon {
            pause = pause.min(beacon.look());
        }
        let Parts { bus, network, .. } = &mut self.parts;
        bus.look();
        let is_away = bus.descriptor().is_none() && !bus.has_ended();
        let pause = if is_away { pause.min(LOOK_AGAIN) } else { pause };
        let writes = network.wants_to_write(!self.session.outgoing().is_empty());
        let watched = |fd: Option<_>, interest| match fd {
            Some(fd) => Watched::new(fd, interest),
            None => Watched::new(stop, Interest::Nothing),
        };
        let write = if writes { Interest::Write } else { Interest::Nothing };
        let mut all = [
            Watched::new(stop, Interest::Read),
            watched(bus.descriptor(), Interest::Read),
            watched(network.arrival(), Interest::Read),
            watched(network.descriptor(), Interest::Read),
            watched(network.descriptor(), write),
        ];
        match wait(&mut all, Some(pause)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(Ready::default())),
            Err(error) => return Err(error.into()),
        }
        let [stop, bus, arrival, network, _] = all.map(|one| one.is_ready);
        Ok((!stop).then_some(Ready { bus, arrival, network }))
    }
}

/// What there is to do.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    bus: bool,
    arrival: bool,
    network: bool,
}
