//! Scenarios with bit counts that can be verified by hand.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use candor_bus::{
    Bus, BusNs, Counters, Disturbance, ErrorKind, ErrorState, Event, NodeConfig, NodeId, Order, SubmitError, Tag,
    Target, Timing,
};
use candor_core::bits::FrameBits;
use candor_core::frame::{CANFD_BRS, Frame, RawId};
use candor_core::units::BitRate;

const BIT_NS: u64 = 2_000;

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

fn config() -> NodeConfig {
    let timing = Timing { nominal: rate(500_000), data: Some(rate(2_000_000)) };
    NodeConfig { timing, order: Order::Fifo, depth: 10, listen_only: false, one_shot: false }
}

fn classic_config(bits_per_second: u32) -> NodeConfig {
    NodeConfig { timing: Timing { nominal: rate(bits_per_second), data: None }, ..config() }
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

/// Bits of a frame with its intermission.
fn bits(text: &str) -> u64 {
    u64::from(FrameBits::of(&frame(text)).total())
}

/// A bus with nodes that are all ready at time zero of the test.
struct Bench {
    bus: Bus,
    nodes: Vec<NodeId>,
    zero: BusNs,
    tag: u32,
}

impl Bench {
    fn new(nodes: usize) -> Self {
        Self::of(&vec![config(); nodes])
    }

    fn of(configs: &[NodeConfig]) -> Self {
        let mut bench = Self { bus: Bus::new(1), nodes: Vec::new(), zero: BusNs(1_000_000), tag: 0 };
        for &config in configs {
            bench.add(BusNs(0), config);
        }
        bench.bus.advance(bench.zero, &mut Vec::new());
        bench
    }

    fn add(&mut self, at: BusNs, config: NodeConfig) {
        let node = self.bus.add_node().unwrap();
        self.bus.switch_on(at, node, config);
        self.nodes.push(node);
    }

    fn at(&self, bit: u64) -> BusNs {
        self.zero + bit * BIT_NS
    }

    fn send(&mut self, bit: u64, node: usize, text: &str) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        self.bus.submit(self.at(bit), self.nodes[node], tag, frame(text)).unwrap();
        tag
    }

    fn counters(&self, node: usize) -> (u16, u16) {
        let counters = self.bus.counters(self.nodes[node]);
        (counters.transmit, counters.receive)
    }

    /// Everything until the end of this bit.
    fn events(&mut self, bit: u64) -> Vec<Event> {
        let mut events = Vec::new();
        self.bus.advance(self.at(bit), &mut events);
        events
    }

    /// The same as text with times in bits.
    fn run(&mut self, bit: u64) -> Vec<String> {
        let events = self.events(bit);
        events.iter().map(|event| self.tell(event)).collect()
    }

    fn bit(&self, at: BusNs) -> u64 {
        assert_eq!(at.since(self.zero) % BIT_NS, 0, "{at} is not on a bit");
        at.since(self.zero) / BIT_NS
    }

    fn tell(&self, event: &Event) -> String {
        let names = |nodes: candor_bus::NodeSet| {
            let names: Vec<String> = nodes.iter().map(|node| node.0.to_string()).collect();
            names.join(",")
        };
        match *event {
            Event::Delivered { start, end, sender, frame, receivers, retries, .. } => {
                let retried = if retries > 0 { format!(" after {retries}") } else { String::new() };
                let (start, end) = (self.bit(start), self.bit(end));
                format!("{start}-{end} {} {frame} > {}{retried}", sender.0, names(receivers))
            }
            Event::Error { start, at, end, sender, bit, kind, detected, .. } => {
                assert_eq!(self.bit(at), self.bit(start) + u64::from(bit) + 1);
                let (start, end) = (self.bit(start), self.bit(end));
                format!("{start}-{end} {} {kind:?} at {bit} by {}", sender.0, names(detected))
            }
            Event::LostArbitration { at, node, bit, .. } => format!("{} {} lost at {bit}", self.bit(at), node.0),
            Event::State { at, node, state, counters } => {
                format!("{} {} {state:?} {} {}", self.bit(at), node.0, counters.transmit, counters.receive)
            }
        }
    }
}

