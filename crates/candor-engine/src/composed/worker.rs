//! The thread that composes frames.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use candor_config::plan::{BusIndex, ComposedFrame, FrameSource, MOST_COMPOSING_BUSES, Plan, RouteIndex, Timing};
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_MTU, CANFD_BRS, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId,
};
use candor_core::job::{Computed, Job, RealtimeNs};
use candor_core::rule::Verdict;
use candor_io::can::{MAX_POLLED, poll_each};
use candor_io::clock;
use candor_io::signal::WakeUp;
use candor_signals::compose::{Composer, Composition, Origin, Outgoing, Time};

use super::Control;
use super::port::{Port, id_of};
use candor_userspace::counters::{Drops, FrameCounters};
use candor_userspace::system_error::SystemError;
use candor_userspace::user::{Count, Disposition, UserError, is_passing};

/// Offset of the payload in `struct can_frame` and `struct canfd_frame`.
const PAYLOAD: usize = 8;
/// Offset of its length.
const LEN: usize = 4;
/// `candor_config` refuses a file with more buses.
const _: () = assert!(MOST_COMPOSING_BUSES <= MAX_POLLED);
/// Frames read from a socket before others have their turn.
const MOST_AT_ONCE: usize = 64;

/// Counters of a frame, which the thread writes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    received: Count,
    by_place: [Count; Disposition::PLACES],
}

impl Counts {
    pub(super) fn read(&self) -> FrameCounters {
        let [sent, full, expired, down, too_large, other] = self.by_place.each_ref().map(Count::value);
        FrameCounters { received: self.received.value(), sent, drops: Drops { full, expired, down, too_large, other } }
    }
}

/// The state of a composed frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameStatus {
    /// Nothing is sent: a required signal has no value, or a source is late.
    pub is_silent: bool,
    /// The payload as it would be sent now.
    pub payload: Vec<u8>,
    /// In the order of the signals.
    pub inputs: Vec<InputStatus>,
}

/// The state of a signal of a composed frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputStatus {
    pub origin: Origin,
    pub is_late: bool,
    /// Time since the last reception.
    pub age: Option<Duration>,
    /// Raw bits in the composed frame.
    pub bits: Option<u64>,
}

/// What is sent.
#[derive(Debug, PartialEq)]
enum What {
    Composed(ComposedFrame),
    /// The frames of a route with a timing that have one identifier.
    Timed {
        id: RawId,
        /// One for each format, without what protects them.
        jobs: Vec<Job>,
        protect: Option<Computed>,
        timing: Timing,
    },
}

/// A frame with its state.
#[derive(Debug)]
pub(super) struct OfFrame {
    what: What,
    composer: Composer,
    /// When something is due, in nanoseconds; the largest number for never.
    due: u64,
    /// As the kernel takes it.
    bytes: [u8; CANFD_MTU],
    size: usize,
    /// By source: what its frames must have.
    checks: Vec<Option<Computed>>,
    /// Writes checksum and counter when it is sent.
    protect: Option<Computed>,
    /// Where it is sent.
    port: usize,
    counts: Arc<Counts>,
}

/// The frames that one source frame is for.
#[derive(Debug)]
struct OfSource {
    /// Identifier and `CAN_EFF_FLAG`.
    id: u32,
    /// Frame, and number of the source in it.
    uses: Vec<(usize, usize)>,
}

#[derive(Debug)]
pub(super) struct Worker {
    ports: Vec<Arc<Port>>,
    frames: Vec<OfFrame>,
    /// By port, sorted by identifier.
    sources: Vec<Vec<OfSource>>,
}

/// Where frames go, and what became of them.
struct Way<'a> {
    ports: &'a [Arc<Port>],
}

