//! Nodes: configuration, phases, and sent levels.

use super::counters::{Counters, NodeState};
use super::encode::{Part, WireBit, encode};
use super::level::Level;
use super::log::{ErrorKind, FlagReason, Log, Role, What};
use super::queue::{Order, Queue};
use super::receive::Receiver;

/// Treatment of frames in a controller that becomes bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBusOff {
    Drop,
    /// Frames are sent after recovery.
    Keep,
}

/// Time at which a received frame decrements the receive error counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecCredit {
    /// At the last but one bit of the end of frame.
    Acceptance,
    /// With the sent acknowledgement, as in the standard. Later errors do not change that.
    AckSlot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    pub order: Order,
    /// Transmit buffers, including the frame on the wire.
    pub depth: usize,
    /// Gives up a frame after an error or lost arbitration.
    pub one_shot: bool,
    /// Drives nothing, but sees its own level. Counters do not change.
    pub listen_only: bool,
    /// Takes part from the first bit. Otherwise it is off until it is switched on.
    pub present: bool,
    /// Initial error counters, below bus-off.
    pub counters: Counters,
    pub on_bus_off: OnBusOff,
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

#[derive(Clone, Debug)]
pub struct Sending {
    pub bits: Vec<WireBit>,
    /// Number of sent bits.
    pub done: usize,
    pub tag: u64,
    pub serial: u64,
}

#[derive(Clone, Debug)]
pub enum Phase {
    Off,
    /// Waiting for 11 recessive bits; number received.
    Joining(u32),
    Idle,
    /// In a frame. A sender receives too, in case it loses arbitration.
    Frame {
        receiver: Box<Receiver>,
        sending: Option<Sending>,
    },
    /// Six dominant bits, an active error flag or an overload flag.
    DominantFlag {
        left: u32,
        reason: FlagReason,
    },
    /// Ends after six equal bits on the wire.
    PassiveFlag {
        run: u32,
        last: Option<Level>,
        unacknowledged: bool,
    },
    /// After its flag, waiting for a recessive bit.
    FlagsOfOthers {
        dominant: u32,
        reason: FlagReason,
    },
    /// At least one recessive bit of the delimiter.
    Delimiter {
        recessive: u32,
        reason: FlagReason,
    },
    /// Number of its three bits.
    Intermission(u32),
    /// Number of its eight bits.
    Suspend(u32),
    BusOff,
    /// 128 runs of 11 recessive bits: bits of the current run, complete runs.
    Recovering {
        run: u32,
        runs: u32,
    },
}

#[derive(Clone, Debug)]
pub struct Node {
    pub number: usize,
    pub config: Config,
    pub counters: Counters,
    pub queue: Queue,
    pub phase: Phase,
    pub role: Role,
    /// The current or last frame: its number on the bus (`None` if no node started it) and its first bit.
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

    /// Level of the next bit. `may_acknowledge` is false if a fault suppresses acknowledgements.
    pub fn drives(&self, may_acknowledge: bool) -> Level {
        let dominant = match &self.phase {
            Phase::Frame { sending: Some(sending), .. } => return sending.bits[sending.done].level,
            Phase::Frame { receiver, sending: None } => may_acknowledge && receiver.acknowledges(),
            Phase::DominantFlag { .. } => true,
            _ => false,
        };
        if dominant { Level::Dominant } else { Level::Recessive }
    }

    /// Returns true if it starts a frame on an idle bus.
    pub fn wants_to_start(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.queue.next().is_some()
    }

    /// Starts sending the next frame, of which `done` bits are on the wire. Returns its tag.
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

    /// Starts receiving: the dominant bit `sof` was a start of frame.
    pub fn start_receiving(&mut self, sof: u64) {
        let mut receiver = Box::new(Receiver::new());
        receiver.hear(Level::Dominant);
        self.phase = Phase::Frame { receiver, sending: None };
        self.role = Role::Receiver;
        (self.sof, self.frame) = (sof, None);
    }

    /// Reacts to an error in bit `now`: counters, and a flag from the next bit on.
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
        // The counters before the error decide whether the flag is dominant.
        self.phase = if passive {
            Phase::PassiveFlag { run: 0, last: None, unacknowledged }
        } else {
            Phase::DominantFlag { left: 6, reason: FlagReason::Error }
        };
        if let (Some((serial, _)), true) = (attempt, self.config.one_shot) {
            self.give_up(now, serial, log);
        }
        match self.role {
            // Rule c, exception 1: incremented at the first dominant bit of the passive flag.
            Role::Sender if unacknowledged || stuffed_away => {}
            Role::Receiver if !in_flag => self.raise(now, 1, log),
            Role::Sender | Role::Receiver => self.raise(now, 8, log),
        }
    }

    /// Increments the counter of its role. At the limit it leaves the bus immediately.
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

    /// Changes the counters, except of a listen-only node.
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

    pub fn give_up(&mut self, now: u64, serial: u64, log: &mut Vec<Log>) {
        if let Some(tag) = self.queue.remove(serial) {
            self.log(now + 1, What::Dropped { tag }, log);
        }
    }

    pub fn log(&self, at: u64, what: What, log: &mut Vec<Log>) {
        log.push(Log { at, node: self.number, what });
    }
}
