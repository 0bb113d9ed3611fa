//! The wire and its nodes, one bit after another.

use std::collections::{BTreeMap, BTreeSet};

use candor_core::frame::Frame;

use super::counters::Counters;
use super::level::Level;
use super::log::{Log, What};
use super::node::{Config, Node, Phase};
use super::step::Bit;

/// A fault. `frame` counts started frames (attempts) from 0, `bit` counts from the start of frame, including stuff
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// All nodes see the opposite level.
    Flip { frame: usize, bit: u64 },
    /// Only this node detects an error at this bit, if it sends or receives a frame. At the last bit of the end of
    /// frame, a receiver has already accepted the frame.
    Misread { frame: usize, bit: u64, node: usize },
    /// No receiver acknowledges.
    NoAck { frame: usize },
    /// The wire is dominant from bit time `from` to before `to`.
    Stuck { from: u64, to: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Submit { node: usize, tag: u64, frame: Frame },
    Restart { node: usize },
    SwitchOff { node: usize },
    SwitchOn { node: usize },
}

#[derive(Clone, Debug)]
pub struct Bus {
    nodes: Vec<Node>,
    /// The next bit.
    now: u64,
    planned: BTreeMap<u64, Vec<Action>>,
    /// Flips and misreadings, including those of later frames.
    disturbances: Vec<Disturbance>,
    unacknowledged: BTreeSet<usize>,
    /// Bit times with a dominant wire: first, and first free.
    stuck: Vec<(u64, u64)>,
    /// Disturbances of frames that have started, by bit time.
    flips: BTreeSet<u64>,
    misreads: BTreeSet<(u64, usize)>,
    /// Frames started so far, and the first bit of the last of them.
    started: usize,
    last_start: Option<u64>,
    accepted: BTreeSet<usize>,
    log: Vec<Log>,
}

impl Bus {
    /// A bus before bit 0, with nodes numbered from 0.
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

    /// Submits a frame that can start at bit time `at`. Submissions of the same time keep their order.
    pub fn submit(&mut self, at: u64, node: usize, tag: u64, frame: Frame) {
        self.plan(at, Action::Submit { node, tag, frame });
    }

    /// Starts recovery from bus-off with the bit at `at`.
    pub fn restart(&mut self, at: u64, node: usize) {
        self.plan(at, Action::Restart { node });
    }

    /// Drops the frames of the node.
    pub fn switch_off(&mut self, at: u64, node: usize) {
        self.plan(at, Action::SwitchOff { node });
    }

    /// The node joins after 11 recessive bits, with counters of 0.
    pub fn switch_on(&mut self, at: u64, node: usize) {
        self.plan(at, Action::SwitchOn { node });
    }

    /// Adds a fault for frames that have not started.
    pub fn disturb(&mut self, disturbance: Disturbance) {
        match disturbance {
            Disturbance::Flip { .. } | Disturbance::Misread { .. } => self.disturbances.push(disturbance),
            Disturbance::NoAck { frame } => {
                self.unacknowledged.insert(frame);
            }
            Disturbance::Stuck { from, to } => self.stuck.push((from, to)),
        }
    }

    pub fn counters(&self, node: usize) -> Counters {
        self.nodes[node].counters
    }

    /// Frames of a node, including the one on the wire.
    pub fn pending(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    /// The next bit.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Runs all bits before `until`. Returns the events in the order of time, then of nodes.
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
        let mut late_starts = Vec::new();
        for (node, sent) in self.nodes.iter_mut().zip(sent) {
            // Only a listen-only node sees its own dominant bits.
            let seen = if node.config.listen_only { wire & sent } else { wire };
            let misread = self.misreads.contains(&(now, node.number));
            if let Some(tag) = node.step(Bit { now, sent, seen, misread }, &mut self.log) {
                late_starts.push((node.number, tag));
            }
        }
        for (number, tag) in late_starts {
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
                let is_passive = node.config.listen_only || matches!(node.phase, Phase::Off);
                if is_passive || !node.queue.push(tag, frame) {
                    node.log(self.now, What::Refused { tag }, &mut self.log);
                }
            }
            Action::Restart { .. } => {
                if matches!(node.phase, Phase::BusOff) {
                    node.phase = Phase::Recovering { run: 0, runs: 0 };
                }
            }
            Action::SwitchOff { .. } => {
                let off = Config { present: false, counters: Counters::default(), ..node.config };
                *node = Node::new(number, off);
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

    /// Logs the start of a frame at this bit.
    fn note_start(&mut self, number: usize, tag: u64) {
        if self.last_start != Some(self.now) {
            let frame = self.started;
            self.started += 1;
            self.last_start = Some(self.now);
            self.accepted.clear();
            // Faults of a frame that broke earlier have no effect.
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

    /// Sets the frame of nodes that became receivers in this bit.
    fn name_frames(&mut self) {
        if self.last_start == Some(self.now) {
            for node in &mut self.nodes {
                if node.sof == self.now && matches!(node.phase, Phase::Frame { .. }) {
                    node.frame = Some(self.started - 1);
                }
            }
        }
    }

    /// Completes the deliveries of this bit with the nodes that accepted the frame (in the bit before).
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
