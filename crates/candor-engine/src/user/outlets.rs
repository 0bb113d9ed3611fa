//! What one thread sends: a sender and a queue for each bus that its routes lead to, and what becomes of frames for which
//! there is no room.
//!
//! Every frame that a job lets through is counted once more where it ends: sent, or dropped for a reason that has a name
//! ([`Disposition`]).

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_config::plan::{BusIndex, WhenFull};

use super::age::Ages;
use super::disposition::Disposition;
use super::port::Port;
use super::program::Program;
use super::queue::Queue;
use super::queued::{Queued, Sent};
use super::receive::{Arrived, MAX_AT_ONCE};
use super::send::{Handed, Transmit};

/// How soon to try again where there was no room: the kernel tells nobody that a queueing discipline has room again. Ten of
/// the shortest frames, a full default queue, last 470 µs at 1 Mbit/s.
const RETRY: Duration = Duration::from_micros(500);

/// The ways out of one thread.
#[derive(Debug)]
pub(super) struct Outlets<S> {
    /// By bus of the program; `None` for those that no job of this thread sends to.
    outlets: Box<[Option<Outlet<S>>]>,
    /// Whether some queue holds frames.
    holds: bool,
    ages: Ages,
}

#[derive(Debug)]
struct Outlet<S> {
    port: Arc<Port>,
    sender: S,
    /// Frames that are collected, or that wait for room.
    queue: Queue,
    /// When there was no room for the oldest; `None` while there is.
    full_since: Option<Instant>,
    /// Whether it matters when its frames leave; decided at the start, so that where it does not nothing is asked.
    timed: Option<Timed>,
}

/// Why it matters when frames leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timed {
    /// Frames of some job must not be old.
    has_max_age: bool,
    /// It is counted how long they were under way.
    measures_latency: bool,
}

/// What to do after a frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Go on with the oldest frame that is left.
    Now,
    /// Try again later: the oldest frame waits for room.
    Later,
}

impl<S: Transmit> Outlets<S> {
    /// Opens what the jobs from this bus need.
    pub(super) fn open(program: &Program, from: BusIndex) -> io::Result<Self> {
        let open = |(bus, port): (usize, &Option<Arc<Port>>)| {
            let to = BusIndex(bus);
            let wanted = port.as_ref().filter(|_port| program.leads(from, to));
            wanted.map(|port| Outlet::open(port, Timed::of(program, from, to))).transpose()
        };
        let outlets = program.ports.iter().enumerate().map(open).collect::<io::Result<_>>()?;
        Ok(Self { outlets, holds: false, ages: Ages::new()? })
    }

    /// Opens what the jobs from this bus need in the next program and the thread does not have yet: `old` is the program that
    /// it runs, and `renewed` the ports whose senders have to be opened anew.
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

    /// Goes over to the next program, for which `missing` was opened. Frames that wait stay where they are and are counted
    /// by the successors of their jobs; those that have none, or no outlet any more, have their last chance now.
    ///
    /// What is not needed any more is in `missing` afterwards.
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
                    // Nobody has written it down, and somebody may ask for it now.
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

    /// Sends what a job made of the frame that arrived, or keeps it until [`flush`](Self::flush).
    ///
    /// Always inlined, and only what every frame needs: the rest is apart.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        program: &Program,
        (job, frame): (usize, Sent<'_>),
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
        // A frame that came alone leaves at once, but overtakes none that came before it to another bus.
        if !*holds && !S::collects(arrived.more) {
            *holds = outlet.send_next(program, ages) == Next::Later;
        } else {
            outlet.queue.push_next();
            *holds = true;
        }
    }

    /// Hands over what was kept, as far as there is room.
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

    /// How long a receiver may wait before [`flush`](Self::flush) is to be tried again; `None` while nothing is kept.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.holds.then_some(RETRY)
    }

    /// Interfaces may have changed.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        self.outlets.iter_mut().flatten().try_for_each(|outlet| outlet.sender.follow())
    }

    /// Gives up what is kept: the thread ends.
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
    /// `None` if it does not matter on the way from here to there.
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
            // The policy of the oldest is to go when others come.
            self.drop_oldest(program);
        }
    }

    /// The short way of the next frame of an empty queue.
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

    /// Hands over the queue, as far as there is room; the policy decides what becomes of the rest.
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

    /// Hands over frames that are not old, after dropping those in front of them that are.
    fn hand_over_in_time(&mut self, timed: Timed, program: &Program, ages: &mut Ages) -> Handed {
        let fresh = if timed.has_max_age { self.drop_old(program, ages) } else { self.queue.oldest().len() };
        if fresh == 0 {
            return Handed { taken: 0, refused: None };
        }
        let handed = self.sender.hand_over(&self.queue.oldest()[..fresh]);
        if timed.measures_latency && handed.taken > 0 {
            // Behind the call, so that the reading delays nobody's frame but the next.
            ages.refresh();
            self.queue.oldest()[..handed.taken].iter().for_each(|queued| program.count_latency(queued, ages));
        }
        handed
    }

    /// Drops old frames in front of the queue, and says how many that are not old follow each other there.
    fn drop_old(&mut self, program: &Program, ages: &mut Ages) -> usize {
        ages.refresh();
        let is_old = |queued: &&Queued| program.is_too_old(queued, ages);
        let old =
            self.queue.oldest().iter().take_while(is_old).inspect(|queued| program.count(queued, Disposition::Expired));
        let old = old.count();
        self.queue.forget(old);
        self.queue.oldest().iter().take_while(|queued| !is_old(queued)).count()
    }

    /// The oldest frame was not taken.
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
                    // Everything from this bus waits: that is what was asked for.
                    std::thread::sleep(RETRY);
                    return Next::Now;
                }
                WhenFull::Block { .. } | WhenFull::DropNewest => {}
            }
        }
        program.count(queued, disposition);
        self.queue.forget(1);
        // That an interface is gone is reported by the supervisor.
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
