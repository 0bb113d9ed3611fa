//! Runs `scenarios.txt`, which describes its format, and scenarios that need more than it can express.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use candor_bus::{
    Bus, BusNs, Counters, Disturbance, Event, NodeConfig, NodeId, NodeSet, Order, SubmitError, Tag, Target, Timing,
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

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

/// A bus whose nodes are all ready at time zero of the test.
struct Bench {
    bus: Bus,
    zero: BusNs,
    tag: u32,
    /// Events since the last `until`.
    log: Vec<String>,
}

impl Bench {
    fn new(configs: &[NodeConfig]) -> Self {
        let mut bench = Self { bus: Bus::new(1), zero: BusNs(1_000_000), tag: 0, log: Vec::new() };
        for &config in configs {
            bench.add(BusNs(0), config);
        }
        bench.bus.advance(bench.zero, &mut Vec::new());
        bench
    }

    fn add(&mut self, at: BusNs, config: NodeConfig) {
        let node = self.bus.add_node().unwrap();
        self.bus.switch_on(at, node, config);
    }

    fn at(&self, bit: u64) -> BusNs {
        self.zero + bit * BIT_NS
    }

    fn send(&mut self, bit: u64, node: NodeId, text: &str) -> Result<(), SubmitError> {
        self.tag += 1;
        self.bus.submit(self.at(bit), node, Tag(self.tag), frame(text))
    }

    /// Advances to this bit.
    fn run(&mut self, bit: u64) -> Vec<Event> {
        let mut events = Vec::new();
        self.bus.advance(self.at(bit), &mut events);
        self.record(&events);
        events
    }

    fn bit(&self, at: BusNs) -> u64 {
        assert_eq!(at.since(self.zero) % BIT_NS, 0, "{at} is not on a bit");
        at.since(self.zero) / BIT_NS
    }

    fn record(&mut self, events: &[Event]) {
        let given_up = |tag: Option<Tag>| tag.map_or_else(String::new, |tag| format!(" gives up {}", tag.0));
        for event in events {
            self.log.push(match *event {
                Event::Delivered { start, end, sender, frame, receivers, retries, .. } => {
                    let retried = if retries > 0 { format!(" after {retries}") } else { String::new() };
                    let (start, end) = (self.bit(start), self.bit(end));
                    format!("{start}-{end} {} {frame} > {}{retried}", sender.0, list(receivers))
                }
                Event::Error { start, at, end, sender, bit, kind, detected, given_up: tag, .. } => {
                    assert_eq!(self.bit(at), self.bit(start) + u64::from(bit) + 1);
                    let (start, end, nodes) = (self.bit(start), self.bit(end), list(detected));
                    format!("{start}-{end} {} {kind:?} at {bit} by {nodes}{}", sender.0, given_up(tag))
                }
                Event::LostArbitration { at, node, bit, given_up: tag } => {
                    format!("{} {} lost at {bit}{}", self.bit(at), node.0, given_up(tag))
                }
                Event::State { at, node, state, counters } => {
                    format!("{} {} {state:?} {} {}", self.bit(at), node.0, counters.transmit, counters.receive)
                }
            });
        }
    }
}

fn list(nodes: NodeSet) -> String {
    nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(",")
}

#[test]
fn scenarios_verified_by_hand() {
    let failed: Vec<String> = include_str!("scenarios.txt").split("\n[").skip(1).flat_map(mismatches).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs a scenario, whose first line is its name.
fn mismatches(text: &str) -> Vec<String> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let name = lines.next().unwrap().trim_end_matches(']');
    let (mut configs, mut failed) = (Vec::new(), Vec::new());
    let mut bench = Bench::new(&[]);
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u32>().unwrap_or_else(|_| panic!("{name}: {line}"));
        let node = |place: usize| NodeId(u8::try_from(number(place)).unwrap());
        let bit = words[0].parse().unwrap_or(0);
        let at = bench.at(bit);
        match words[..] {
            ["nodes", _] => configs.extend(vec![config(); number(1) as usize]),
            ["node", ref settings @ ..] => configs.push(settings.iter().fold(config(), configured)),
            ["hold", _] => bench.bus.hold(node(1), true),
            ["unhold", _] => bench.bus.hold(node(1), false),
            ["plan", _, ref disturbance @ ..] => {
                let disturbance = match disturbance {
                    ["flip", _] => Disturbance::Flip { bit: number(3) },
                    ["error-flag", ..] => Disturbance::ErrorFlag { node: node(3), bit: number(4) },
                    _ => Disturbance::NoAcknowledge,
                };
                bench.bus.faults().plan(Target::default(), disturbance, number(1));
            }
            ["skip", _] => {
                bench.run(number(1).into());
                bench.log.clear();
            }
            ["until", _] => {
                bench.run(number(1).into());
                let found = std::mem::take(&mut bench.log);
                let mut expected = Vec::new();
                while let Some(event) = lines.peek().and_then(|line| line.strip_prefix("> ")) {
                    expected.push(event);
                    lines.next();
                }
                if !agrees(&expected, &found) {
                    failed.push(format!("{name}: {line}\n{}", found.join("\n")));
                }
            }
            ["busy", _] => assert_eq!(bench.bus.busy_ns(), u64::from(number(1)) * BIT_NS, "{name}"),
            ["counters", _, expected] => {
                let Counters { transmit, receive } = bench.bus.counters(node(1));
                let found = format!("{transmit}/{receive}");
                failed.extend((found != expected).then(|| format!("{name}: {line}, found {found}")));
            }
            [_, "send", _, text] => bench.send(bit, node(2), text).unwrap(),
            [_, "refused", _, text, reason] => {
                assert_eq!(format!("{:?}", bench.send(bit, node(2), text)), format!("Err({reason})"), "{name}");
            }
            [_, "add"] => bench.add(at, config()),
            [_, "off", off] => {
                let tags: Vec<u32> = bench.bus.switch_off(at, node(2)).iter().map(|tag| tag.0).collect();
                bench.log.push(format!("{bit} {off} forgets {tags:?}"));
            }
            [_, "restart", _] => bench.bus.restart(at, node(2)),
            [_, "stick"] => bench.bus.stick(at, true),
            [_, "release"] => bench.bus.stick(at, false),
            [_, "counters", _, counters] => {
                let (transmit, receive) = counters.split_once('/').unwrap();
                let counters = Counters { transmit: transmit.parse().unwrap(), receive: receive.parse().unwrap() };
                let mut events = Vec::new();
                bench.bus.set_counters(at, node(2), counters, &mut events).unwrap();
                assert_eq!(bench.bus.counters(node(2)), counters, "{name}");
                bench.record(&events);
            }
            _ => panic!("{name}: {line}"),
        }
        if words[0].starts_with("node") {
            bench = Bench::new(&configs);
        }
    }
    failed
}

