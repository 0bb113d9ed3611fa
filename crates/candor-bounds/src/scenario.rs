//! The worst case of one message as a sum of frames, and its solution.
//!
//! A window starts at time 0. Everything that can be sent before a frame of the message is either in the window from the start
//! (the base), or arrives in it. The time at which the frame starts is the smallest solution of
//!
//! ```text
//!  start = base + frames of its own queue before it + frames that arrived before `leave` or `start`
//! ```
//!
//! All times are nanoseconds as plain numbers here, and saturate: [`FOREVER`] means that there is no bound.

use alloc::vec::Vec;

/// No bound.
pub(crate) const FOREVER: u64 = u64::MAX;
/// Times above this are not searched for: 13 days.
const HORIZON: u64 = 1 << 50;
/// Sums that are computed for one scenario before it counts as unbounded.
const STEPS: u32 = 50_000;

/// Frames of one message, as often as they can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) message: usize,
    /// Bus time of one frame.
    pub(crate) cost: u64,
    /// Without intermission.
    pub(crate) received: u64,
    pub(crate) period: u64,
    /// Time by which a frame can arrive late: the first one then has no distance from the start of the window.
    pub(crate) offset: u64,
    /// The shortest distance of two frames after a rate limit, which passes two at once; 0 without.
    pub(crate) spacing: u64,
    /// Time before the window in which the limit passes frames as well.
    pub(crate) extra: u64,
}

impl Stream {
    /// Frames that arrive in a window of this length, including the next moments of `more`.
    pub(crate) fn frames(&self, length: u64, more: u64) -> u64 {
        if self.offset == FOREVER || length == FOREVER {
            return if self.spacing > 0 && length != FOREVER { self.limit(length, more) } else { FOREVER };
        }
        let arrived = length.saturating_add(self.offset).saturating_add(more).div_ceil(self.period);
        if self.spacing == 0 { arrived } else { arrived.min(self.limit(length, more)) }
    }

    fn limit(&self, length: u64, more: u64) -> u64 {
        2 + length.saturating_add(more).saturating_add(self.extra).div_ceil(self.spacing)
    }

    /// The time at which frame `number` can arrive.
    pub(crate) fn arrival(&self, number: u64) -> u64 {
        if self.offset == FOREVER { 0 } else { number.saturating_mul(self.period).saturating_sub(self.offset) }
    }
}

/// Queues that take turns with that of the message, each of which gets one turn for each of its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) streams: Vec<Stream>,
    /// Frames in one of its turns.
    pub(crate) turn: u64,
    /// The same members are also in the same band, and count for the turns of bands.
    pub(crate) in_band: bool,
}

/// What can be sent before a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) own: Stream,
    /// Bit time: frames that arrive within it after another one has begun take part in the arbitration.
    pub(crate) bit: u64,
    /// The frame on the wire, as `(message, time)`.
    pub(crate) blocking: Option<(usize, u64)>,
    /// Error frames and repetitions.
    pub(crate) errors: u64,
    /// Frames of the node in its controller, as `(message, time)`.
    pub(crate) controller: Vec<(usize, u64)>,
    /// Others in the same FIFO queue, which are sent first if they were queued first.
    pub(crate) fifo: Vec<Stream>,
    /// Queues of the same node that take turns with that of the message.
    pub(crate) groups: Vec<Group>,
    /// Frames of the message's band in one turn of the band.
    pub(crate) own_turn: u64,
    /// Frames of the same node that are sent first if they arrive before the frame goes to the controller.
    pub(crate) urgent: Vec<Stream>,
    /// Frames that are sent first if they arrive before the frame starts.
    pub(crate) rivals: Vec<Stream>,
    /// The same, but only as long as frames are in the controller from before.
    pub(crate) early_rivals: Vec<Stream>,
    /// Bus time that remains for frames before it when the frame goes to the controller.
    pub(crate) rest: u64,
    /// Sends at most one frame in this time; 0 without limit.
    pub(crate) spacing: u64,
}

