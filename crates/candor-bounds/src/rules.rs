//! The scenarios of a message: what can be sent before its frames, by the queue of its node.

use alloc::vec::Vec;

use crate::model::{Band, Controller, Node, Queue};
use crate::scenario::{FOREVER, Group, Scenario, Stream};

/// The argument that gives a bound. Each bound is the least of those that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The node always competes with its most urgent frame.
    ///
    /// # Source
    /// Davis, Burns, Bril, Lukkien 2007, <https://doi.org/10.1007/s11241-007-9012-7>, section 3.
    Priority,
    /// The node has one FIFO queue, so a frame competes with the priority of each frame before it.
    ///
    /// # Source
    /// Davis, Kollmann, Pollex, Slomka: Schedulability analysis for Controller Area Network (CAN) with FIFO queues, priority
    /// queues and gateways. Real-Time Systems 49, 2013, <https://doi.org/10.1007/s11241-012-9167-8>. Here it includes all
    /// frames of the queue in a busy period, so deadlines may be longer than periods.
    Fifo,
    /// Frames wait in a queue until the controller has room for them, and cannot overtake frames in the controller.
    ///
    /// # Source
    /// The priority inversion is that of Khan, Davis, Navet: Schedulability analysis of CAN with non-abortable transmission
    /// requests. ETFA 2011, <https://doi.org/10.1109/ETFA.2011.6059012>. The window is candor's own: see [the crate](crate).
    Controller,
    /// The node sends its frames in any order.
    Node,
    /// All nodes of the bus send their frames in any order, but the bus is not idle while there is one.
    ///
    /// # Source
    /// Davis, Navet: Controller Area Network (CAN) schedulability analysis for messages with arbitrary deadlines in FIFO and
    /// work-conserving queues. WFCS 2012, <https://doi.org/10.1109/WFCS.2012.6242538>.
    Bus,
}

/// A message, as far as rules need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    pub(crate) bus: usize,
    pub(crate) node: usize,
    /// The lowest wins arbitration.
    pub(crate) priority: u64,
    pub(crate) cost: u64,
    pub(crate) received: u64,
    pub(crate) period: u64,
    pub(crate) band: usize,
    pub(crate) socket: u32,
    /// Of the rate limit of its band; 0 without.
    pub(crate) spacing: u64,
}

/// What is known of a message so far. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Longest time from the earliest to the latest moment at which a frame is queued.
    pub(crate) jitter: u64,
    /// Longest time from the queue to the first arbitration.
    pub(crate) eligible: u64,
    /// Longest time from the queue to the start of the frame.
    pub(crate) waiting: u64,
    /// From the earliest moment at which it is queued to the end of the frame.
    pub(crate) response: u64,
}

/// One bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'v> {
    /// All messages of all buses.
    pub(crate) messages: &'v [Prepared],
    pub(crate) states: &'v [State],
    pub(crate) nodes: &'v [Node],
    /// Messages of this bus.
    pub(crate) on_bus: &'v [usize],
    pub(crate) bit: u64,
    pub(crate) error_frames: u64,
    /// Bits of an error frame as time.
    pub(crate) error_time: u64,
}

/// Which frames are in the controller when a window begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The longest frames of the node. More urgent ones are counted again if they arrive in the window.
    Any,
    /// The longest of those that are less urgent. More urgent ones are counted since they can have been queued.
    LessUrgent,
}

/// How late the frames of other nodes can be.
#[derive(Clone, Copy)]
enum Late {
    /// After the window has begun, because of frames before them in their own queue.
    Eligible,
    /// They may have waited when the window begins.
    Waiting,
}

