//! An adapter as its host sees it: it answers a stream of USB/IP.
//!
//! ```text
//!  Device ─┬─ Reader                     packets from the stream
//!          ├─ ControlEndpoint, Model     meaning of requests and bytes
//!          ├─ Slots (for each channel)   frames being sent, with the transfers held until their disposition is known
//!          └─ Inbox                      posted transfers on one side, messages on the other
//! ```
//!
//! # When transfers are answered
//! * Control transfers: at once.
//! * Transfers to the host: when there is a message. [`Device::output`] matches them, so that the messages of one wake-up
//!   share transfers where the protocol allows it.
//! * Transfers that carry a frame: when the frame was sent or abandoned, together with the message about it. A protocol
//!   that reports *not sent* only by a failed transfer requires this; for the others it saves the host a wake-up for each
//!   frame.

mod inbox;
mod notices;
mod slots;

use candor_bus::{BusNs, Tag};
use candor_core::frame::{Frame, FrameFormat};

pub use inbox::Statistics;

use crate::exchange::{Channel, Request};
use crate::model::{Action, Content, Health, Malformed, Message, Model, Outgoing, Setting};
use crate::usb::{BULK_IN, BULK_OUT, Change, ControlEndpoint, Kind, Setup, Stall};
use crate::usbip::reply::{Status, unlinked, with_data, without_data};
use crate::usbip::{Command, ProtocolError, Reader, Seqnum, Submit, Transfer};
use inbox::{Inbox, Keep};
use slots::{Held, Slots};

/// The most posted transfers to the host at a time. Drivers post 8 (ucan) or 30 (gs_usb).
pub const MAX_POSTED: usize = 256;

/// The peer is not a kernel. The device is unusable; close its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    #[error("The stream is not USB/IP")]
    Protocol(#[from] ProtocolError),
    #[error("USB/IP submits {seqnum} while {seqnum} is not answered")]
    SeqnumInUse { seqnum: Seqnum },
    #[error("USB/IP posts more than {MAX_POSTED} transfers")]
    TooManyTransfers,
    #[error("USB/IP submits to endpoint {endpoint}, which the device does not have")]
    UnknownEndpoint { endpoint: u32 },
    #[error("USB/IP submits to endpoint {endpoint} in the wrong direction")]
    WrongDirection { endpoint: u32 },
}

/// State of a channel in addition to its [`Health`].
#[derive(Clone, Debug, Default)]
struct ChannelState {
    slots: Slots,
    /// As the driver started it.
    setting: Option<Setting>,
    /// Bus-off, and the driver dropped all frames: frames that still arrive fail.
    is_abandoned: bool,
}

/// A virtual adapter on one stream.
#[derive(Debug)]
pub struct Device {
    reader: Reader,
    failure: Option<DeviceError>,
    model: Box<dyn Model>,
    control: ControlEndpoint,
    health: Vec<Health>,
    channels: Vec<ChannelState>,
    inbox: Inbox,
    output: Vec<u8>,
    next_tag: u32,
}

impl Device {
    /// A device that has just been plugged in. It keeps up to `queue_frames` messages for each channel, at least 1, while
    /// the driver posts no transfer; further ones are dropped, counted and reported.
    pub fn new(model: Box<dyn Model>, queue_frames: usize) -> Self {
        let channels = model.profile().channels;
        Self {
            reader: Reader::default(),
            failure: None,
            control: ControlEndpoint::new(model.description()),
            health: vec![Health::default(); channels.into()],
            channels: vec![ChannelState::default(); channels.into()],
            inbox: Inbox::new(channels, queue_frames),
            output: Vec::new(),
            next_tag: 0,
            model,
        }
    }