/// A frame of the message with the longest response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worst {
    /// From the earliest release of this frame to the end of frame.
    pub(crate) response: u64,
    /// Longest time from the queue to the end of the frame before it in its FIFO queue, if the node has no other queue.
    pub(crate) eligible: u64,
    /// Frames of the message before it in the window.
    pub(crate) instance: u64,
    /// When it is queued.
    pub(crate) queued: u64,
    /// When it goes to the controller.
    pub(crate) leaves: u64,
    /// When it starts.
    pub(crate) starts: u64,
}

impl Worst {
    pub(crate) const UNBOUNDED: Self =
        Self { response: FOREVER, eligible: FOREVER, instance: 0, queued: 0, leaves: FOREVER, starts: FOREVER };
}

/// A frame for which a scenario is solved.
#[derive(Clone, Copy)]
struct Case {
    instance: u64,
    queued: u64,
}

impl Scenario {
    /// The frame with the longest response.
    pub(crate) fn worst(&self) -> Worst {
        Solver::new(self).search().unwrap_or(Worst::UNBOUNDED)
    }

    /// The response of the first frame. `None` without bound.
    pub(crate) fn first(&self) -> Option<u64> {
        let mut solver = Solver::new(self);
        if is_overload(self.rivals.iter()) {
            return None;
        }
        let (_, starts) = solver.leaves_and_starts(Case { instance: 0, queued: 0 })?;
        Some(starts.saturating_add(self.own.received).saturating_add(self.own.offset))
    }

    /// When the last frame starts that was in the controller before; [`FOREVER`] without bound.
    pub(crate) fn early(&self) -> u64 {
        Solver::new(self).early_end().unwrap_or(FOREVER)
    }

    fn base(&self) -> u64 {
        self.outside().saturating_add(self.in_controller())
    }

    fn outside(&self) -> u64 {
        self.blocking.map_or(0, |(_, time)| time).saturating_add(self.errors)
    }

    fn in_controller(&self) -> u64 {
        self.controller.iter().fold(0, |sum: u64, (_, time)| sum.saturating_add(*time))
    }

    /// True for one FIFO queue, whose first frame takes part in each arbitration.
    fn is_fifo(&self) -> bool {
        self.urgent.is_empty() && self.groups.is_empty() && self.controller.is_empty() && self.rest == 0
    }

    /// Frames of the same node before this one: their time, of what arrives before `leaves`.
    fn in_node(&self, case: Case, leaves: u64) -> u64 {
        let closed = |stream: &Stream| stream.frames(case.queued, 1);
        let own = case.instance.saturating_mul(self.own.cost);
        let queued = self.fifo.iter().map(|stream| closed(stream).saturating_mul(stream.cost));
        let mut time = queued.fold(own, u64::saturating_add).saturating_add(sum(&self.urgent, leaves, self.bit));
        let of_queue = self.fifo.iter().map(closed).fold(case.instance + 1, u64::saturating_add);
        let mut of_band = of_queue;
        for group in &self.groups {
            let turns = if group.in_band { of_queue } else { of_band.div_ceil(self.own_turn.max(1)) };
            let most = turns.saturating_mul(group.turn);
            let frames = group.streams.iter().fold(0, |sum: u64, one| sum.saturating_add(one.frames(leaves, self.bit)));
            let longest = group.streams.iter().map(|stream| stream.cost).max().unwrap_or(0);
            let all = sum(&group.streams, leaves, self.bit);
            time = time.saturating_add(all.min(most.saturating_mul(longest)));
            if group.in_band {
                of_band = of_band.saturating_add(frames.min(most));
            }
        }
        time
    }
}

struct Solver<'s> {
    scenario: &'s Scenario,
    /// That remain.
    steps: u32,
    /// The time at which the last frame that was in the controller starts at the latest.
    early: u64,
    /// The longest time that the first frame of a band with a rate waits for the controller.
    head: u64,
    /// Times of an earlier frame of the message. Those of later ones are at least as late.
    earlier: Earlier,
}

#[derive(Clone, Copy, Default)]
struct Earlier {
    leaves: u64,
    starts: u64,
    before: u64,
}

