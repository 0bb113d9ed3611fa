//! Frames as JSON; `docs/json.md` describes the keys.

use candor_core::frame::{Frame, RawId};
use serde::Serialize;

use super::decode::Decoded;
use super::frame::Any;
use super::{Bus, Received, error};
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

/// The event of a frame.
pub(super) fn frame<'a>(bus: &'a Bus, received: &Received<'_>, decoded: Option<Decoded<'a>>) -> Event<'a> {
    let (frame, errors) = match &received.frame {
        Any::Can(frame) => {
            let view = FrameView { data_hex: hex(frame.payload()), ..json::frame(frame) };
            (view, frame.id.is_err().then(|| error::words(frame)))
        }
        Any::Xl(xl) => {
            let fields = Frame { id: RawId(xl.word), flags: xl.flags, ..Frame::EMPTY };
            let (text, data_hex) = (received.frame.to_string(), hex(xl.data));
            let len_bytes = u16::try_from(xl.data.len()).unwrap_or(u16::MAX);
            (FrameView { text, format: "xl", len_bytes, data_hex, ..json::frame(&fields) }, None)
        }
    };
    let signals = |signals: Vec<_>| signals.into_iter().map(|(_at, signal)| signal).collect();
    let message = decoded.map(|Decoded { name, signals: all, .. }| MessageView { name, signals: signals(all) });
    let (bus, interface) = (&bus.name, &bus.interface);
    Event::Frame { at_ns: received.at_ns, bus, interface, sent_here: received.is_local, frame, errors, message }
}