fn configured(config: NodeConfig, setting: &&str) -> NodeConfig {
    let (name, value) = setting.split_once('=').unwrap_or((setting, "1"));
    let value: u32 = value.parse().unwrap();
    match name {
        "depth" => NodeConfig { depth: value as usize, ..config },
        "mailboxes" => NodeConfig { order: Order::LowestId, ..config },
        "one-shot" => NodeConfig { one_shot: true, ..config },
        "listen-only" => NodeConfig { listen_only: true, ..config },
        "classic" => NodeConfig { timing: Timing { nominal: rate(value), data: None }, ..config },
        other => panic!("{other} is not a setting"),
    }
}

/// Compares events with a list in which `…` stands for any number of others.
fn agrees(expected: &[&str], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        ["…", rest @ ..] => (0..=found.len()).any(|skipped| agrees(rest, &found[skipped..])),
        [first, rest @ ..] => found.first().is_some_and(|event| event == first) && agrees(rest, &found[1..]),
    }
}

#[test]
fn recovery_counts_the_silence_between_frames_of_others() {
    let mut bench = Bench::new(&[config(); 3]);
    let off = Counters { transmit: 256, receive: 0 };
    bench.bus.set_counters(bench.at(0), NodeId(0), off, &mut Vec::new()).unwrap();
    bench.bus.restart(bench.at(0), NodeId(0));
    let length = u64::from(FrameBits::of(&frame("555#")).total());
    for _ in 0..10 {
        bench.send(0, NodeId(1), "555#").unwrap();
    }
    // One more before the controller runs dry: back to back, 11 recessive bits after each acknowledgement.
    for sent in 1..200 {
        bench.run(sent * length);
        bench.send(sent * length, NodeId(1), "555#").unwrap();
    }
    // With the intermission of the 128th frame.
    let states: Vec<_> = bench.log.iter().filter(|event| event.contains("Active")).collect();
    assert_eq!(states, [&format!("{} 0 Active 0 0", 128 * length)]);
}

#[test]
fn wire_that_is_dominant_for_days_costs_no_more_than_for_a_second() {
    const DAYS: u64 = 3 * 24 * 3600 * 500_000;
    let mut bench = Bench::new(&[config(); 3]);
    bench.send(0, NodeId(0), "555#1122334455667788").unwrap();
    bench.run(20);
    bench.bus.stick(bench.at(20), true);
    bench.run(1000);
    bench.send(1000, NodeId(1), "123#").unwrap();
    let wake_ups = std::iter::successors(bench.bus.next_event(), |_| {
        bench.bus.advance(bench.bus.next_event().unwrap(), &mut Vec::new());
        bench.bus.next_event()
    });
    let wake_ups = wake_ups.take_while(|&at| at < bench.zero + 3_600_000_000_000).count();
    assert!(wake_ups <= 3601, "{wake_ups} in an hour");
    assert_eq!(bench.run(DAYS), []);
    let Counters { transmit, receive } = bench.bus.counters(NodeId(1));
    assert_eq!((transmit, receive), (0, 255));
    bench.bus.stick(bench.at(DAYS), false);
    let events = bench.run(DAYS + 1000);
    let Some(&Event::Error { start, at, end, bit: 21, .. }) = events.first() else { panic!("{events:?}") };
    assert_eq!((start, at), (bench.at(0), bench.at(22)), "the frame of days ago");
    let Some(&Event::Delivered { start, .. }) = events.last() else { panic!("{events:?}") };
    // A delimiter of 8, beginning with the first recessive bit, and an intermission.
    assert_eq!((end, start), (bench.at(DAYS + 8), bench.at(DAYS + 11)));
    assert!(bench.bus.busy_ns() > DAYS * BIT_NS);
}

#[test]
fn fd_frame_takes_the_time_of_both_rates() {
    let mut bench = Bench::new(&[config(); 2]);
    let fd = Frame::fd(RawId(0x123), CANFD_BRS, &[0x55; 64]).unwrap();
    for tag in 1..=2 {
        bench.bus.submit(bench.zero, NodeId(0), Tag(tag), fd).unwrap();
    }
    let mut events = Vec::new();
    bench.bus.advance(bench.at(1000), &mut events);
    let [Event::Delivered { start, .. }, Event::Delivered { start: second, .. }] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(second.since(start), 333_000);
}

#[test]
fn identifiers_beyond_11_bits_are_malformed() {
    let mut bench = Bench::new(&[config()]);
    let malformed = Frame::classic(RawId(0x800), &[]).unwrap();
    assert_eq!(bench.bus.submit(bench.zero, NodeId(0), Tag(1), malformed), Err(SubmitError::Malformed));
}
