//! The one place where an engine's name becomes code.

use std::sync::{Arc, mpsc};

use candor_core::engine::{Receiver, Sender, UserEngine};
use candor_core::plan::BusIndex;
use candor_io::signal::WakeUp;

use super::receive::{self, Receive};
use super::send::{self, Transmit};
use super::worker::{State, Stopped, Worker};
use super::{Thread, UserGateway};
use crate::error::GatewayError;
use crate::realtime::THREAD_PREFIX;

/// Starts a thread for each bus that frames come from. Those that were started are in the gateway also if one fails.
pub(super) fn start(engine: UserEngine, gateway: &mut UserGateway) -> Result<(), GatewayError> {
    match engine.receiver() {
        Receiver::Read => with_receiver::<receive::Read>(engine, gateway),
        Receiver::ReadNb => with_receiver::<receive::Spinning>(engine, gateway),
        Receiver::ReadBusy => with_receiver::<receive::BusyPolled>(engine, gateway),
        Receiver::Mmsg => with_receiver::<receive::Mmsg>(engine, gateway),
        Receiver::Mmap => with_receiver::<receive::Ring<false>>(engine, gateway),
        Receiver::MmapBusy => with_receiver::<receive::Ring<true>>(engine, gateway),
        Receiver::Uring => with_receiver::<receive::Uring>(engine, gateway),
    }
}

fn with_receiver<R: Receive>(engine: UserEngine, gateway: &mut UserGateway) -> Result<(), GatewayError> {
    match engine.sender() {
        Sender::Write => threads::<R, send::Write>(gateway),
        Sender::Mmsg => threads::<R, send::Mmsg>(gateway),
        Sender::Mmap => threads::<R, send::Ring>(gateway),
        Sender::Adaptive => threads::<R, send::Adaptive>(gateway),
        Sender::Uring => threads::<R, send::Uring>(gateway),
    }
}

fn threads<R: Receive, S: Transmit>(gateway: &mut UserGateway) -> Result<(), GatewayError> {
    // All sockets are open before the first thread runs: if one cannot be had, nothing was forwarded.
    let sources: Vec<BusIndex> = gateway.program.sources().collect();
    let open = |&bus: &BusIndex| {
        let worker = Worker::<R, S>::open(&gateway.orders, &gateway.program, bus);
        worker.map(|worker| (bus, worker)).map_err(|error| gateway.program.port(bus).failed(error))
    };
    let (tell, entered) = mpsc::sync_channel(sources.len());
    for (bus, worker) in sources.iter().map(open).collect::<Result<Vec<_>, _>>()? {
        let (wake_up, state) = (WakeUp::new(), Arc::new(State::default()));
        let (target, tells) = (wake_up.clone(), Arc::clone(&state));
        let (for_thread, tell) = (gateway.for_threads.clone(), tell.clone());
        let handle = std::thread::Builder::new()
            .name(format!("{THREAD_PREFIX}{}", gateway.program.port(bus).interface))
            .spawn(move || if for_thread.enter_and_tell(tell) { worker.run(&target, &tells) } else { Ok(Stopped) })
            .map_err(|source| GatewayError::System { what: "Starting a thread", source })?;
        gateway.threads.push(Thread { bus, wake_up, state, handle: Some(handle) });
    }
    // Who is told that the gateway runs may count on what it was to have.
    drop(tell);
    entered.into_iter().collect::<Result<(), _>>().map_err(GatewayError::from)
}
