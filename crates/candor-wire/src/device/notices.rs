//! What the bus tells.

use candor_bus::{BusNs, ErrorState, Tag};

use super::adapter::Adapter;
use super::inbox::Keep;
use crate::exchange::{Channel, Notice, Request};
use crate::model::{Aborts, Content, ErrorReport, Message, Model, Recovery};
use crate::usbip::reply::{Status, without_data};

impl<M: Model> Adapter<M> {
    pub(super) fn notice(&mut self, notice: &Notice, requests: &mut Vec<Request>) {
        let channel = notice.channel();
        let index = usize::from(channel.0);
        let Some(setting) = self.lines.get(index).and_then(|line| line.setting) else { return };
        match *notice {
            Notice::BusError { kind, part, counters, at, .. } => {
                if let Some(health) = self.health.get_mut(index) {
                    health.counters = counters;
                }
                if setting.bus_errors {
                    let report = ErrorReport::Bus { kind, part, counters };
                    self.tell(channel, at, Content::Error(report), Keep::IfThereIsRoom);
                }
            }
            Notice::Failed { tag, at, .. } => self.failed(channel, tag, at),
            Notice::LostArbitration { bit, at, .. } => {
                if setting.bus_errors {
                    let report = ErrorReport::LostArbitration { bit };
                    self.tell(channel, at, Content::Error(report), Keep::IfThereIsRoom);
                }
            }
            Notice::Overflow { .. } => self.inbox.overflow(channel),
            Notice::Received { frame, at, .. } => {
                self.tell(channel, at, Content::Received(frame), Keep::IfThereIsRoom);
            }
            Notice::Sent { tag, frame, at, .. } => {
                let settled = self.lines.get_mut(index).and_then(|line| line.slots.settle(tag));
                if let Some((slot, held)) = settled {
                    without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
                    self.tell(channel, at, Content::Sent { slot, frame }, Keep::Always);
                }
            }
            Notice::State { state, counters, at, .. } => {
                let Some(health) = self.health.get_mut(index) else { return };
                let before = health.state;
                (health.state, health.counters) = (state, counters);
                if state == before {
                    return;
                }
                let report = match self.model.recovery() {
                    Recovery::ByItself if before == ErrorState::BusOff => ErrorReport::Restarted,
                    Recovery::ByDriver | Recovery::ByItself => ErrorReport::State { state, counters },
                };
                self.tell(channel, at, Content::Error(report), Keep::Latest);
                if state == ErrorState::BusOff {
                    self.bus_off(channel, at, requests);
                }
            }
        }
    }

    /// The channel is off the bus, and its driver knows.
    fn bus_off(&mut self, channel: Channel, at: BusNs, requests: &mut Vec<Request>) {
        let index = usize::from(channel.0);
        match self.model.recovery() {
            Recovery::ByItself => requests.push(Request::Restart { channel }),
            Recovery::ByDriver => {
                while let Some(tag) = self.lines.get(index).and_then(|line| line.slots.first_unsettled()) {
                    requests.push(Request::Cancel { channel, tag });
                    self.failed(channel, tag, at);
                }
                if let Some(line) = self.lines.get_mut(index) {
                    line.is_abandoned = true;
                }
            }
        }
    }

    /// A frame will not be sent.
    fn failed(&mut self, channel: Channel, tag: Tag, at: BusNs) {
        let Some(line) = self.lines.get_mut(usize::from(channel.0)) else { return };
        let Some((slot, held)) = line.slots.settle(tag) else { return };
        match self.model.aborts() {
            Aborts::FailTheTransfer => {
                line.slots.free(slot);
                without_data(&mut self.output, held.seqnum, Status::NotTaken, 0);
            }
            Aborts::HaveAMessage => {
                without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
                self.tell(channel, at, Content::Failed { slot }, Keep::Always);
            }
        }
    }

    fn tell(&mut self, channel: Channel, at: BusNs, content: Content, keep: Keep) {
        // A full queue is none if there are transfers that nobody gave a message yet.
        if keep != Keep::Always && self.inbox.is_full(channel) {
            self.deliver();
        }
        self.inbox.tell(Message { channel, at, overflow: false, content }, keep);
    }
}
