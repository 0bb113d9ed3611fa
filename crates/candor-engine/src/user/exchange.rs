//! How a thread gets another program between two frames.
//!
//! The supervisor opens what the thread will need and puts it into the thread's slot; an order makes the thread look there.
//! What the thread does not need any more comes back through the slot, so that nothing is closed or freed between frames.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use candor_config::plan::BusIndex;

use super::outlets::Outlets;
use super::port::Port;
use super::program::Program;
use super::send::Transmit;

/// What a thread finds at an order.
#[derive(Debug)]
pub(super) enum Change<S> {
    /// What it ran before: nothing is to be done.
    Before(#[expect(dead_code, reason = "kept until the supervisor closes it")] Next<S>),
    /// No frames come from its bus any more.
    End,
    /// This is to be run from now on.
    Next(Next<S>),
}

/// A program and what a thread needs for it.
#[derive(Debug)]
pub(super) struct Next<S> {
    program: Arc<Program>,
    from: BusIndex,
    outlets: Outlets<S>,
    successors: Arc<[Option<usize>]>,
}

/// Where a thread looks when there is an order.
#[derive(Debug)]
pub(super) struct Slot<S>(Mutex<Option<Change<S>>>);

/// The next program as the supervisor knows it.
#[derive(Clone, Debug)]
pub(super) struct NextProgram {
    pub(super) program: Arc<Program>,
    /// By job of the program of before.
    pub(super) successors: Arc<[Option<usize>]>,
    /// Ports whose senders have to be opened anew.
    pub(super) renewed: Vec<Arc<Port>>,
}

/// The slot of a thread, whatever its engine.
pub(super) trait Exchange: Debug + Send + Sync {
    /// Opens what the thread needs for the next program, in which its bus is `from`. `old` is what it runs.
    fn prepare(&self, old: (&Program, BusIndex), next: &NextProgram, from: BusIndex) -> io::Result<()>;

    /// The thread is to end.
    fn prepare_end(&self);

    /// Forgets what was prepared, or what the thread gave back.
    fn clear(&self);
}

impl<S> Next<S> {
    /// Exchanges what a thread runs, and gives what it ran.
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
