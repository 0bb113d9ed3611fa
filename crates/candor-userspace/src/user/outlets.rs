//! The sending side of a thread: a sender and a queue for each destination bus, and the policies for a full transmit
//! queue.
//!
//! Every frame that passes a job is counted exactly once more when its [`Disposition`] is known.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_config::plan::{BusIndex, WhenFull};

use super::age::Ages;
use super::disposition::Disposition;
use super::port::Port;
use super::program::Program;
use super::queue::Queue;
use super::queued::Queued;
use super::receive::{Arrived, MAX_AT_ONCE};
use super::send::{Handed, Transmit};

/// Retry interval while a transmit queue is full: there is no notification when a qdisc has room again. Ten of the
/// shortest frames, a full default queue, take 470 µs at 1 Mbit/s.
const RETRY: Duration = Duration::from_micros(500);

#[derive(Debug)]
pub(super) struct Outlets<S> {
    /// By bus of the program; `None` if no job of this thread sends there.
    outlets: Box<[Option<Outlet<S>>]>,
    /// Some queue is not empty.
    holds: bool,
    ages: Ages,
}

#[derive(Debug)]
struct Outlet<S> {
    port: Arc<Port>,
    sender: S,
    /// Frames that are being batched or wait for room.
    queue: Queue,
    /// Since when the transmit queue has been full.
    full_since: Option<Instant>,
    /// `None` unless a job of this pair of buses needs timestamps, so that the others pay nothing for them.
    timed: Option<Timed>,
}

/// Uses of receive timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timed {
    /// Some job has a `max-age`.
    has_max_age: bool,
    /// The latency of each sent frame is measured.
    measures_latency: bool,
}

/// The next step after a frame was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Continue with the oldest remaining frame.
    Now,
    /// Retry later: the oldest frame waits for room.
    Later,
}

impl<S: Transmit> Outlets<S> {
    /// Opens senders for the destinations of the jobs from this bus.
    pub(super) fn open(program: &Program, from: BusIndex) -> io::Result<Self> {
        let open = |(bus, port): (usize, &Option<Arc<Port>>)| {
            let to = BusIndex(bus);
            let wanted = port.as_ref().filter(|_port| program.leads(from, to));
            wanted.map(|port| Outlet::open(port, Timed::of(program, from, to))).transpose()
        };
        let outlets = program.ports.iter().enumerate().map(open).collect::<io::Result<_>>()?;
        Ok(Self { outlets, holds: false, ages: Ages::new()? })
    }

    /// Opens the senders that the next program needs and the thread lacks. `old` is its current program and bus;
    /// senders of `renewed` ports are reopened.
    pub(super) fn open_missing(
        next: &Program,
        from: BusIndex,
        old: (&Program, BusIndex),
        renewed: &[Arc<Port>],
    ) -> io::Result<Self> {
        let (old, old_from) = old;
        let has = |port: &Arc<Port>| {
            let is_renewed = renewed.iter().any(|other| Arc::ptr_eq(other, port));
            !is_renewed && old.bus_of(port).is_some_and(|to| old.leads(old_from, to))
        };
        let open = |(bus, port): (usize, &Option<Arc<Port>>)| {
            let to = BusIndex(bus);
            let missing = port.as_ref().filter(|port| next.leads(from, to) && !has(port));
            missing.map(|port| Outlet::open(port, Timed::of(next, from, to))).transpose()
        };
        let outlets = next.ports.iter().enumerate().map(open).collect::<io::Result<_>>()?;
        Ok(Self { outlets, holds: false, ages: Ages::new()? })
    }

