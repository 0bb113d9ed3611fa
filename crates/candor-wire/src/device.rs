//! An adapter as its host sees it: a stream of USB/IP, answered.
//!
//! ```text
//!  Device ─┬─ Reader        packets out of a stream
//!          └─ Adapter ─┬─ ControlEndpoint, Model     what requests and bytes mean
//!                      ├─ Slots (for each channel)   frames on the way, and the transfers that wait for their disposition
//!                      └─ Inbox                      posted transfers on one side, messages on the other
//! ```
//!
//! # When transfers are answered
//! * Control transfers at once.
//! * Transfers to the host when there is a message. That is looked at in [`Device::output`], so that messages of one
//!   wake-up share transfers where the protocol allows it.
//! * Transfers that carry a frame when the frame was sent or given up, in one go with the message about it. A protocol
//!   whose only word for *not sent* is a failed transfer leaves no choice; for the others it saves the host a wake-up
//!   for each frame.

mod adapter;
mod inbox;
mod notices;
mod slots;

use candor_bus::BusNs;

pub use inbox::Statistics;

use crate::exchange::{Notice, Request};
use crate::model::{Health, Model};
use crate::usbip::{Command, ProtocolError, Reader, Seqnum};
use adapter::Adapter;

/// The most transfers to the host that may be posted at a time. Drivers post 8 (ucan) or 30 (gs_usb).
pub const MAX_POSTED: usize = 256;

/// A peer that is no kernel. The device is finished; close its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The stream is no USB/IP.
    #[error("The stream is broken")]
    Protocol(#[from] ProtocolError),
    /// The number belongs to a transfer that is not answered yet.
    #[error("USB/IP submits {seqnum} while {seqnum} is not answered")]
    SeqnumInUse {
        /// The number.
        seqnum: Seqnum,
    },
    /// More posted transfers than any driver wants.
    #[error("USB/IP posts more than {MAX_POSTED} transfers")]
    TooManyTransfers,
    /// An endpoint that the descriptors do not have.
    #[error("USB/IP submits to endpoint {endpoint}, which the device does not have")]
    UnknownEndpoint {
        /// Its number.
        endpoint: u32,
    },
    /// An endpoint, but the other way.
    #[error("USB/IP submits to endpoint {endpoint} in the wrong direction")]
    WrongDirection {
        /// Its number.
        endpoint: u32,
    },
}

/// A virtual adapter on one stream.
///
/// Once an error is returned the device answers no more.
#[derive(Clone, Debug)]
pub struct Device<M> {
    reader: Reader,
    adapter: Adapter<M>,
    failure: Option<DeviceError>,
}

impl<M: Model> Device<M> {
    /// A device that has just been plugged in. It keeps up to `queue_frames` messages for each channel while the driver
    /// posts no transfer, at least 1; more are dropped, counted and told.
    #[must_use]
    pub fn new(model: M, queue_frames: usize) -> Self {
        Self { reader: Reader::default(), adapter: Adapter::new(model, queue_frames), failure: None }
    }

    /// Takes bytes of the stream, cut anywhere, at the time `now` of the bus, and appends what the bus has to do.
    ///
    /// Each answer adds to [`output`](Self::output): whoever cannot write must stop reading, or a peer could fill the
    /// memory with answers that it does not fetch.
    ///
    /// # Errors
    /// [`DeviceError`] if no kernel sends this, now and in each later call. What came before is done; channels that
    /// were started stay on the bus until [`unplug`](Self::unplug).
    pub fn receive(&mut self, mut bytes: &[u8], now: BusNs, requests: &mut Vec<Request>) -> Result<(), DeviceError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let done = loop {
            let done = match self.reader.read(&mut bytes) {
                Ok(Some(Command::Submit(submit))) => self.adapter.submit(&submit, now, requests),
                Ok(Some(Command::Unlink { seqnum, victim })) => {
                    self.adapter.unlink(seqnum, victim, requests);
                    Ok(())
                }
                Ok(None) => break Ok(()),
                Err(error) => Err(error.into()),
            };
            if done.is_err() {
                break done;
            }
        };
        self.failure = done.err();
        done
    }

    /// Takes what happened on the bus. News of frames that nobody waits for any more, and of channels that are not
    /// started, mean nothing.
    pub fn notice(&mut self, notice: &Notice, requests: &mut Vec<Request>) {
        self.adapter.notice(notice, requests);
    }

    /// Everything to be written to the stream, for the caller to drain. Messages find their transfers here, so call it
    /// after all notices of a wake-up.
    pub fn output(&mut self) -> &mut Vec<u8> {
        if self.failure.is_none() {
            self.adapter.deliver();
        }
        &mut self.adapter.output
    }

    /// Takes all channels off the bus, as pulling the plug does. The stream ends with it.
    pub fn unplug(&mut self, requests: &mut Vec<Request>) {
        self.adapter.stop_all(requests);
    }

    /// What the messages had to wait and suffer.
    #[must_use]
    pub const fn statistics(&self) -> Statistics {
        self.adapter.statistics()
    }

    /// How each channel does.
    #[must_use]
    pub fn health(&self) -> &[Health] {
        &self.adapter.health
    }

    /// The protocol.
    #[must_use]
    pub const fn model(&self) -> &M {
        &self.adapter.model
    }
}

#[cfg(test)]
mod tests;
