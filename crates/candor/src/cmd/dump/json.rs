//! Frames as JSON; `docs/json.md` describes the keys.

use serde::Serialize;

use super::decode::{Bus, Decoder};
use super::error;
use super::frame::Any;
use super::text::Received;
use crate::cmd::explain::json::{self, FrameView, MessageView};
use crate::cmd::job_text::hex;

/// A line of `candor dump --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(in crate::cmd) enum Event<'a> {
    /// The last one.
    End { frames: u64, lost: u64 },
    Frame {
        at_ns: i64,
        bus: &'a str,
        interface: &'a str,
        /// A program of this machine sent it.
        sent_here: bool,
        frame: FrameView,
        /// Of an error frame.
        errors: Option<String>,
        /// `null` without `--decode`, or without a database that has it.
        message: Option<MessageView<'a>>,
    },
}

impl<'a> Event<'a> {
    pub(super) fn of(bus: &'a Bus, received: &Received<'_>, decoder: Option<&mut Decoder<'a>>) -> Self {
        let decoded = decoder.and_then(|decoder| decoder.decode(received.number, bus, &received.frame));
        let message = decoded.map(|decoded| MessageView {
            name: decoded.name,
            signals: decoded.signals.into_iter().map(|(_at, signal)| signal).collect(),
        });
        let (frame, errors) = match &received.frame {
            Any::Can(frame) => {
                let view = FrameView { data_hex: hex(frame.payload()), ..json::frame(frame) };
                (view, frame.id.is_err().then(|| error::words(frame)))
            }
            Any::Xl(xl) => {
                let view = FrameView {
                    text: received.frame.to_string(),
                    format: "xl",
                    can_id_hex: format!("{:08X}", xl.word),
                    len_bytes: u16::try_from(xl.data.len()).unwrap_or(u16::MAX),
                    len8_dlc: 0,
                    flags_hex: format!("{:02X}", xl.flags),
                    data_hex: hex(xl.data),
                };
                (view, None)
            }
        };
        let Bus { name, interface, .. } = bus;
        Self::Frame {
            at_ns: received.at_ns,
            bus: name,
            interface,
            sent_here: received.is_local,
            frame,
            errors,
            message,
        }
    }
}
