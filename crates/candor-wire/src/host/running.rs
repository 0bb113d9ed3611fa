//! The thread that plays the buses.

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

use super::orders::{Command, Desk, Orders, Reply};
use super::report::{BusReport, Report};
use crate::device::Statistics;
use crate::fault::{FaultOrder, Happening};
use crate::harness::{DeviceId, Harness};

/// What one read takes. The largest packet is smaller.
const BUFFER_BYTES: usize = 1 << 16;

/// Something that happened on one of the buses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Which bus, in the order given to [`Running::start`].
    pub bus: usize,
    /// What.
    pub what: Happening,
}

/// Under what conditions the thread runs.
#[derive(Debug, Default)]
pub struct Conditions {
    /// Why it has no real-time priority, if it has none.
    pub no_priority: Option<io::Error>,
}

/// Buses that are being played.
#[derive(Debug)]
pub struct Running {
    thread: JoinHandle<io::Result<Report>>,
    orders: Orders,
    told: Arc<Mutex<Vec<Told>>>,
    start: MonotonicNs,
    /// Under what conditions the thread runs.
    pub conditions: Conditions,
}

impl Running {
    /// Starts the thread, with a stream for each device, in the order plugged. Whatever happens on the buses is kept for [`story`](Self::story) if somebody wants it.
    ///
    /// # Errors
    /// Whatever keeps a thread from being started.
    pub fn start(harness: Harness, streams: Vec<UnixStream>, wants_story: bool) -> io::Result<Self> {
        let (orders, desk) = Orders::open()?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let start = clock::monotonic()?;
        let mut plugged = Vec::new();
        for (device, stream) in streams.into_iter().enumerate() {
            stream.set_nonblocking(true)?;
            plugged.push(Stream { device: DeviceId(device), stream, interest: Interest::Read });
        }
        let lines = (0..harness.buses()).map(|_| Line::default()).collect();
        let told_on = wants_story.then(|| Arc::clone(&told));
        let player = Player { harness, lines, start, desk, told: told_on, fresh: Vec::new(), untold: Vec::new() };
        let (ready, conditions) = mpsc::channel();
        let thread = thread::Builder::new().name("wire".into()).spawn(move || {
            let no_priority = take_priority().err();
            let _nobody_waits = ready.send(Conditions { no_priority });
            player.play(plugged)
        })?;
        let conditions = conditions.recv().unwrap_or_default();
        Ok(Self { thread, orders, told, start, conditions })
    }

    /// Has something done to a bus, at the moment that the order names or at once. [`replies`](Self::replies) tells what
    /// comes of it.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn order(&self, bus: usize, order: FaultOrder) -> io::Result<()> {
        self.orders.send(Command::Fault { bus, order })
    }

    /// Gives the stream of an adapter that was plugged in again ([`Fault::Replug`](crate::fault::Fault::Replug)).
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn plug(&self, device: DeviceId, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        self.orders.send(Command::Stream { device, stream })
    }

    /// What came of orders since the last call. Waits for it, at most so long, if nothing has come yet.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn replies(&self, at_most: Duration) -> io::Result<Vec<Reply>> {
        self.orders.replies(at_most)
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
        drop(self.orders);
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
    device: DeviceId,
    stream: UnixStream,
    /// What is waited for, while nobody waits.
    interest: Interest,
}

/// Why the buses are not played on for a moment.
#[derive(Debug)]
enum Pause {
    /// So many commands have come.
    Commands(usize),
    /// Nobody commands any more.
    End(BusNs),
}

/// What became of a bus.
#[derive(Debug, Default)]
struct Line {
    report: BusReport,
    /// Of the last frame: several senders of one frame are one frame.
    last_end: Option<BusNs>,
}

#[derive(Debug)]
struct Player {
    harness: Harness,
    /// Of each bus.
    lines: Vec<Line>,
    start: MonotonicNs,
    desk: Desk,
    told: Option<Arc<Mutex<Vec<Told>>>>,
    fresh: Vec<Happening>,
    /// What the story lacks.
    untold: Vec<Told>,
}

