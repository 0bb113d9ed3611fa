//! The thread that plays the buses.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candor_bus::{BusNs, Event};
use candor_core::realtime::RtPriority;
use candor_io::clock::{self, MonotonicNs};
use candor_io::poll::{self, Interest, Watched};
use candor_io::schedule::{self, Policy};

use crate::device::Statistics;
use crate::segment::{DeviceId, Segment};

/// What one read takes. The largest packet is smaller.
const BUFFER_BYTES: usize = 1 << 16;

/// Something that happened on one of the buses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which bus, in the order given to [`Running::start`].
    pub bus: usize,
    /// What.
    pub event: Event,
}

/// Under what conditions the thread runs.
#[derive(Debug, Default)]
pub struct Conditions {
    /// Why it has no real-time priority, if it has none.
    pub no_priority: Option<io::Error>,
}

/// What became of one bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusReport {
    /// Frames that went over the wire whole.
    pub frames: u64,
    /// Frames that broke.
    pub errors: u64,
    /// How long the wire was taken, in nanoseconds.
    pub busy_ns: u64,
    /// How much later than a moment of the bus the thread woke up for it, at worst.
    pub worst_late: Duration,
    /// When that was.
    pub worst_late_at: BusNs,
    /// Received frames and errors that an adapter dropped because the kernel did not fetch them.
    pub dropped: u64,
    /// The most that ever waited for the kernel in one adapter.
    pub waiting_most: usize,
    /// Adapters that the kernel let go of, or that it did not speak to as a kernel does.
    pub lost_devices: u32,
}

/// What became of all buses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Each bus, in the order given to [`Running::start`].
    pub buses: Vec<BusReport>,
    /// How long they were played.
    pub elapsed: BusNs,
}

/// Buses that are being played.
#[derive(Debug)]
pub struct Running {
    thread: JoinHandle<io::Result<Report>>,
    /// Closing it ends the thread.
    stop: UnixStream,
    told: Arc<Mutex<Vec<Told>>>,
    start: MonotonicNs,
    /// Under what conditions the thread runs.
    pub conditions: Conditions,
}

impl Running {
    /// Starts the thread, with a stream for each device of each bus, in the order plugged. Whatever happens on the
    /// buses is kept for [`story`](Self::story) if somebody wants it.
    ///
    /// # Errors
    /// Whatever keeps a thread from being started.
    pub fn start(buses: Vec<(Segment, Vec<UnixStream>)>, wants_story: bool) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let start = clock::monotonic()?;
        let mut lines = Vec::new();
        let mut streams = Vec::new();
        for (bus, (segment, of_bus)) in buses.into_iter().enumerate() {
            lines.push(Line { segment, report: BusReport::default(), last_end: None });
            for (device, stream) in of_bus.into_iter().enumerate() {
                stream.set_nonblocking(true)?;
                streams.push(Stream { bus, device: DeviceId(device), stream });
            }
        }
        let player = Player {
            lines,
            start,
            told: wants_story.then(|| Arc::clone(&told)),
            fresh: Vec::new(),
            untold: Vec::new(),
        };
        let (ready, conditions) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("wire".into()).spawn(move || {
            let no_priority = take_priority().err();
            let _nobody_waits = ready.send(Conditions { no_priority });
            player.play(&streams, &stopped)
        })?;
        let conditions = conditions.recv().unwrap_or_default();
        Ok(Self { thread, stop, told, start, conditions })
    }

    /// What happened since the last call, in the order in which it was played: that of time for each bus.
    #[must_use]
    pub fn story(&self) -> Vec<Told> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The moment at which the time on the buses began.
    #[must_use]
    pub const fn started_at(&self) -> MonotonicNs {
        self.start
    }

    /// The time on the buses.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn now(&self) -> io::Result<BusNs> {
        since(self.start)
    }

    /// Whether the thread has ended by itself, which it does only if waiting fails.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread and closes the streams; gives what was not told yet. The kernel removes the interfaces.
    ///
    /// # Errors
    /// Whatever ended it before.
    pub fn stop(self) -> io::Result<(Report, Vec<Told>)> {
        drop(self.stop);
        let report = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((report, told))
    }
}

fn take_priority() -> io::Result<()> {
    poll::set_timer_slack(1)?;
    let priority = RtPriority::new(super::PRIORITY).ok_or(io::ErrorKind::InvalidInput)?;
    schedule::set_policy(Policy::Fifo(priority))
}

fn since(MonotonicNs(start): MonotonicNs) -> io::Result<BusNs> {
    let MonotonicNs(now) = clock::monotonic()?;
    Ok(BusNs(u64::try_from(now - start).unwrap_or(0)))
}

/// The kernel at one device.
#[derive(Debug)]
struct Stream {
    bus: usize,
    device: DeviceId,
    stream: UnixStream,
}

/// A bus and what became of it.
#[derive(Debug)]
struct Line {
    segment: Segment,
    report: BusReport,
    /// Of the last frame: several senders of one frame are one frame.
    last_end: Option<BusNs>,
}

