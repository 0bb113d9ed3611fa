//! Key expressions of Zenoh and topics of MQTT.
//!
//! ```text
//!  PREFIX/BUS/frame/ID                published, and answered with the last value
//!  PREFIX/BUS/signal/MESSAGE/SIGNAL   the same, with a database
//!  PREFIX/BUS/send/ID                 taken, if the allow-list has it
//! ```
//!
//! An identifier has 3 digits, or 8 if it has 29 bits, as in can-utils.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, RawId};

/// The identifier as a part of a key.
#[must_use]
pub fn identifier(id: RawId) -> String {
    let width = if id.is_eff() { 8 } else { 3 };
    format!("{:0width$X}", id.bits())
}

/// The key of the frames with an identifier.
#[must_use]
pub fn frame(prefix: &str, bus: &str, id: RawId) -> String {
    format!("{prefix}/{bus}/frame/{}", identifier(id))
}

/// The key of a signal.
#[must_use]
pub fn signal(prefix: &str, bus: &str, message: &str, signal: &str) -> String {
    format!("{prefix}/{bus}/signal/{}/{}", part(message), part(signal))
}

/// The keys of frames for the buses.
#[must_use]
pub fn sends(prefix: &str) -> String {
    format!("{prefix}/*/send/*")
}

/// All keys that the bridge publishes and answers.
#[must_use]
pub fn all(prefix: &str) -> String {
    format!("{prefix}/**")
}

/// Bus and identifier of a key of [`sends`]. `None` if it has no identifier of a frame.
#[must_use]
pub fn parse_send<'k>(prefix: &str, key: &'k str) -> Option<(&'k str, RawId)> {
    let (bus, id) = key.strip_prefix(prefix)?.strip_prefix('/')?.split_once("/send/")?;
    let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(id, 16).ok().filter(|_| is_hex)?;
    match id.len() {
        3 if number <= CAN_SFF_MASK => Some((bus, RawId(number))),
        8 if number <= CAN_EFF_MASK => Some((bus, RawId(number | CAN_EFF_FLAG))),
        _ => None,
    }
}

/// A name as one part of a key: letters, digits, `_`, `-` and `.` stay, anything else is `_`. Names of DBC files do not change.
#[must_use]
pub fn part(name: &str) -> String {
    let keeps = |c: char| c.is_alphanumeric() || ['_', '-', '.'].contains(&c);
    let part: String = name.chars().map(|c| if keeps(c) { c } else { '_' }).collect();
    if part.is_empty() { "_".to_owned() } else { part }
}

/// True for a text that is a key of Zenoh and a topic of MQTT, without wildcards.
#[must_use]
pub fn is_prefix(text: &str) -> bool {
    !text.is_empty() && text.split('/').all(|one| !one.is_empty() && part(one) == one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_documented() {
        assert_eq!(frame("candor/car7", "front", RawId(0x12)), "candor/car7/front/frame/012");
        assert_eq!(frame("c", "front", RawId(0x12 | CAN_EFF_FLAG)), "c/front/frame/00000012");
        assert_eq!(signal("c", "front", "ABS1", "Speed/km h"), "c/front/signal/ABS1/Speed_km_h");
        assert_eq!(part("*$?#"), "____");
        assert_eq!(part(""), "_");
    }

    #[test]
    fn keys_of_sends_are_read_strictly() {
        let read = |key| parse_send("c/car7", key);
        assert_eq!(read("c/car7/front/send/123"), Some(("front", RawId(0x123))));
        assert_eq!(read("c/car7/front/send/00000123"), Some(("front", RawId(0x123 | CAN_EFF_FLAG))));
        let wrong = ["front/send/123", "c/car7/front/send/12", "c/car7/front/send/800", "c/car7/front/send/+23"];
        for key in
            wrong.into_iter().chain(["c/car7/front/send/20000000", "c/car7/front/frame/123", "c/car8/a/send/123"])
        {
            assert_eq!(read(key), None, "{key}");
        }
    }

    #[test]
    fn a_prefix_has_parts_without_wildcards() {
        assert!(["candor", "candor/car-7", "a/b/c.d"].into_iter().all(is_prefix));
        assert!(!["", "/", "a/", "/a", "a//b", "a/*", "a/#", "a/+", "a/$b", "a b"].into_iter().any(is_prefix));
    }
}
