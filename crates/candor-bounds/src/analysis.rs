//! Bounds of all messages: the fixed point over the queues of a bus, and over buses.

use alloc::vec;
use alloc::vec::Vec;

use crate::length::{Clock, FrameTime, Lengths, bit_time};
use crate::model::{BusId, Latency, MessageId, Network, Origin, Queue};
use crate::problem::{Judgement, Load, Problem, priority};
use crate::rules::{Prepared, Rule, State, View};
use crate::scenario::{FOREVER, Scenario, Worst};
use crate::time::Ns;

/// Passes over the buses after which messages whose bounds still grow count as unbounded.
const MOST_PASSES: u32 = 50;

/// What is assumed of frames and faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// How long frames are.
    pub lengths: Lengths,
    /// Number of faults on a bus from the release of a frame to its end, each of which destroys a frame.
    pub error_frames: u32,
    /// Bits from a fault in the last bit of a frame to the next start of frame.
    ///
    /// 31 is the most: two error flags of 6 bits, 8 bits of delimiter, 3 of intermission, and 8 of suspended transmission of
    /// an error-passive node. Without error-passive nodes it is 23.
    ///
    /// # Source
    /// Davis, Burns, Bril, Lukkien 2007, section 5, <https://doi.org/10.1007/s11241-007-9012-7>.
    pub error_frame_bits: u32,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self { lengths: Lengths::Exact, error_frames: 0, error_frame_bits: 31 }
    }
}

/// Bounds of all messages of a network.
#[derive(Clone, Debug)]
pub struct Analysis {
    network: Network,
    assumptions: Assumptions,
    times: Vec<FrameTime>,
    prepared: Vec<Prepared>,
    states: Vec<State>,
    rules: Vec<Rule>,
    /// Of [`Bound::instance`].
    instances: Vec<u64>,
    /// From the release at the first sender to the earliest moment at which the message is queued.
    earliest: Vec<u64>,
    on_bus: Vec<Vec<usize>>,
    passes: u32,
}

/// What is known of all messages, none at first.
#[derive(Default)]
pub(crate) struct Progress {
    states: Vec<State>,
    rules: Vec<Rule>,
}

/// The bound of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// From the release, at the first sender of a forwarded message, to the end of the frame. `None` if there is no bound.
    ///
    /// Published tables count the intermission as well: 3 bits more.
    pub response: Option<Ns>,
    /// From the moment at which the frame is queued on this bus to its start.
    pub waiting: Option<Ns>,
    /// From the earliest to the latest moment after the release at which the frame is queued.
    pub jitter: Option<Ns>,
    /// Bus time of its longest frame.
    pub frame: FrameTime,
    /// The argument that gives the bound.
    pub rule: Rule,
    /// Number of frames of the message before this one in the window, 0 for the first.
    pub instance: u64,
    /// The deadline.
    pub deadline: Ns,
}

impl Bound {
    /// True if the bound is at most the deadline.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.response.is_some_and(|response| response <= self.deadline)
    }

    /// Time left to the deadline in nanoseconds, negative if it is missed. `None` without bound.
    #[must_use]
    pub fn slack_ns(&self) -> Option<i64> {
        let signed = |time: Ns| i64::try_from(time.0).unwrap_or(i64::MAX);
        self.response.map(|response| signed(self.deadline).saturating_sub(signed(response)))
    }
}

/// A part of the way of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// In a queue and on a bus.
    Bus {
        /// The message on this bus.
        message: MessageId,
        /// Upper bound of the time since the release at the first sender, at the end of the frame.
        until: Option<Ns>,
    },
    /// In a gateway.
    Gateway {
        /// Its latency.
        latency: Latency,
        /// Upper bound of the time since the release at the first sender, when the frame is queued.
        until: Option<Ns>,
    },
}

impl Network {
    /// Computes the bounds of all messages.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    pub fn analyse(&self, assumptions: Assumptions) -> Result<Analysis, Vec<Problem>> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let clock = Clock::new(assumptions.lengths, &self.messages);
        Ok(Analysis::new(self.clone(), assumptions, &clock))
    }

    /// What cannot hold whatever the bounds are, as [`Analysis::judgements`] without an analysis.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    pub fn judgements(&self, assumptions: Assumptions) -> Result<Vec<Judgement>, Vec<Problem>> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let clock = Clock::new(assumptions.lengths, &self.messages);
        Ok(Analysis::prepare(self.clone(), assumptions, &clock).judgements())
    }
}

