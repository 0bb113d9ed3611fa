//! Maps the name of an engine to its receiver and sender types.

use std::io;
use std::sync::{Arc, mpsc};

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_config::plan::BusIndex;
use candor_io::signal::WakeUp;

use super::error::UserError;
use super::exchange::Exchange;
use super::program::Program;
use super::receive::{self, Receive};
use super::send::{self, Transmit};
use super::thread::{Gated, Thread};
use super::worker::{Orders, State, Stopped, Worker};
use crate::realtime::{ForThreads, THREAD_PREFIX};
use crate::system_error::SystemError;

/// Parameters of the threads to start.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadSpec<'a> {
    pub(super) orders: &'a Arc<Orders>,
    pub(super) for_threads: &'a ForThreads,
    pub(super) program: &'a Arc<Program>,
    pub(super) sources: &'a [BusIndex],
}

/// Starts a thread for each source bus. The threads wait at a gate: either all sockets are open and all threads have
/// their scheduling policy before the first frame is forwarded, or the start fails.
pub(super) fn start(engine: UserEngine, spec: &ThreadSpec<'_>) -> Result<Gated, UserError> {
    let open = match engine.receiver() {
        Receiver::Read => with_receiver::<receive::Read>(engine),
        Receiver::ReadNb => with_receiver::<receive::Spinning>(engine),
        Receiver::ReadBusy => with_receiver::<receive::BusyPolled>(engine),
        Receiver::Mmsg => with_receiver::<receive::Mmsg>(engine),
        Receiver::Mmap => with_receiver::<receive::Ring<false>>(engine),
        Receiver::MmapBusy => with_receiver::<receive::Ring<true>>(engine),
        Receiver::Uring => with_receiver::<receive::Uring>(engine),
    };
    threads(open, spec)
}

/// The forwarding of one bus, with open sockets.
struct Work {
    slot: Arc<dyn Exchange>,
    run: Run,
}

type Run = Box<dyn FnOnce(&mpsc::Receiver<()>, &WakeUp, &State) -> Result<Stopped, UserError> + Send>;
/// Only this is compiled for each pair of receiver and sender.
type Open = fn(&Arc<Orders>, &Arc<Program>, BusIndex) -> io::Result<Work>;

fn with_receiver<R: Receive>(engine: UserEngine) -> Open {
    match engine.sender() {
        Sender::Write => open::<R, send::Write>,
        Sender::Mmsg => open::<R, send::Mmsg>,
        Sender::Mmap => open::<R, send::Ring>,
        Sender::Adaptive => open::<R, send::Adaptive>,
        Sender::Uring => open::<R, send::Uring>,
    }
}

fn open<R: Receive, S: Transmit>(orders: &Arc<Orders>, program: &Arc<Program>, bus: BusIndex) -> io::Result<Work> {
    let worker = Worker::<R, S>::open(orders, program, bus)?;
    let slot = Arc::clone(worker.slot());
    Ok(Work { slot, run: Box::new(|gate, wake_up, state| worker.run(gate, wake_up, state)) })
}

fn threads(open: Open, spec: &ThreadSpec<'_>) -> Result<Gated, UserError> {
    let ThreadSpec { orders, for_threads, program, sources } = *spec;
    let open = |&bus: &BusIndex| match open(orders, program, bus) {
        Ok(work) => Ok((bus, work)),
        Err(error) => Err(program.port(bus).failed(error)),
    };
    let mut gated = Gated::default();
    let (report, entered) = mpsc::sync_channel(sources.len());
    for (bus, Work { slot, run }) in sources.iter().map(open).collect::<Result<Vec<_>, _>>()? {
        let (wake_up, state) = (WakeUp::new(), Arc::new(State::default()));
        let (target, thread_state) = (wake_up.clone(), Arc::clone(&state));
        let (opens, gate) = mpsc::channel();
        let (for_thread, report) = (for_threads.clone(), report.clone());
        let port = Arc::clone(program.port(bus));
        let run = move || {
            if for_thread.enter_and_report(report) { run(&gate, &target, &thread_state) } else { Ok(Stopped) }
        };
        let handle = std::thread::Builder::new()
            .name(format!("{THREAD_PREFIX}{}", port.interface))
            .spawn(run)
            .map_err(SystemError::while_doing("Starting a thread"))?;
        gated.gates.push(opens);
        gated.threads.push(Thread { port, wake_up, state, slot, handle: Some(handle) });
    }
    // Who is reported that the gateway runs may count on what it was to have.
    drop(report);
    entered.into_iter().collect::<Result<(), _>>()?;
    Ok(gated)
}
