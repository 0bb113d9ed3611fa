//! Frames that candor composes: one thread receives their sources, and sends them.
//!
//! ```text
//!  sockets of all buses ─ppoll()─┬─▶ Composer of each frame that uses the source ─▶ send()
//!                     next time ─┘   (candor_signals::compose)
//! ```
//!
//! An event is sent as soon as its source is read, a cyclic frame at an absolute time, so a late one does not delay the
//! next ones. Other programs of this machine and the routes of candor receive the frames, as those of any program.
//!
//! A reload keeps the sockets, and the values and times of frames whose description stays the same.

mod port;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use candor_config::plan::{Plan, RouteIndex};
use candor_io::signal::{self, WakeUp};

use candor_userspace::counters::FrameCounters;
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;
use candor_userspace::realtime::{FRAMES_THREAD, ForThreads};
use candor_userspace::run_dir::Entry;
use candor_userspace::system_error::SystemError;
use candor_userspace::user::UserError;
use port::Port;
use worker::{Counts, OfFrame, Worker};
pub use worker::{FrameStatus, InputStatus};

/// Interval between wake-ups of a thread that has not reacted.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

/// What the supervisor and the thread share.
#[derive(Debug, Default)]
struct Control {
    is_end: AtomicBool,
    has_ended: AtomicBool,
    /// Incremented with each question for the state of all frames.
    asked: AtomicU32,
    answered: AtomicU32,
    answer: Mutex<Vec<FrameStatus>>,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ComposedFrames {
    control: Arc<Control>,
    wake_up: WakeUp,
    ports: Vec<Arc<Port>>,
    counts: Vec<Arc<Counts>>,
    thread: Option<JoinHandle<Result<Vec<OfFrame>, UserError>>>,
    /// The ownership record, unless routes have it.
    entry: Option<Entry>,
}

/// Sockets for the frames of a plan; nothing is changed yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    ports: Vec<Arc<Port>>,
}

impl ComposedFrames {
    /// Opens the sockets for the frames of a plan. Those that `running` has are kept.
    pub(crate) fn prepare(plan: &Plan, interfaces: &Interfaces, running: Option<&Self>) -> Result<Prepared, UserError> {
        signal::allow_wake_ups().map_err(SystemError::while_doing("Setting the handler of SIGUSR2"))?;
        let known = running.map_or(&[][..], |running| &running.ports);
        let ports = plan.composing_buses().map(|bus| Port::prepare(plan, bus, interfaces, known));
        Ok(Prepared { ports: ports.collect::<Result<_, _>>()? })
    }

    /// Composes the frames of a plan, in place of those of `running`, whose final counters are returned, too. Frames that go on
    /// count on; routes with a timing count from 0.
    pub(crate) fn begin(
        plan: &Plan,
        prepared: Prepared,
        running: Option<Self>,
    ) -> Result<(Self, Vec<FrameCounters>), UserError> {
        let Prepared { ports } = prepared;
        let counted = running.as_ref().map(|running| running.counts.clone()).unwrap_or_default();
        let before = running.map_or_else(|| Ok(Vec::new()), Self::end)?;
        let counted = counted.iter().map(|counts| counts.read()).collect();
        for port in &ports {
            port.settle()?;
        }
        let worker = Worker::new(plan, &ports, before)?;
        let counts = worker.counts();
        let (control, wake_up) = (Arc::new(Control::default()), WakeUp::new());
        let (of_thread, target, for_threads) = (Arc::clone(&control), wake_up.clone(), ForThreads::of(plan.realtime()));
        let (report, entered) = std::sync::mpsc::sync_channel(1);
        let run = move || {
            let _supervisor_looks_when_this_ends = Nudge(&of_thread);
            if for_threads.enter_and_report(report) { worker.run(&of_thread, &target) } else { Ok(Vec::new()) }
        };
        let thread = std::thread::Builder::new().name(FRAMES_THREAD.into()).spawn(run);
        let thread = Some(thread.map_err(SystemError::while_doing("Starting a thread"))?);
        let started = Self { control, wake_up, ports, counts, thread, entry: None };
        entered.into_iter().collect::<Result<(), _>>()?;
        Ok((started, counted))
    }

    /// Takes a new ownership record.
    pub(crate) fn announce(&mut self, entry: Entry) {
        self.entry.replace(entry).iter().for_each(Entry::forget);
    }

    /// Finds out that the thread has ended, and follows interfaces that came back.
    pub(crate) fn check(&mut self, interfaces: &Interfaces) -> Result<Vec<Notice>, UserError> {
        if self.control.has_ended.load(Ordering::Acquire) {
            self.join()?;
        }
        let mut notices = Vec::new();
        let mut moved = false;
        for port in &self.ports {
            moved |= port.follow(interfaces)?;
            notices.extend(port.notices(interfaces));
        }
        if moved {
            // The thread waits on the old socket.
            self.wake()?;
        }
        Ok(notices)
    }

    /// In the order of the frames of the plan, and then of the identifiers of its routes with a timing.
    pub(crate) fn counters(&self) -> Vec<FrameCounters> {
        self.counts.iter().map(|counts| counts.read()).collect()
    }

    /// The state of all frames, in plan order; empty if the thread has ended.
    pub(crate) fn status(&self) -> Result<Vec<FrameStatus>, UserError> {
        let number = self.control.asked.fetch_add(1, Ordering::Release).wrapping_add(1);
        while self.control.answered.load(Ordering::Acquire) != number {
            if self.control.has_ended.load(Ordering::Acquire) {
                return Ok(Vec::new());
            }
            self.wake()?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        Ok(self.control.answer.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Ends the thread; returns the final counters in plan order.
    pub(crate) fn stop(self) -> Result<Vec<FrameCounters>, UserError> {
        let counts = self.counts.clone();
        self.end()?;
        Ok(counts.iter().map(|counts| counts.read()).collect())
    }

    fn end(mut self) -> Result<Vec<OfFrame>, UserError> {
        self.join()
    }

    fn wake(&self) -> Result<(), UserError> {
        Ok(self.wake_up.wake().map_err(SystemError::while_doing("Waking a thread"))?)
    }

    fn join(&mut self) -> Result<Vec<OfFrame>, UserError> {
        self.control.is_end.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return Ok(Vec::new()) };
        while !thread.is_finished() {
            self.wake()?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        thread.join().map_err(|_panic| UserError::ThreadPanicked { interface: "all composed frames".to_owned() })?
    }
}

impl Drop for ComposedFrames {
    fn drop(&mut self) {
        // There is no caller to report an error to.
        let _ = self.join();
        self.entry.iter().for_each(Entry::forget);
    }
}

/// The route of each identifier with a timing.
pub(crate) fn timed_routes(plan: &Plan) -> impl Iterator<Item = RouteIndex> {
    let routes = plan.routes().iter().enumerate().filter(|(_, route)| route.timing.is_some());
    routes.flat_map(|(at, route)| std::iter::repeat_n(RouteIndex(at), route.selections.len()))
}

/// True if a plan has frames that this thread sends.
pub(crate) fn is_needed(plan: &Plan) -> bool {
    plan.composing_buses().next().is_some()
}

/// Wakes the supervisor when the thread ends, also by an error or a panic.
struct Nudge<'a>(&'a Control);

impl Drop for Nudge<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Release);
        signal::nudge();
    }
}
