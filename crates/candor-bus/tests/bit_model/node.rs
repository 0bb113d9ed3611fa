//! A node: what it is, what it drives, and how it enters each of its phases.

use super::counters::{Counters, NodeState};
use super::encode::{Part, WireBit, encode};
use super::level::Level;
use super::log::{ErrorKind, FlagReason, Log, Role, What};
use super::queue::{Order, Queue};
use super::receive::Receiver;

/// Treatment of the frames in a controller that goes bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBusOff {
    /// All of them are given up.
    Drop,
    /// They are sent after recovery.
    Keep,
}

/// When a good frame lowers the receive error counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecCredit {
    /// With the acceptance of the frame, at the last but one bit of its end.
    Acceptance,
    /// With the acknowledgement the node has sent, as the standard words it; an error behind it does not take it back.
    AckSlot,
}

/// Configuration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Transmit order of its controller.
    pub order: Order,
    /// Number of frames the controller holds, the one on the wire included.
    pub depth: usize,
    /// Gives up a frame after an error or a lost arbitration.
    pub one_shot: bool,
    /// Drives nothing. What it would drive it sees itself; its counters stand still.
    pub listen_only: bool,
    /// Takes part from the first bit; otherwise it has no power until it is switched on.
    pub present: bool,
    /// Its error counters before bit 0. Below bus-off.
    pub counters: Counters,
    /// Treatment of frames in bus-off.
    pub on_bus_off: OnBusOff,
    /// When the receive error counter goes down.
    pub rec_credit: RecCredit,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            order: Order::Fifo,
            depth: 16,
            one_shot: false,
            listen_only: false,
            present: true,
            counters: Counters::default(),
            on_bus_off: OnBusOff::Keep,
            rec_credit: RecCredit::AckSlot,
        }
    }
}

/// A frame going out.
#[derive(Clone, Debug)]
pub struct Sending {
    pub bits: Vec<WireBit>,
    /// Bits that are on the wire already.
    pub done: usize,
    pub tag: u64,
    pub serial: u64,
}

/// Activity of a node.
#[derive(Clone, Debug)]
pub enum Phase {
    /// No power.
    Off,
    /// Waiting for 11 recessive bits; so many have come.
    Joining(u32),
    /// Nothing on the bus.
    Idle,
    /// Between start and end of a frame. A sender reads what it sends, in case it loses arbitration.
    Frame { receiver: Box<Receiver>, sending: Option<Sending> },
    /// Six dominant bits, an active error flag or an overload flag.
    DominantFlag { left: u32, reason: FlagReason },
    /// Six recessive bits of its own, over after six equal bits on the wire.
    PassiveFlag { run: u32, last: Option<Level>, unacknowledged: bool },
    /// Behind the flag, waiting for the first recessive bit; so many dominant ones have come.
    FlagsOfOthers { dominant: u32, reason: FlagReason },
    /// So many recessive bits of the delimiter have come, at least one.
    Delimiter { recessive: u32, reason: FlagReason },
    /// So many of the three bits have come.
    Intermission(u32),
    /// So many of the eight bits have come.
    Suspend(u32),
    /// No part in anything.
    BusOff,
    /// 11 recessive bits, 128 times: bits of the present run, runs.
    Recovering { run: u32, runs: u32 },
}

/// A node of the bus.
#[derive(Clone, Debug)]
pub struct Node {
    pub number: usize,
    pub config: Config,
    pub counters: Counters,
    pub queue: Queue,
    pub phase: Phase,
    pub role: Role,
    /// The frame it is in, or was in last: its number on the bus (`None` if nobody started it) and its first bit.
    pub frame: Option<usize>,
    pub sof: u64,
}

impl Node {
    pub fn new(number: usize, config: Config) -> Self {
        Self {
            number,
            config,
            counters: config.counters,
            queue: Queue::new(config.order, config.depth),
            phase: if config.present { Phase::Idle } else { Phase::Off },
            role: Role::Receiver,
            frame: None,
            sof: 0,
        }
    }

    /// Level it sends in the next bit. `may_acknowledge` is false if a fault suppresses acknowledgements.
    pub fn drives(&self, may_acknowledge: bool) -> Level {
        let dominant = match &self.phase {
            Phase::Frame { sending: Some(sending), .. } => return sending.bits[sending.done].level,
            Phase::Frame { receiver, sending: None } => may_acknowledge && receiver.acknowledges(),
            Phase::DominantFlag { .. } => true,
            _ => false,
        };
        if dominant { Level::Dominant } else { Level::Recessive }
    }