impl<'s> Solver<'s> {
    fn new(scenario: &'s Scenario) -> Self {
        Self { scenario, steps: STEPS, early: 0, head: 0, earlier: Earlier::default() }
    }

    /// `None` if there is no bound.
    fn search(&mut self) -> Option<Worst> {
        let scenario = self.scenario;
        self.early = self.early_end()?;
        if scenario.spacing > 0 {
            self.head = self.head_waits()?;
        }
        let busy = self.busy()?;
        let Stream { offset, period, .. } = scenario.own;
        let instances = busy.saturating_add(offset).div_ceil(period).max(1);
        let mut worst = Worst { response: 0, eligible: 0, ..Worst::UNBOUNDED };
        for instance in 0..instances {
            let first = instance.saturating_mul(period);
            let next = first.saturating_add(period).min(busy);
            self.earlier = self.consider(Case { instance, queued: first }, &mut worst)?;
            for stream in &scenario.fifo {
                let mut number = first.saturating_add(stream.offset) / stream.period + 1;
                while stream.arrival(number) < next {
                    let queued = stream.arrival(number);
                    self.consider(Case { instance, queued }, &mut worst)?;
                    number += 1;
                }
            }
        }
        Some(worst)
    }

    fn consider(&mut self, case: Case, worst: &mut Worst) -> Option<Earlier> {
        let own = self.scenario.own;
        let (leaves, starts) =
            if self.scenario.spacing > 0 { self.limited(case)? } else { self.leaves_and_starts(case)? };
        let end = starts.saturating_add(own.received).saturating_add(own.offset);
        let response = end.saturating_sub(case.queued);
        let (before, eligible) = self.eligible(case)?;
        worst.eligible = worst.eligible.max(eligible.saturating_sub(case.queued));
        if response > worst.response {
            *worst = Worst { response, instance: case.instance, queued: case.queued, leaves, starts, ..*worst };
        }
        Some(Earlier { leaves, starts, before })
    }

    /// The length of the window in which frames of this queue and more urgent ones are pending without interruption.
    fn busy(&mut self) -> Option<u64> {
        let scenario = self.scenario;
        if scenario.spacing > 0 {
            let grouped = || scenario.groups.iter().flat_map(|group| &group.streams);
            let queued = || core::iter::once(&scenario.own).chain(&scenario.fifo).chain(grouped());
            let each = scenario.spacing.saturating_add(self.head);
            let shares = queued().map(|stream| Stream { cost: each, ..*stream });
            if is_overload(shares) {
                return None;
            }
            return self.solve(scenario.base(), |length| {
                queued().fold(0, |sum: u64, one| sum.saturating_add(one.frames(length, 1).saturating_mul(each)))
            });
        }
        let streams = || {
            let grouped = scenario.groups.iter().flat_map(|group| &group.streams);
            let queued = scenario.fifo.iter().chain(grouped).chain(&scenario.urgent).chain(&scenario.rivals);
            core::iter::once(&scenario.own).chain(queued)
        };
        if is_overload(streams()) {
            return None;
        }
        let early = self.early;
        self.solve(scenario.base(), |length| {
            let early = sum(&scenario.early_rivals, length.min(early), scenario.bit);
            sum(streams(), length, scenario.bit).saturating_add(early)
        })
    }

    fn early_end(&mut self) -> Option<u64> {
        let scenario = self.scenario;
        if scenario.early_rivals.is_empty() {
            return Some(0);
        }
        let streams = || scenario.rivals.iter().chain(&scenario.early_rivals);
        if is_overload(streams()) {
            return None;
        }
        self.solve(scenario.base(), |length| sum(streams(), length, scenario.bit))
    }

