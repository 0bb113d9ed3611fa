//! What is wrong with a network.

use alloc::vec;
use alloc::vec::Vec;

use candor_core::frame::FrameFormat;
use candor_core::order::sort_by_key;

use crate::model::{BusId, Message, MessageId, Network, NodeId, Origin, Queue};
use crate::time::Ns;

/// A property of a network for which there are no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Messages forward each other in a circle.
    #[error("Message {0:?} is forwarded in a circle")]
    Circle(MessageId),
    /// A CAN FD frame on a bus without data bit rate, or the flags of an error message frame or of a remote FD frame.
    #[error("Message {0:?} is a frame that its bus cannot carry")]
    Frame(MessageId),
    /// The longest payload is 8 bytes for classic frames and 64 bytes for CAN FD.
    #[error("Message {0:?} is longer than its format allows")]
    Length(MessageId),
    /// The shortest latency of a gateway exceeds the longest one.
    #[error("The latency of message {0:?} ends before it begins")]
    Latency(MessageId),
    /// The band does not exist in its node.
    #[error("Message {0:?} has a band that its node does not have")]
    NoBand(MessageId),
    /// The bus does not exist.
    #[error("Node {0:?} has a bus that does not exist")]
    NoBus(NodeId),
    /// The period is zero. Traffic without a period or minimum distance has no bound.
    #[error("Message {0:?} has no period")]
    NoPeriod(MessageId),
    /// The node or the message that is forwarded does not exist.
    #[error("Message {0:?} refers to what does not exist")]
    NoSource(MessageId),
    /// Two nodes of a bus send the same identifier, which is an error on CAN.
    #[error("Messages {0:?} and {1:?} of different nodes have the same identifier")]
    SameIdentifier(MessageId, MessageId),
}

/// A property of a network that a bound cannot change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The frame alone takes longer than the deadline.
    DeadlineShorterThanFrame {
        /// The message.
        message: MessageId,
        /// Its deadline.
        deadline: Ns,
        /// The longest time of its frame, without intermission.
        frame: Ns,
    },
    /// More traffic than the bus can carry.
    Overload {
        /// The bus.
        bus: BusId,
        /// The sum.
        load: Load,
    },
}

/// The load of a bus as a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Frame time, period and message, largest share first.
    pub terms: Vec<Term>,
    /// The sum in parts per million, rounded up for each term.
    pub ppm: u64,
}

/// One message in a [`Load`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The message.
    pub message: MessageId,
    /// Time on the bus of one frame, including the intermission.
    pub frame: Ns,
    /// Its period.
    pub period: Ns,
    /// `frame` / `period` in parts per million, rounded up.
    pub ppm: u64,
}

impl Load {
    pub(crate) fn new(terms: impl Iterator<Item = (MessageId, Ns, Ns)>) -> Self {
        let term = |(message, frame, period): (MessageId, Ns, Ns)| {
            let ppm = (u128::from(frame.0) * 1_000_000).div_ceil(u128::from(period.0.max(1)));
            Term { message, frame, period, ppm: u64::try_from(ppm).unwrap_or(u64::MAX) }
        };
        let mut terms: Vec<Term> = terms.map(term).collect();
        sort_by_key(&mut terms, |term| (core::cmp::Reverse(term.ppm), term.message));
        let ppm = terms.iter().fold(0, |sum: u64, term| sum.saturating_add(term.ppm));
        Self { terms, ppm }
    }
}

impl Network {
    /// All problems that prevent an analysis, by message.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let nodes = self.nodes.iter().enumerate().filter(|(_, node)| node.bus.0 >= self.buses.len());
        let mut problems: Vec<_> = nodes.map(|(at, _)| Problem::NoBus(NodeId(at))).collect();
        for (at, message) in self.messages.iter().enumerate() {
            self.check(MessageId(at), message, &mut problems);
        }
        if problems.is_empty() {
            self.check_identifiers(&mut problems);
        }
        problems
    }

    fn check(&self, id: MessageId, message: &Message, problems: &mut Vec<Problem>) {
        let Some(node) = self.nodes.get(message.node.0) else {
            problems.push(Problem::NoSource(id));
            return;
        };
        if let Queue::Bands(bands) = &node.queue
            && message.band >= bands.len()
        {
            problems.push(Problem::NoBand(id));
        }
        if usize::from(message.len) > message.format.max_len() {
            problems.push(Problem::Length(id));
        }
        let is_fd = message.format == FrameFormat::Fd;
        let has_data_rate = self.buses.get(node.bus.0).is_none_or(|bus| bus.data.is_some());
        let wide = !message.id.is_eff() && message.id.0 & candor_core::frame::CAN_EFF_MASK != message.id.bits();
        if message.id.is_err() || wide || is_fd && (message.id.is_rtr() || !has_data_rate) {
            problems.push(Problem::Frame(id));
        }
        match message.origin {
            Origin::Queued { period: Ns(0), .. } => problems.push(Problem::NoPeriod(id)),
            Origin::Queued { .. } => {}
            Origin::Forwarded { from, .. } if from.0 >= self.messages.len() => problems.push(Problem::NoSource(id)),
            Origin::Forwarded { latency, .. } if latency.shortest > latency.longest => {
                problems.push(Problem::Latency(id));
            }
            Origin::Forwarded { .. } => {
                if self.first_sender(id).is_none() {
                    problems.push(Problem::Circle(id));
                }
            }
        }
    }

    /// The message with a period from which this one is forwarded. `None` for a circle, or if it does not exist.
    pub(crate) fn first_sender(&self, message: MessageId) -> Option<MessageId> {
        let mut at = message;
        for _hop in 0..=self.messages.len() {
            match self.messages.get(at.0)?.origin {
                Origin::Queued { .. } => return Some(at),
                Origin::Forwarded { from, .. } => at = from,
            }
        }
        None
    }

    fn check_identifiers(&self, problems: &mut Vec<Problem>) {
        let mut sorted: Vec<_> = (0..self.messages.len()).map(MessageId).collect();
        let key = |id: &MessageId| (self.bus_of(*id), priority(&self.messages[id.0]));
        sort_by_key(&mut sorted, |id| (key(id), *id));
        for pair in sorted.windows(2) {
            if let [a, b] = *pair
                && key(&a) == key(&b)
                && self.messages[a.0].node != self.messages[b.0].node
            {
                problems.push(Problem::SameIdentifier(a, b));
            }
        }
    }

    /// The messages in the order in which forwarding passes them, sources first.
    pub(crate) fn sources_first(&self) -> Vec<MessageId> {
        let mut hops = vec![0; self.messages.len()];
        for (mut message, hops) in self.messages.iter().zip(&mut hops) {
            while let Origin::Forwarded { from, .. } = message.origin {
                *hops += 1;
                message = &self.messages[from.0];
            }
        }
        let mut order: Vec<_> = (0..self.messages.len()).map(MessageId).collect();
        sort_by_key(&mut order, |id| hops[id.0]);
        order
    }
}

/// The arbitration field as a number, of which the lowest wins: 11 bits, RTR or SRR, IDE, 18 bits, RTR.
pub(crate) fn priority(message: &Message) -> u64 {
    let bits = u64::from(message.id.bits());
    let remote = u64::from(message.format == FrameFormat::Classic && message.id.is_rtr());
    if message.id.is_eff() {
        bits >> 18 << 21 | 0b11 << 19 | (bits & 0x3_FFFF) << 1 | remote
    } else {
        bits << 21 | remote << 20
    }
}