#[derive(Debug)]
struct Player {
    lines: Vec<Line>,
    start: MonotonicNs,
    told: Option<Arc<Mutex<Vec<Told>>>>,
    fresh: Vec<Event>,
    /// What the story lacks.
    untold: Vec<Told>,
}

impl Player {
    /// Until `stopped` is closed at the other end.
    fn play(mut self, streams: &[Stream], stopped: &UnixStream) -> io::Result<Report> {
        let mut watched = vec![Watched::new(stopped.as_fd(), Interest::Read)];
        watched.extend(streams.iter().map(|stream| Watched::new(stream.stream.as_fd(), Interest::Read)));
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let now = since(self.start)?;
            let next = self.lines.iter().filter_map(|line| line.segment.next_event()).min();
            match poll::wait(&mut watched, next.map(|next| Duration::from_nanos(next.since(now)))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let now = since(self.start)?;
            let Some((end, watched)) = watched.split_first_mut() else { continue };
            if end.is_ready {
                return Ok(self.report(streams, now));
            }
            for (stream, watched) in streams.iter().zip(&mut *watched) {
                if watched.is_ready && watched.interest == Interest::Read {
                    self.read(stream, watched, &mut buffer, now);
                }
            }
            self.advance(now);
            for (stream, watched) in streams.iter().zip(watched) {
                self.write(stream, watched, now);
            }
        }
    }

    /// Everything that is there to be read.
    fn read(&mut self, stream: &Stream, watched: &mut Watched<'_>, buffer: &mut [u8], now: BusNs) {
        let Some(line) = self.lines.get_mut(stream.bus) else { return };
        loop {
            let got = match (&stream.stream).read(buffer) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_gone) => 0,
            };
            let bytes = buffer.get(..got).unwrap_or_default();
            if got == 0 || line.segment.receive(stream.device, bytes, now).is_err() {
                return line.lose(stream, watched, now);
            }
            if got < buffer.len() {
                return;
            }
        }
    }

    /// Lets the buses come to `now`.
    fn advance(&mut self, now: BusNs) {
        for (bus, line) in self.lines.iter_mut().enumerate() {
            if let Some(late) = line.segment.next_event().filter(|&next| next <= now).map(|next| now.since(next)) {
                let late = Duration::from_nanos(late);
                if late > line.report.worst_late {
                    (line.report.worst_late, line.report.worst_late_at) = (late, now);
                }
            }
            line.segment.advance(now, &mut self.fresh);
            line.count(&self.fresh);
            if self.told.is_some() {
                self.untold.extend(self.fresh.iter().map(|&event| Told { bus, event }));
            }
            self.fresh.clear();
        }
        // Whoever reads the story has no priority and may be kept from giving the lock back: then it is told the next time.
        if let Some(mut told) = self.told.as_deref().and_then(|told| told.try_lock().ok()) {
            told.append(&mut self.untold);
        }
    }

    /// Whatever a device has to say. Where the kernel does not take it, nothing is read either until it does: each
    /// request would be one more answer to keep.
    fn write(&mut self, stream: &Stream, watched: &mut Watched<'_>, now: BusNs) {
        let Some(line) = self.lines.get_mut(stream.bus).filter(|_| watched.interest != Interest::Nothing) else {
            return;
        };
        let Some(output) = line.segment.output(stream.device) else { return };
        while !output.is_empty() {
            match (&stream.stream).write(output) {
                Ok(taken) => drop(output.drain(..taken)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    watched.interest = Interest::Write;
                    return;
                }
                Err(_gone) => return line.lose(stream, watched, now),
            }
        }
        watched.interest = Interest::Read;
    }

    fn report(mut self, streams: &[Stream], elapsed: BusNs) -> Report {
        if let Some(told) = &self.told {
            told.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.untold);
        }
        let mut buses: Vec<BusReport> = Vec::new();
        for (bus, line) in self.lines.iter().enumerate() {
            let mut report = BusReport { busy_ns: line.segment.bus().busy_ns(), ..line.report };
            for stream in streams.iter().filter(|stream| stream.bus == bus) {
                let Statistics { dropped, waiting_most, .. } =
                    line.segment.statistics(stream.device).unwrap_or_default();
                report.dropped += dropped;
                report.waiting_most = report.waiting_most.max(waiting_most);
            }
            buses.push(report);
        }
        Report { buses, elapsed }
    }
}

impl Line {
    /// The kernel is gone, or is none.
    fn lose(&mut self, stream: &Stream, watched: &mut Watched<'_>, now: BusNs) {
        watched.interest = Interest::Nothing;
        self.segment.unplug(stream.device, now);
        self.report.lost_devices += 1;
        // The kernel takes the closed stream for a pulled plug.
        let _closed_already = stream.stream.shutdown(std::net::Shutdown::Both);
    }

    fn count(&mut self, events: &[Event]) {
        for event in events {
            match *event {
                Event::Delivered { end, .. } => {
                    self.report.frames += u64::from(self.last_end != Some(end));
                    self.last_end = Some(end);
                }
                Event::Error { .. } => self.report.errors += 1,
                Event::LostArbitration { .. } | Event::State { .. } => {}
            }
        }
    }
}
