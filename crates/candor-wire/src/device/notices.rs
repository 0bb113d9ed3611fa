//! Notices of the bus.

use candor_bus::{BusNs, ErrorState, Tag};

use super::Device;
use super::inbox::Keep;
use crate::exchange::{Channel, Notice, Request};
use crate::model::{Aborts, Content, ErrorReport, Message, Recovery};
use crate::usbip::reply::{Status, without_data};

impl Device {
    /// Handles an event on the bus. Notices about unknown frames and about channels that are not started are ignored.
    pub fn notice(&mut self, notice: &Notice, requests: &mut Vec<Request>) {
        let channel = notice.channel();
        let index = usize::from(channel.0);
        let Some(setting) = self.channels.get(index).and_then(|state| state.setting) else { return };
        match *notice {
            Notice::BusError { kind, part, counters, at, .. } => {
                if let Some(health) = self.health.get_mut(index) {
                    health.counters = counters;
                }
                if setting.bus_errors {
                    let report = ErrorReport::Bus { kind, part, counters };
                    self.push(channel, at, Content::Error(report), Keep::IfRoom);
                }
            }
            Notice::Failed { tag, at, .. } => self.failed(channel, tag, at),
            Notice::LostArbitration { bit, at, .. } => {
                if setting.bus_errors {
                    self.push(channel, at, Content::Error(ErrorReport::LostArbitration { bit }), Keep::IfRoom);
                }
            }
            Notice::Overflow { .. } => self.inbox.overflow(channel),
            Notice::Received { frame, at, .. } => self.push(channel, at, Content::Received(frame), Keep::IfRoom),
            Notice::Sent { tag, frame, at, .. } => {
                let settled = self.channels.get_mut(index).and_then(|state| state.slots.settle(tag));
                if let Some((slot, held)) = settled {
                    without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
                    self.push(channel, at, Content::Sent { slot, frame }, Keep::Always);
                }
            }
            Notice::State { state, counters, at, .. } => {
                let Some(health) = self.health.get_mut(index) else { return };
                let before = health.state;
                (health.state, health.counters) = (state, counters);
                if state == before {
                    return;
                }
                let report = match self.model.profile().recovery {
                    Recovery::ByDevice if before == ErrorState::BusOff => ErrorReport::Restarted,
                    Recovery::ByDriver | Recovery::ByDevice => ErrorReport::State { state, counters },
                };
                self.push(channel, at, Content::Error(report), Keep::Latest);
                if state == ErrorState::BusOff {
                    self.bus_off(channel, at, requests);
                }
            }
        }
    }

    fn bus_off(&mut self, channel: Channel, at: BusNs, requests: &mut Vec<Request>) {
        let index = usize::from(channel.0);
        match self.model.profile().recovery {
            Recovery::ByDevice => requests.push(Request::Restart { channel }),
            Recovery::ByDriver => {
                while let Some(tag) = self.channels.get(index).and_then(|state| state.slots.first_unsettled()) {
                    requests.push(Request::Cancel { channel, tag });
                    self.failed(channel, tag, at);
                }
                if let Some(state) = self.channels.get_mut(index) {
                    state.is_abandoned = true;
                }
            }
        }
    }

    /// A frame will not be sent.
    fn failed(&mut self, channel: Channel, tag: Tag, at: BusNs) {
        let Some(state) = self.channels.get_mut(usize::from(channel.0)) else { return };
        let Some((slot, held)) = state.slots.settle(tag) else { return };
        match self.model.profile().aborts {
            Aborts::FailTransfer => {
                state.slots.free(slot);
                without_data(&mut self.output, held.seqnum, Status::NotTaken, 0);
            }
            Aborts::SendMessage => {
                without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
                self.push(channel, at, Content::Failed { slot }, Keep::Always);
            }
        }
    }

    fn push(&mut self, channel: Channel, at: BusNs, content: Content, keep: Keep) {
        // A full queue may drain into posted transfers.
        if keep != Keep::Always && self.inbox.is_full(channel) {
            self.deliver();
        }
        self.inbox.push(Message { channel, at, overflow: false, content }, keep);
    }
}
