//! Replacing the program of a thread between two frames.
//!
//! The supervisor opens everything that the thread will need and puts it into the slot of the thread; an order makes
//! the thread read the slot. What the thread no longer needs returns through the slot, so that nothing is closed or
//! freed between frames.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use candor_config::plan::BusIndex;

use super::outlets::Outlets;
use super::port::Port;
use super::program::Program;
use super::send::Transmit;

#[derive(Debug)]
pub(super) enum Change<S> {
    /// The previous program, returned by the thread.
    Before(#[expect(dead_code, reason = "kept until the supervisor closes it")] Next<S>),
    /// The bus is no longer a source: the thread ends.
    End,
    Next(Next<S>),
}

/// A program with the senders that the thread does not have yet.
#[derive(Debug)]
pub(super) struct Next<S> {
    program: Arc<Program>,
    from: BusIndex,
    outlets: Outlets<S>,
    successors: Arc<[Option<usize>]>,
}

/// Hands a program to a thread and the previous one back.
#[derive(Debug)]
pub(super) struct Slot<S>(Mutex<Option<Change<S>>>);

/// The next program and its relation to the current one.
#[derive(Clone, Debug)]
pub(super) struct NextProgram {
    pub(super) program: Arc<Program>,
    /// By job of the current program.
    pub(super) successors: Arc<[Option<usize>]>,
    /// Ports whose senders must be reopened.
    pub(super) renewed: Vec<Arc<Port>>,
}

/// A [`Slot`] without its sender type.
pub(super) trait Exchange: Debug + Send + Sync {
    /// Opens what the thread needs for the next program, in which its bus is `from`. `old` is its current program and
    /// bus.
    fn prepare(&self, old: (&Program, BusIndex), next: &NextProgram, from: BusIndex) -> io::Result<()>;

    /// Makes the thread end at the next order.
    fn prepare_end(&self);

    /// Drops what was prepared, or what the thread returned.
    fn clear(&self);
}

impl<S> Next<S> {
    /// Switches a thread to this program, and returns the previous one.
    pub(super) fn begin(mut self, program: &mut Arc<Program>, from: &mut BusIndex, outlets: &mut Outlets<S>) -> Self
    where
        S: Transmit,
    {
        outlets.become_those_of(program, (&self.program, self.from), &mut self.outlets, &self.successors);
        std::mem::swap(program, &mut self.program);
        std::mem::swap(from, &mut self.from);
        self
    }
}

impl<S> Slot<S> {
    pub(super) fn take(&self) -> Option<Change<S>> {
        self.lock(Option::take)
    }

    pub(super) fn give_back(&self, before: Next<S>) {
        self.lock(|change| *change = Some(Change::Before(before)));
    }

    fn lock<T>(&self, with: impl FnOnce(&mut Option<Change<S>>) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S> Default for Slot<S> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<S: Transmit> Exchange for Slot<S> {
    fn prepare(&self, old: (&Program, BusIndex), next: &NextProgram, from: BusIndex) -> io::Result<()> {
        let outlets = Outlets::open_missing(&next.program, from, old, &next.renewed)?;
        let (program, successors) = (Arc::clone(&next.program), Arc::clone(&next.successors));
        self.lock(|change| *change = Some(Change::Next(Next { program, from, outlets, successors })));
        Ok(())
    }

    fn prepare_end(&self) {
        self.lock(|change| *change = Some(Change::End));
    }

    fn clear(&self) {
        self.lock(|change| *change = None);
    }
}