impl View<'_> {
    /// The scenarios of a message. Each gives a bound.
    pub(crate) fn scenarios(&self, message: usize) -> Vec<(Rule, Scenario)> {
        let own = self.messages[message];
        let node = &self.nodes[own.node];
        let mut scenarios = Vec::new();
        if self.is_immediate(message) {
            scenarios.push((Rule::Priority, self.priority(message)));
            // Without frames that are late in their own queue, the other rules give no lower bound.
            if self.on_bus.iter().all(|at| self.states[*at].eligible == 0) {
                return scenarios;
            } else if node.controller == Controller::Abortable {
                scenarios.push((Rule::Bus, self.bus(message)));
                return scenarios;
            }
        }
        let limited = |at: &&usize| self.messages[**at].node == own.node && self.messages[**at].spacing > 0;
        let is_limited = self.on_bus.iter().any(|at| limited(&at));
        if is_fifo(node) {
            scenarios.push((Rule::Fifo, self.fifo(message)));
        } else {
            for before in [Before::Any, Before::LessUrgent] {
                scenarios.extend(self.controller(message, node, before).map(|scenario| (Rule::Controller, scenario)));
            }
            if !is_limited {
                scenarios.push((Rule::Node, self.node(message)));
            }
        }
        if own.spacing == 0 {
            scenarios.push((Rule::Bus, self.bus(message)));
        }
        scenarios
    }

    /// True if the node competes with this message as soon as it is queued, unless it has a more urgent one.
    pub(crate) fn is_immediate(&self, message: usize) -> bool {
        let own = self.messages[message];
        let Node { queue: Queue::Arbitration, controller, .. } = &self.nodes[own.node] else { return false };
        match controller {
            Controller::Abortable => true,
            Controller::Fifo(_) => false,
            Controller::Mailboxes(mailboxes) => {
                // Less urgent frames cannot fill all mailboxes.
                let less_urgent = self.of_node(own.node).filter(|at| self.messages[*at].priority > own.priority);
                let frames = less_urgent.map(|at| self.pending(at)).fold(0, u64::saturating_add);
                frames < u64::from(mailboxes.get())
            }
        }
    }

    fn of_node(&self, node: usize) -> impl Iterator<Item = usize> + Clone {
        self.on_bus.iter().copied().filter(move |at| self.messages[*at].node == node)
    }

    fn others(&self, node: usize) -> impl Iterator<Item = usize> + Clone {
        self.on_bus.iter().copied().filter(move |at| self.messages[*at].node != node)
    }

    fn stream(&self, message: usize, offset: u64) -> Stream {
        let Prepared { cost, received, period, .. } = self.messages[message];
        Stream { message, cost, received, period, offset, spacing: 0, extra: 0 }
    }

    /// From the queue of its own node. Frames after a rate limit arrive when the limit passes them.
    fn own_stream(&self, message: usize) -> Stream {
        let State { jitter, waiting, .. } = self.states[message];
        match self.messages[message].spacing {
            0 => self.stream(message, jitter),
            spacing => Stream { spacing, ..self.stream(message, jitter.saturating_add(waiting)) },
        }
    }

    fn other_stream(&self, message: usize, late: Late) -> Stream {
        let State { jitter, waiting, eligible, .. } = self.states[message];
        self.stream(message, jitter.saturating_add(if matches!(late, Late::Waiting) { waiting } else { eligible }))
    }

    /// Frames of a message that can be in its node at the same time.
    fn pending(&self, message: usize) -> u64 {
        let State { jitter, waiting, .. } = self.states[message];
        let Prepared { cost, period, .. } = self.messages[message];
        let longest = jitter.saturating_add(waiting).saturating_add(cost);
        if longest == FOREVER { FOREVER } else { longest.div_ceil(period) }
    }

    fn longest(&self, messages: impl Iterator<Item = usize>) -> Option<(usize, u64)> {
        messages.map(|at| (at, self.messages[at].cost)).max_by_key(|(_, cost)| *cost)
    }

    fn scenario(&self, message: usize) -> Scenario {
        Scenario {
            own: self.stream(message, self.states[message].jitter),
            bit: self.bit,
            blocking: None,
            errors: 0,
            controller: Vec::new(),
            fifo: Vec::new(),
            groups: Vec::new(),
            own_turn: 1,
            urgent: Vec::new(),
            rivals: Vec::new(),
            early_rivals: Vec::new(),
            rest: 0,
            spacing: self.messages[message].spacing,
        }
    }

    /// Adds errors: each destroys the longest frame that can be sent, at its last bit.
    fn with_errors(&self, mut scenario: Scenario) -> Scenario {
        let grouped = scenario.groups.iter().flat_map(|group| &group.streams);
        let streams = scenario.fifo.iter().chain(grouped).chain(&scenario.urgent).chain(&scenario.rivals);
        let streams = streams.chain(&scenario.early_rivals).map(|stream| stream.received);
        let initial = scenario.controller.iter().map(|(message, _)| self.messages[*message].received);
        let longest = streams.chain(initial).fold(scenario.own.received, u64::max);
        scenario.errors = self.error_frames.saturating_mul(longest.saturating_add(self.error_time));
        scenario
    }

    fn priority(&self, message: usize) -> Scenario {
        let own = self.messages[message].priority;
        let others = self.on_bus.iter().copied().filter(|at| *at != message);
        let (before, after): (Vec<_>, Vec<_>) = others.partition(|at| self.messages[*at].priority <= own);
        self.with_errors(Scenario {
            blocking: self.longest(after.into_iter()),
            rivals: before.into_iter().map(|at| self.other_stream(at, Late::Eligible)).collect(),
            ..self.scenario(message)
        })
    }

    /// The least urgent priority of these.
    fn least_urgent(&self, messages: impl Iterator<Item = usize>) -> u64 {
        messages.map(|at| self.messages[at].priority).max().unwrap_or(0)
    }

    fn fifo(&self, message: usize) -> Scenario {
        let node = self.messages[message].node;
        let level = self.least_urgent(self.of_node(node));
        let (before, after): (Vec<_>, Vec<_>) = self.others(node).partition(|at| self.messages[*at].priority < level);
        self.with_errors(Scenario {
            blocking: self.longest(after.into_iter()),
            fifo: self.of_node(node).filter(|at| *at != message).map(|at| self.own_stream(at)).collect(),
            rivals: before.into_iter().map(|at| self.other_stream(at, Late::Eligible)).collect(),
            ..self.scenario(message)
        })
    }

    fn node(&self, message: usize) -> Scenario {
        let mut scenario = self.fifo(message);
        let fifo = core::mem::take(&mut scenario.fifo);
        scenario.rivals.extend(fifo);
        scenario
    }

    fn bus(&self, message: usize) -> Scenario {
        let others = self.on_bus.iter().filter(|at| **at != message);
        self.with_errors(Scenario { rivals: others.map(|at| self.own_stream(*at)).collect(), ..self.scenario(message) })
    }

    /// A node with a queue before a controller that holds frames. `None` if frames cannot be counted in this way.
    fn controller(&self, message: usize, node: &Node, before: Before) -> Option<Scenario> {
        let own = self.messages[message];
        let mut scenario = self.scenario(message);
        let (frames, is_fifo) = match node.controller {
            Controller::Abortable => (0, true),
            Controller::Fifo(frames) => (u64::from(frames.get()), true),
            Controller::Mailboxes(frames) => (u64::from(frames.get()), frames.get() == 1),
        };
        let of_node = || self.of_node(own.node);
        let is_other = |at: &usize| *at != message;
        let queued_before: Vec<usize> = match &node.queue {
            Queue::Arbitration => {
                let urgent = of_node().filter(is_other).filter(|at| self.messages[*at].priority <= own.priority);
                scenario.urgent = urgent.map(|at| self.own_stream(at)).collect();
                of_node().filter(|at| self.messages[*at].priority <= own.priority).collect()
            }
            Queue::Bands(bands) => self.bands(message, bands, &mut scenario),
        };
        let worst_of_node = self.least_urgent(of_node());
        let mut level = self.least_urgent(queued_before.iter().copied());
        let mut shift = 0;
        if is_fifo {
            let is_counted = |at: &usize| before == Before::LessUrgent && queued_before.contains(at) && *at != message;
            scenario.controller = self.most(of_node().filter(|at| !is_counted(at)), frames);
            if frames > 0 && self.pending(message) == 1 {
                // A frame of the message from before is sent before the next one is queued. Without it, the window is shorter
                // by up to its time, in which others arrive.
                scenario.controller = self.most(of_node().filter(is_other).filter(|at| !is_counted(at)), frames);
            }
            shift = if frames > 0 { own.cost } else { 0 };
            if before == Before::LessUrgent {
                let is_limited = scenario.urgent.iter().any(|stream| stream.spacing > 0);
                if frames == 0 || is_limited || scenario.spacing > 0 || !scenario.groups.is_empty() {
                    return None;
                }
                for stream in scenario.urgent.iter_mut().chain(&mut scenario.fifo) {
                    let longest = self.states[stream.message].waiting.saturating_add(stream.cost);
                    stream.offset = stream.offset.saturating_add(longest);
                }
            }
            let shortest = of_node().map(|at| self.messages[at].cost).min().unwrap_or(0);
            scenario.rest = frames.saturating_sub(1).saturating_mul(shortest);
        } else if before == Before::LessUrgent {
            return None;
        } else if node.queue == Queue::Arbitration {
            // One less urgent frame leaves, and then there is always a more urgent one in a mailbox.
            scenario.rivals.append(&mut scenario.urgent);
            let less_urgent = of_node().filter(|at| self.messages[*at].priority > own.priority);
            scenario.controller = self.longest(less_urgent).into_iter().collect();
        } else {
            // In the mailboxes, more urgent frames of later bands overtake it.
            level = worst_of_node;
            scenario.controller = self.most(of_node(), frames);
            let overtakes = |at: &usize| self.messages[*at].priority < own.priority;
            scenario.rivals = of_node().filter(is_other).filter(overtakes).map(|at| self.own_stream(at)).collect();
            let is_later = |stream: &Stream| !overtakes(&stream.message);
            scenario.urgent.retain(is_later);
            scenario.fifo.retain(is_later);
            for group in &mut scenario.groups {
                group.streams.retain(is_later);
            }
        }
        for other in self.others(own.node) {
            let stream = self.other_stream(other, Late::Waiting);
            if self.messages[other].priority < level {
                scenario.rivals.push(stream);
            } else if self.messages[other].priority < worst_of_node && !scenario.controller.is_empty() {
                scenario.early_rivals.push(stream);
            }
        }
        let groups = scenario.groups.iter_mut().flat_map(|group| &mut group.streams);
        let others = scenario.fifo.iter_mut().chain(groups).chain(&mut scenario.urgent);
        for stream in others.chain(&mut scenario.rivals).chain(&mut scenario.early_rivals) {
            stream.offset = stream.offset.saturating_add(shift);
            stream.extra = shift;
        }
        // Another node's frame, of any priority; or one of this node, which is in the controller otherwise.
        scenario.blocking = match node.controller {
            Controller::Abortable => self.longest(self.on_bus.iter().copied()),
            Controller::Fifo(_) | Controller::Mailboxes(_) => self.longest(self.others(own.node)),
        };
        if scenario.spacing > 0 {
            // In the controller, it waits for those before it.
            scenario.rest = 0;
        }
        Some(self.with_errors(scenario))
    }

    /// What is before a frame of a band. Returns the messages of the node that can go to the controller before it.
    fn bands(&self, message: usize, bands: &[Band], scenario: &mut Scenario) -> Vec<usize> {
        let own = self.messages[message];
        let band = bands.get(own.band).copied().unwrap_or_default();
        let of_band = |wanted: usize| self.of_node(own.node).filter(move |at| self.messages[*at].band == wanted);
        let mut before = Vec::new();
        for (at, other) in bands.iter().enumerate() {
            let streams = of_band(at).map(|at| self.own_stream(at));
            if at == own.band {
                before.extend(of_band(at));
                let same = |stream: &Stream| !band.turns || self.messages[stream.message].socket == own.socket;
                let (fifo, others): (Vec<_>, Vec<_>) = streams.filter(|one| one.message != message).partition(same);
                scenario.fifo = fifo.into_iter().map(|stream| Stream { spacing: 0, ..stream }).collect();
                // Frames of this band do not pass the limit twice.
                for stream in scenario.fifo.iter_mut().filter(|_| own.spacing > 0) {
                    stream.offset = self.states[stream.message].jitter;
                }
                self.sockets(&others, scenario);
            } else if band.share.is_some()
                && let Some(share) = other.share
            {
                before.extend(of_band(at));
                scenario.groups.push(Group { streams: streams.collect(), turn: share.get().into(), in_band: false });
            } else if at < own.band {
                before.extend(of_band(at));
                scenario.urgent.extend(streams);
            }
        }
        scenario.own_turn = band.share.map_or(1, |share| share.get().into());
        // The sockets of the own band count for the turns of bands.
        scenario.groups.sort_by_key(|group| !group.in_band);
        before
    }

    /// Sockets that take turns with that of the message.
    fn sockets(&self, others: &[Stream], scenario: &mut Scenario) {
        let socket = |stream: &Stream| self.messages[stream.message].socket;
        let mut sockets: Vec<u32> = others.iter().map(socket).collect();
        candor_core::order::sort(&mut sockets);
        sockets.dedup();
        for wanted in sockets {
            let streams = others.iter().copied().filter(|stream| socket(stream) == wanted).collect();
            scenario.groups.push(Group { streams, turn: 1, in_band: true });
        }
    }

    /// The longest frames that can be in a controller at the same time.
    fn most(&self, messages: impl Iterator<Item = usize>, frames: u64) -> Vec<(usize, u64)> {
        let mut longest: Vec<_> = messages.map(|at| (at, self.messages[at].cost)).collect();
        candor_core::order::sort_by_key(&mut longest, |(_, cost)| core::cmp::Reverse(*cost));
        let mut rest = usize::try_from(frames).unwrap_or(usize::MAX);
        let mut most = Vec::new();
        for (message, cost) in longest {
            let pending = usize::try_from(self.pending(message)).unwrap_or(usize::MAX).min(rest);
            most.extend(core::iter::repeat_n((message, cost), pending));
            rest -= pending;
        }
        most
    }
}

/// One FIFO queue, and no limit.
fn is_fifo(node: &Node) -> bool {
    let Queue::Bands(bands) = &node.queue else { return false };
    let is_plain = |band: &Band| band.rate.is_none() && !band.turns;
    let in_order = !matches!(node.controller, Controller::Mailboxes(frames) if frames.get() > 1);
    in_order && bands.len() == 1 && bands.iter().all(is_plain)
}