impl Analysis {
    /// Of a network without problems.
    pub(crate) fn new(network: Network, assumptions: Assumptions, clock: &Clock) -> Self {
        let mut analysis = Self::prepare(network, assumptions, clock);
        analysis.run(|_, _| false);
        analysis.settle();
        analysis
    }

    /// Of rules that give a bound, takes the one that gives the least with what is known of all messages now.
    fn settle(&mut self) {
        for at in 0..self.prepared.len() {
            if let Some((rule, _, worst)) = self.least(at) {
                self.rules[at] = rule;
                self.instances[at] = worst.instance;
            }
        }
    }

    /// The bounds if all deadlines hold. Bounds only grow, so the first miss is enough.
    ///
    /// It goes on from the bounds of a network of the same messages, each of which is at most the bound here.
    pub(crate) fn if_all_hold(
        network: Network,
        assumptions: Assumptions,
        clock: &Clock,
        at_least: &Progress,
    ) -> Option<Progress> {
        let mut analysis = Self::prepare(network, assumptions, clock);
        if let Progress { states, rules } = at_least
            && states.len() == analysis.states.len()
        {
            analysis.states.clone_from(states);
            analysis.rules.clone_from(rules);
        }
        let holds = analysis.run(|analysis, at| !analysis.bound(MessageId(at)).holds());
        holds.then_some(Progress { states: analysis.states, rules: analysis.rules })
    }

    fn prepare(network: Network, assumptions: Assumptions, clock: &Clock) -> Self {
        let bus = |message: usize| network.bus_of(MessageId(message)).0;
        let times: Vec<_> =
            network.messages.iter().enumerate().map(|(at, one)| clock.time(network.buses[bus(at)], one)).collect();
        let mut on_bus = vec![Vec::new(); network.buses.len()];
        let mut prepared = Vec::new();
        for (at, message) in network.messages.iter().enumerate() {
            on_bus[bus(at)].push(at);
            let first = network.first_sender(MessageId(at)).map(|first| network.messages[first.0].origin);
            let Some(Origin::Queued { period, .. }) = first else { continue };
            let limit = match &network.nodes[message.node.0].queue {
                Queue::Arbitration => None,
                Queue::Bands(bands) => bands.get(message.band).and_then(|band| band.rate),
            };
            prepared.push(Prepared {
                bus: bus(at),
                node: message.node.0,
                priority: priority(message),
                cost: times[at].bus.0,
                received: times[at].received.0,
                period: period.0,
                band: message.band,
                socket: message.socket,
                spacing: limit.map_or(0, |rate| 1_000_000_000_u64.div_ceil(rate.get().into())),
            });
        }
        let count = prepared.len();
        Self {
            network,
            assumptions,
            times,
            prepared,
            states: vec![State::default(); count],
            rules: vec![Rule::Priority; count],
            instances: vec![0; count],
            earliest: vec![0; count],
            on_bus,
            passes: 0,
        }
    }

    /// Repeats until nothing changes, or until a message is computed after which it can stop. False if it has stopped.
    fn run(&mut self, stops: impl Fn(&Self, usize) -> bool) -> bool {
        let order = self.network.sources_first();
        for &MessageId(at) in &order {
            if let Origin::Forwarded { from, latency } = self.network.messages[at].origin {
                let received = self.earliest[from.0].saturating_add(self.times[from.0].shortest.0);
                self.earliest[at] = received.saturating_add(latency.shortest.0);
            }
        }
        let mut is_stale = vec![true; self.on_bus.len()];
        while is_stale.contains(&true) {
            self.passes += 1;
            for &MessageId(at) in &order {
                let jitter = self.jitter(at);
                if jitter > self.states[at].jitter {
                    self.states[at].jitter = jitter;
                    is_stale[self.prepared[at].bus] = true;
                }
            }
            for (bus, is_stale) in is_stale.iter_mut().enumerate().filter(|(_, is_stale)| **is_stale) {
                let Some(has_changed) = self.pass(bus, &stops) else { return false };
                *is_stale = has_changed;
            }
            // The next pass adds the responses to the jitter of forwarded messages.
            for &MessageId(at) in &order {
                if self.jitter(at) > self.states[at].jitter {
                    is_stale[self.prepared[at].bus] = true;
                }
            }
        }
        true
    }

