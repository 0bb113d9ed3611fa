//! Frames as signals of a database.

use std::collections::HashMap;

use candor_core::frame::{Frame, RawId};
use candor_signals::{Database, MessageCodec};

use crate::Counts;

/// The messages of a database that have signals, compiled once.
#[derive(Debug)]
pub(crate) struct Decoder {
    messages: Vec<Message>,
    by_id: HashMap<RawId, usize>,
    /// Frames that carry data and are of no message.
    unknown: u64,
}

#[derive(Debug)]
pub(crate) struct Message {
    /// Unique.
    pub(crate) name: String,
    codec: MessageCodec,
    pub(crate) signals: Vec<Signal>,
}

#[derive(Debug)]
pub(crate) struct Signal {
    pub(crate) name: String,
    /// Its raw values do not fit into 64 bits with a sign.
    pub(crate) is_wide: bool,
    /// Of the frame decoded last; `None` if it does not have the signal.
    pub(crate) value: Option<Value>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) physical: f64,
    /// Also the bits of a floating-point number.
    pub(crate) raw: i128,
}

impl Decoder {
    pub(crate) fn new(database: &Database) -> Self {
        let mut decoder = Self { messages: Vec::new(), by_id: HashMap::new(), unknown: 0 };
        for message in &database.messages {
            let (Some(id), codec) = (message.id, MessageCodec::new(message)) else { continue };
            let signal = |(at, _): &(usize, _)| {
                let signal = &message.signals[*at];
                let is_wide = signal.raw_range().is_some_and(|(_, largest)| largest > i64::MAX.into());
                Signal { name: signal.name.clone(), is_wide, value: None }
            };
            let signals: Vec<_> = codec.signals().iter().map(signal).collect();
            let id = id.raw();
            // The first of several with the same identifier, as everywhere in candor.
            if signals.is_empty() || decoder.by_id.contains_key(&id) {
                continue;
            }
            let is_taken = decoder.messages.iter().any(|known| known.name == message.name);
            let name = if is_taken { format!("{}_{:X}", message.name, id.bits()) } else { message.name.clone() };
            decoder.by_id.insert(id, decoder.messages.len());
            decoder.messages.push(Message { name, codec, signals });
        }
        decoder
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The message of a frame, whose signals then have its values.
    pub(crate) fn decode(&mut self, frame: &Frame) -> Option<usize> {
        if !frame.id.carries_data() {
            return None;
        }
        let Some(&at) = self.by_id.get(&frame.id) else {
            self.unknown += 1;
            return None;
        };
        let Message { codec, signals, .. } = &mut self.messages[at];
        for ((_, codec), signal) in codec.signals().iter().zip(signals) {
            let scale = codec.scale();
            signal.value = codec.get(frame.payload()).map(|bits| {
                let raw = if scale.float(bits).is_some() { bits.into() } else { scale.raw(bits) };
                Value { physical: scale.physical_f64(bits), raw }
            });
        }
        Some(at)
    }

    /// Frames without signals.
    pub(crate) fn unknown(&self) -> Counts {
        let mut counts = Counts::new();
        if self.unknown > 0 {
            counts.add_many("frames without signals, whose identifiers the database does not have", self.unknown);
        }
        counts
    }
}
