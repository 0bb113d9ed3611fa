//! Frames as signals, with each message compiled once.

use std::sync::Arc;

use candor_core::frame::RawId;
use candor_signals::{Database, MessageCodec};

use super::frame::Any;
use super::{Bus, Received};
use crate::cmd::explain::signals::{SignalView, decoded};

/// The messages that were received.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// In ascending order of bus and identifier; without a layout if no database has it.
    known: Vec<((usize, RawId), Option<Layout>)>,
}

#[derive(Debug)]
struct Layout {
    database: Arc<Database>,
    /// Index in the database.
    message: usize,
    codec: MessageCodec,
    /// By signal: letters of the longest text so far.
    widths: Vec<usize>,
}

/// A decoded frame.
#[derive(Debug)]
pub(super) struct Decoded<'d> {
    pub(super) name: &'d str,
    pub(super) signals: Vec<SignalView<'d>>,
    /// By index of a signal in the message.
    pub(super) widths: &'d mut [usize],
}

impl Decoder {
    /// `None` if no database of the bus has the frame.
    pub(super) fn decode(&mut self, bus: &Bus, received: &Received<'_>) -> Option<Decoded<'_>> {
        let Any::Can(frame) = &received.frame else { return None };
        if !frame.id.carries_data() {
            return None;
        }
        let key = (received.number, frame.id);
        let at = self.known.partition_point(|(known, _)| *known < key);
        if self.known.get(at).is_none_or(|(known, _)| *known != key) {
            self.known.insert(at, (key, bus.databases.iter().find_map(|database| Layout::find(database, frame.id))));
        }
        let Layout { database, message, codec, widths } = self.known[at].1.as_mut()?;
        let message = &database.messages[*message];
        Some(Decoded { name: &message.name, signals: decoded(message, codec, frame), widths })
    }
}

impl Layout {
    fn find(database: &Arc<Database>, id: RawId) -> Option<Self> {
        let found = database.with_id(id).next()?;
        let message = database.messages.iter().position(|one| std::ptr::eq(one, found))?;
        let (codec, widths) = (MessageCodec::new(found), vec![0; found.signals.len()]);
        Some(Self { database: Arc::clone(database), message, codec, widths })
    }
}
