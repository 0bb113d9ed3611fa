//! Reactions of a node to a bit.

use super::counters::{Counters, NodeState};
use super::encode::Part;
use super::level::Level;
use super::log::{ErrorKind, FlagReason, Log, Role, What};
use super::node::{Node, Phase, RecCredit, Sending};
use super::receive::{Heard, Receiver};

/// A bit of one node.
#[derive(Clone, Copy, Debug)]
pub struct Bit {
    pub now: u64,
    pub sent: Level,
    pub seen: Level,
    /// Set if a fault makes the node detect an error.
    pub misread: bool,
}

impl Node {
    /// Processes a bit. Returns the tag of a frame if the node continues as its sender after a start of frame from
    /// another node or a disturbance: a dominant third bit of the intermission.
    pub fn step(&mut self, bit: Bit, log: &mut Vec<Log>) -> Option<u64> {
        let recessive = bit.seen == Level::Recessive;
        match std::mem::replace(&mut self.phase, Phase::Off) {
            Phase::Off => {}
            Phase::BusOff => self.phase = Phase::BusOff,
            Phase::Joining(_) if !recessive => self.phase = Phase::Joining(0),
            Phase::Joining(10) => {
                self.phase = Phase::Idle;
                self.log(bit.now + 1, What::Joined, log);
            }
            Phase::Joining(run) => self.phase = Phase::Joining(run + 1),
            Phase::Recovering { run, runs } => self.recover(bit, run, runs, log),
            Phase::Idle if recessive => self.phase = Phase::Idle,
            Phase::Idle | Phase::Suspend(_) if !recessive => self.start_receiving(bit.now),
            Phase::Suspend(7) | Phase::Idle => self.phase = Phase::Idle,
            Phase::Suspend(done) => self.phase = Phase::Suspend(done + 1),
            Phase::Intermission(done) => return self.intermission(bit, done, log),
            Phase::Frame { receiver, sending: Some(sending) } => self.send(bit, receiver, sending, log),
            Phase::Frame { receiver, sending: None } => self.receive(bit, receiver, log),
            Phase::DominantFlag { left, reason } => self.dominant_flag(bit, left, reason, log),
            Phase::PassiveFlag { run, last, unacknowledged } => {
                let run = if last == Some(bit.seen) { run + 1 } else { 1 };
                self.passive_flag(bit, run, unacknowledged, log);
            }
            Phase::FlagsOfOthers { dominant, reason } => self.flags_of_others(bit, dominant, reason, log),
            Phase::Delimiter { recessive: done, reason } => self.delimiter(bit, done, reason, log),
        }
        None
    }

    fn recover(&mut self, bit: Bit, run: u32, runs: u32, log: &mut Vec<Log>) {
        self.phase = match (bit.seen, run + 1) {
            (Level::Dominant, _) => Phase::Recovering { run: 0, runs },
            (Level::Recessive, 11) => Phase::Recovering { run: 0, runs: runs + 1 },
            (Level::Recessive, longer) => Phase::Recovering { run: longer, runs },
        };
        if matches!(self.phase, Phase::Recovering { runs: 128, .. }) {
            // Choice: the bus was idle for 11 bits, so it may send in the next.
            self.phase = Phase::Idle;
            self.count(bit.now, log, |counters| (counters.tec, counters.rec) = (0, 0));
            self.log(bit.now + 1, What::Recovered, log);
        }
    }

    fn intermission(&mut self, bit: Bit, done: u32, log: &mut Vec<Log>) -> Option<u64> {
        let suspended = self.role == Role::Sender && self.counters.state() == NodeState::Passive;
        match (done + 1, bit.seen) {
            (3, Level::Recessive) if suspended => self.phase = Phase::Suspend(0),
            (3, Level::Recessive) => self.phase = Phase::Idle,
            (3, Level::Dominant) if !suspended && self.queue.next().is_some() => {
                return self.start_sending(bit.now, 1);
            }
            (3, Level::Dominant) => self.start_receiving(bit.now),
            (_, Level::Dominant) => self.overload(bit, log),
            (done, Level::Recessive) => self.phase = Phase::Intermission(done),
        }
        None
    }

    /// Choice: dominant also in an error-passive node, and not counted.
    fn overload(&mut self, bit: Bit, log: &mut Vec<Log>) {
        self.phase = Phase::DominantFlag { left: 6, reason: FlagReason::Overload };
        self.log(bit.now + 1, What::Overload, log);
    }

