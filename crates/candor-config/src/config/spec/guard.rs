//! `guard` of a route as written.

use toml::de::DeValue;

use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, put};
use candor_core::document::keys::{Key, Shape, Table, one_or_list};
use candor_core::document::{Spanned, Text};
use candor_core::keys;

use super::TEXTS;

const PAYLOAD: Key = Key::new("bytes in hex, such as \"FF00\"");
const DURATION: Key = Key::new("a time with its unit, such as \"8ms\"");

keys! {
    /// What frames of a route must be like.
    pub struct GuardSpec {}
    "j1939" => j1939: Option<Vec<Text>> | one_or_list =
        Key::new("\"claimed\", a source address in hex such as \"0B\", a range such as \"20..2F\", or a list of them")
        .shape(TEXTS)
        .about("source addresses of J1939 whose 29-bit frames do not belong here: `\"claimed\"`, those that nodes of the bus \
            `to` claim; others in hex. Frames that claim or assign addresses do not belong here either")
        .default("none");
    "len" => len: Option<Vec<Spanned<u8>>> | one_or_list = Key::new("a length in bytes such as 8, or a list of them")
        .range(0, 64)
        .help("a frame has at most 64 bytes")
        .shape(Shape::OneOrList(&Shape::Integer(0, 64)))
        .about("lengths of the payload in bytes")
        .default("any");
    "constant" => constant: Option<Table<ConstantSpec>> = Key::new("a table, such as { mask = \"F0\", value = \"10\" }")
        .about("bits of the payload that never change")
        .default("none");
    "values" => values: Option<Vec<Text>> | one_or_list =
        Key::new("a condition on signals such as \"ABS1.VehSpd <= 250\", or a list of them")
        .shape(TEXTS)
        .about("conditions on signals of the database, all of which hold; each concerns frames of its message")
        .default("none");
    "rate" => rate: Option<Text> | frame_rate = Key::new("a rate, such as \"120 frames/s\"")
        .shape(Shape::Text)
        .about("frames in a second, on average")
        .default("any");
    "bit-rate" => bit_rate: Option<Text> = Key::new("a rate, such as \"20kbit/s\"")
        .about("bits in a second, on average: whole frames without stuff bits; those of CAN FD as if all had one bit rate")
        .default("any");
    "burst" => burst: Option<Spanned<u32>> = Key::new("a number of frames, such as 4")
        .range(2, 1_000_000)
        .help("with one frame, the smallest jitter is a violation")
        .about("frames that may come at once, for `rate`; for `bit-rate`, as many of the largest size")
        .default("4");
    "min-gap" => min_gap: Option<Text> = DURATION
        .about("shortest time between two frames that pass")
        .default("any");
    "silent" => silent: Option<Text> = DURATION
        .about("an alarm is raised if no frame passes for this time; at the start as well")
        .default("never");
    "per" => per: Option<Text> = Key::words(&["identifier", "route"])
        .about("`rate`, `bit-rate`, `min-gap` and `silent` hold for each identifier, or for all frames of the route together")
        .default("`\"identifier\"`");
    "on-violation" => on_violation: Option<Text> = Key::words(&["count", "drop"])
        .about("what happens to a frame that violates one of these: it is forwarded and counted, or dropped")
        .default("`\"count\"`");
    "alarm" => alarm: Option<Table<AlarmSpec>> = Key::new("a table, such as { to = \"body\", frame = \"7F0#01\" }")
        .about("a frame that is sent at the start of an alarm")
        .default("none");

    /// Bits with a value.
    pub struct ConstantSpec {}
    "mask" => mask: Option<Text> = PAYLOAD
        .required("the bits that are compared, such as mask = \"F0\"")
        .about("bits of the payload that are compared, in hex");
    "value" => value: Option<Text> = PAYLOAD
        .required("their value, such as value = \"10\"")
        .about("their value; other bits are 0");

    /// `alarm`.
    pub struct AlarmSpec {}
    "to" => to: Option<Text> = Key::new("the name of a bus")
        .required("the bus that it is sent to, such as to = \"body\"")
        .about("the bus that it is sent to");
    "frame" => frame: Option<Text> = Key::new("a frame as for cansend, such as \"7F0#01\"")
        .required("the frame as for cansend, such as frame = \"7F0#01\"")
        .about("the frame, as for cansend");
}

/// A text. For a number, the error says the unit.
fn frame_rate(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let rate = match entry.value.get_ref() {
        DeValue::Integer(number) => {
            let help = format!("write {} = \"{number} frames/s\"", key.name);
            entry.wrong_type(key.wanted, Some(help), findings)
        }
        _ => entry.string(key.wanted, findings),
    };
    put(into, rate)
}
