//! Maps the name of an engine to its receiver and sender types.

use std::sync::{Arc, mpsc};

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_config::plan::BusIndex;
use candor_io::signal::WakeUp;

use super::error::UserError;
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
    match engine.receiver() {
        Receiver::Read => with_receiver::<receive::Read>(engine, spec),
        Receiver::ReadNb => with_receiver::<receive::Spinning>(engine, spec),
        Receiver::ReadBusy => with_receiver::<receive::BusyPolled>(engine, spec),
        Receiver::Mmsg => with_receiver::<receive::Mmsg>(engine, spec),
        Receiver::Mmap => with_receiver::<receive::Ring<false>>(engine, spec),
        Receiver::MmapBusy => with_receiver::<receive::Ring<true>>(engine, spec),
        Receiver::Uring => with_receiver::<receive::Uring>(engine, spec),
    }
}

fn with_receiver<R: Receive>(engine: UserEngine, spec: &ThreadSpec<'_>) -> Result<Gated, UserError> {
    match engine.sender() {
        Sender::Write => threads::<R, send::Write>(spec),
        Sender::Mmsg => threads::<R, send::Mmsg>(spec),
        Sender::Mmap => threads::<R, send::Ring>(spec),
        Sender::Adaptive => threads::<R, send::Adaptive>(spec),
        Sender::Uring => threads::<R, send::Uring>(spec),
    }
}

fn threads<R: Receive, S: Transmit>(spec: &ThreadSpec<'_>) -> Result<Gated, UserError> {
    let ThreadSpec { orders, for_threads, program, sources } = *spec;
    let open = |&bus: &BusIndex| {
        let worker = Worker::<R, S>::open(orders, program, bus);
        worker.map(|worker| (bus, worker)).map_err(|error| program.port(bus).failed(error))
    };
    let mut gated = Gated::default();
    let (report, entered) = mpsc::sync_channel(sources.len());
    for (bus, worker) in sources.iter().map(open).collect::<Result<Vec<_>, _>>()? {
        let (wake_up, state, slot) = (WakeUp::new(), Arc::new(State::default()), Arc::clone(worker.slot()));
        let (target, thread_state) = (wake_up.clone(), Arc::clone(&state));
        let (opens, gate) = mpsc::channel();
        let (for_thread, report) = (for_threads.clone(), report.clone());
        let port = Arc::clone(program.port(bus));
        let run = move || {
            if for_thread.enter_and_report(report) { worker.run(&gate, &target, &thread_state) } else { Ok(Stopped) }
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