    fn send(&mut self, bit: Bit, mut receiver: Box<Receiver>, mut sending: Sending, log: &mut Vec<Log>) {
        let part = sending.bits[sending.done].part;
        let wrong = match (bit.sent, bit.seen) {
            _ if bit.misread => Some(ErrorKind::Local),
            (Level::Recessive, Level::Recessive) if part == Part::AckSlot => Some(ErrorKind::Ack),
            (Level::Dominant, Level::Recessive) => Some(ErrorKind::Bit),
            (Level::Recessive, Level::Dominant) => match part {
                Part::Arbitration => return self.lose(bit, receiver, &sending, log),
                Part::ArbitrationStuff => Some(ErrorKind::Stuff),
                Part::AckSlot => None,
                Part::Body => Some(ErrorKind::Bit),
                Part::FixedForm => Some(ErrorKind::Form),
            },
            _ => None,
        };
        if let Some(kind) = wrong {
            self.phase = Phase::Frame { receiver, sending: Some(sending) };
            return self.fail(bit.now, kind, log);
        }
        receiver.hear(bit.seen);
        sending.done += 1;
        if sending.done < sending.bits.len() {
            self.phase = Phase::Frame { receiver, sending: Some(sending) };
            return;
        }
        self.phase = Phase::Intermission(0);
        self.queue.remove(sending.serial);
        // The bus adds the receivers.
        let what = What::Delivered { frame: self.frame, tag: sending.tag, start: self.sof, receivers: Vec::new() };
        self.log(bit.now + 1, what, log);
        self.count(bit.now, log, Counters::sent);
    }

    fn lose(&mut self, bit: Bit, receiver: Box<Receiver>, sending: &Sending, log: &mut Vec<Log>) {
        let what = What::ArbitrationLost { frame: self.frame, bit: bit.now - self.sof };
        self.log(bit.now + 1, what, log);
        if self.config.one_shot {
            self.give_up(bit.now, sending.serial, log);
        }
        self.role = Role::Receiver;
        self.receive(bit, receiver, log);
    }

    fn receive(&mut self, bit: Bit, mut receiver: Box<Receiver>, log: &mut Vec<Log>) {
        let acknowledged = receiver.acknowledges() && bit.sent == Level::Dominant;
        let heard = match (bit.misread, acknowledged, bit.seen) {
            (true, ..) => Heard::Wrong(ErrorKind::Local),
            // A receiver that acknowledges is a sender of this bit, and monitors it.
            (false, true, Level::Recessive) => Heard::Wrong(ErrorKind::Bit),
            _ => receiver.hear(bit.seen),
        };
        self.phase = Phase::Frame { receiver, sending: None };
        match heard {
            Heard::More => {
                if acknowledged && self.config.rec_credit == RecCredit::AckSlot {
                    self.count(bit.now, log, Counters::received);
                }
            }
            Heard::Accepted(content) => {
                self.log(bit.now + 1, What::Accepted { frame: self.frame, content }, log);
                if self.config.rec_credit == RecCredit::Acceptance {
                    self.count(bit.now, log, Counters::received);
                }
            }
            Heard::End => self.phase = Phase::Intermission(0),
            Heard::Overload => self.overload(bit, log),
            Heard::Wrong(kind) => self.fail(bit.now, kind, log),
        }
    }

    fn dominant_flag(&mut self, bit: Bit, left: u32, reason: FlagReason, log: &mut Vec<Log>) {
        self.phase = match (bit.seen, left) {
            (Level::Recessive, _) => {
                self.phase = Phase::DominantFlag { left, reason };
                return self.fail(bit.now, ErrorKind::Bit, log);
            }
            (Level::Dominant, 1) => Phase::FlagsOfOthers { dominant: 0, reason },
            (Level::Dominant, _) => Phase::DominantFlag { left: left - 1, reason },
        };
    }

    fn passive_flag(&mut self, bit: Bit, run: u32, unacknowledged: bool, log: &mut Vec<Log>) {
        let late = unacknowledged && bit.seen == Level::Dominant;
        self.phase = if run == 6 {
            Phase::FlagsOfOthers { dominant: 0, reason: FlagReason::Error }
        } else {
            Phase::PassiveFlag { run, last: Some(bit.seen), unacknowledged: unacknowledged && !late }
        };
        if late {
            self.raise(bit.now, 8, log);
        }
    }

    fn flags_of_others(&mut self, bit: Bit, dominant: u32, reason: FlagReason, log: &mut Vec<Log>) {
        if bit.seen == Level::Recessive {
            self.phase = Phase::Delimiter { recessive: 1, reason };
            return;
        }
        self.phase = Phase::FlagsOfOthers { dominant: dominant + 1, reason };
        // Rule b: another node answers the error flag.
        if dominant == 0 && reason == FlagReason::Error && self.role == Role::Receiver {
            self.raise(bit.now, 8, log);
        }
        // Rule f: the 14th dominant bit since the start of an active flag, the 8th after a passive one, and each
        // eighth after that.
        if (dominant + 1).is_multiple_of(8) {
            self.raise(bit.now, 8, log);
        }
    }

    fn delimiter(&mut self, bit: Bit, done: u32, reason: FlagReason, log: &mut Vec<Log>) {
        match (done + 1, bit.seen) {
            (8, Level::Recessive) => {
                self.phase = Phase::Intermission(0);
                self.log(bit.now + 1, What::FlagOver { reason }, log);
            }
            (8, Level::Dominant) => {
                self.log(bit.now + 1, What::FlagOver { reason }, log);
                self.overload(bit, log);
            }
            (recessive, Level::Recessive) => self.phase = Phase::Delimiter { recessive, reason },
            (_, Level::Dominant) => {
                self.phase = Phase::Delimiter { recessive: done, reason };
                self.fail(bit.now, ErrorKind::Form, log);
            }
        }
    }
}