#[test]
fn frames_follow_each_other_with_an_intermission() {
    let mut bench = Bench::new(3);
    bench.send(0, 0, "123#1122334455667788");
    bench.send(0, 0, "124#");
    let first = bits("123#1122334455667788");
    let second = first + bits("124#");
    let told = bench.run(1000);
    let expected =
        [format!("0-{} 0 123#1122334455667788 > 1,2", first - 3), format!("{first}-{} 0 124# > 1,2", second - 3)];
    assert_eq!(told, expected);
    assert_eq!(bench.bus.busy_ns(), second * BIT_NS);
}

#[test]
fn the_lowest_identifier_wins_and_the_others_try_again() {
    let mut bench = Bench::new(4);
    bench.send(0, 0, "123#R");
    bench.send(0, 1, "123#");
    bench.send(0, 2, "048C0000#"); // begins with the same 11 bits
    let (data, both) = (bits("123#"), bits("123#") + bits("123#R"));
    let expected = [
        // SOF, 11 bits, then RTR or SRR.
        "12 0 lost at 12".to_owned(),
        "12 2 lost at 12".to_owned(),
        format!("0-{} 1 123# > 0,2,3", data - 3),
        // IDE.
        format!("{} 2 lost at 13", data + 13),
        format!("{data}-{} 0 123#R > 1,2,3", both - 3),
        format!("{both}-{} 2 048C0000# > 0,1,3", both + bits("048C0000#") - 3),
    ];
    assert_eq!(bench.run(1000), expected);
}

#[test]
fn a_fifo_waits_for_its_head_and_mailboxes_do_not() {
    let fifo = ["100#", "200#", "300#", "050#"];
    let mailboxes = ["050#", "100#", "200#", "300#"];
    for (order, expected) in [(Order::Fifo, fifo), (Order::LowestId, mailboxes)] {
        let mut bench = Bench::of(&[NodeConfig { order, ..config() }, config()]);
        for id in ["200#", "300#", "050#"] {
            bench.send(0, 0, id);
        }
        bench.send(0, 1, "100#");
        let told = bench.run(1000);
        let sent: Vec<&str> =
            told.iter().filter(|told| told.contains('>')).map(|told| told.split(' ').nth(2).unwrap()).collect();
        assert_eq!(sent, expected);
    }
}

#[test]
fn a_lone_node_becomes_passive_and_stays_so() {
    let mut bench = Bench::new(1);
    bench.send(0, 0, "123#");
    let told = bench.run(5000);
    // 48 bits with the intermission, so the acknowledge slot is bit 36. Flag 6, delimiter 8, intermission 3.
    assert_eq!(told[0], "0-51 0 Ack at 36 by 0");
    assert_eq!(told[1], "54-105 0 Ack at 36 by 0");
    // The 12th error makes 96, the 16th 128.
    let states: Vec<&String> = told.iter().filter(|told| !told.contains("Ack")).collect();
    assert_eq!(states, [&format!("{} 0 Warning 96 0", 11 * 54 + 37), &format!("{} 0 Passive 128 0", 15 * 54 + 37)]);
    // Passive: 8 bits more between two tries, and the counter stays.
    let errors: Vec<&String> = told.iter().filter(|told| told.contains("Ack")).collect();
    let (sixteenth, next) = (15 * 54, 16 * 54 + 8);
    assert_eq!(errors[15], &format!("{sixteenth}-{} 0 Ack at 36 by 0", sixteenth + 51));
    assert_eq!(errors[16], &format!("{next}-{} 0 Ack at 36 by 0", next + 51));
    assert_eq!(errors[17], &format!("{}-{} 0 Ack at 36 by 0", next + 62, next + 62 + 51));
    assert_eq!(bench.counters(0), (128, 0));
}

#[test]
fn a_second_node_ends_the_loneliness() {
    let mut bench = Bench::new(1);
    bench.send(0, 0, "123#");
    bench.run(100);
    bench.add(bench.at(100), config());
    // Bit 108 begins the third try: only 8 of the 11 recessive bits are over, so that one is for nobody, too.
    let expected = ["54-105 0 Ack at 36 by 0", "108-159 0 Ack at 36 by 0", "162-207 0 123# > 1 after 3"];
    assert_eq!(bench.run(400), expected);
    assert_eq!(bench.counters(0), (23, 0));
}

