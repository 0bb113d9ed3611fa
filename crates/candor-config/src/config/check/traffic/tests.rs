use std::num::NonZeroU32;
use std::time::Duration;

use crate::config::load;
use crate::plan::{BusIndex, Sending, Traffic};
use candor_bounds::{Controller, Queue};
use candor_core::frame::{CAN_EFF_FLAG, FrameFormat, RawId};

const GATEWAY: &str = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n[bus.b]\ninterface = \"can1\"\n\
    [[route]]\nfrom = \"a\"\nto = \"b\"\nname = \"r\"\nmatch = \"123\"\n";

fn codes(traffic: &str) -> Vec<&'static str> {
    match load(format!("{GATEWAY}{traffic}").as_bytes()) {
        Ok(loaded) => loaded.warnings.iter().map(|finding| finding.code).collect(),
        Err(findings) => findings.iter().map(|finding| finding.code).collect(),
    }
}

#[test]
fn a_message_has_the_defaults_of_its_keys() {
    let text = format!(
        "{GATEWAY}[[traffic]]\nbus = \"a\"\nid = \"123\"\nlength = 8\nperiod = \"10ms\"\n\
        [[traffic]]\nbus = \"b\"\nid = \"18DAF110\"\nlength = 64\nmin-gap = \"20ms\"\njitter = \"1ms\"\n\
        deadline = \"5ms\"\nsender = \"ABS\"\nframes = \"fd\"\n"
    );
    let plan = load(text.as_bytes()).unwrap().plan;
    let ms = Duration::from_millis;
    let first = Traffic {
        bus: BusIndex(0),
        id: RawId(0x123),
        format: FrameFormat::Classic,
        bit_rate_switch: false,
        len: 8,
        period: ms(10),
        jitter: Duration::ZERO,
        deadline: ms(10),
        deadline_forwarded: ms(10),
        sender: None,
        sending: Sending::default(),
    };
    let second = Traffic {
        bus: BusIndex(1),
        id: RawId(0x18DA_F110 | CAN_EFF_FLAG),
        format: FrameFormat::Fd,
        bit_rate_switch: true,
        len: 64,
        period: ms(20),
        jitter: ms(1),
        deadline: ms(5),
        deadline_forwarded: ms(5),
        sender: Some("ABS".to_owned()),
        sending: Sending::default(),
    };
    assert_eq!(plan.traffic(), [first, second]);
}

#[test]
fn what_cannot_be_is_an_error() {
    let message = |rest: &str| codes(&format!("[[traffic]]\nbus = \"a\"\nid = \"123\"\nlength = 8\n{rest}"));
    assert!(message("period = \"10ms\"").is_empty());
    assert_eq!(message(""), ["E0432"]);
    assert_eq!(message("period = \"10ms\"\nmin-gap = \"5ms\""), ["E0432"]);
    assert_eq!(message("period = \"0ms\""), ["E0312"]);
    assert_eq!(message("period = \"10ms\"\nframes = \"fd\""), ["E0432"]);
    let other = |lines: &str| codes(&format!("[[traffic]]\nbus = \"a\"\nperiod = \"10ms\"\n{lines}"));
    assert_eq!(other("id = \"123\"\nlength = 8\nframes = \"foo\""), ["E0432"]);
    assert_eq!(other("id = \"123\"\nlength = 9"), ["E0432"]);
    assert_eq!(other("id = \"800\"\nlength = 8"), ["E0432"]);
    assert_eq!(other("id = \"1234\"\nlength = 8"), ["E0432"]);
    assert_eq!(other("id = \"+12\"\nlength = 8"), ["E0432"]);
    let twice = "id = \"123\"\nlength = 8\n[[traffic]]\nbus = \"a\"\nperiod = \"10ms\"\nid = \"123\"\nlength = 8";
    assert_eq!(other(twice), ["E0432"]);
}

#[test]
fn all_messages_of_a_sender_have_its_queue() {
    let message = |id: &str, rest: &str| {
        format!("[[traffic]]\nbus = \"a\"\nid = \"{id}\"\nlength = 8\nperiod = \"10ms\"\n{rest}\n")
    };
    let with = |one: &str, other: &str| message("100", one) + &message("200", other);
    let sent = with("sender = \"ABS\"\nqueue = \"fifo\"\nmailboxes = 3", "sender = \"ABS\"");
    let plan = load(format!("{GATEWAY}{sent}").as_bytes()).unwrap().plan;
    let three = NonZeroU32::new(3).unwrap();
    let fifo = Sending { queue: Queue::fifo(), controller: Controller::Mailboxes(three) };
    assert_eq!(plan.traffic().iter().map(|one| &one.sending).collect::<Vec<_>>(), [&fifo, &fifo]);
    assert_eq!(codes(&with("sender = \"ABS\"\nqueue = \"fifo\"", "sender = \"ABS\"\ncontroller = 2")), ["E0432"]);
    assert_eq!(codes(&with("controller = 2\nmailboxes = 2", "")), ["E0432"]);
    assert_eq!(codes(&with("sender = \"candor\"\nqueue = \"fifo\"", "")), ["E0432"]);
    assert!(codes(&with("queue = \"fifo\"", "controller = 2")).is_empty(), "two nodes");
}
