//! The supervisor's view of a thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use candor_io::signal::WakeUp;

use super::error::UserError;
use super::exchange::Exchange;
use super::port::Port;
use super::worker::{State, Stopped};
use crate::system_error::SystemError;

/// Interval between wake-ups of a thread that has not seen an order.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) port: Arc<Port>,
    pub(super) wake_up: WakeUp,
    pub(super) state: Arc<State>,
    /// Delivers the next program.
    pub(super) slot: Arc<dyn Exchange>,
    /// `None` after it has been joined.
    pub(super) handle: Option<JoinHandle<Result<Stopped, UserError>>>,
}

/// Threads that wait for the start; dropping this ends them.
#[derive(Debug, Default)]
pub(super) struct Gated {
    pub(super) gates: Vec<Sender<()>>,
    pub(super) threads: Vec<Thread>,
}

impl Thread {
    /// Interrupts its blocking call once, which may be too early; see [`has_seen`](Self::has_seen).
    pub(super) fn wake(&self) -> Result<(), UserError> {
        Ok(self.wake_up.wake().map_err(SystemError::while_doing("Waking a thread"))?)
    }

    /// Wakes it until it has executed the order or has ended.
    pub(super) fn has_seen(&self, order: u32) -> Result<(), UserError> {
        // A wake-up just before the thread blocks has no effect, so it is repeated.
        while !self.state.has_seen(order) && !self.state.has_ended() {
            self.wake()?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        Ok(())
    }

    /// Wakes it until it ends.
    pub(super) fn join(&mut self) -> Result<(), UserError> {
        let Some(handle) = self.handle.take() else { return Ok(()) };
        while !handle.is_finished() {
            self.wake()?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        let panicked = || UserError::ThreadPanicked { interface: self.port.interface.clone() };
        handle.join().map_err(|_panic| panicked())?.map(|Stopped| ())
    }
}

impl Gated {
    pub(super) fn begin(mut self) -> Vec<Thread> {
        for gate in self.gates.drain(..) {
            // A thread that has ended is detected by join().
            let _ = gate.send(());
        }
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.gates.clear();
        for thread in &mut self.threads {
            // They have forwarded nothing yet, so there is no error to report.
            let _ = thread.join();
        }
    }
}
