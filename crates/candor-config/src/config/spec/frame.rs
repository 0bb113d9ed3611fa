//! `[[frame]]` as written.

use toml::de::DeValue;

use super::integrity::{CheckSpec, ProtectSpec};
use super::realtime::time;
use super::{BUS_NAME, TARGET};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, put};
use candor_core::document::keys::{Key, Keyed, Named, Shape, Table, read};
use candor_core::document::{Flag, Spanned, Text};
use candor_core::keys;

const TIME: Key = Key::new("a time with its unit, such as \"100ms\"").shape(Shape::Text);
const VALUE: Key = Key::new("a value, such as 0, \"5 [km/h]\" or \"DRIVE\"");

keys! {
    /// `[[frame]]`; its span is the header.
    pub struct FrameSpec {}
    "message" => message: Option<Text> = Key::new("the name of a message, such as \"DashSpeed\"")
        .required("the message of the database of `to`, such as message = \"DashSpeed\"")
        .about("the message that is sent; its identifier, length and signals are those of the database of `to`");
    "to" => to: Option<Text> = BUS_NAME
        .required("the bus, such as to = \"body\"")
        .aliases(TARGET)
        .about("name of the bus on which it is sent");
    "name" => name: Option<Text> = Key::new("a name, such as \"dashboard\"")
        .about("unique name; counters are reported under it")
        .default("the name of the message");
    "send" => send: Option<Text> = Key::words(&["direct", "periodic", "mixed", "none"])
        .aliases(&["mode"])
        .about("what causes it to be sent: events (`\"direct\"`), time (`\"periodic\"`), both (`\"mixed\"`), or nothing \
            (`\"none\"`)")
        .default("`GenMsgSendType` if it means one of the first three; otherwise `\"mixed\"` with a cycle, `\"direct\"` without");
    "cycle" => cycle: Option<Text> | time = TIME
        .aliases(&["period", "interval"])
        .about("time between two cyclic frames")
        .default("`GenMsgCycleTime`");
    "offset" => offset: Option<Text> | time = TIME
        .about("time from the start to the first cyclic frame")
        .default("`GenMsgStartDelayTime`, or 0");
    "fast-cycle" => fast_cycle: Option<Text> | time = TIME
        .about("time between two cyclic frames while `fast-while` holds")
        .default("`GenMsgCycleTimeFast`, if there is a `fast-while`");
    "fast-while" => fast_while: Option<Text> = Key::new("a comparison, such as \"Hazard == ON\"")
        .about("a signal of this message and a value, with `==` or `!=`: when the fast cycle is in force")
        .default("never");
    "min-delay" => min_delay: Option<Text> | time = TIME
        .aliases(&["debounce", "min-interval"])
        .about("the least time between two frames of events; a later event waits and is sent with the newest values")
        .default("`GenMsgDelayTime`, or 0");
    "delay-all" => delay_all: Option<Flag> = Key::new("")
        .about("keep `min-delay` between any two frames, cyclic ones too")
        .default("`false`");
    "repeat" => repeat: Option<Spanned<u8>> = Key::new("a number, such as 2")
        .range(0, 255)
        .help("a frame is sent at most 255 times more")
        .aliases(&["repetitions"])
        .about("how often the frame of an event is sent again")
        .default("`GenMsgNrOfRepetition`, or 0");
    "repeat-after" => repeat_after: Option<Text> | time = TIME
        .about("time from a frame to its repetition")
        .default("`GenMsgCycleTimeFast`");
    "unused" => unused: Option<Text> = Key::words(&["zeros", "ones"])
        .about("bits that no signal has: `\"ones\"` for J1939")
        .default("`\"zeros\"`");
    "protect" => protect: Option<Box<Table<ProtectSpec>>> =
        Key::new("a table, such as { e2e = \"P01\", data-id = 0x123 }")
        .about("checksum and counter that are written into each frame when it is sent, as in [a route](integrity.md)")
        .default("none");
    "check" => check: Vec<Named<CheckSpec>> | checks = Key::new("a table of messages: [frame.check], and below it lines such as \"powertrain.ABS1\" = { e2e = \"P01\", data-id = 0x123 }")
        .shape(Shape::Named("\"BUS.MESSAGE\"", &Shape::Table(<CheckSpec as Keyed>::KEYS)))
        .aliases(&["checks"])
        .about("checksum and counter that frames of a source must have, as in [a route](integrity.md); a bad frame counts as if it \
            had not come. `on-bad` is `\"drop\"` or `\"pass\"`, and `secoc` is not possible")
        .default("none");
    "bit-rate-switch" => bit_rate_switch: Option<Flag> = Key::new("")
        .aliases(&["brs"])
        .about("send the data of a CAN FD frame at the data bit rate")
        .default("`true` for CAN FD");
    "signals" => signals: Vec<Named<SourceSpec>> | signals = Key::new("a table of signals: [frame.signals], and below it lines such as Speed = { from = \"powertrain.ABS1.VehSpd\" }")
        .shape(Shape::Named("SIGNAL", &Shape::Table(<SourceSpec as Keyed>::KEYS)))
        .aliases(&["signal"])
        .about("signals of the message and where their values come from, see [Signals](signals.md#frames-that-candor-composes). Others have their start value")
        .default("none");

    /// A signal of `[frame.signals]`.
    pub struct SourceSpec {}
    "from" => from: Option<Text> = Key::new("a signal such as \"powertrain.ABS1.VehSpd\": bus, message and signal")
        .aliases(&["source"])
        .about("bus, message and signal that the value is taken from");
    "value" => fixed: Option<Text> | constant = VALUE
        .about("a constant, in place of `from`");
    "initial" => initial: Option<Text> | constant = VALUE
        .aliases(&["start"])
        .about("the value before the first reception")
        .default("`GenSigStartValue`, or a raw value of 0");
    "required" => required: Option<Flag> = Key::new("")
        .about("send nothing before this signal has a value, received or substituted")
        .default("`false`");
    "sends" => sends: Option<Text> = Key::words(&["on-change", "always", "never"])
        .aliases(&["trigger", "event"])
        .about("which receptions are events: those that change the frame, all, or none")
        .default("`\"on-change\"`");
    "repeats" => repeats: Option<Flag> = Key::new("")
        .about("`false`: its events are not repeated")
        .default("`true`");
    "map" => map: Vec<(Text, Text)> | pairs = Key::new("a table of values, such as { PARK = \"P\", 3 = \"D\" }")
        .shape(Shape::Named("VALUE", &Shape::Any))
        .about("values of the source and those that are sent for them")
        .default("the same physical value");
    "other" => other: Option<Text> | constant = VALUE
        .about("with `map`: the value for all others")
        .default("others are ignored");
    "within" => within: Option<Text> = Key::new("two values, such as \"0..250\"")
        .about("take only values between these two, which belong to it, such as `\"0..250\"`")
        .default("all");
    "outside" => outside: Option<Text> = Key::new("two values, such as \"0..250\"")
        .about("take only values below the first or above the second one, such as `\"0..250\"`")
        .default("all");
    "deadband" => deadband: Option<Text> | constant = Key::new("a difference, such as 0.5 or \"0.5 [km/h]\"")
        .about("take only values that differ by more than this from the one sent last")
        .default("all");
    "one-of" => one_of: Option<Spanned<u32>> = Key::new("a number, such as 10")
        .range(1, 1_000_000)
        .help("with 10, the first, eleventh and twenty-first value are taken")
        .about("take one of so many values, beginning with the first one")
        .default("all");
    "invalid" => invalid: Option<Text> | constant = VALUE
        .about("a value of the source that means that it has none")
        .default("none");
    "on-invalid" => on_invalid: Option<Text> = Key::new("\"ignore\", or \"substitute:VALUE\"")
        .about("what happens then: nothing, or another value is sent")
        .default("`\"ignore\"`");
    "timeout" => timeout: Option<Text> | time = TIME
        .about("time without a reception after which `on-timeout` happens")
        .default("`GenSigTimeoutTime` of the source, the least one of its receivers; otherwise none");
    "first-timeout" => first_timeout: Option<Text> | time = TIME
        .about("the same from the start to the first reception")
        .default("`timeout`");
    "on-timeout" => on_timeout: Option<Text> = Key::new("\"keep\", \"stop\", \"initial\" or \"substitute:VALUE\"")
        .about("what happens: the last value stays, nothing more is sent, or another value is sent")
        .default("`\"keep\"`");
    "group" => group: Option<Text> = Key::new("a name, such as \"position\"")
        .about("signals of one group come from one message and are taken all or none")
        .default("none");
    "update-bit" => update_bit: Option<Text> = Key::new("the name of a signal with one bit")
        .about("signal of this message that is 1 if this value was written since the last frame")
        .default("none");
    "updated-by" => updated_by: Option<Text> = Key::new("the name of a signal with one bit")
        .about("signal of the source message that is 1 if this value is to be taken")
        .default("always");
}

