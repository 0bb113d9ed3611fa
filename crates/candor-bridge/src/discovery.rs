//! Messages that announce signals to Home Assistant.
//!
//! # Source
//! <https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery> and, for the keys of a sensor,
//! <https://www.home-assistant.io/integrations/sensor.mqtt/>.

use serde_json::json;

use crate::keys;
use crate::signals::Known;

/// Payload of the topic [`status`] while the bridge is connected.
pub const ONLINE: &str = "online";
/// Its payload otherwise; the broker sends it as the last will.
pub const OFFLINE: &str = "offline";

/// The topic that says whether the bridge is connected.
#[must_use]
pub fn status(prefix: &str) -> String {
    format!("{prefix}/status")
}

/// The topic of a signal's value.
#[must_use]
pub fn state(prefix: &str, bus: &str, known: &Known<'_>) -> String {
    keys::signal(prefix, bus, &known.message.name, &known.signal.name)
}

/// The topic and the payload that announce a signal as a sensor. All signals of a bridge belong to one device.
#[must_use]
pub fn sensor(discovery: &str, prefix: &str, bus: &str, known: &Known<'_>) -> (String, String) {
    let device = object_id(prefix);
    let id = object_id(&format!("{prefix}_{bus}_{}_{}", known.message.name, known.signal.name));
    let mut config = json!({
        "name": format!("{} {}", known.message.name, known.signal.name),
        "unique_id": id,
        "state_topic": state(prefix, bus, known),
        "availability_topic": status(prefix),
        "device": { "identifiers": [device], "name": prefix, "manufacturer": "candor" },
    });
    if !known.signal.unit.is_empty() {
        config["unit_of_measurement"] = known.signal.unit.as_str().into();
        // Statistics, which need numbers.
        config["state_class"] = "measurement".into();
    }
    (format!("{discovery}/sensor/{id}/config"), config.to_string())
}

/// Home Assistant takes letters of ASCII, digits, `_` and `-` there.
fn object_id(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::Decoder;
    use crate::signals::tests::DBC;

    #[test]
    fn signals_are_announced_as_sensors() {
        let decoder = Decoder::new(&candor_signals::read(DBC));
        let of = |name: &str| {
            let known = decoder.signals().find(|known| known.signal.name == name).unwrap();
            let (topic, payload) = sensor("homeassistant", "candor/car7", "front", &known);
            (topic, serde_json::from_str::<serde_json::Value>(&payload).unwrap())
        };
        let (topic, config) = of("VehSpd");
        assert_eq!(topic, "homeassistant/sensor/candor_car7_front_ABS1_VehSpd/config");
        let wanted = json!({
            "name": "ABS1 VehSpd",
            "unique_id": "candor_car7_front_ABS1_VehSpd",
            "state_topic": "candor/car7/front/signal/ABS1/VehSpd",
            "availability_topic": "candor/car7/status",
            "device": { "identifiers": ["candor_car7"], "name": "candor/car7", "manufacturer": "candor" },
            "unit_of_measurement": "km/h",
            "state_class": "measurement",
        });
        assert_eq!(config, wanted);
        let (_, door) = of("Door");
        assert!(door.get("unit_of_measurement").is_none() && door.get("state_class").is_none(), "it has names");
    }
}