impl Worker {
    /// The frames of a plan. Those of `before` with the same description go on as they are.
    pub(super) fn new(plan: &Plan, ports: &[Arc<Port>], mut before: Vec<OfFrame>) -> Result<Self, UserError> {
        let now = now()?;
        let all = planned(plan);
        let port_of = |bus| ports.iter().position(|port| port.bus == bus).expect("each used bus has a port");
        let mut sources: Vec<Vec<OfSource>> = ports.iter().map(|_| Vec::new()).collect();
        let mut frames = Vec::with_capacity(all.len());
        for (at, what) in all.into_iter().enumerate() {
            for (number, source) in what.sources().into_iter().enumerate() {
                let of_bus = &mut sources[port_of(source.bus)];
                match of_bus.iter_mut().find(|known| known.id == source.id.0) {
                    Some(known) => known.uses.push((at, number)),
                    None => of_bus.push(OfSource { id: source.id.0, uses: vec![(at, number)] }),
                }
            }
            let earlier = before.iter().position(|earlier| earlier.what == what);
            let earlier = earlier.map(|earlier| before.swap_remove(earlier));
            let (bytes, size) = what.template();
            let port = port_of(what.to());
            frames.push(match earlier {
                Some(earlier @ OfFrame { what: What::Composed(_), .. }) => OfFrame { port, due: 0, ..earlier },
                Some(earlier) => OfFrame { port, due: 0, counts: Arc::default(), ..earlier },
                None => {
                    let composer = Composer::new(what.composition(), now).expect("the check of the file accepted it");
                    let counts = before.iter().find(|earlier| what.is_named_as(&earlier.what));
                    let counts = counts.map(|earlier| Arc::clone(&earlier.counts)).unwrap_or_default();
                    OfFrame {
                        checks: what.checks(),
                        protect: what.protect(),
                        what,
                        composer,
                        due: 0,
                        bytes,
                        size,
                        port,
                        counts,
                    }
                }
            });
        }
        for of_bus in &mut sources {
            candor_core::order::sort_by_key(of_bus, |source| source.id);
        }
        Ok(Self { ports: ports.to_vec(), frames, sources })
    }

    pub(super) fn counts(&self) -> Vec<Arc<Counts>> {
        self.frames.iter().map(|frame| Arc::clone(&frame.counts)).collect()
    }