    /// Switches to the next program, for which `missing` was opened. Waiting frames stay queued and are counted by the
    /// successors of their jobs; frames without a successor or sender are sent now or dropped.
    ///
    /// Afterwards `missing` holds the senders that are no longer needed.
    pub(super) fn become_those_of(
        &mut self,
        old: &Program,
        (next, from): (&Program, BusIndex),
        missing: &mut Self,
        successors: &[Option<usize>],
    ) {
        self.flush(old);
        std::mem::swap(&mut self.outlets, &mut missing.outlets);
        self.holds = false;
        for place in &mut missing.outlets {
            let Some(mut had) = place.take() else { continue };
            had.queue.retain(|queued| {
                let successor = successors[queued.job];
                if successor.is_none() {
                    old.count(queued, Disposition::Full);
                }
                if had.timed.is_none() {
                    // The field was not maintained before and is used from now on.
                    queued.at = None;
                }
                successor.inspect(|successor| queued.job = *successor).is_some()
            });
            let Some(to) = next.bus_of(&had.port).filter(|to| next.leads(from, *to)) else {
                while !had.queue.is_empty() {
                    had.drop_oldest(next);
                }
                *place = Some(had);
                continue;
            };
            had.timed = Timed::of(next, from, to);
            self.holds |= !had.queue.is_empty();
            if let Some(renewed) = &mut self.outlets[to.0] {
                std::mem::swap(&mut renewed.sender, &mut had.sender);
                *place = self.outlets[to.0].take();
            }
            self.outlets[to.0] = Some(had);
        }
    }

    /// Sends the output of a job, or queues it until [`flush`](Self::flush).
    ///
    /// Always inlined; contains only what every frame needs.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        program: &Program,
        (job, frame): (usize, &[u8]),
        to: BusIndex,
        arrived: &Arrived<'_>,
    ) {
        let Self { outlets, holds, ages } = self;
        let outlet = outlets[to.0].as_mut().expect("every bus that a job of this thread sends to was opened");
        if outlet.queue.is_full() {
            outlet.make_room(program, ages);
        }
        let next = outlet.queue.next();
        next.write(job, frame);
        if outlet.timed.is_some() {
            next.at = arrived.at;
        }
        // A single frame is sent at once, but never overtakes earlier frames to another bus.
        if !*holds && !S::collects(arrived.more) {
            *holds = outlet.send_next(program, ages) == Next::Later;
        } else {
            outlet.queue.push_next();
            *holds = true;
        }
    }

    /// Sends queued frames, as far as there is room.
    pub(super) fn flush(&mut self, program: &Program) {
        if !self.holds {
            return;
        }
        let Self { outlets, holds, ages } = self;
        *holds = false;
        for outlet in outlets.iter_mut().flatten().filter(|outlet| !outlet.queue.is_empty()) {
            *holds |= outlet.flush(program, ages) == Next::Later;
        }
    }

    /// Timeout for the receiver before [`flush`](Self::flush) is due; `None` while all queues are empty.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.holds.then_some(RETRY)
    }

    /// Follows changes of the interfaces.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        self.outlets.iter_mut().flatten().try_for_each(|outlet| outlet.sender.follow())
    }

    /// Sends what can be sent and drops the rest: the thread ends.
    pub(super) fn give_up(&mut self, program: &Program) {
        self.flush(program);
        for outlet in self.outlets.iter_mut().flatten() {
            while !outlet.queue.is_empty() {
                outlet.drop_oldest(program);
            }
        }
    }
}

impl Timed {
    /// `None` if no job of this pair of buses needs timestamps.
    fn of(program: &Program, from: BusIndex, to: BusIndex) -> Option<Self> {
        let timed = Self { has_max_age: program.has_max_age(from, to), measures_latency: program.measures_latency() };
        (timed.has_max_age || timed.measures_latency).then_some(timed)
    }
}

impl<S: Transmit> Outlet<S> {
    fn open(port: &Arc<Port>, timed: Option<Timed>) -> io::Result<Self> {
        let (port, sender) = (Arc::clone(port), S::open(port)?);
        Ok(Self { port, sender, queue: Queue::new(MAX_AT_ONCE), full_since: None, timed })
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, program: &Program, ages: &mut Ages) {
        if self.flush(program, ages) == Next::Later {
            // Its policy is to be dropped for newer frames.
            self.drop_oldest(program);
        }
    }

