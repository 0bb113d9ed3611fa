//! Frames as JSON; `docs/json.md` describes the keys.

use serde::Serialize;

use super::decode::Decoded;
use super::frame::Any;
use super::{Bus, Received, error};
use crate::cmd::explain::json::{FrameView, MessageView};
use crate::cmd::job_text::{format_name, hex};

/// A line of `candor dump --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "one exists at a time")]
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
    let Received { at_ns, is_local, frame, .. } = received;
    let (format, word, len8_dlc, flags, data) = match frame {
        Any::Can(frame) => (format_name(frame.format), frame.id.0, frame.len8_dlc, frame.flags, frame.payload()),
        Any::Xl(xl) => ("xl", xl.word, 0, xl.flags, xl.data),
    };
    let errors = match frame {
        Any::Can(frame) if frame.id.is_err() => Some(error::words(frame)),
        _ => None,
    };
    let frame = FrameView {
        text: frame.to_string(),
        format,
        can_id_hex: format!("{word:08X}"),
        len_bytes: u16::try_from(data.len()).unwrap_or(u16::MAX),
        len8_dlc,
        flags_hex: format!("{flags:02X}"),
        data_hex: hex(data),
    };
    let message = decoded.map(|Decoded { name, signals, .. }| MessageView { name, signals });
    Event::Frame {
        at_ns: *at_ns,
        bus: &bus.name,
        interface: &bus.interface,
        sent_here: *is_local,
        frame,
        errors,
        message,
    }
}