    /// Composes frames until the supervisor ends it. Allocates, formats and locks nothing for a frame.
    pub(super) fn run(mut self, control: &Control, wake_up: &WakeUp) -> Result<Vec<OfFrame>, UserError> {
        let _woken_here = wake_up.target_this_thread().map_err(SystemError::while_doing("Unblocking SIGUSR2"))?;
        let way = &Way { ports: &self.ports.clone() };
        loop {
            if control.is_end.load(Ordering::Acquire) {
                return Ok(self.frames);
            }
            self.answer(control)?;
            let now = now()?;
            let mut next = u64::MAX;
            for frame in &mut self.frames {
                if frame.due <= now.nanos() {
                    frame.advance(now, way);
                }
                next = next.min(frame.due);
            }
            let wait = (next != u64::MAX).then(|| Duration::from_nanos(next.saturating_sub(now.nanos())));
            let sockets = self.ports.iter().map(|port| &*port.socket);
            match poll_each(sockets, wait) {
                Ok(ready) => {
                    for at in (0..self.ports.len()).filter(|at| ready.contains(*at)) {
                        self.receive(at, way)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(SystemError::while_doing("Waiting for frames")(error).into()),
            }
        }
    }

    /// Reads the frames that wait at a port.
    fn receive(&mut self, at: usize, way: &Way<'_>) -> Result<(), UserError> {
        let mut bytes = [0; CANFD_MTU];
        for _ in 0..MOST_AT_ONCE {
            let len = match self.ports[at].socket.read_waiting(&mut bytes) {
                Ok(Some(len)) => len,
                Ok(None) => break,
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(self.ports[at].failed(error)),
            };
            let Some(id) = data_frame(&bytes, len) else { continue };
            let of_bus = &self.sources[at];
            let Ok(found) = of_bus.binary_search_by_key(&id, |source| source.id) else { continue };
            let now = now()?;
            for &(frame, source) in &of_bus[found].uses {
                self.frames[frame].received(now, source, &bytes[..len], way);
            }
        }
        Ok(())
    }

    fn answer(&self, control: &Control) -> Result<(), UserError> {
        let asked = control.asked.load(Ordering::Acquire);
        if asked != control.answered.load(Ordering::Relaxed) {
            let now = now()?;
            let statuses = self.frames.iter().map(|frame| frame.status(now)).collect();
            *control.answer.lock().unwrap_or_else(PoisonError::into_inner) = statuses;
            control.answered.store(asked, Ordering::Release);
        }
        Ok(())
    }
}

impl OfFrame {
    /// A frame in the kernel's layout.
    #[inline]
    fn received(&mut self, now: Time, source: usize, frame: &[u8], way: &Way<'_>) {
        let Self { what, composer, bytes, size, checks, protect, port, counts, .. } = self;
        if let Some(Some(check)) = checks.get(source)
            && !is_good(frame, check)
        {
            return;
        }
        counts.received.bump();
        let outgoing = match what {
            What::Composed(_) => {
                let end = PAYLOAD + usize::from(frame[LEN]);
                composer.received(now, source, frame.get(PAYLOAD..end).unwrap_or_default())
            }
            What::Timed { jobs, .. } => {
                let Ok(frame) = Frame::from_kernel(frame) else { return };
                let Some(sent) = jobs.iter().find(|job| job.takes(&frame)).and_then(|job| match job.apply(&frame) {
                    (sent, Verdict::Send) => Some(sent),
                    _ => None,
                }) else {
                    return;
                };
                *size = sent.to_kernel(bytes);
                composer.received(now, source, sent.payload())
            }
        };
        if let Some(outgoing) = outgoing {
            way.send((bytes, *size), &outgoing, protect.as_ref(), *port, counts);
        }
        self.due = self.composer.due().map_or(u64::MAX, Time::nanos);
    }

    fn advance(&mut self, now: Time, way: &Way<'_>) {
        let Self { composer, bytes, size, protect, port, counts, .. } = self;
        if let Some(outgoing) = composer.advance(now) {
            way.send((bytes, *size), &outgoing, protect.as_ref(), *port, counts);
        }
        self.due = self.composer.due().map_or(u64::MAX, Time::nanos);
    }

    fn status(&self, now: Time) -> FrameStatus {
        let age = |received: Time| Duration::from_nanos(now.nanos().saturating_sub(received.nanos()));
        let inputs = self.composer.statuses().map(|status| InputStatus {
            origin: status.origin,
            is_late: status.is_late,
            age: status.received.map(age),
            bits: status.bits,
        });
        let is_silent = self.composer.is_silent();
        FrameStatus { is_silent, payload: self.composer.payload().to_vec(), inputs: inputs.collect() }
    }
}

impl Way<'_> {
    #[inline]
    fn send(
        &self,
        (bytes, mut size): (&mut [u8; CANFD_MTU], usize),
        outgoing: &Outgoing<'_>,
        protect: Option<&Computed>,
        port: usize,
        counts: &Counts,
    ) {
        let len = outgoing.payload.len();
        bytes[PAYLOAD..PAYLOAD + len].copy_from_slice(outgoing.payload);
        bytes[LEN] = u8::try_from(len).unwrap_or_default();
        if let Some(protect) = protect {
            match protected(&bytes[..size], protect) {
                Some(frame) => size = frame.to_kernel(bytes),
                None => return counts.by_place[Disposition::Other.place()].bump(),
            }
        }
        let port = &self.ports[port];
        let disposition = match port.socket.send_now(&bytes[..size]) {
            Ok(()) => Disposition::Sent,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or_default();
                port.failures.note(errno);
                Disposition::of_errno(errno)
            }
        };
        counts.by_place[disposition.place()].bump();
    }
}

/// The frame with its checksum; `None` if it cannot have one, such as an authenticated frame before the first sync frame.
fn protected(bytes: &[u8], protect: &Computed) -> Option<Frame> {
    let mut frame = Frame::from_kernel(bytes).ok()?;
    let verdict = protect.change_frame(RealtimeNs::UNKNOWN, &mut frame);
    (verdict == Verdict::Send).then_some(frame)
}