#[test]
fn a_flipped_bit_breaks_the_frame_for_all() {
    let mut bench = Bench::new(3);
    bench.bus.faults().plan(Target::default(), Disturbance::Flip { bit: 13 }, 1);
    bench.send(0, 0, "555#");
    let told = bench.run(300);
    // Bit 13 (IDE) is dominant and seen recessive: the sender's flag begins at 14. The receivers have six equal bits
    // with the sixth bit of the flag and send their own: 12 dominant bits, delimiter 8.
    assert_eq!(told[0], "0-34 0 Bit at 13 by 0,1,2");
    assert!(told[1].starts_with("37-") && told[1].ends_with("after 1"), "{told:?}");
    assert_eq!((bench.counters(0), bench.counters(1)), ((7, 0), (0, 0)));
}

#[test]
fn who_flags_an_error_of_its_own_counts_more() {
    let mut bench = Bench::new(3);
    let node = bench.nodes[2];
    bench.bus.faults().plan(Target::default(), Disturbance::ErrorFlag { node, bit: 20 }, 1);
    bench.send(0, 0, "555#");
    bench.run(50);
    assert_eq!([bench.counters(0), bench.counters(1), bench.counters(2)], [(8, 0), (0, 1), (0, 9)]);
}

#[test]
fn thirty_two_errors_are_bus_off_and_1408_bits_of_silence_the_way_back() {
    let mut bench = Bench::new(2);
    bench.bus.faults().plan(Target::default(), Disturbance::Flip { bit: 20 }, 32);
    bench.send(0, 0, "555#");
    let told = bench.run(5000);
    assert!(told.iter().any(|told| told.ends_with("0 BusOff 256 0")), "{told:?}");
    assert_eq!(bench.bus.submit(bench.at(5000), bench.nodes[0], Tag(9), frame("001#")), Err(SubmitError::BusOff));
    bench.bus.restart(bench.at(5000), bench.nodes[0]);
    let told = bench.run(7000);
    assert_eq!(told[0], "6408 0 Active 0 0");
    assert!(told[1].starts_with("6408-") && told[1].contains("555# > 1"), "{told:?}");
}

#[test]
fn frames_of_others_are_silence_enough_for_recovery() {
    let mut bench = Bench::new(3);
    let off = Counters { transmit: 256, receive: 0 };
    bench.bus.set_counters(bench.at(0), bench.nodes[0], off, &mut Vec::new()).unwrap();
    bench.bus.restart(bench.at(0), bench.nodes[0]);
    let length = bits("555#");
    for _ in 0..10 {
        bench.send(0, 1, "555#");
    }
    let mut sent = 10;
    loop {
        // One more before the controller runs dry: back to back, 11 recessive bits after each acknowledgement.
        let told = bench.run((sent - 9) * length);
        if let Some(told) = told.iter().find(|told| told.contains("Active")) {
            // With the intermission of the 128th frame.
            assert_eq!(told, &format!("{} 0 Active 0 0", 128 * length));
            break;
        }
        assert!(sent < 200, "{told:?}");
        bench.send((sent - 9) * length, 1, "555#");
        sent += 1;
    }
}

#[test]
fn a_faster_node_destroys_frames_until_it_is_passive() {
    let mut bench = Bench::of(&[config(), config(), classic_config(1_000_000)]);
    bench.send(0, 0, "555#1122334455667788");
    let events = bench.events(20_000);
    let errors = events.iter().filter(|event| matches!(event, Event::Error { .. })).count();
    assert!((10..20).contains(&errors), "{errors}");
    assert!(matches!(events.last(), Some(Event::Delivered { .. })), "{:?}", events.last());
    assert_eq!(bench.bus.counters(bench.nodes[2]).state(), ErrorState::Passive);
}

#[test]
fn flags_of_a_slower_node_drive_the_sender_off_the_bus() {
    for bit_rate in [250_000, 125_000] {
        // Its flags are longer than those of the others, so that it finds no dominant bit after them, and counts little.
        let mut bench = Bench::of(&[config(), config(), classic_config(bit_rate)]);
        bench.send(0, 0, "555#1122334455667788");
        let told = bench.run(20_000);
        assert!(told.iter().any(|told| told.contains("0 BusOff")), "{told:?}");
    }
}