/// A value: text, or a number in its place.
fn constant(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    put(into, constant_text(entry, key, findings))
}

fn constant_text(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Text> {
    let number = match entry.value.get_ref() {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        _ => return entry.string(key.wanted, findings),
    };
    Some(Text { value: number, span: entry.span() })
}

fn pairs(into: &mut Vec<(Text, Text)>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let before = into.len();
    into.extend(
        entries(table).into_iter().filter_map(|named| Some((named.name(), constant_text(&named, &VALUE, findings)?))),
    );
    into.len() == before + table.len()
}

fn signals(into: &mut Vec<Named<SourceSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    const WANTED: &str = "a table, such as { from = \"powertrain.ABS1.VehSpd\" } or { value = 1 }";
    named(into, entry, (key, WANTED, ["A signal", "The signal"]), findings)
}

fn checks(into: &mut Vec<Named<CheckSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    const WANTED: &str = "a table, such as { e2e = \"P01\", data-id = 0x123 }";
    named(into, entry, (key, WANTED, ["A check", "The check"]), findings)
}

/// Tables by name.
fn named<T: Keyed + Default>(
    into: &mut Vec<Named<T>>,
    entry: &Entry<'_>,
    (key, wanted, what): (&Key, &'static str, [&'static str; 2]),
    findings: &mut Findings,
) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let before = into.len();
    for named in entries(table) {
        let Some(keys) = named.table(wanted, findings) else { continue };
        let name = named.name();
        let table = read::<T>(keys, &name.span, what, findings);
        into.push(Named { name, table });
    }
    into.len() == before + table.len()
}
