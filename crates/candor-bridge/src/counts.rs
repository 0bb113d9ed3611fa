//! What happened to frames.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::admission::Refusal;

/// Counters since the start, as `--json` prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counts {
    /// Frames of all buses.
    pub received: u64,
    /// Frames that the bridge read too late: the receive buffer of a socket was full.
    pub lost_in_socket: u64,
    /// Error messages of drivers.
    pub not_carried: u64,
    /// Frames and values of signals that Zenoh took.
    pub published: u64,
    /// Those that were dropped before, by reason: `queue-full`, `too-old`, `refused-by-zenoh`.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Those that wait.
    pub waiting: u64,
    /// Values in answers to queries.
    pub answered: u64,
    /// Frames of the network that a bus took.
    pub sent_to_bus: u64,
    /// Frames of the network that were not sent, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Values that were given to the client of MQTT.
    pub mqtt_sent: u64,
    /// Connections to the broker.
    pub mqtt_connections: u64,
}

impl Counts {
    /// A frame of the network that was not sent.
    pub fn refuse(&mut self, why: Refusal) {
        *self.refused.entry(why.name()).or_default() += 1;
    }

    /// The counters that are not zero, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let plain = [
            ("received", self.received),
            ("lost in the socket", self.lost_in_socket),
            ("not carried", self.not_carried),
            ("published", self.published),
            ("waiting", self.waiting),
            ("answered", self.answered),
            ("sent to a bus", self.sent_to_bus),
            ("sent by MQTT", self.mqtt_sent),
        ];
        let plain = plain.into_iter().map(|(name, count)| (name.to_owned(), count));
        let dropped = self.dropped.iter().map(|(why, count)| (format!("dropped ({why})"), *count));
        let refused = self.refused.iter().map(|(why, count)| (format!("refused ({why})"), *count));
        let all = plain.chain(dropped).chain(refused).filter(|(_, count)| *count > 0);
        all.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use candor_cli::schema::{assert_published, assert_valid};

    use super::*;

    #[test]
    fn only_what_happened_is_told() {
        let mut counts = Counts { received: 3, published: 2, ..Counts::default() };
        counts.refuse(Refusal::Rate);
        counts.refuse(Refusal::Rate);
        assert_eq!(counts.text(), "received 3, published 2, refused (rate) 2");
    }

    #[test]
    fn the_schema_is_published_and_holds() {
        assert_published::<Counts>("candor-bridge");
        let mut counts = Counts::default();
        counts.refuse(Refusal::Rate);
        assert_valid("candor-bridge", &counts);
    }
}