#[test]
fn a_classic_node_destroys_fd_frames() {
    let mut bench = Bench::of(&[config(), config(), classic_config(500_000)]);
    let fd = Frame::fd(RawId(0x123), 0, &[1, 2, 3]).unwrap();
    bench.bus.submit(bench.zero, bench.nodes[0], Tag(1), fd).unwrap();
    let told = bench.run(37);
    // SOF, 11 bits, RRS, IDE and FDF come first.
    assert!(told[0].contains(" at 15 by "), "{told:?}");
    assert_eq!(bench.counters(2), (0, 9));
}

#[test]
fn a_dominant_wire_drives_the_sender_off_the_bus_and_receivers_to_passive() {
    let mut bench = Bench::new(3);
    bench.send(0, 0, "555#1122334455667788");
    bench.run(20);
    bench.bus.stick(bench.at(20), true);
    bench.run(1000);
    assert_eq!(bench.bus.counters(bench.nodes[0]).state(), ErrorState::BusOff);
    assert_eq!(bench.bus.counters(bench.nodes[1]).state(), ErrorState::Passive);
    bench.send(1000, 1, "123#");
    bench.bus.stick(bench.at(1000), false);
    let told = bench.run(2000);
    // Delimiter and intermission.
    assert!(told.iter().any(|told| told.starts_with("1011-") && told.contains("123# > 2")), "{told:?}");
}

#[test]
fn a_dominant_idle_wire_is_no_frame() {
    let mut bench = Bench::new(2);
    bench.bus.stick(bench.at(0), true);
    // SOF and five more: a stuff error (+1), a flag of six, the first dominant bit after it (+8), and each eighth.
    bench.run(6 + 6 + 1);
    assert_eq!(bench.counters(0), (0, 9));
    bench.run(6 + 6 + 8);
    assert_eq!(bench.counters(0), (0, 17));
    bench.run(5000);
    assert_eq!(bench.counters(0), (0, 255));
}

#[test]
fn a_wire_that_is_dominant_for_days_costs_no_more_than_for_a_second() {
    const DAYS: u64 = 3 * 24 * 3600 * 500_000;
    let mut bench = Bench::new(3);
    bench.send(0, 0, "555#1122334455667788");
    bench.run(20);
    bench.bus.stick(bench.at(20), true);
    bench.run(1000);
    bench.send(1000, 1, "123#");
    let wake_ups = std::iter::successors(bench.bus.next_event(), |_| {
        bench.bus.advance(bench.bus.next_event().unwrap(), &mut Vec::new());
        bench.bus.next_event()
    });
    let wake_ups = wake_ups.take_while(|&at| at < bench.zero + 3_600_000_000_000).count();
    assert!(wake_ups <= 3601, "{wake_ups} in an hour");
    let events = bench.events(DAYS);
    assert_eq!(events, []);
    assert_eq!(bench.counters(1), (0, 255));
    bench.bus.stick(bench.at(DAYS), false);
    let events = bench.events(DAYS + 1000);
    let Some(&Event::Error { start, at, end, bit: 21, .. }) = events.first() else { panic!("{events:?}") };
    assert_eq!((start, at), (bench.at(0), bench.at(22)), "the frame of days ago");
    let Some(&Event::Delivered { start, .. }) = events.last() else { panic!("{events:?}") };
    // A delimiter of 8, which the first recessive bit is the first of, and an intermission.
    assert_eq!((end, start), (bench.at(DAYS + 8), bench.at(DAYS + 11)));
    assert!(bench.bus.busy_ns() > DAYS * BIT_NS);
}

