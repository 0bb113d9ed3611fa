//! Signals of frames, as a database has them.

use std::collections::{HashMap, HashSet};

use candor_core::frame::{Frame, RawId};
use candor_signals::{Database, Message, MessageCodec, MessageId, Signal};

use crate::keys::part;

/// The value of a signal in a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The name of its raw value.
    Name(String),
    /// A physical value.
    Number(f64),
}

impl Value {
    /// As JSON: a number, a text for a name, `null` for what is no number.
    #[must_use]
    pub fn json(&self) -> String {
        match self {
            Self::Name(name) => serde_json::Value::from(name.as_str()).to_string(),
            Self::Number(number) if number.is_finite() => number.to_string(),
            Self::Number(_) => "null".to_owned(),
        }
    }

    /// As text for a sensor of Home Assistant. A name in place of a number with a unit is `None`, which means "unknown" there.
    #[must_use]
    pub fn state(&self, has_unit: bool) -> String {
        match self {
            Self::Name(name) if !has_unit => name.clone(),
            Self::Number(number) if number.is_finite() => number.to_string(),
            Self::Name(_) | Self::Number(_) => "None".to_owned(),
        }
    }
}

/// The messages of a bus.
#[derive(Debug, Default)]
pub struct Decoder {
    messages: Vec<Message>,
    codecs: HashMap<MessageId, (usize, MessageCodec)>,
}

/// A signal that a decoder knows, by its message and its place in the message.
#[derive(Clone, Copy, Debug)]
pub struct Known<'d> {
    /// The message.
    pub message: &'d Message,
    /// The signal.
    pub signal: &'d Signal,
}

impl Decoder {
    /// Messages without an identifier are left out, and those whose name or identifier an earlier one has: their keys would
    /// be the same.
    #[must_use]
    pub fn new(database: &Database) -> Self {
        let mut decoder = Self::default();
        let mut names = HashSet::new();
        for message in &database.messages {
            let Some(id) = message.id else { continue };
            if !decoder.codecs.contains_key(&id) && names.insert(part(&message.name)) {
                decoder.codecs.insert(id, (decoder.messages.len(), MessageCodec::new(message)));
                decoder.messages.push(message.clone());
            }
        }
        decoder
    }

    /// All signals that can be used, in the order of the file.
    pub fn signals(&self) -> impl Iterator<Item = Known<'_>> {
        let codecs = self.messages.iter().filter_map(|message| Some((message, &self.codecs.get(&message.id?)?.1)));
        codecs.flat_map(|(message, codec)| {
            codec.signals().iter().map(move |(at, _)| Known { message, signal: &message.signals[*at] })
        })
    }

    /// Calls `each` for every signal of the frame.
    pub fn decode(&self, frame: &Frame, mut each: impl FnMut(Known<'_>, Value)) {
        let Some((at, codec)) = of_frame(frame.id).and_then(|id| self.codecs.get(&id)) else { return };
        let message = &self.messages[*at];
        codec.decode(frame.payload(), |at, codec, bits| {
            let value = match codec.name(bits) {
                Some(name) => Value::Name(name.to_owned()),
                None => Value::Number(codec.scale().physical_f64(bits)),
            };
            each(Known { message, signal: &message.signals[at] }, value);
        });
    }
}

const fn of_frame(id: RawId) -> Option<MessageId> {
    if !id.carries_data() {
        None
    } else if id.is_eff() {
        MessageId::extended(id.bits())
    } else {
        MessageId::standard(id.bits())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const DBC: &[u8] = b"BO_ 291 ABS1: 8 ESP\n \
        SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n \
        SG_ Door : 16|2@1+ (1,0) [0|3] \"\" ACC\n\
        BO_ 2147483939 ABS2: 1 ESP\n SG_ Level : 0|8@1+ (1,0) [0|255] \"\" ACC\n\
        VAL_ 291 Door 0 \"Closed\" 1 \"Open\" ;\n\
        VAL_ 291 VehSpd 65535 \"SNA\" ;\n";

    fn values(frame: &str) -> Vec<(String, Value)> {
        let decoder = Decoder::new(&candor_signals::read(DBC));
        let mut values = Vec::new();
        decoder.decode(&frame.parse().unwrap(), |known, value| {
            values.push((format!("{}.{}", known.message.name, known.signal.name), value));
        });
        values
    }

    #[test]
    fn frames_become_values() {
        let named = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            values("123#2710010000000000"),
            [named("ABS1.VehSpd", Value::Number(100.0)), named("ABS1.Door", Value::Name("Open".into()))]
        );
        assert_eq!(values("00000123#07"), [named("ABS2.Level", Value::Number(7.0))]);
        assert_eq!(values("123#2710"), [named("ABS1.VehSpd", Value::Number(100.0))], "too short for the other signal");
        for none in ["124#2710010000000000", "123#R8", "20000004#2710010000000000"] {
            assert_eq!(values(none), [], "{none}");
        }
    }

    #[test]
    fn values_become_text() {
        let (open, odd, nan) = (Value::Name("\"Open\"".into()), Value::Number(0.25), Value::Number(f64::NAN));
        assert_eq!([&open, &odd, &nan].map(Value::json), ["\"\\\"Open\\\"\"", "0.25", "null"]);
        assert_eq!(Value::Number(100.0).json(), "100");
        assert_eq!([&open, &odd, &nan].map(|value| value.state(true)), ["None", "0.25", "None"]);
        assert_eq!(open.state(false), "\"Open\"");
    }

    #[test]
    fn all_signals_are_known_once() {
        let twice = [DBC, b"BO_ 292 ABS1: 8 ESP\n SG_ X : 0|8@1+ (1,0) [0|3] \"\" ACC\n"].concat();
        let decoder = Decoder::new(&candor_signals::read(&twice));
        let names: Vec<_> = decoder.signals().map(|known| known.signal.name.as_str()).collect();
        assert_eq!(names, ["VehSpd", "Door", "Level"]);
    }
}
