//! The wire and everybody on it, one bit after the other.

use std::collections::{BTreeMap, BTreeSet};

use candor_core::frame::Frame;

use super::counters::Counters;
use super::level::Level;
use super::log::{Log, What};
use super::node::{Config, Node, Phase};
use super::step::Bit;

/// A fault. `frame` counts started frames (attempts) from 0; a `bit` counts from the start of frame, stuff bits
/// included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Every node sees the opposite of what is on the wire. Twice is once.
    Flip {
        /// In which frame.
        frame: usize,
        /// In which bit.
        bit: u64,
    },
    /// One node finds an error at this bit, if it is sending or receiving a frame then, and nobody else does. At the
    /// last bit of the end a receiver has the frame already, and still finds an error.
    Misread {
        /// In which frame.
        frame: usize,
        /// In which bit.
        bit: u64,
        /// Node.
        node: usize,
    },
    /// No receiver fills the ACK slot.
    NoAck {
        /// Of which frame.
        frame: usize,
    },
    /// The wire is dominant from bit time `from` to before `to`, whatever is driven or flipped.
    Stuck {
        /// The first bit.
        from: u64,
        /// The first bit that is free again.
        to: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Submit { node: usize, tag: u64, frame: Frame },
    Restart { node: usize },
    SwitchOff { node: usize },
    SwitchOn { node: usize },
}

/// A bus and its nodes at one bit time.
#[derive(Clone, Debug)]
pub struct Bus {
    nodes: Vec<Node>,
    /// The bit that comes next.
    now: u64,
    planned: BTreeMap<u64, Vec<Action>>,
    /// Flips and misreadings, also those of frames to come.
    disturbances: Vec<Disturbance>,
    /// Frames nobody acknowledges.
    unacknowledged: BTreeSet<usize>,
    /// Bit times at which the wire is stuck: first, and first free.
    stuck: Vec<(u64, u64)>,
    /// Disturbances of frames that have started, by bit time.
    flips: BTreeSet<u64>,
    misreads: BTreeSet<(u64, usize)>,
    /// Frames started so far, and the first bit of the last of them.
    started: usize,
    last_start: Option<u64>,
    /// Nodes that accepted the last frame.
    accepted: BTreeSet<usize>,
    log: Vec<Log>,
}