    /// From the earliest to the latest moment at which a frame is queued.
    fn jitter(&self, message: usize) -> u64 {
        match self.network.messages[message].origin {
            Origin::Queued { jitter, .. } => jitter.0,
            Origin::Forwarded { from, latency } => {
                let received = self.earliest[from.0].saturating_add(self.states[from.0].response);
                match received.saturating_add(latency.longest.0) {
                    FOREVER => FOREVER,
                    latest => latest.saturating_sub(self.earliest[message]),
                }
            }
        }
    }

    fn view(&self, bus: usize) -> View<'_> {
        let bit = bit_time(self.network.buses[bus]);
        View {
            messages: &self.prepared,
            states: &self.states,
            nodes: &self.network.nodes,
            on_bus: &self.on_bus[bus],
            bit,
            error_frames: self.assumptions.error_frames.into(),
            error_time: bit.saturating_mul(self.assumptions.error_frame_bits.into()),
        }
    }

    /// Computes all messages of a bus again. True if this changed what other messages depend on; `None` if it has stopped.
    fn pass(&mut self, bus: usize, stops: &impl Fn(&Self, usize) -> bool) -> Option<bool> {
        let mut has_changed = false;
        for index in 0..self.on_bus[bus].len() {
            let at = self.on_bus[bus][index];
            let view = self.view(bus);
            let is_immediate = view.is_immediate(at);
            let old = self.states[at];
            let mut scenarios = view.scenarios(at);
            // The rule that gave the bound in the last pass first: if it still gives it, the others cannot change it.
            scenarios.sort_by_key(|(rule, _)| *rule != self.rules[at]);
            let mut least: Option<(Rule, Worst)> = None;
            for (rule, scenario) in scenarios {
                let worst = scenario.worst();
                if least.is_none_or(|(_, least)| worst.response < least.response) {
                    least = Some((rule, worst));
                }
                if worst.response <= old.response {
                    break;
                }
            }
            let Some((rule, worst)) = least else { continue };
            let grown = |old: u64, new: u64| {
                if new <= old {
                    old
                } else if self.passes > MOST_PASSES {
                    FOREVER
                } else {
                    new
                }
            };
            let response = grown(old.response, worst.response);
            let waiting = match response {
                FOREVER => FOREVER,
                response => response.saturating_sub(self.prepared[at].received).saturating_sub(old.jitter),
            };
            let eligible = match rule {
                _ if is_immediate => 0,
                Rule::Fifo => worst.eligible.min(waiting),
                _ => waiting,
            };
            let new =
                State { response, waiting: old.waiting.max(waiting), eligible: old.eligible.max(eligible), ..old };
            has_changed |= (new.waiting, new.eligible) != (old.waiting, old.eligible);
            self.states[at] = new;
            self.rules[at] = rule;
            if stops(self, at) {
                return None;
            }
        }
        Some(has_changed)
    }

    /// The network.
    #[must_use]
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// What the bounds assume.
    #[must_use]
    pub const fn assumptions(&self) -> Assumptions {
        self.assumptions
    }

    /// Passes over the buses until no bound changed.
    #[must_use]
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// The bound of a message.
    ///
    /// # Panics
    /// If the network has no such message.
    #[must_use]
    pub fn bound(&self, message: MessageId) -> Bound {
        let MessageId(at) = message;
        let state = self.states[at];
        let known = |time: u64| (time != FOREVER).then_some(Ns(time));
        Bound {
            response: known(state.response).map(|response| Ns(response.0.saturating_add(self.earliest[at]))),
            waiting: known(state.waiting),
            jitter: known(state.jitter),
            frame: self.times[at],
            rule: self.rules[at],
            instance: self.instances[at],
            deadline: self.network.messages[at].deadline,
        }
    }

    /// All messages in the order of [`Network::messages`].
    pub fn bounds(&self) -> impl Iterator<Item = (MessageId, Bound)> + '_ {
        (0..self.prepared.len()).map(MessageId).map(|message| (message, self.bound(message)))
    }

    /// True if all bounds are at most their deadlines.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.bounds().all(|(_, bound)| bound.holds())
    }

    /// The way of a message from its first sender to the end of its frame on its bus.
    #[must_use]
    pub fn stages(&self, message: MessageId) -> Vec<Stage> {
        let mut stages = Vec::new();
        let mut at = message;
        loop {
            stages.push(Stage::Bus { message: at, until: self.bound(at).response });
            let Origin::Forwarded { from, latency } = self.network.messages[at.0].origin else { break };
            let queued = |response: Ns| Ns(response.0.saturating_add(latency.longest.0));
            stages.push(Stage::Gateway { latency, until: self.bound(from).response.map(queued) });
            at = from;
        }
        stages.reverse();
        stages
    }

    /// The load of a bus by the longest frames.
    #[must_use]
    pub fn load(&self, bus: BusId) -> Load {
        let term = |&at: &usize| (MessageId(at), self.times[at].bus, Ns(self.prepared[at].period));
        Load::new(self.on_bus[bus.0].iter().map(term))
    }

    /// What cannot hold for any order of frames.
    #[must_use]
    pub fn judgements(&self) -> Vec<Judgement> {
        let loads = (0..self.on_bus.len()).map(|bus| (BusId(bus), self.load(BusId(bus))));
        let overloads = loads.filter(|(_, load)| load.ppm > 1_000_000);
        let mut judgements: Vec<_> = overloads.map(|(bus, load)| Judgement::Overload { bus, load }).collect();
        for (message, Bound { deadline, frame, .. }) in self.bounds() {
            if frame.received > deadline {
                judgements.push(Judgement::DeadlineShorterThanFrame { message, deadline, frame: frame.received });
            }
        }
        judgements
    }

    /// The response of the sufficient test, which assumes the longest frame of the bus on the wire and looks at one frame of
    /// each message only. `None` if it does not apply: the deadline exceeds the period, or another rule gives the bound.
    ///
    /// # Source
    /// Davis, Burns, Bril, Lukkien 2007, section 3.4, <https://doi.org/10.1007/s11241-007-9012-7>.
    #[must_use]
    pub fn sufficient(&self, message: MessageId) -> Option<Ns> {
        let MessageId(at) = message;
        let own = self.prepared[at];
        let is_immediate = self.view(own.bus).is_immediate(at);
        if !is_immediate || self.network.messages[at].deadline.0 > own.period {
            return None;
        }
        let longest = self.on_bus[own.bus].iter().map(|&at| (at, self.prepared[at].cost)).max_by_key(|(_, cost)| *cost);
        let (_, scenario, _) = self.least(at)?;
        let scenario = Scenario { blocking: longest, ..scenario };
        scenario.first().map(|response| Ns(response.saturating_add(self.earliest[at])))
    }

    pub(crate) fn messages_on(&self, bus: BusId) -> &[usize] {
        &self.on_bus[bus.0]
    }

    /// The response of a message with other priorities and ideal nodes. Jitter stays as it is.
    pub(crate) fn ideal_response(
        &self,
        ideal: &Network,
        message: usize,
        priority: impl Fn(usize) -> u64,
    ) -> Option<Ns> {
        let own = self.prepared[message];
        let mut prepared = self.prepared.clone();
        for at in &self.on_bus[own.bus] {
            prepared[*at].priority = priority(*at);
        }
        let states: Vec<_> = self.states.iter().map(|state| State { eligible: 0, ..*state }).collect();
        let view = View { messages: &prepared, states: &states, nodes: &ideal.nodes, ..self.view(own.bus) };
        let worst = view.scenarios(message).first().map_or(Worst::UNBOUNDED, |(_, scenario)| scenario.worst());
        (worst.response != FOREVER).then(|| Ns(worst.response.saturating_add(self.earliest[message])))
    }

    /// True if this is the worst case of a bound.
    pub(crate) fn gives(&self, MessageId(message): MessageId, worst: Worst) -> bool {
        worst.response != FOREVER && worst.response == self.states[message].response
    }

    pub(crate) fn prepared(&self, message: usize) -> Prepared {
        self.prepared[message]
    }

    /// The scenario that gives the bound, and its worst case. In rare networks, its response is less than the bound: an earlier
    /// pass gave that one, and a rule may count fewer frames when more is known of the queues.
    pub(crate) fn least(&self, message: usize) -> Option<(Rule, Scenario, Worst)> {
        let scenarios = self.view(self.prepared[message].bus).scenarios(message).into_iter();
        let worst = scenarios.map(|(rule, scenario)| {
            let worst = scenario.worst();
            (rule, scenario, worst)
        });
        worst.min_by_key(|(_, _, worst)| worst.response)
    }
}
