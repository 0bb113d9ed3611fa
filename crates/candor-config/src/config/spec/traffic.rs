//! `[[traffic]]` as written.

use super::BUS_NAME;
use super::realtime::time;
use candor_core::document::keys::Key;
use candor_core::document::{Flag, Spanned, Text};
use candor_core::keys;

const TIME: Key = Key::new("a time with its unit, such as \"10ms\"");

keys! {
    /// `[[traffic]]`; its span is the header.
    pub struct TrafficSpec {}
    "bus" => bus: Option<Text> = BUS_NAME
        .required("the bus on which it is sent, such as bus = \"powertrain\"")
        .about("name of the bus on which it is sent");
    "id" => id: Option<Text> = Key::new("an identifier, such as \"123\" or \"18DAF110\"")
        .required("its identifier, such as id = \"123\"")
        .aliases(&["can_id", "identifier"])
        .about("identifier in hexadecimal: 3 digits for 11 bits, 8 digits for 29 bits");
    "length" => length: Option<Spanned<u8>> = Key::new("a number of bytes, such as 8")
        .range(0, 64)
        .help("a classic frame has up to 8 bytes, a CAN FD frame up to 64")
        .required("its payload in bytes, such as length = 8")
        .aliases(&["dlc", "len", "size"])
        .about("longest payload in bytes");
    "period" => period: Option<Text> | time = TIME
        .aliases(&["cycle", "interval"])
        .about("time between two frames; this or `min-gap` is required");
    "min-gap" => min_gap: Option<Text> | time = TIME
        .aliases(&["min-delay"])
        .about("shortest time between two frames of a message without a period");
    "jitter" => jitter: Option<Text> | time = TIME
        .about("longest delay from the moment at which a frame is due to its place in the queue of the sender")
        .default("none");
    "offset" => offset: Option<Text> | time = TIME
        .about("time from the start to the first frame. Bounds hold for any offsets and do not use it")
        .default("unknown");
    "deadline" => deadline: Option<Text> | time = TIME
        .about("longest acceptable time from the moment at which a frame is due to its end on the bus")
        .default("`period` or `min-gap`");
    "deadline-forwarded" => deadline_forwarded: Option<Text> | time = TIME
        .about("the same for its copies on other buses")
        .default("`deadline`");
    "sender" => sender: Option<Text> = Key::new("the name of a node, such as \"ABS\"")
        .about("the node that sends it. `\"candor\"` is this machine, whose frames are sent by the queue of `[egress.BUS]`")
        .default("a node for this message alone");
    "queue" => queue: Option<Text> = Key::words(&["priority", "fifo"])
        .about("order in which the sender sends its frames: the most urgent first, or as they came. Equal for all messages of \
            a `sender`, some of which may leave it out, as may `controller` and `mailboxes`")
        .default("`\"priority\"`");
    "controller" => controller: Option<Spanned<u8>> = Key::new("a number of frames, such as 3")
        .range(1, 64)
        .about("frames that the controller of the sender holds and sends in the order in which they came")
        .default("1 with `\"fifo\"`; with `\"priority\"`, the controller exchanges a frame for a more urgent one");
    "mailboxes" => mailboxes: Option<Spanned<u8>> = Key::new("a number of frames, such as 3")
        .range(1, 64)
        .about("in place of `controller`: frames that the controller of the sender holds, of which it sends the most urgent first")
        .default("none");
    "frames" => frames: Option<Text> = Key::words(&["classic", "fd"])
        .about("CAN CC or CAN FD")
        .default("`\"classic\"`");
    "bit-rate-switch" => bit_rate_switch: Option<Flag> = Key::new("")
        .aliases(&["brs"])
        .about("the data of a CAN FD frame is sent at the data bit rate")
        .default("`true` for CAN FD");
}
