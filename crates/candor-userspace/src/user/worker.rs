//! The thread of one source bus: the complete data path.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;

use candor_config::plan::BusIndex;
use candor_core::job::RealtimeNs;
use candor_core::ruleset::Visit;
use candor_io::signal::{self, WakeUp};

use super::accounting::Tally;
use super::error::UserError;
use super::exchange::{Change, Slot};
use super::outlets::Outlets;
use super::port::{Port, is_passing};
use super::program::Program;
use super::receive::{Arrived, Receive};
use super::send::Transmit;
use crate::system_error::SystemError;

/// The thread ended as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Orders of the supervisor to all threads. A thread reads one number per batch and the rest only when it has changed.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Incremented with each order.
    number: AtomicU32,
    is_end: AtomicBool,
}

impl Orders {
    pub(super) fn end(&self) {
        self.is_end.store(true, Ordering::Relaxed);
        self.request_check();
    }

    /// Makes the threads read their slots and follow their interfaces; returns the order number to wait for.
    pub(super) fn request_check(&self) -> u32 {
        // Release: a thread that reads the number sees everything stored before.
        self.number.fetch_add(1, Ordering::Release).wrapping_add(1)
    }

    fn number(&self) -> u32 {
        self.number.load(Ordering::Acquire)
    }

    fn is_end(&self) -> bool {
        self.is_end.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The last order that it has executed.
    seen: AtomicU32,
    /// Set just before the thread ends.
    ended: AtomicBool,
}

impl State {
    pub(super) fn has_seen(&self, order: u32) -> bool {
        self.seen.load(Ordering::Acquire) == order
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// A thread with everything open.
#[derive(Debug)]
pub(super) struct Worker<R, S> {
    orders: Arc<Orders>,
    program: Arc<Program>,
    port: Arc<Port>,
    from: BusIndex,
    receiver: R,
    outlets: Outlets<S>,
    slot: Arc<Slot<S>>,
}

impl<R: Receive, S: Transmit> Worker<R, S> {
    pub(super) fn open(orders: &Arc<Orders>, program: &Arc<Program>, from: BusIndex) -> io::Result<Self> {
        let port = Arc::clone(program.port(from));
        let (receiver, outlets) = (R::open(&port)?, Outlets::open(program, from)?);
        let (orders, program, slot) = (Arc::clone(orders), Arc::clone(program), Arc::default());
        Ok(Self { orders, program, port, from, receiver, outlets, slot })
    }

    pub(super) const fn slot(&self) -> &Arc<Slot<S>> {
        &self.slot
    }

    /// Forwards frames of one bus from when the gate opens until an order ends it. Waits for an interface that is gone.
    ///
    /// Allocates, formats and locks nothing for a frame.
    pub(super) fn run(mut self, gate: &Receiver<()>, wake_up: &WakeUp, state: &State) -> Result<Stopped, UserError> {
        let _supervisor_looks_when_this_ends = Nudge { state };
        if gate.recv().is_err() {
            return Ok(Stopped);
        }
        let _woken_here = wake_up.target_this_thread().map_err(SystemError::while_doing("Unblocking SIGUSR2"))?;
        let mut order = 0;
        loop {
            let number = self.orders.number();
            if number != order {
                if self.orders.is_end() {
                    self.outlets.give_up(&self.program);
                    return Ok(Stopped);
                }
                match self.slot.take() {
                    Some(Change::End) => {
                        self.outlets.give_up(&self.program);
                        return Ok(Stopped);
                    }
                    Some(Change::Next(next)) => {
                        self.slot.give_back(next.begin(&mut self.program, &mut self.from, &mut self.outlets))
                    }
                    None | Some(Change::Before(_)) => {}
                }
                self.follow()?;
                order = number;
                state.seen.store(order, Ordering::Release);
            }
            if let Err(error) = self.forward() {
                // The supervisor reports temporary errors, and frames arrive again afterwards.
                if !is_passing(&error) {
                    return Err(self.port.failed(error));
                }
            }
        }
    }

    /// Receives a batch, routes it and sends the results.
    fn forward(&mut self) -> io::Result<()> {
        let Self { program, port, from, receiver, outlets, .. } = self;
        let program = &**program;
        let rules = program.rules.from_bus(*from);
        let mut way = Way { program, outlets, tally: Tally::default() };
        // Inlined into the receiver, the rule lookup and the queue: calls between them would cost a third of the total.
        let outcome = receiver.receive(
            way.outlets.patience(),
            S::collects(true),
            #[inline(always)]
            |arrived| {
                let mut arrival = Arrival { way: &mut way, arrived, is_taken: false };
                rules.route(arrived.bytes, &mut arrival);
                let is_taken = arrival.is_taken;
                way.tally.count(is_taken);
            },
        );
        let is_any_unwanted = way.tally.is_any_unwanted();
        port.accounting.add(&way.tally);
        outlets.flush(program);
        if is_any_unwanted {
            receiver.keep_unwanted_away();
        }
        outcome
    }

    fn follow(&mut self) -> Result<(), UserError> {
        let followed = self.receiver.follow().and_then(|()| self.outlets.follow());
        match followed {
            Err(error) if !is_passing(&error) => Err(self.port.failed(error)),
            _ => Ok(()),
        }
    }
}

/// One struct, so that the code for a frame has one pointer instead of three.
struct Way<'a, S> {
    program: &'a Program,
    outlets: &'a mut Outlets<S>,
    tally: Tally,
}

struct Arrival<'a, 'w, S> {
    way: &'a mut Way<'w, S>,
    arrived: Arrived<'a>,
    is_taken: bool,
}

impl<S: Transmit> Visit for Arrival<'_, '_, S> {
    #[inline]
    fn at(&self) -> RealtimeNs {
        self.arrived.at.unwrap_or(RealtimeNs::UNKNOWN)
    }

    #[inline(always)]
    fn pass(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.send_on(job, to, bytes);
    }

    // A part of the only place that calls it.
    #[inline(always)]
    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.send_on(job, to, bytes);
    }

    fn delete(&mut self, job: usize) {
        self.is_taken = true;
        self.way.tally.take();
        self.way.program.count_deleted(job);
    }
}

impl<S: Transmit> Arrival<'_, '_, S> {
    #[inline(always)]
    fn send_on(&mut self, job: usize, to: BusIndex, frame: &[u8]) {
        self.is_taken = true;
        let Way { program, outlets, tally } = &mut *self.way;
        tally.take();
        program.count_matched(job);
        outlets.take(program, (job, frame), to, &self.arrived);
    }
}

/// Wakes the supervisor when the thread ends, also by an error or a panic.
struct Nudge<'a> {
    /// Set before the wake-up, because the thread still exists then.
    state: &'a State,
}

impl Drop for Nudge<'_> {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        signal::nudge();
    }
}
