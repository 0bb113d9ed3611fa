//! Frames as signals, with each message compiled once.

use std::sync::Arc;

use candor_core::frame::{Frame, RawId};
use candor_signals::{Database, Message, MessageCodec};

use super::frame::Any;
use crate::cmd::explain::signals::{SignalView, decoded};

/// A bus of which frames are printed.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) databases: Vec<Arc<Database>>,
}

/// The messages that were received.
#[derive(Debug, Default)]
pub(super) struct Decoder<'d> {
    /// In ascending order of bus and identifier; without a layout if no database has it.
    known: Vec<((usize, RawId), Option<Layout<'d>>)>,
}

#[derive(Debug)]
struct Layout<'d> {
    message: &'d Message,
    codec: MessageCodec,
    /// By signal: letters of the longest text so far.
    widths: Vec<usize>,
}

/// A decoded frame.
#[derive(Debug)]
pub(super) struct Decoded<'d, 'w> {
    pub(super) name: &'d str,
    /// With the index in `widths`.
    pub(super) signals: Vec<(usize, SignalView<'d>)>,
    pub(super) widths: &'w mut [usize],
}

impl<'d> Decoder<'d> {
    /// `None` if no database of the bus has the frame.
    pub(super) fn decode(&mut self, number: usize, bus: &'d Bus, frame: &Any<'_>) -> Option<Decoded<'d, '_>> {
        let Any::Can(frame) = frame else { return None };
        if frame.id.is_rtr() || frame.id.is_err() {
            return None;
        }
        let key = (number, frame.id);
        let at = match self.known.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => at,
            Err(at) => {
                self.known.insert(at, (key, Layout::find(bus, frame)));
                at
            }
        };
        let Layout { message, codec, widths } = self.known[at].1.as_mut()?;
        Some(Decoded { name: &message.name, signals: decoded(message, codec, frame), widths })
    }
}

impl<'d> Layout<'d> {
    fn find(bus: &'d Bus, frame: &Frame) -> Option<Self> {
        let message = bus.databases.iter().find_map(|database| database.with_id(frame.id).next())?;
        Some(Self { message, codec: MessageCodec::new(message), widths: vec![0; message.signals.len()] })
    }
}