#[test]
fn counters_are_set_in_the_middle_of_whatever_happens() {
    for (bit, is_broken) in [(30, false), (60, true)] {
        let mut bench = Bench::new(3);
        bench.bus.faults().plan(Target::default(), Disturbance::Flip { bit: 50 }, 1);
        bench.send(0, 0, "555#1122334455667788");
        bench.run(bit);
        let counters = Counters { transmit: 120, receive: 90 };
        let mut events = Vec::new();
        for node in 0..2 {
            bench.bus.set_counters(bench.at(bit), bench.nodes[node], counters, &mut events).unwrap();
            assert_eq!(bench.counters(node), (120, 90));
        }
        assert_eq!(events.len(), 2, "{events:?}");
        bench.run(400);
        // What the error counts comes before it or after; then a frame arrives.
        assert_eq!(bench.counters(0).0, if is_broken { 119 } else { 127 });
        assert_eq!(bench.counters(1).1, if is_broken { 89 } else { 90 });
    }
}

#[test]
fn a_sender_that_is_switched_off_leaves_a_broken_frame() {
    let mut bench = Bench::new(3);
    bench.send(0, 0, "555#");
    bench.send(0, 1, "556#");
    bench.run(20);
    assert_eq!(bench.bus.switch_off(bench.at(20), bench.nodes[0]), [Tag(1)]);
    let told = bench.run(500);
    assert!(told.iter().any(|told| told.contains("Stuff at") && told.ends_with("by 1,2")), "{told:?}");
    assert!(told.last().unwrap().contains("1 556# > 2"), "{told:?}");
}

#[test]
fn an_fd_frame_takes_the_time_of_both_rates() {
    let mut bench = Bench::new(2);
    let fd = Frame::fd(RawId(0x123), CANFD_BRS, &[0x55; 64]).unwrap();
    for tag in 1..=2 {
        bench.bus.submit(bench.zero, bench.nodes[0], Tag(tag), fd).unwrap();
    }
    let events = bench.events(1000);
    let [Event::Delivered { start, .. }, Event::Delivered { start: second, .. }] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(second.since(start), 333_000);
}

#[test]
fn a_held_node_hears_and_does_not_send() {
    let mut bench = Bench::new(2);
    bench.bus.hold(bench.nodes[0], true);
    bench.send(0, 0, "001#");
    bench.send(0, 1, "555#");
    assert_eq!(bench.run(1000), [format!("0-{} 1 555# > 0", bits("555#") - 3)]);
    bench.bus.hold(bench.nodes[0], false);
    assert_eq!(bench.run(2000), [format!("1000-{} 0 001# > 1", 1000 + bits("001#") - 3)]);
}

#[test]
fn controllers_say_why_they_take_no_frame() {
    let listener = NodeConfig { listen_only: true, ..config() };
    let mut bench = Bench::of(&[NodeConfig { depth: 1, ..classic_config(500_000) }, listener]);
    let zero = bench.zero;
    let mut submit = |node, tag, frame| bench.bus.submit(zero, NodeId(node), Tag(tag), frame);
    assert_eq!(submit(0, 1, Frame::fd(RawId(1), 0, &[]).unwrap()), Err(SubmitError::NoFd));
    assert_eq!(submit(1, 1, frame("001#")), Err(SubmitError::ListenOnly));
    assert_eq!(submit(5, 1, frame("001#")), Err(SubmitError::Off));
    assert_eq!(submit(0, 1, Frame::classic(RawId(0x800), &[]).unwrap()), Err(SubmitError::Malformed));
    assert_eq!(submit(0, 1, frame("001#")), Ok(()));
    assert_eq!(submit(0, 2, frame("001#")), Err(SubmitError::Full));
}

#[test]
fn one_shot_frames_are_given_up() {
    let once = NodeConfig { one_shot: true, ..config() };
    let mut bench = Bench::of(&[once, config(), config()]);
    bench.send(0, 1, "100#");
    let tag = bench.send(0, 0, "101#");
    let events = bench.events(100);
    assert!(
        matches!(events[..], [Event::LostArbitration { given_up: Some(lost), .. }, Event::Delivered { .. }] if lost == tag),
        "{events:?}"
    );
    bench.bus.faults().plan(Target::default(), Disturbance::NoAcknowledge, 1);
    let tag = bench.send(100, 0, "102#");
    let events = bench.events(300);
    assert!(
        matches!(events[..], [Event::Error { given_up: Some(broken), kind: ErrorKind::Ack, .. }] if broken == tag),
        "{events:?}"
    );
}
