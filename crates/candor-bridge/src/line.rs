//! From frames of one bus to what is published.

use std::collections::HashMap;

use candor_core::frame::{CAN_RTR_FLAG, Frame};

use crate::book::{Book, Kind, MOST_KEYS, Publication};
use crate::discovery;
use crate::keys;
use crate::payload::{self, Sent};
use crate::settings::{Bus, Settings};
use crate::signals::{Decoder, Value};

/// A bus, its signals, and the frames so far.
#[derive(Debug)]
pub struct Line {
    /// Name of the bus.
    pub bus: String,
    zenoh: Option<String>,
    mqtt: Option<String>,
    decoder: Decoder,
    numbers: HashMap<u32, u32>,
}

impl Line {
    /// A bus of these settings.
    #[must_use]
    pub fn new(bus: &Bus, settings: &Settings) -> Self {
        Self {
            bus: bus.name.clone(),
            zenoh: settings.zenoh.as_ref().map(|zenoh| zenoh.prefix.clone()),
            mqtt: settings.mqtt.as_ref().map(|mqtt| mqtt.prefix.clone()),
            decoder: bus.database.as_ref().map(Decoder::new).unwrap_or_default(),
            numbers: HashMap::new(),
        }
    }

    /// Its signals.
    #[must_use]
    pub const fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Passes what a frame is on Zenoh to `publish`, after it is kept in the book, and values for MQTT to `put`, with their
    /// topic. False if the frame cannot be published.
    pub fn frame(
        &mut self,
        frame: &Frame,
        stamp_ns: u64,
        book: &mut Book,
        mut publish: impl FnMut(Publication),
        mut put: impl FnMut(&str, String),
    ) -> bool {
        if !payload::can_carry(frame) {
            return false;
        }
        let Self { bus, zenoh, mqtt, decoder, numbers } = self;
        if let Some(prefix) = zenoh {
            let number = next(numbers, frame.id.0 & !CAN_RTR_FLAG);
            let bytes = payload::encode(&Sent { stamp_ns, number, frame: *frame });
            let one = Publication { key: keys::frame(prefix, bus, frame.id), kind: Kind::Frame, bytes };
            // A remote frame has no value.
            if !frame.id.is_rtr() {
                book.keep(&one);
            }
            publish(one);
        }
        decoder.decode(frame, |known, value: Value| {
            if let Some(prefix) = mqtt {
                put(&discovery::state(prefix, bus, &known), value.state(!known.signal.unit.is_empty()));
            }
            if let Some(prefix) = zenoh {
                let key = keys::signal(prefix, bus, &known.message.name, &known.signal.name);
                let one = Publication { key, kind: Kind::Signal, bytes: value.json().into_bytes() };
                book.keep(&one);
                publish(one);
            }
        });
        true
    }
}

/// The next number of an identifier; 0 for those that are not counted.
fn next(numbers: &mut HashMap<u32, u32>, id: u32) -> u32 {
    if numbers.len() >= MOST_KEYS && !numbers.contains_key(&id) {
        return 0;
    }
    let number = numbers.entry(id).or_default();
    *number = number.wrapping_add(1).max(1);
    *number
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{Mqtt, Zenoh};
    use crate::signals::tests::DBC;

    fn settings() -> Settings {
        let bus = Bus { name: "front".into(), interface: "can0".into(), database: Some(candor_signals::read(DBC)) };
        let zenoh = Zenoh { config: None, prefix: "c".into(), queue: 9, max_age: Duration::from_secs(1) };
        let mqtt = Mqtt {
            host: "b".into(),
            port: 1,
            prefix: "m".into(),
            discovery: None,
            interval: Duration::ZERO,
            login: None,
            tls: None,
        };
        Settings { buses: vec![bus], zenoh: Some(zenoh), mqtt: Some(mqtt), allowed: Vec::new() }
    }

    #[test]
    fn a_frame_becomes_keys_and_topics() {
        let settings = settings();
        let (mut line, mut book) = (Line::new(&settings.buses[0], &settings), Book::default());
        let mut take = |text: &str| {
            let (mut zenoh, mut mqtt) = (Vec::new(), Vec::new());
            let frame = text.parse().unwrap();
            let is_carried = line.frame(
                &frame,
                7,
                &mut book,
                |one| zenoh.push(one),
                |topic, value| {
                    mqtt.push(format!("{topic} {value}"));
                },
            );
            (is_carried, zenoh, mqtt)
        };
        let (is_carried, zenoh, mqtt) = take("123#2710010000000000");
        let keys: Vec<_> = zenoh.iter().map(|one| one.key.as_str()).collect();
        assert!(is_carried);
        assert_eq!(keys, ["c/front/frame/123", "c/front/signal/ABS1/VehSpd", "c/front/signal/ABS1/Door"]);
        assert_eq!([&zenoh[1].bytes[..], &zenoh[2].bytes], [&b"100"[..], b"\"Open\""]);
        assert_eq!(mqtt, ["m/front/signal/ABS1/VehSpd 100", "m/front/signal/ABS1/Door Open"]);
        assert_eq!(payload::decode(&zenoh[0].bytes).map(|sent| (sent.number, sent.stamp_ns)), Ok((1, 7)));
        let (_, again, _) = take("123#R8");
        assert_eq!(payload::decode(&again[0].bytes).map(|sent| sent.number), Ok(2));
        let (_, other, _) = take("124#");
        assert_eq!(payload::decode(&other[0].bytes).map(|sent| sent.number), Ok(1), "each identifier has its own");
        assert!(!take("20000004#0000000000000000").0, "an error message of a driver");
        let kept = book.last(|key| key.ends_with("/123"));
        assert_eq!(kept, [zenoh[0].clone()], "not the remote frame");
        assert_eq!(book.last(|_| true).len(), 4);
    }
}
