//! A thread as its supervisor sees it.

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

/// How long to wait between two wake-ups of a thread that is to look.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Thread {
    /// Where its frames come from.
    pub(super) port: Arc<Port>,
    pub(super) wake_up: WakeUp,
    pub(super) state: Arc<State>,
    /// Where it finds what it is to run next.
    pub(super) slot: Arc<dyn Exchange>,
    /// `None` after it has been joined.
    pub(super) handle: Option<JoinHandle<Result<Stopped, UserError>>>,
}

/// Threads that wait for their beginning. They end if it is not to be.
#[derive(Debug, Default)]
pub(super) struct Gated {
    pub(super) gates: Vec<Sender<()>>,
    pub(super) threads: Vec<Thread>,
}

impl Thread {
    /// Has it look at the order; once may not be enough.
    pub(super) fn wake(&self) -> Result<(), UserError> {
        Ok(self.wake_up.wake().map_err(SystemError::while_doing("Waking a thread"))?)
    }

    /// Wakes it until it has carried out the order or has ended.
    pub(super) fn has_seen(&self, order: u32) -> Result<(), UserError> {
        // A wake-up just before the thread blocks has no effect, so one is not enough.
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
    /// Has them begin.
    pub(super) fn begin(mut self) -> Vec<Thread> {
        for gate in self.gates.drain(..) {
            // One that is gone is found when its thread is joined.
            let _ = gate.send(());
        }
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.gates.clear();
        for thread in &mut self.threads {
            // They have done nothing that could fail.
            let _ = thread.join();
        }
    }
}