    /// Takes bytes of the stream, split anywhere, at bus time `now`, and appends the requests to the bus.
    ///
    /// Each answer adds to [`output`](Self::output): a caller that cannot write must stop reading, or a peer could fill
    /// the memory with answers that it does not read.
    ///
    /// # Errors
    /// [`DeviceError`] if a kernel would not send this, now and in each later call. Earlier commands were carried out;
    /// started channels stay on the bus until [`unplug`](Self::unplug).
    pub fn receive(&mut self, mut bytes: &[u8], now: BusNs, requests: &mut Vec<Request>) -> Result<(), DeviceError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut reader = std::mem::take(&mut self.reader);
        let done = loop {
            let done = match reader.read(&mut bytes) {
                Ok(Some(Command::Submit(submit))) => self.submit(&submit, now, requests),
                Ok(Some(Command::Unlink { seqnum, victim })) => {
                    self.unlink(seqnum, victim, requests);
                    Ok(())
                }
                Ok(None) => break Ok(()),
                Err(error) => Err(error.into()),
            };
            if done.is_err() {
                break done;
            }
        };
        self.reader = reader;
        self.failure = done.err();
        done
    }

    /// Bytes to be written to the stream, drained by the caller. Messages are matched with transfers here, so call it
    /// after all notices of a wake-up.
    pub fn output(&mut self) -> &mut Vec<u8> {
        if self.failure.is_none() {
            self.deliver();
        }
        &mut self.output
    }

    /// Takes all channels off the bus. The stream ends with it.
    pub fn unplug(&mut self, requests: &mut Vec<Request>) {
        for channel in 0..self.model.profile().channels {
            self.stop(Channel(channel), requests);
        }
    }

    pub const fn statistics(&self) -> Statistics {
        self.inbox.statistics
    }

    /// The state of each channel.
    pub fn health(&self) -> &[Health] {
        &self.health
    }

    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    fn submit(&mut self, submit: &Submit<'_>, now: BusNs, requests: &mut Vec<Request>) -> Result<(), DeviceError> {
        let &Submit { seqnum, endpoint, setup, transfer } = submit;
        if self.inbox.is_posted(seqnum) || self.channels.iter().any(|channel| channel.slots.holds_transfer(seqnum)) {
            return Err(DeviceError::SeqnumInUse { seqnum });
        }
        match (endpoint, transfer) {
            (0, _) => return self.control(seqnum, &Setup::from(setup), transfer, now, requests),
            (BULK_IN, Transfer::In { .. }) if self.inbox.posted() >= MAX_POSTED => {
                return Err(DeviceError::TooManyTransfers);
            }
            (BULK_IN, Transfer::In { room }) => self.inbox.post(seqnum, room),
            (BULK_OUT, Transfer::Out { data }) => self.send(seqnum, data, now, requests),
            (BULK_IN | BULK_OUT, _) => return Err(DeviceError::WrongDirection { endpoint }),
            _ => return Err(DeviceError::UnknownEndpoint { endpoint }),
        }
        Ok(())
    }

    fn unlink(&mut self, seqnum: Seqnum, victim: Seqnum, requests: &mut Vec<Request>) {
        let mut is_pending = self.inbox.unlink(victim);
        for (state, channel) in self.channels.iter_mut().zip(0..) {
            if let Some(tag) = state.slots.unlink(victim) {
                requests.push(Request::Cancel { channel: Channel(channel), tag });
                is_pending = true;
            }
        }
        unlinked(&mut self.output, seqnum, if is_pending { Status::Unlinked } else { Status::Ok });
    }

    fn control(
        &mut self,
        seqnum: Seqnum,
        setup: &Setup,
        transfer: Transfer<'_>,
        now: BusNs,
        requests: &mut Vec<Request>,
    ) -> Result<(), DeviceError> {
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
                let is_complete = data.len() == usize::from(setup.length);
                let done = if is_complete { self.obey(setup, data, requests) } else { Err(Stall) };
                let status = if done.is_ok() { Status::Ok } else { Status::Stall };
                without_data(&mut self.output, seqnum, status, if done.is_ok() { data.len() } else { 0 });
            }
            // Without data a request of either direction may come either way; no known request has that form.
            _ if setup.length == 0 => without_data(&mut self.output, seqnum, Status::Stall, 0),
            _ => return Err(DeviceError::WrongDirection { endpoint: 0 }),
        }
        Ok(())
    }

    /// Carries out a request to the device.
    fn obey(&mut self, setup: &Setup, data: &[u8], requests: &mut Vec<Request>) -> Result<(), Stall> {
        match setup.kind {
            Kind::Standard => {
                if self.control.obey(setup)? == Change::Configured {
                    self.unplug(requests);
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
        let (Some(health), Some(state)) = (self.health.get_mut(index), self.channels.get_mut(index)) else { return };
        health.is_started = true;
        state.setting = Some(setting);
        let Setting { timing, listen_only, one_shot, bus_errors: _ } = setting;
        requests.push(Request::Start { channel, timing, listen_only, one_shot });
    }

    fn restart(&mut self, channel: Channel, requests: &mut Vec<Request>) {
        let Some(state) = self.channels.get_mut(usize::from(channel.0)) else { return };
        state.is_abandoned = false;
        if state.setting.is_some() {
            requests.push(Request::Restart { channel });
        }
    }

    /// Drops all state of a channel without a message, as the driver does. Held transfers are answered with success,
    /// because the driver ignores their status.
    fn stop(&mut self, channel: Channel, requests: &mut Vec<Request>) {
        let index = usize::from(channel.0);
        let (Some(health), Some(state)) = (self.health.get_mut(index), self.channels.get_mut(index)) else { return };
        if health.is_started {
            requests.push(Request::Stop { channel });
        }
        for held in state.slots.clear() {
            without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
        }
        *health = Health::default();
        *state = ChannelState::default();
        self.inbox.clear(channel);
    }

    /// Handles a transfer that should carry a frame.
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

    /// Returns true if the channel is up for frames of this format, and the slot is free.
    fn can_take(&self, channel: Channel, slot: u32, format: FrameFormat) -> bool {
        let Some(state) = self.channels.get(usize::from(channel.0)) else { return false };
        let can_send = state.setting.is_some_and(|setting| {
            !setting.listen_only && (format == FrameFormat::Classic || setting.timing.data.is_some())
        });
        can_send && state.slots.len() < self.model.profile().slots && !state.slots.holds_slot(slot)
    }

    fn take(&mut self, channel: Channel, slot: u32, frame: Frame, held: Held, now: BusNs, requests: &mut Vec<Request>) {
        let Some(state) = self.channels.get_mut(usize::from(channel.0)) else { return };
        let tag = Tag(self.next_tag);
        self.next_tag = self.next_tag.wrapping_add(1);
        if state.is_abandoned {
            state.slots.fill(slot, tag, None);
            without_data(&mut self.output, held.seqnum, Status::Ok, held.bytes);
            let message = Message { channel, at: now, overflow: false, content: Content::Failed { slot } };
            return self.inbox.push(message, Keep::Always);
        }
        state.slots.fill(slot, tag, Some(held));
        requests.push(Request::Send { channel, tag, frame });
    }

    /// Matches messages with posted transfers.
    fn deliver(&mut self) {
        let Self { model, inbox, output, channels, .. } = self;
        inbox.deliver(&**model, output, |message| {
            if let Content::Sent { slot, .. } | Content::Failed { slot } = message.content
                && let Some(state) = channels.get_mut(usize::from(message.channel.0))
            {
                state.slots.free(slot);
            }
        });
    }
}

#[cfg(test)]
mod tests;
