//! What the host asks: transfers and unlink requests.

use candor_bus::{BusNs, Tag};
use candor_core::frame::{Frame, FrameFormat};

use super::inbox::{Inbox, Keep};
use super::slots::{Held, Slots};
use super::{DeviceError, MAX_POSTED, Statistics};
use crate::exchange::{Channel, Request};
use crate::model::{Action, Content, Health, Malformed, Message, Model, Outgoing, Setting};
use crate::usb::{BULK_IN, BULK_OUT, Change, ControlEndpoint, Kind, Setup, Stall};
use crate::usbip::reply::{Status, unlinked, with_data, without_data};
use crate::usbip::{Seqnum, Submit, Transfer};

/// A channel beyond what its [`Health`] says.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) slots: Slots,
    /// As the driver started it.
    pub(super) setting: Option<Setting>,
    /// Bus-off, and the driver gave up all frames: those that still come go the same way.
    pub(super) is_abandoned: bool,
}

/// A device without its stream.
#[derive(Clone, Debug)]
pub(super) struct Adapter<M> {
    pub(super) model: M,
    control: ControlEndpoint,
    pub(super) health: Vec<Health>,
    pub(super) lines: Vec<Line>,
    pub(super) inbox: Inbox,
    pub(super) output: Vec<u8>,
    next_tag: u32,
}

impl<M: Model> Adapter<M> {
    pub(super) fn new(model: M, queue_frames: usize) -> Self {
        let channels = model.channels();
        Self {
            control: ControlEndpoint::new(model.description()),
            health: vec![Health::default(); channels.into()],
            lines: vec![Line::default(); channels.into()],
            inbox: Inbox::new(channels, queue_frames),
            output: Vec::new(),
            next_tag: 0,
            model,
        }
    }

    pub(super) const fn statistics(&self) -> Statistics {
        self.inbox.statistics
    }

    pub(super) fn submit(
        &mut self,
        submit: &Submit<'_>,
        now: BusNs,
        requests: &mut Vec<Request>,
    ) -> Result<(), DeviceError> {
        let &Submit { seqnum, endpoint, setup, transfer } = submit;
        if self.inbox.is_posted(seqnum) || self.lines.iter().any(|line| line.slots.holds_transfer(seqnum)) {
            return Err(DeviceError::SeqnumInUse { seqnum });
        }
        match (endpoint, transfer) {
            (0, _) => self.control(seqnum, &Setup::from(setup), transfer, now, requests),
            (BULK_IN, Transfer::In { .. }) if self.inbox.posted() >= MAX_POSTED => Err(DeviceError::TooManyTransfers),
            (BULK_IN, Transfer::In { room }) => {
                self.inbox.post(seqnum, room);
                Ok(())
            }
            (BULK_OUT, Transfer::Out { data }) => {
                self.send(seqnum, data, now, requests);
                Ok(())
            }
            (BULK_IN | BULK_OUT, _) => Err(DeviceError::WrongDirection { endpoint }),
            _ => Err(DeviceError::UnknownEndpoint { endpoint }),
        }
    }

    pub(super) fn unlink(&mut self, seqnum: Seqnum, victim: Seqnum, requests: &mut Vec<Request>) {
        let mut is_here = self.inbox.unlink(victim);
        for (line, channel) in self.lines.iter_mut().zip(0..) {
            if let Some(tag) = line.slots.unlink(victim) {
                requests.push(Request::Cancel { channel: Channel(channel), tag });
                is_here = true;
            }
        }
        unlinked(&mut self.output, seqnum, if is_here { Status::Unlinked } else { Status::Ok });
    }

    fn control(
        &mut self,
        seqnum: Seqnum,
        setup: &Setup,
        transfer: Transfer<'_>,
        now: BusNs,
        requests: &mut Vec<Request>,
    ) -> Result<(), DeviceError> {
        let has_data = setup.length > 0;
        match transfer {
            Transfer::In { room } if setup.is_in => {
                let room = room.min(setup.length.into());
                let Self { control, model, health, output, .. } = self;
                with_data(output, seqnum, |into| {
                    let body = into.len();
                    let answer = match setup.kind {
                        Kind::Standard => control.answer(setup, into),
                        Kind::Vendor => model.control_in(setup, health, now, into),
                        Kind::Other => Err(Stall),
                    };
                    into.truncate(body + room);
                    answer.map_err(|Stall| Status::Stall)
                });
            }
            Transfer::Out { data } if !setup.is_in => {
                let is_whole = data.len() == usize::from(setup.length);
                let done = if is_whole { self.obey(setup, data, requests) } else { Err(Stall) };
                let status = if done.is_ok() { Status::Ok } else { Status::Stall };
                without_data(&mut self.output, seqnum, status, if done.is_ok() { data.len() } else { 0 });
            }
            // Without data a request of either direction may come either way; none that is known has that form.
            _ if !has_data => without_data(&mut self.output, seqnum, Status::Stall, 0),
            _ => return Err(DeviceError::WrongDirection { endpoint: 0 }),
        }
        Ok(())
    }