/// True if signals may be taken of a frame.
fn is_good(frame: &[u8], check: &Computed) -> bool {
    let frame = Frame::from_kernel(frame);
    frame.is_ok_and(|mut frame| check.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Verdict::Send)
}

/// Now, in nanoseconds of `CLOCK_MONOTONIC`.
fn now() -> Result<Time, UserError> {
    let now = clock::monotonic().map_err(SystemError::while_doing("Reading the clock"))?;
    Ok(Time::from_nanos(now.0.unsigned_abs()))
}

/// What a plan has: composed frames, watched ones, then the identifiers of routes with a timing.
fn planned(plan: &Plan) -> Vec<What> {
    let jobs = candor_config::lower(plan);
    let mut all: Vec<_> = plan.compositions().cloned().map(What::Composed).collect();
    for (at, route) in plan.routes().iter().enumerate() {
        let Some(timing) = &route.timing else { continue };
        for selection in &route.selections {
            let of_id = |job: &&Job| job.route == RouteIndex(at) && job.filter == selection.filter;
            let mut jobs: Vec<Job> = jobs.iter().filter(of_id).cloned().collect();
            // A frame that is sent again has a new counter.
            let protect = jobs.iter_mut().filter_map(|job| job.protected.take()).last();
            all.push(What::Timed { id: id_of(selection.filter), jobs, protect, timing: timing.clone() });
        }
    }
    all
}

impl What {
    /// True for composed frames with one name, whose counters go on.
    fn is_named_as(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Composed(one), Self::Composed(other)) if one.name == other.name)
    }

    fn sources(&self) -> Vec<FrameSource> {
        match self {
            Self::Composed(frame) => frame.sources.clone(),
            Self::Timed { id, jobs, .. } => {
                jobs.first().map(|job| FrameSource { bus: job.from, id: *id }).into_iter().collect()
            }
        }
    }

    fn checks(&self) -> Vec<Option<Computed>> {
        match self {
            Self::Composed(frame) => frame.checks.clone(),
            // Inside the jobs.
            Self::Timed { .. } => Vec::new(),
        }
    }

    fn protect(&self) -> Option<Computed> {
        match self {
            Self::Composed(frame) => frame.protect.clone(),
            Self::Timed { protect, .. } => protect.clone(),
        }
    }

    fn to(&self) -> BusIndex {
        match self {
            Self::Composed(frame) => frame.to,
            Self::Timed { jobs, .. } => jobs.first().map_or(BusIndex(0), |job| job.to),
        }
    }

    fn composition(&self) -> Composition {
        match self {
            Self::Composed(frame) => frame.composition.clone(),
            Self::Timed { timing, .. } => timing.composition(),
        }
    }

    /// The bytes of a frame without its payload, and how many the kernel takes. Those of a route come with the first frame.
    fn template(&self) -> ([u8; CANFD_MTU], usize) {
        let mut bytes = [0; CANFD_MTU];
        let Self::Composed(ComposedFrame { id, format, bit_rate_switch, .. }) = self else { return (bytes, CAN_MTU) };
        let flags = match (format, bit_rate_switch) {
            (FrameFormat::Classic, _) => 0,
            (FrameFormat::Fd, false) => CANFD_FDF,
            (FrameFormat::Fd, true) => CANFD_FDF | CANFD_BRS,
        };
        let frame = Frame { format: *format, id: *id, len: 0, len8_dlc: 0, flags, data: [0; CANFD_MAX_DLEN] };
        let size = frame.to_kernel(&mut bytes);
        (bytes, size)
    }
}

/// Identifier with `CAN_EFF_FLAG`; `None` for other frames than data frames.
fn data_frame(bytes: &[u8; CANFD_MTU], len: usize) -> Option<u32> {
    let [a, b, c, d, ..] = *bytes;
    let id = RawId(u32::from_ne_bytes([a, b, c, d]));
    let is_data = !id.is_err() && !id.is_rtr() && (len == CAN_MTU || len == CANFD_MTU);
    is_data.then_some(id.bits() | id.0 & CAN_EFF_FLAG)
}
