//! The thread that simulates the buses.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candor_bus::{Bus, BusNs, Event};
use candor_core::realtime::RtPriority;
use candor_io::clock::{self, MonotonicNs};
use candor_io::poll::{self, Interest, Watched};
use candor_io::schedule::{self, Policy};

use super::orders::{Command, Commands, Orders, Reply};
use super::{BusReport, Report};
use crate::device::Statistics;
use crate::fault::{DeviceId, FaultOrder, TraceEntry};
use crate::harness::Harness;
use crate::segment::Script;

/// Size of one read; larger than any packet.
const BUFFER_BYTES: usize = 1 << 16;

/// A trace entry with its bus, counted in the order given to [`Running::start`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    pub bus: usize,
    pub what: TraceEntry,
}

#[derive(Debug)]
pub struct Running {
    thread: JoinHandle<io::Result<Report>>,
    orders: Orders,
    trace: Arc<Mutex<Vec<Traced>>>,
    start: MonotonicNs,
    /// The error that denied the thread its real-time priority; `None` if it has it.
    pub no_priority: Option<io::Error>,
}

impl Running {
    /// Starts the thread, with a stream for each device in the order plugged. Records a [`trace`](Self::trace) if
    /// `wants_trace`.
    pub fn start(harness: Harness, streams: Vec<UnixStream>, wants_trace: bool) -> io::Result<Self> {
        let (orders, commands) = Orders::open()?;
        let trace = Arc::new(Mutex::new(Vec::new()));
        let start = clock::monotonic()?;
        let mut plugged = Vec::new();
        for (device, stream) in streams.into_iter().enumerate() {
            stream.set_nonblocking(true)?;
            plugged.push(Stream { device: DeviceId(device), stream, interest: Interest::Read });
        }
        let counters = (0..harness.buses()).map(|_| Counters::default()).collect();
        let shared = wants_trace.then(|| Arc::clone(&trace));
        let player = Player { harness, counters, start, commands, shared, fresh: Vec::new(), unshared: Vec::new() };
        let (ready, started) = mpsc::channel();
        let thread = thread::Builder::new().name("wire".into()).spawn(move || {
            let _receiver_waits = ready.send(take_priority().err());
            player.play(plugged)
        })?;
        let no_priority = started.recv().unwrap_or_default();
        Ok(Self { thread, orders, trace, start, no_priority })
    }

    /// Injects a fault into a bus, at the time of the order or now. The outcome is one of the [`replies`](Self::replies).
    ///
    /// # Errors
    /// The thread has ended.
    pub fn order(&self, bus: usize, order: FaultOrder) -> io::Result<()> {
        self.orders.send(Command::Fault { bus, order })
    }