    /// Does what a request to the device says.
    fn obey(&mut self, setup: &Setup, data: &[u8], requests: &mut Vec<Request>) -> Result<(), Stall> {
        match setup.kind {
            Kind::Standard => {
                if self.control.obey(setup)? == Change::Configured {
                    self.stop_all(requests);
                }
            }
            Kind::Vendor => match self.model.control_out(setup, data)? {
                Action::Nothing => {}
                Action::Restart(channel) => self.restart(channel, requests),
                Action::Start(channel, setting) => self.start(channel, setting, requests),
                Action::Stop(channel) => self.stop(channel, requests),
            },
            Kind::Other => return Err(Stall),
        }
        Ok(())
    }

    fn start(&mut self, channel: Channel, setting: Setting, requests: &mut Vec<Request>) {
        self.stop(channel, requests);
        let index = usize::from(channel.0);
        let (Some(health), Some(line)) = (self.health.get_mut(index), self.lines.get_mut(index)) else { return };
        health.is_started = true;
        line.setting = Some(setting);
        let Setting { timing, listen_only, one_shot, bus_errors: _ } = setting;
        requests.push(Request::Start { channel, timing, listen_only, one_shot });
    }

    fn restart(&mut self, channel: Channel, requests: &mut Vec<Request>) {
        let Some(line) = self.lines.get_mut(usize::from(channel.0)) else { return };
        line.is_abandoned = false;
        if line.setting.is_some() {
            requests.push(Request::Restart { channel });
        }
    }

    /// Forgets everything of a channel without a word, as the driver does. Transfers that are still held are answered
    /// as if all were well, because nobody looks at them any more.
    fn stop(&mut self, channel: Channel, requests: &mut Vec<Request>) {
        let index = usize::from(channel.0);
        let (Some(health), Some(line)) = (self.health.get_mut(index), self.lines.get_mut(index)) else { return };
        if health.is_started {
            requests.push(Request::Stop { channel });
        }
        for held in line.slots.clear() {
            without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
        }
        *health = Health::default();
        *line = Line::default();
        self.inbox.forget(channel);
    }

    pub(super) fn stop_all(&mut self, requests: &mut Vec<Request>) {
        for channel in 0..self.model.channels() {
            self.stop(Channel(channel), requests);
        }
    }

    /// A transfer that should bring a frame.
    fn send(&mut self, seqnum: Seqnum, data: &[u8], now: BusNs, requests: &mut Vec<Request>) {
        let held = Held { seqnum, bytes: data.len() };
        match self.model.decode(data) {
            Ok(Outgoing::Frame { channel, slot, frame }) if self.can_take(channel, slot, frame.format) => {
                self.take(channel, slot, frame, held, now, requests);
            }
            Ok(Outgoing::Plug) => without_data(&mut self.output, seqnum, Status::Ok, held.bytes),
            Ok(Outgoing::Frame { .. }) | Err(Malformed) => {
                self.inbox.statistics.refused += 1;
                without_data(&mut self.output, seqnum, Status::NotTaken, 0);
            }
        }
    }

    /// Whether the channel is up for such a frame, and the slot is free.
    fn can_take(&self, channel: Channel, slot: u32, format: FrameFormat) -> bool {
        let Some(line) = self.lines.get(usize::from(channel.0)) else { return false };
        let can_send = line.setting.is_some_and(|setting| {
            !setting.listen_only && (format == FrameFormat::Classic || setting.timing.data.is_some())
        });
        can_send && line.slots.len() < self.model.slots() && !line.slots.holds_slot(slot)
    }

    fn take(&mut self, channel: Channel, slot: u32, frame: Frame, held: Held, now: BusNs, requests: &mut Vec<Request>) {
        let Some(line) = self.lines.get_mut(usize::from(channel.0)) else { return };
        let tag = Tag(self.next_tag);
        self.next_tag = self.next_tag.wrapping_add(1);
        if line.is_abandoned {
            line.slots.fill_settled(slot, tag);
            without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
            let message = Message { channel, at: now, overflow: false, content: Content::Failed { slot } };
            return self.inbox.tell(message, Keep::Always);
        }
        line.slots.fill(slot, tag, held);
        requests.push(Request::Send { channel, tag, frame });
    }

    /// Brings messages and posted transfers together.
    pub(super) fn deliver(&mut self) {
        let Self { model, inbox, output, lines, .. } = self;
        inbox.deliver(model, output, |message| {
            if let Content::Sent { slot, .. } | Content::Failed { slot } = message.content
                && let Some(line) = lines.get_mut(usize::from(message.channel.0))
            {
                line.slots.free(slot);
            }
        });
    }
}