impl Bus {
    /// A bus before its bit 0, with these nodes, numbered from 0.
    pub fn new(configs: impl IntoIterator<Item = Config>) -> Self {
        let nodes = configs.into_iter().enumerate().map(|(number, config)| Node::new(number, config)).collect();
        Self {
            nodes,
            now: 0,
            planned: BTreeMap::new(),
            disturbances: Vec::new(),
            unacknowledged: BTreeSet::new(),
            stuck: Vec::new(),
            flips: BTreeSet::new(),
            misreads: BTreeSet::new(),
            started: 0,
            last_start: None,
            accepted: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    /// Gives a node a frame to send, in time for a start of frame at bit time `at`. Submissions of the same time keep
    /// the order in which they were made.
    pub fn submit(&mut self, at: u64, node: usize, tag: u64, frame: Frame) {
        self.plan(at, Action::Submit { node, tag, frame });
    }

    /// Ends bus-off: the bit at `at` is the first that counts for recovery. Nothing if the node is not bus-off then.
    pub fn restart(&mut self, at: u64, node: usize) {
        self.plan(at, Action::Restart { node });
    }

    /// Takes the power from a node. What it had to send is lost.
    pub fn switch_off(&mut self, at: u64, node: usize) {
        self.plan(at, Action::SwitchOff { node });
    }

    /// Gives a node power. It joins after 11 recessive bits, with counters of 0. Nothing if it has power.
    pub fn switch_on(&mut self, at: u64, node: usize) {
        self.plan(at, Action::SwitchOn { node });
    }

    /// Adds a fault, for frames that have not started yet.
    pub fn disturb(&mut self, disturbance: Disturbance) {
        match disturbance {
            Disturbance::Flip { .. } | Disturbance::Misread { .. } => self.disturbances.push(disturbance),
            Disturbance::NoAck { frame } => {
                self.unacknowledged.insert(frame);
            }
            Disturbance::Stuck { from, to } => self.stuck.push((from, to)),
        }
    }

    /// The error counters of a node as they stand.
    pub fn counters(&self, node: usize) -> Counters {
        self.nodes[node].counters
    }

    /// Frames a node still has to send, the one on the wire included.
    pub fn pending(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    /// The bit that comes next.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Steps through every bit before `until`; what happened, in the order of time, then of nodes.
    pub fn run_until(&mut self, until: u64) -> Vec<Log> {
        while self.now < until {
            self.bit();
            self.now += 1;
        }
        let mut log = std::mem::take(&mut self.log);
        log.sort_by_key(|entry| entry.at);
        log
    }

    fn plan(&mut self, at: u64, action: Action) {
        self.planned.entry(at.max(self.now)).or_default().push(action);
    }

    fn bit(&mut self) {
        let now = self.now;
        for action in self.planned.remove(&now).unwrap_or_default() {
            self.act(action);
        }
        for number in 0..self.nodes.len() {
            if self.nodes[number].wants_to_start()
                && let Some(tag) = self.nodes[number].start_sending(now, 0)
            {
                self.note_start(number, tag);
            }
        }
        let may_acknowledge = |frame: Option<usize>| frame.is_none_or(|frame| !self.unacknowledged.contains(&frame));
        let sent: Vec<Level> = self.nodes.iter().map(|node| node.drives(may_acknowledge(node.frame))).collect();
        let wire = self.wire(&sent);
        let mut latecomers = Vec::new();
        for (node, sent) in self.nodes.iter_mut().zip(sent) {
            // A listen-only node sees its own dominant bits, which nobody else does.
            let seen = if node.config.listen_only { wire & sent } else { wire };
            let misread = self.misreads.contains(&(now, node.number));
            if let Some(tag) = node.step(Bit { now, sent, seen, misread }, &mut self.log) {
                latecomers.push((node.number, tag));
            }
        }
        for (number, tag) in latecomers {
            self.note_start(number, tag);
        }
        self.name_frames();
        self.note_receivers();
    }

    fn act(&mut self, action: Action) {
        let (Action::Submit { node: number, .. }
        | Action::Restart { node: number }
        | Action::SwitchOff { node: number }
        | Action::SwitchOn { node: number }) = action;
        let Some(node) = self.nodes.get_mut(number) else { return };
        match action {
            Action::Submit { tag, frame, .. } => {
                let deaf = node.config.listen_only || matches!(node.phase, Phase::Off);
                if deaf || !node.queue.push(tag, frame) {
                    node.log(self.now, What::Refused { tag }, &mut self.log);
                }
            }
            Action::Restart { .. } => {
                if matches!(node.phase, Phase::BusOff) {
                    node.phase = Phase::Recovering { run: 0, runs: 0 };
                }
            }
            Action::SwitchOff { .. } => {
                let dark = Config { present: false, counters: Counters::default(), ..node.config };
                *node = Node::new(number, dark);
                node.log(self.now, What::SwitchedOff, &mut self.log);
            }
            Action::SwitchOn { .. } => {
                if matches!(node.phase, Phase::Off) {
                    node.phase = Phase::Joining(0);
                    node.log(self.now, What::SwitchedOn, &mut self.log);
                }
            }
        }
    }

    /// Level of the wire.
    fn wire(&self, sent: &[Level]) -> Level {
        let driven = self
            .nodes
            .iter()
            .zip(sent)
            .filter(|(node, _)| !node.config.listen_only)
            .fold(Level::Recessive, |wire, (_, &level)| wire & level);
        let now = self.now;
        if self.stuck.iter().any(|(from, to)| (*from..*to).contains(&now)) {
            return Level::Dominant;
        }
        if self.flips.contains(&now) { !driven } else { driven }
    }

    /// A node sends a frame whose first bit is this one.
    fn note_start(&mut self, number: usize, tag: u64) {
        if self.last_start != Some(self.now) {
            let frame = self.started;
            self.started += 1;
            self.last_start = Some(self.now);
            self.accepted.clear();
            // What was meant for a frame that broke before hits nothing.
            self.flips.retain(|&bit| bit < self.now);
            self.misreads.retain(|&(bit, _)| bit < self.now);
            for disturbance in &self.disturbances {
                match *disturbance {
                    Disturbance::Flip { frame: f, bit } if f == frame => {
                        self.flips.insert(self.now + bit);
                    }
                    Disturbance::Misread { frame: f, bit, node } if f == frame => {
                        self.misreads.insert((self.now + bit, node));
                    }
                    _ => {}
                }
            }
        }
        let frame = self.started - 1;
        self.nodes[number].frame = Some(frame);
        self.log.push(Log { at: self.now, node: number, what: What::Started { frame, tag } });
    }

    /// Tells those who have become receivers in this bit of which frame.
    fn name_frames(&mut self) {
        if self.last_start == Some(self.now) {
            for node in &mut self.nodes {
                if node.sof == self.now && matches!(node.phase, Phase::Frame { .. }) {
                    node.frame = Some(self.started - 1);
                }
            }
        }
    }

    /// Completes the deliveries of this bit with those who accepted the frame (in the bit before).
    fn note_receivers(&mut self) {
        let current = self.started.checked_sub(1);
        let recent = self.log.iter_mut().rev().take_while(|entry| entry.at >= self.now);
        for entry in recent.filter(|entry| entry.at == self.now + 1) {
            match &mut entry.what {
                What::Accepted { frame, .. } if frame.is_some() && *frame == current => {
                    self.accepted.insert(entry.node);
                }
                What::Delivered { frame, receivers, .. } if *frame == current => {
                    receivers.extend(self.accepted.iter().copied());
                }
                _ => {}
            }
        }
    }
}