    /// Returns true if it starts a frame now that the bus is idle.
    pub fn wants_to_start(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.queue.next().is_some()
    }

    /// Makes it the sender of the frame whose turn it is, `done` bits of which are over; the tag of that frame.
    pub fn start_sending(&mut self, sof: u64, done: usize) -> Option<u64> {
        let next = self.queue.next()?;
        let bits = encode(&next.frame, self.counters.state() == NodeState::Passive);
        let sending = Sending { bits, done, tag: next.tag, serial: next.serial() };
        let tag = next.tag;
        let mut receiver = Box::new(Receiver::new());
        for bit in &sending.bits[..done] {
            receiver.hear(bit.level);
        }
        self.phase = Phase::Frame { receiver, sending: Some(sending) };
        self.role = Role::Sender;
        (self.sof, self.frame) = (sof, None);
        Some(tag)
    }

    /// Makes it a receiver: the dominant bit `sof` was a start of frame.
    pub fn start_receiving(&mut self, sof: u64) {
        let mut receiver = Box::new(Receiver::new());
        receiver.hear(Level::Dominant);
        self.phase = Phase::Frame { receiver, sending: None };
        self.role = Role::Receiver;
        (self.sof, self.frame) = (sof, None);
    }

    /// Reacts to an error found in bit `now`: counters, then the flag from the next bit on.
    pub fn fail(&mut self, now: u64, kind: ErrorKind, log: &mut Vec<Log>) {
        let state = self.counters.state();
        let passive = state == NodeState::Passive;
        let what = What::ErrorDetected { frame: self.frame, bit: now - self.sof, kind, role: self.role, state };
        self.log(now + 1, what, log);
        let in_flag = matches!(self.phase, Phase::DominantFlag { .. });
        let unacknowledged = passive && kind == ErrorKind::Ack;
        let attempt = match &self.phase {
            Phase::Frame { sending: Some(sending), .. } => Some((sending.serial, sending.bits[sending.done].part)),
            _ => None,
        };
        // Rule c, exception 2.
        let stuffed_away = kind == ErrorKind::Stuff && matches!(attempt, Some((_, Part::ArbitrationStuff)));
        // Whether a flag is dominant follows from the counters as they stood when the error was found.
        self.phase = if passive {
            Phase::PassiveFlag { run: 0, last: None, unacknowledged }
        } else {
            Phase::DominantFlag { left: 6, reason: FlagReason::Error }
        };
        if let (Some((serial, _)), true) = (attempt, self.config.one_shot) {
            self.give_up(now, serial, log);
        }
        match self.role {
            // Rule c, exception 1: raised with the first dominant bit of the passive flag, if there is one.
            Role::Sender if unacknowledged || stuffed_away => {}
            Role::Receiver if !in_flag => self.raise(now, 1, log),
            Role::Sender | Role::Receiver => self.raise(now, 8, log),
        }
    }

    /// Raises the counter of its role. At the limit it leaves the bus at once, flag or not.
    pub fn raise(&mut self, now: u64, by: u32, log: &mut Vec<Log>) {
        let role = self.role;
        self.count(now, log, |counters| match role {
            Role::Sender => counters.raise_tec(by),
            Role::Receiver => counters.raise_rec(by),
        });
        if self.counters.state() != NodeState::BusOff {
            return;
        }
        self.phase = Phase::BusOff;
        self.log(now + 1, What::BusOff, log);
        if self.config.on_bus_off == OnBusOff::Drop {
            for tag in self.queue.clear() {
                self.log(now + 1, What::Dropped { tag }, log);
            }
        }
    }

    /// Changes the counters; those of a listen-only node stand still.
    pub fn count(&mut self, now: u64, log: &mut Vec<Log>, change: impl FnOnce(&mut Counters)) {
        let before = self.counters;
        if !self.config.listen_only {
            change(&mut self.counters);
        }
        if self.counters != before {
            let what = What::Counters { counters: self.counters, state: self.counters.state() };
            self.log(now + 1, what, log);
        }
    }

    /// Takes a frame out of the queue unsent.
    pub fn give_up(&mut self, now: u64, serial: u64, log: &mut Vec<Log>) {
        if let Some(tag) = self.queue.remove(serial) {
            self.log(now + 1, What::Dropped { tag }, log);
        }
    }

    pub fn log(&self, at: u64, what: What, log: &mut Vec<Log>) {
        log.push(Log { at, node: self.number, what });
    }
}
