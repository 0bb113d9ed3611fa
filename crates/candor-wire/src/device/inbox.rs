//! Transfers posted by the driver, and messages waiting for a transfer.

use std::collections::VecDeque;

use crate::exchange::Channel;
use crate::model::{Content, ErrorReport, Message, Model, Packing};
use crate::usb::BULK_PACKET_BYTES;
use crate::usbip::reply::{Status, with_data};
use crate::usbip::{HEADER_BYTES, Seqnum};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages dropped because the driver posted too few transfers.
    pub dropped: u64,
    /// Frames of the driver that were refused: malformed, or for a channel that could not send them.
    pub refused: u64,
    pub waiting: usize,
    /// The largest value of `waiting`.
    pub waiting_most: usize,
}

/// Policy for a message when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Never dropped: the driver's slots bound their number.
    Always,
    /// If the queue is full, it is dropped and counted.
    IfRoom,
    /// Replaces an earlier one.
    Latest,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    seqnum: Seqnum,
    room: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct ChannelQueue {
    waiting: usize,
    /// The next message must report a loss.
    owes_overflow: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Inbox {
    messages: VecDeque<Message>,
    posted: VecDeque<Posted>,
    queues: Vec<ChannelQueue>,
    /// Messages of one channel, without those that are always kept.
    limit: usize,
    pub(super) statistics: Statistics,
}

impl Inbox {
    pub(super) fn new(channels: u8, limit: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            posted: VecDeque::new(),
            queues: vec![ChannelQueue::default(); channels.into()],
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

    /// Cancels a posted transfer; `false` if there is none.
    pub(super) fn unlink(&mut self, victim: Seqnum) -> bool {
        let found = self.posted.iter().position(|posted| posted.seqnum == victim);
        found.and_then(|index| self.posted.remove(index)).is_some()
    }

    pub(super) fn is_full(&self, channel: Channel) -> bool {
        self.queues.get(usize::from(channel.0)).is_some_and(|queue| queue.waiting >= self.limit)
    }

    pub(super) fn push(&mut self, mut message: Message, keep: Keep) {
        let is_full = self.is_full(message.channel);
        match keep {
            Keep::IfRoom if is_full => {
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
            Keep::Always | Keep::IfRoom | Keep::Latest => {}
        }
        let Some(queue) = self.queues.get_mut(usize::from(message.channel.0)) else { return };
        queue.waiting += usize::from(counts(&message.content));
        message.overflow |= std::mem::take(&mut queue.owes_overflow);
        self.messages.push_back(message);
        self.statistics.waiting = self.messages.len();
        self.statistics.waiting_most = self.statistics.waiting_most.max(self.messages.len());
    }

    /// Frames of this channel were lost: the last message before the loss reports it, or else the next one.
    pub(super) fn overflow(&mut self, channel: Channel) {
        if let Some(last) = self.messages.iter_mut().rev().find(|message| message.channel == channel) {
            last.overflow = true;
        } else if let Some(queue) = self.queues.get_mut(usize::from(channel.0)) {
            queue.owes_overflow = true;
        }
    }

    /// Drops the messages of a channel.
    pub(super) fn clear(&mut self, channel: Channel) {
        self.messages.retain(|message| message.channel != channel);
        self.statistics.waiting = self.messages.len();
        if let Some(queue) = self.queues.get_mut(usize::from(channel.0)) {
            *queue = ChannelQueue::default();
        }
    }

    /// Answers posted transfers with messages until either runs out, and calls `delivered` for each message.
    pub(super) fn deliver(&mut self, model: &dyn Model, into: &mut Vec<u8>, mut delivered: impl FnMut(&Message)) {
        let packing = model.profile().packing;
        while !self.messages.is_empty() {
            let Some(Posted { seqnum, room }) = self.posted.pop_front() else { break };
            let room = room.min(BULK_PACKET_BYTES.into());
            with_data(into, seqnum, |into| {
                let body = into.len();
                let mut fits = Err(Status::Overflow); // unless at least one message fits
                while let Some(message) = self.messages.front() {
                    let offset = match packing {
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
                    delivered(message);
                    if let Some(queue) = self.queues.get_mut(usize::from(message.channel.0)) {
                        queue.waiting -= usize::from(counts(&message.content));
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

/// Returns true if a message counts against the limit: those about slots are bounded by the slots.
const fn counts(content: &Content) -> bool {
    matches!(content, Content::Error(_) | Content::Received(_))
}
