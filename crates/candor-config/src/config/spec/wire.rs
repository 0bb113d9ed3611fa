//! `[wire]` as written.

use super::BIT_RATE;
use crate::config::parse::{sections, wire};
use candor_core::diagnostic::Span;
use candor_core::document::keys::{Key, Keyed, Shape};
use candor_core::document::{Flag, Number, Text};
use candor_core::keys;

const FILE: Key = Key::new("the name of a file")
    .about("file for the events on the buses, relative to the working directory")
    .default("none");

keys! {
    /// `[wire]`.
    pub struct WireSpec {
        /// Its name.
        span: Span,
        is_torn: bool,
    }
    "bus" => buses: Vec<WireBusSpec> | wire::buses = Key::new("a table of named buses: [wire.bus.NAME]")
        .shape(Shape::Named("NAME", &Shape::Table(<WireBusSpec as Keyed>::KEYS)))
        .aliases(&["buses"])
        .about("a bus, at least one; letters, digits, `-` and `_`")
        .kernel("`--bus`");
    "adapters" => adapters: Vec<Vec<Text>> | wire::adapters =
        Key::new("a list of adapters, each a list of interfaces, such as [[\"can1\", \"can4\"]]")
        .shape(Shape::List(&Shape::List(&Shape::Text)))
        .about("list of adapters, each with its interfaces, which may be on different buses, such as \
            `[[\"can1\", \"can4\"]]`")
        .default("all interfaces of an adapter are on one bus")
        .kernel("`--adapter`");
    "model" => model: Option<Text> = Key::words(&["gs_usb", "ucan"])
        .about("adapter to emulate: `\"gs_usb\"` or `\"ucan\"`")
        .default("`\"ucan\"` if there is a `depth`, else `\"gs_usb\"`")
        .kernel("`--model`");
    "depth" => depth: Option<Number> = Key::new("a number of frames, such as 3")
        .range(1, 255)
        .about("transmit frames that a controller holds, 1 to 255 (`ucan`)")
        .default("3; `gs_usb` has 10")
        .kernel("`--depth`");
    "order" => order: Option<Text> = Key::words(&["fifo", "lowest-id"])
        .about("transmit order of a controller: `\"fifo\"` or `\"lowest-id\"`")
        .default("`\"fifo\"`")
        .kernel("`--order`");
    "force-rates" => force_rates: Option<Flag> = Key::new("")
        .about("use the bit rates of the buses in place of those set on the interfaces")
        .default("`false`")
        .kernel("`--force-rates`");
    "seed" => seed: Option<Number> = Key::new("a number, such as 1")
        .range(0, i64::MAX)
        .about("seed of all random choices")
        .default("1")
        .kernel("`--seed`");
    "late" => late: Option<Text> = Key::new("a time with its unit, such as \"1ms\"")
        .about("lateness, with unit, above which the run is invalid")
        .default("`\"1ms\"`")
        .kernel("`--late`");
    "log" => log: Option<Text> = FILE.kernel("`--log`");
    "pcapng" => pcapng: Option<Text> = FILE.kernel("`--pcapng`");
    "faults" => faults: Vec<Text> = Key::new("a list of faults, such as [\"bus-off can1 --at 5s\"]")
        .about("list of faults, such as `[\"bus-off can1 --at 5s\"]`, in the syntax of \
            [`candor-lab wire inject`](wire.md#faults)")
        .default("none")
        .kernel("`--fault`");

    /// `[wire.bus.NAME]`.
    pub struct WireBusSpec {
        name: Text,
    }
    "bitrate" => bitrate: Option<Text> | sections::bit_rate = BIT_RATE
        .required("its bit rate, such as bitrate = \"500kbit/s\"")
        .aliases(&["baudrate"])
        .about("bit rate of the bus, with unit");
    "data-bitrate" => data_bitrate: Option<Text> | sections::bit_rate = BIT_RATE
        .aliases(&["dbitrate"])
        .about("bit rate of the CAN FD data phase; not below `bitrate`")
        .default("no CAN FD");
    "interfaces" => interfaces: Vec<Text> = Key::new("a list of names, such as [\"can0\", \"can1\"]")
        .required("the interfaces of its nodes, such as interfaces = [\"can0\", \"can1\"]")
        .about("names of the interfaces to create, one per node");
}