    /// Frames of others in a window of this length.
    fn others(&self) -> impl Fn(u64) -> u64 + use<'s> {
        let (scenario, early) = (self.scenario, self.early);
        move |length| {
            let early = sum(&scenario.early_rivals, length.min(early), scenario.bit);
            sum(&scenario.rivals, length, scenario.bit).saturating_add(early)
        }
    }

    fn leaves_and_starts(&mut self, case: Case) -> Option<(u64, u64)> {
        let scenario = self.scenario;
        let in_controller = scenario.in_controller();
        let others = self.others();
        let earlier = self.earlier;
        let leaves = self.solve_from(earlier.leaves, scenario.outside(), |length| {
            let node = in_controller.saturating_add(scenario.in_node(case, length));
            node.saturating_sub(scenario.rest).saturating_add(others(length))
        })?;
        if scenario.is_fifo() {
            return Some((leaves, leaves));
        }
        let node = scenario.base().saturating_add(scenario.in_node(case, leaves));
        Some((leaves, self.solve_from(earlier.starts, node, others)?))
    }

    fn head_waits(&mut self) -> Option<u64> {
        let scenario = self.scenario;
        if is_overload(scenario.urgent.iter().chain(&scenario.rivals)) {
            return None;
        }
        let others = self.others();
        self.solve(scenario.base(), |length| sum(&scenario.urgent, length, scenario.bit).saturating_add(others(length)))
    }

    /// With a rate limit: each frame waits for the limit after the one before it, and then for the controller. In the
    /// controller it may meet another frame on the wire.
    fn limited(&mut self, case: Case) -> Option<(u64, u64)> {
        let scenario = self.scenario;
        let each = scenario.spacing.saturating_add(self.head);
        let before = scenario.fifo.iter().map(|stream| stream.frames(case.queued, 1));
        let of_queue = before.fold(case.instance, u64::saturating_add).saturating_add(1);
        let sockets = u64::try_from(scenario.groups.len()).unwrap_or(u64::MAX).saturating_add(1);
        let frames = of_queue.saturating_mul(sockets);
        let leaves = frames.saturating_mul(each);
        let blocking = scenario.outside().saturating_add(scenario.in_controller());
        let after = self.solve(blocking, |length| {
            sum(scenario.rivals.iter().chain(&scenario.early_rivals), length, scenario.bit)
        })?;
        let starts = leaves.saturating_add(after);
        (starts < HORIZON).then_some((leaves, starts))
    }

    /// When the frame before it in a FIFO queue starts at the latest, and when it has been sent.
    fn eligible(&mut self, case: Case) -> Option<(u64, u64)> {
        let scenario = self.scenario;
        let before = scenario.in_node(case, 0);
        if before == 0 {
            return Some((0, case.queued));
        }
        let shortest = scenario.fifo.iter().map(|stream| stream.cost).fold(scenario.own.cost, u64::min).min(before);
        let base = scenario.outside().saturating_add(before - shortest);
        let last = self.solve_from(self.earlier.before, base, |length| sum(&scenario.rivals, length, scenario.bit))?;
        Some((last, last.saturating_add(shortest)))
    }

    /// The smallest solution of `length = base + demand(length)`.
    fn solve(&mut self, base: u64, demand: impl Fn(u64) -> u64) -> Option<u64> {
        self.solve_from(base, base, demand)
    }

    /// The same, if the solution is known to be at least this.
    fn solve_from(&mut self, at_least: u64, base: u64, demand: impl Fn(u64) -> u64) -> Option<u64> {
        let mut length = at_least.max(base);
        loop {
            self.steps = self.steps.checked_sub(1)?;
            let next = base.saturating_add(demand(length));
            if next >= HORIZON {
                return None;
            } else if next <= length {
                return Some(length);
            }
            length = next;
        }
    }
}

/// The time of all frames that arrive in a window.
pub(crate) fn sum<'s>(streams: impl IntoIterator<Item = &'s Stream>, length: u64, more: u64) -> u64 {
    streams
        .into_iter()
        .fold(0, |sum: u64, stream| sum.saturating_add(stream.frames(length, more).saturating_mul(stream.cost)))
}

/// True if the streams need all of the time or more.
fn is_overload(streams: impl Iterator<Item = impl core::borrow::Borrow<Stream>>) -> bool {
    const ALL: u128 = 1 << 64;
    let share = |stream: &Stream| (u128::from(stream.cost) * ALL).div_ceil(stream.period.max(stream.spacing).into());
    let shares = streams.map(|stream| share(stream.borrow()));
    shares.fold(0, u128::saturating_add) >= ALL
}
