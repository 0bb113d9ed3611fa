//! The one place where an engine's name becomes code.

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

/// The threads that are to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crew<'a> {
    pub(super) orders: &'a Arc<Orders>,
    pub(super) for_threads: &'a ForThreads,
    pub(super) program: &'a Arc<Program>,
    /// The buses that frames come from.
    pub(super) sources: &'a [BusIndex],
}

/// Starts a thread for each bus, which begins when the gate is opened: all sockets are open and all threads are there and have
/// what they were to have before the first frame is forwarded, or nothing is.
pub(super) fn start(engine: UserEngine, crew: &Crew<'_>) -> Result<Gated, UserError> {
    match engine.receiver() {
        Receiver::Read => with_receiver::<receive::Read>(engine, crew),
        Receiver::ReadNb => with_receiver::<receive::Spinning>(engine, crew),
        Receiver::ReadBusy => with_receiver::<receive::BusyPolled>(engine, crew),
        Receiver::Mmsg => with_receiver::<receive::Mmsg>(engine, crew),
        Receiver::Mmap => with_receiver::<receive::Ring<false>>(engine, crew),
        Receiver::MmapBusy => with_receiver::<receive::Ring<true>>(engine, crew),
        Receiver::Uring => with_receiver::<receive::Uring>(engine, crew),
    }
}

fn with_receiver<R: Receive>(engine: UserEngine, crew: &Crew<'_>) -> Result<Gated, UserError> {
    match engine.sender() {
        Sender::Write => threads::<R, send::Write>(crew),
        Sender::Mmsg => threads::<R, send::Mmsg>(crew),
        Sender::Mmap => threads::<R, send::Ring>(crew),
        Sender::Adaptive => threads::<R, send::Adaptive>(crew),
        Sender::Uring => threads::<R, send::Uring>(crew),
    }
}

fn threads<R: Receive, S: Transmit>(crew: &Crew<'_>) -> Result<Gated, UserError> {
    let Crew { orders, for_threads, program, sources } = *crew;
    let open = |&bus: &BusIndex| {
        let worker = Worker::<R, S>::open(orders, program, bus);
        worker.map(|worker| (bus, worker)).map_err(|error| program.port(bus).failed(error))
    };
    let mut gated = Gated::default();
    let (tell, entered) = mpsc::sync_channel(sources.len());
    for (bus, worker) in sources.iter().map(open).collect::<Result<Vec<_>, _>>()? {
        let (wake_up, state, slot) = (WakeUp::new(), Arc::new(State::default()), Arc::clone(worker.slot()));
        let (target, tells) = (wake_up.clone(), Arc::clone(&state));
        let (opens, gate) = mpsc::channel();
        let (for_thread, tell) = (for_threads.clone(), tell.clone());
        let port = Arc::clone(program.port(bus));
        let run = move || {
            if for_thread.enter_and_tell(tell) { worker.run(&gate, &target, &tells) } else { Ok(Stopped) }
        };
        let handle = std::thread::Builder::new()
            .name(format!("{THREAD_PREFIX}{}", port.interface))
            .spawn(run)
            .map_err(SystemError::while_doing("Starting a thread"))?;
        gated.gates.push(opens);
        gated.threads.push(Thread { port, wake_up, state, slot, handle: Some(handle) });
    }
    // Who is told that the gateway runs may count on what it was to have.
    drop(tell);
    entered.into_iter().collect::<Result<(), _>>()?;
    Ok(gated)
}
