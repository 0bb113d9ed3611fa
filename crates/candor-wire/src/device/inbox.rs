//! What waits for the driver: transfers that it posted, messages that it did not post a transfer for.

use std::collections::VecDeque;

use crate::exchange::Channel;
use crate::model::{Content, ErrorReport, Message, Model, Packing};
use crate::usb::BULK_PACKET_BYTES;
use crate::usbip::reply::{Status, with_data};
use crate::usbip::{HEADER_BYTES, Seqnum};

/// What the messages of a device had to wait and suffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages that were dropped because the driver posted too few transfers.
    pub dropped: u64,
    /// Frames of the driver that were not taken: malformed, or for a channel that could not send them.
    pub refused: u64,
    /// Messages that wait now.
    pub waiting: usize,
    /// The most that ever waited at a time.
    pub waiting_most: usize,
}

/// What may become of a message that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Never lost: the driver's slots bound their number.
    Always,
    /// Dropped, and counted.
    IfThereIsRoom,
    /// Takes the place of an earlier one.
    Latest,
}

/// A transfer that the driver posted.
#[derive(Clone, Copy, Debug)]
struct Posted {
    seqnum: Seqnum,
    room: usize,
}

/// Per channel: how much waits, and whether the next message must tell of a loss.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    waiting: usize,
    owes_overflow: bool,
}

/// Messages and transfers in order.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    messages: VecDeque<Message>,
    posted: VecDeque<Posted>,
    lanes: Vec<Lane>,
    /// Messages a lane may hold, but for those that are kept always.
    limit: usize,
    pub(super) statistics: Statistics,
}

impl Inbox {
    pub(super) fn new(channels: u8, limit: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            posted: VecDeque::new(),
            lanes: vec![Lane::default(); channels.into()],
            limit: limit.max(1),
            statistics: Statistics::default(),
        }
    }

    pub(super) fn posted(&self) -> usize {
        self.posted.len()
    }

    pub(super) fn post(&mut self, seqnum: Seqnum, room: usize) {
        self.posted.push_back(Posted { seqnum, room });
    }

    pub(super) fn is_posted(&self, seqnum: Seqnum) -> bool {
        self.posted.iter().any(|posted| posted.seqnum == seqnum)
    }

    /// Takes a posted transfer back. Returns whether it was there.
    pub(super) fn unlink(&mut self, victim: Seqnum) -> bool {
        let found = self.posted.iter().position(|posted| posted.seqnum == victim);
        found.and_then(|index| self.posted.remove(index)).is_some()
    }

    pub(super) fn is_full(&self, channel: Channel) -> bool {
        self.lanes.get(usize::from(channel.0)).is_some_and(|lane| lane.waiting >= self.limit)
    }

    pub(super) fn tell(&mut self, mut message: Message, keep: Keep) {
        let is_full = self.is_full(message.channel);
        match keep {
            Keep::IfThereIsRoom if is_full => {
                self.statistics.dropped += 1;
                if matches!(message.content, Content::Received(_)) {
                    self.overflow(message.channel);
                }
                return;
            }
            Keep::Latest if is_full => {
                let is_state = |earlier: &&mut Message| {
                    earlier.channel == message.channel
                        && matches!(earlier.content, Content::Error(ErrorReport::State { .. } | ErrorReport::Restarted))
                };
                if let Some(earlier) = self.messages.iter_mut().rev().find(is_state) {
                    (earlier.at, earlier.content) = (message.at, message.content);
                    return;
                }
            }
            Keep::Always | Keep::IfThereIsRoom | Keep::Latest => {}
        }
        let Some(lane) = self.lanes.get_mut(usize::from(message.channel.0)) else { return };
        lane.waiting += usize::from(counts(&message.content));
        message.overflow |= std::mem::take(&mut lane.owes_overflow);
        self.messages.push_back(message);
        self.statistics.waiting = self.messages.len();
        self.statistics.waiting_most = self.statistics.waiting_most.max(self.messages.len());
    }

    /// Frames of this channel were lost: the last message before the loss says so, or else the next one.
    pub(super) fn overflow(&mut self, channel: Channel) {
        if let Some(last) = self.messages.iter_mut().rev().find(|message| message.channel == channel) {
            last.overflow = true;
        } else if let Some(lane) = self.lanes.get_mut(usize::from(channel.0)) {
            lane.owes_overflow = true;
        }
    }

    /// Forgets what a channel had to say.
    pub(super) fn forget(&mut self, channel: Channel) {
        self.messages.retain(|message| message.channel != channel);
        self.statistics.waiting = self.messages.len();
        if let Some(lane) = self.lanes.get_mut(usize::from(channel.0)) {
            *lane = Lane::default();
        }
    }

    /// Answers posted transfers with messages until either runs out, and tells of each message that went.
    pub(super) fn deliver<M: Model>(&mut self, model: &M, into: &mut Vec<u8>, mut went: impl FnMut(&Message)) {
        while !self.messages.is_empty() {
            let Some(Posted { seqnum, room }) = self.posted.pop_front() else { break };
            let room = room.min(BULK_PACKET_BYTES.into());
            with_data(into, seqnum, |into| {
                let body = into.len();
                let mut fits = Err(Status::Overflow); // unless at least one message goes
                while let Some(message) = self.messages.front() {
                    let offset = match model.packing() {
                        Packing::Aligned(bytes) => (into.len() - body).next_multiple_of(bytes.max(1)),
                        Packing::Single if fits.is_ok() => break,
                        Packing::Single => 0,
                    };
                    if offset + model.size(message) > room {
                        break;
                    }
                    into.resize(body + offset, 0);
                    model.encode(message, into);
                    fits = Ok(());
                    went(message);
                    if let Some(lane) = self.lanes.get_mut(usize::from(message.channel.0)) {
                        lane.waiting -= usize::from(counts(&message.content));
                    }
                    self.messages.pop_front();
                }
                fits
            });
            debug_assert!(into.len() >= HEADER_BYTES, "every transfer is answered");
        }
        self.statistics.waiting = self.messages.len();
    }
}

/// Whether a message counts against the limit: those of slots have their own.
const fn counts(content: &Content) -> bool {
    matches!(content, Content::Error(_) | Content::Received(_))
}