    /// Plays scripts on a bus, in place of those before. The nodes are in one of the [`replies`](Self::replies); the first script
    /// is that of the lowest one.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn play(&self, bus: usize, scripts: Vec<Script>) -> io::Result<()> {
        self.orders.send(Command::Play { bus, scripts })
    }

    /// Sets the stream of an adapter that was plugged in again ([`Fault::Replug`](crate::fault::Fault::Replug)).
    ///
    /// # Errors
    /// The thread has ended.
    pub fn plug(&self, device: DeviceId, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        self.orders.send(Command::Stream { device, stream })
    }

    /// Replies since the last call; waits for one if there is none.
    pub fn replies(&self, at_most: Duration) -> io::Result<Vec<Reply>> {
        self.orders.replies(at_most)
    }

    /// The trace since the last call, for each bus in the order of time.
    pub fn trace(&self) -> Vec<Traced> {
        std::mem::take(&mut *self.trace.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The clock at bus time 0.
    pub const fn started_at(&self) -> MonotonicNs {
        self.start
    }

    /// The current bus time.
    pub fn now(&self) -> io::Result<BusNs> {
        since(self.start)
    }

    /// Returns true if the thread has ended because `poll()` failed.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread and closes the streams; returns the rest of the trace. The kernel removes the interfaces.
    ///
    /// # Errors
    /// The thread had failed before.
    pub fn stop(self) -> io::Result<(Report, Vec<Traced>)> {
        drop(self.orders);
        let report = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let trace = std::mem::take(&mut *self.trace.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((report, trace))
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

/// The connection of a device to the kernel.
#[derive(Debug)]
struct Stream {
    device: DeviceId,
    stream: UnixStream,
    /// Kept here while the stream is not watched.
    interest: Interest,
}

#[derive(Debug)]
enum Pause {
    /// This many commands were sent.
    Commands(usize),
    /// The sender of commands is dropped.
    End(BusNs),
}

#[derive(Debug, Default)]
struct Counters {
    report: BusReport,
    /// End of the last frame: several senders of one frame count once.
    last_end: Option<BusNs>,
}

#[derive(Debug)]
struct Player {
    harness: Harness,
    /// One for each bus.
    counters: Vec<Counters>,
    start: MonotonicNs,
    commands: Commands,
    shared: Option<Arc<Mutex<Vec<Traced>>>>,
    fresh: Vec<TraceEntry>,
    /// Entries that `shared` lacks.
    unshared: Vec<Traced>,
}

impl Player {
    /// Runs until the sender of commands is dropped.
    fn play(mut self, mut streams: Vec<Stream>) -> io::Result<Report> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.play_on(&mut streams, &mut buffer)? {
                Pause::Commands(count) => self.obey(count, &mut streams)?,
                Pause::End(now) => return Ok(self.report(&streams, now)),
            }
        }
    }

    /// Runs until there is a command.
    fn play_on(&mut self, streams: &mut [Stream], buffer: &mut [u8]) -> io::Result<Pause> {
        let bell = self.commands.bell()?;
        let mut watched = vec![Watched::new(bell.as_fd(), Interest::Read)];
        watched.extend(streams.iter().map(|stream| Watched::new(stream.stream.as_fd(), stream.interest)));
        let pause = self.play_watched(streams, &mut watched, buffer);
        let interests: Vec<Interest> = watched.iter().skip(1).map(|watched| watched.interest).collect();
        for (stream, interest) in streams.iter_mut().zip(interests) {
            stream.interest = interest;
        }
        pause
    }

    fn play_watched(
        &mut self,
        streams: &[Stream],
        watched: &mut [Watched<'_>],
        buffer: &mut [u8],
    ) -> io::Result<Pause> {
        let mut now = since(self.start)?;
        loop {
            for (stream, watched) in streams.iter().zip(watched.iter_mut().skip(1)) {
                self.write(stream, watched, now);
            }
            now = since(self.start)?;
            let next = (0..self.counters.len()).filter_map(|bus| self.harness.next_event(bus)).min();
            match poll::wait(watched, next.map(|next| Duration::from_nanos(next.since(now)))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            now = since(self.start)?;
            let Some((bell, watched)) = watched.split_first_mut() else { continue };
            if bell.is_ready {
                return Ok(self.commands.answer_bell().map_or(Pause::End(now), Pause::Commands));
            }
            for (stream, watched) in streams.iter().zip(&mut *watched) {
                if watched.is_ready && watched.interest == Interest::Read {
                    self.read(stream, watched, buffer, now);
                }
            }
            self.advance(now);
        }
    }

    fn obey(&mut self, count: usize, streams: &mut [Stream]) -> io::Result<()> {
        for _ in 0..count {
            let now = since(self.start)?;
            match self.commands.next() {
                Some(Command::Fault { bus, order }) => {
                    if let Some(at) = self.harness.order(bus, order, now) {
                        self.commands.reply(Reply::Planned { order: order.id, at });
                    }
                    self.advance(now);
                }
                Some(Command::Play { bus, scripts }) => {
                    let nodes = self.harness.play(bus, scripts, now).unwrap_or_default();
                    self.commands.reply(Reply::Playing { bus, nodes: nodes.into_iter().collect() });
                    self.advance(now);
                }
                Some(Command::Stream { device, stream }) => {
                    if let Some(known) = streams.iter_mut().find(|known| known.device == device) {
                        (known.stream, known.interest) = (stream, Interest::Read);
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    fn read(&mut self, stream: &Stream, watched: &mut Watched<'_>, buffer: &mut [u8], now: BusNs) {
        loop {
            let got = match (&stream.stream).read(buffer) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_gone) => 0,
            };
            let bytes = buffer.get(..got).unwrap_or_default();
            if got == 0 || self.harness.receive(stream.device, bytes, now).is_err() {
                return self.lose(stream, watched, now);
            }
            if got < buffer.len() {
                return;
            }
        }
    }

    fn advance(&mut self, now: BusNs) {
        for (bus, counters) in self.counters.iter_mut().enumerate() {
            if let Some(next) = self.harness.next_event(bus).filter(|&next| next <= now) {
                let late = Duration::from_nanos(now.since(next));
                if late > counters.report.worst_late {
                    (counters.report.worst_late, counters.report.worst_late_at) = (late, now);
                }
            }
            self.harness.advance(bus, now, &mut self.fresh);
            for entry in &self.fresh {
                match entry {
                    TraceEntry::Event(event) => counters.count(event),
                    TraceEntry::Fault(effect) => self.commands.reply(Reply::Effect { bus, effect: *effect }),
                }
            }
            if self.shared.is_some() {
                self.unshared.extend(self.fresh.iter().map(|&what| Traced { bus, what }));
            }
            self.fresh.clear();
        }
        // The reader of the trace has no priority and may be preempted with the lock held: then retry next time.
        if let Some(mut trace) = self.shared.as_deref().and_then(|shared| shared.try_lock().ok()) {
            trace.append(&mut self.unshared);
        }
    }

    /// Writes the output of a device. While the kernel does not accept it, nothing is read from the device either, because
    /// each request would add an answer to keep.
    fn write(&mut self, stream: &Stream, watched: &mut Watched<'_>, now: BusNs) {
        if watched.interest == Interest::Nothing {
            return;
        }
        let Some(output) = self.harness.devices.output(stream.device) else {
            watched.interest = Interest::Nothing;
            return;
        };
        while !output.is_empty() {
            match (&stream.stream).write(output) {
                Ok(taken) => drop(output.drain(..taken)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    watched.interest = Interest::Write;
                    return;
                }
                Err(_gone) => return self.lose(stream, watched, now),
            }
        }
        watched.interest = Interest::Read;
    }

    fn report(mut self, streams: &[Stream], elapsed: BusNs) -> Report {
        if let Some(shared) = &self.shared {
            shared.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.unshared);
        }
        for stream in streams {
            let statistics = self.harness.devices.statistics(stream.device).unwrap_or_default();
            let Statistics { dropped, waiting_most, .. } = statistics;
            if let Some(counters) = self.first_bus(stream.device) {
                counters.report.dropped += dropped;
                counters.report.waiting_most = counters.report.waiting_most.max(waiting_most);
            }
        }
        let busy_ns = |bus| self.harness.bus(bus).map_or(0, Bus::busy_ns);
        let counters = self.counters.iter().enumerate();
        let buses = counters.map(|(bus, counters)| BusReport { busy_ns: busy_ns(bus), ..counters.report }).collect();
        Report { buses, elapsed }
    }

    /// The peer has closed the stream, or is not a kernel.
    fn lose(&mut self, stream: &Stream, watched: &mut Watched<'_>, now: BusNs) {
        watched.interest = Interest::Nothing;
        // The stream of an adapter that was unplugged on order is expected to close.
        if !self.harness.devices.is_unplugged(stream.device) {
            self.harness.unplug(stream.device, now);
            if let Some(counters) = self.first_bus(stream.device) {
                counters.report.lost_devices += 1;
            }
        }
        // The kernel takes the closed stream for a pulled plug.
        let _closed_already = stream.stream.shutdown(std::net::Shutdown::Both);
    }

    /// The counters of the first bus of an adapter.
    fn first_bus(&mut self, device: DeviceId) -> Option<&mut Counters> {
        let bus = self.harness.devices.nodes(device).first()?.bus;
        self.counters.get_mut(bus)
    }
}

impl Counters {
    fn count(&mut self, event: &Event) {
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