impl Player {
    /// Until nobody commands any more.
    fn play(mut self, mut streams: Vec<Stream>) -> io::Result<Report> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.play_on(&mut streams, &mut buffer)? {
                Pause::Commands(count) => self.obey(count, &mut streams)?,
                Pause::End(now) => return Ok(self.report(&streams, now)),
            }
        }
    }

    /// Until somebody commands.
    fn play_on(&mut self, streams: &mut [Stream], buffer: &mut [u8]) -> io::Result<Pause> {
        let bell = self.desk.bell()?;
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
            let next = (0..self.lines.len()).filter_map(|bus| self.harness.next_event(bus)).min();
            match poll::wait(watched, next.map(|next| Duration::from_nanos(next.since(now)))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            now = since(self.start)?;
            let Some((bell, watched)) = watched.split_first_mut() else { continue };
            if bell.is_ready {
                return Ok(self.desk.answer_bell().map_or(Pause::End(now), Pause::Commands));
            }
            for (stream, watched) in streams.iter().zip(&mut *watched) {
                if watched.is_ready && watched.interest == Interest::Read {
                    self.read(stream, watched, buffer, now);
                }
            }
            self.advance(now);
        }
    }

    /// Does what was commanded.
    fn obey(&mut self, count: usize, streams: &mut [Stream]) -> io::Result<()> {
        for _ in 0..count {
            let now = since(self.start)?;
            match self.desk.next() {
                Some(Command::Fault { bus, order }) => {
                    if let Some(at) = self.harness.order(bus, order, now) {
                        self.desk.reply(Reply::Planned { order: order.id, at });
                    }
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

    /// Everything that is there to be read.
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

    /// Lets the buses come to `now`.
    fn advance(&mut self, now: BusNs) {
        for (bus, line) in self.lines.iter_mut().enumerate() {
            if let Some(next) = self.harness.next_event(bus).filter(|&next| next <= now) {
                let late = Duration::from_nanos(now.since(next));
                if late > line.report.worst_late {
                    (line.report.worst_late, line.report.worst_late_at) = (late, now);
                }
            }
            self.harness.advance(bus, now, &mut self.fresh);
            for happening in &self.fresh {
                match happening {
                    Happening::Event(event) => line.count(event),
                    Happening::Fault(effect) => self.desk.reply(Reply::Effect { bus, effect: *effect }),
                }
            }
            if self.told.is_some() {
                self.untold.extend(self.fresh.iter().map(|&what| Told { bus, what }));
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
        if watched.interest == Interest::Nothing {
            return;
        }
        let Some(output) = self.harness.output(stream.device) else {
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
        if let Some(told) = &self.told {
            told.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.untold);
        }
        for stream in streams {
            let Statistics { dropped, waiting_most, .. } = self.harness.statistics(stream.device).unwrap_or_default();
            if let Some(line) = self.first_line(stream.device) {
                line.report.dropped += dropped;
                line.report.waiting_most = line.report.waiting_most.max(waiting_most);
            }
        }
        let busy_ns = |bus| self.harness.bus(bus).map_or(0, Bus::busy_ns);
        let lines = self.lines.iter().enumerate();
        let buses = lines.map(|(bus, line)| BusReport { busy_ns: busy_ns(bus), ..line.report }).collect();
        Report { buses, elapsed }
    }

    /// The kernel is gone, or is none.
    fn lose(&mut self, stream: &Stream, watched: &mut Watched<'_>, now: BusNs) {
        watched.interest = Interest::Nothing;
        // Whoever had it unplugged closes the stream, and nothing is lost with it.
        if !self.harness.is_unplugged(stream.device) {
            self.harness.unplug(stream.device, now);
            if let Some(line) = self.first_line(stream.device) {
                line.report.lost_devices += 1;
            }
        }
        // The kernel takes the closed stream for a pulled plug.
        let _closed_already = stream.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Where an adapter with several buses counts.
    fn first_line(&mut self, device: DeviceId) -> Option<&mut Line> {
        let bus = self.harness.places(device).first()?.bus;
        self.lines.get_mut(bus)
    }
}

impl Line {
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