    /// Fast path for the next frame of an empty queue.
    fn send_next(&mut self, program: &Program, ages: &mut Ages) -> Next {
        if self.timed.is_none() {
            let queued = self.queue.next();
            let handed = self.sender.hand_over(std::slice::from_ref(queued));
            if handed.taken == 1 {
                self.full_since = None;
                program.count_sent(queued);
                return Next::Now;
            }
            self.queue.push_next();
            if let Some(error) = handed.refused
                && self.refuse(program, &error) == Next::Later
            {
                return Next::Later;
            }
        } else {
            self.queue.push_next();
        }
        self.flush(program, ages)
    }

    /// Sends the queue as far as there is room; the policy of the oldest frame decides about the rest.
    fn flush(&mut self, program: &Program, ages: &mut Ages) -> Next {
        while !self.queue.is_empty() {
            let handed = match self.timed {
                None => self.sender.hand_over(self.queue.oldest()),
                Some(timed) => self.hand_over_in_time(timed, program, ages),
            };
            self.queue.oldest()[..handed.taken].iter().for_each(|queued| program.count_sent(queued));
            self.queue.forget(handed.taken);
            if handed.taken > 0 {
                self.full_since = None;
            }
            if let Some(error) = handed.refused
                && self.refuse(program, &error) == Next::Later
            {
                return Next::Later;
            }
        }
        Next::Now
    }

    /// Drops expired frames at the head of the queue, then sends the following ones that are not expired.
    fn hand_over_in_time(&mut self, timed: Timed, program: &Program, ages: &mut Ages) -> Handed {
        let fresh = if timed.has_max_age { self.drop_old(program, ages) } else { self.queue.oldest().len() };
        if fresh == 0 {
            return Handed { taken: 0, refused: None };
        }
        let handed = self.sender.hand_over(&self.queue.oldest()[..fresh]);
        if timed.measures_latency && handed.taken > 0 {
            // After the system call, so that reading the clock delays only the next frame.
            ages.refresh();
            self.queue.oldest()[..handed.taken].iter().for_each(|queued| program.count_latency(queued, ages));
        }
        handed
    }

    /// Drops expired frames at the head, and returns how many unexpired frames follow.
    fn drop_old(&mut self, program: &Program, ages: &mut Ages) -> usize {
        ages.refresh();
        let is_old = |queued: &&Queued| program.is_too_old(queued, ages);
        let old =
            self.queue.oldest().iter().take_while(is_old).inspect(|queued| program.count(queued, Disposition::Expired));
        let old = old.count();
        self.queue.forget(old);
        self.queue.oldest().iter().take_while(|queued| !is_old(queued)).count()
    }

    /// Applies the policy to the oldest frame, which was refused.
    fn refuse(&mut self, program: &Program, error: &io::Error) -> Next {
        let Some(queued) = self.queue.oldest().first() else { return Next::Now };
        let errno = error.raw_os_error().unwrap_or_default();
        let disposition = Disposition::of_errno(errno);
        if disposition == Disposition::Full {
            let since = *self.full_since.get_or_insert_with(Instant::now);
            match program.when_full(queued) {
                WhenFull::DropOldest => {
                    self.port.failures.note(errno);
                    return Next::Later;
                }
                WhenFull::Block { limit } if since.elapsed() < limit => {
                    // Blocks everything from this bus, as configured.
                    std::thread::sleep(RETRY);
                    return Next::Now;
                }
                WhenFull::Block { .. } | WhenFull::DropNewest => {}
            }
        }
        program.count(queued, disposition);
        self.queue.forget(1);
        // The supervisor reports an interface that is gone.
        if disposition != Disposition::Gone {
            self.port.failures.note(errno);
        }
        Next::Now
    }

    fn drop_oldest(&mut self, program: &Program) {
        if let Some(queued) = self.queue.oldest().first() {
            program.count(queued, Disposition::Full);
        }
        self.queue.forget(1);
    }
}
