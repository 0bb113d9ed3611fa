//! A bridge between a bus in memory and sessions of Zenoh, over TCP on loopback.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use candor_bridge::admission::Allowed;
use candor_bridge::bridge::Bridge;
use candor_bridge::bus::Bus;
use candor_bridge::counts::Counts;
use candor_bridge::payload::{self, Sent};
use candor_bridge::settings::{self, Settings, Zenoh};
use candor_core::ids::IdRange;
use candor_guard::Rate;
use support::{LIMIT, Memory, collect, free_port, session, wait_until};
use zenoh::Wait as _;

/// A configuration without multicast, which listens or connects on loopback, and connects again at once.
fn config(mode: &str, listen: Option<u16>, connect: Option<u16>) -> String {
    let list = |port: Option<u16>| port.map(|port| format!("\"tcp/127.0.0.1:{port}\"")).unwrap_or_default();
    format!(
        "{{ mode: \"{mode}\", scouting: {{ multicast: {{ enabled: false }} }}, \
         listen: {{ endpoints: [{}] }}, \
         connect: {{ endpoints: [{}], timeout_ms: -1, exit_on_failure: false, \
                     retry: {{ period_init_ms: 50, period_max_ms: 200 }} }} }}",
        list(listen),
        list(connect)
    )
}

fn settings(config: String, queue: usize, max_age: Duration) -> Settings {
    let text = "[bus.front]\ninterface = \"can0\"\ndatabase = \"car.dbc\"\n[zenoh]\nprefix = \"candor/car7\"\n";
    let dbc = b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n";
    let (settings, _) = settings::load(text.as_bytes(), &|_| Ok(dbc.to_vec())).unwrap();
    let allowed = Allowed {
        bus: "front".into(),
        ids: vec![IdRange::parse("200..2FF").unwrap()],
        rate: Rate::frames(1, 3).unwrap(),
    };
    let zenoh = Zenoh { config: Some(config), prefix: "candor/car7".into(), queue, max_age };
    Settings { zenoh: Some(zenoh), allowed: vec![allowed], ..settings }
}

fn start(settings: &Settings) -> (Bridge, Arc<Memory>) {
    let bus = Arc::new(Memory::default());
    let bridge = Bridge::start(settings, &[Arc::clone(&bus) as Arc<dyn Bus>], |_| {});
    (bridge, bus)
}

fn wait_for(bridge: &Bridge, what: &str, holds: impl Fn(&Counts) -> bool) {
    wait_until(what, || holds(&bridge.counts()));
}

#[test]
fn frames_and_signals_are_published_and_answered() {
    let port = free_port();
    let (bridge, bus) = start(&settings(config("peer", Some(port), None), 100, LIMIT));
    // Nobody listens yet: the frame waits.
    bus.push("123#2710000000000000");
    wait_for(&bridge, "the frame is read", |counts| counts.waiting == 2);
    let peer = session(&config("peer", None, Some(port)));
    let got = collect(&peer, "candor/car7/**");
    wait_until("both values come", || got.lock().unwrap().len() == 2);
    bus.push("124##1AABB");
    wait_until("the next one comes", || got.lock().unwrap().len() == 3);
    let got = got.lock().unwrap().clone();
    let keys: Vec<_> = got.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        ["candor/car7/front/frame/123", "candor/car7/front/signal/ABS1/VehSpd", "candor/car7/front/frame/124"]
    );
    let Sent { stamp_ns, number, frame } = payload::decode(&got[0].1).unwrap();
    assert_eq!((stamp_ns, number, frame.to_string().as_str()), (1_700_000_000_000_000_000, 1, "123#2710000000000000"));
    assert_eq!(got[1].1, b"100");

    let ask = |keys: &str| -> Vec<(String, String)> {
        let replies = peer.get(keys).wait().unwrap();
        let mut values: Vec<_> = replies
            .iter()
            .map(|reply| {
                let sample = reply.into_result().unwrap();
                let encoding = sample.encoding().to_string();
                (sample.key_expr().to_string(), encoding)
            })
            .collect();
        values.sort();
        values
    };
    let value = |key: &str, encoding: &str| (format!("candor/car7/front/{key}"), encoding.to_owned());
    assert_eq!(ask("candor/car7/front/signal/**"), [value("signal/ABS1/VehSpd", "application/json")]);
    let frame = "application/vnd.candor.frame";
    assert_eq!(ask("candor/car7/front/frame/*"), [value("frame/123", frame), value("frame/124", frame)]);
    assert_eq!(ask("candor/car7/front/frame/125"), []);
    let counts = bridge.stop();
    assert_eq!((counts.received, counts.published, counts.answered), (2, 3, 3), "{counts:?}");
    peer.close().wait().unwrap();
}

#[test]
fn only_frames_of_the_allow_list_reach_the_bus_within_their_rate() {
    let port = free_port();
    let (bridge, bus) = start(&settings(config("peer", Some(port), None), 100, LIMIT));
    let peer = session(&config("peer", None, Some(port)));
    let put = |key: &str, text: &str| {
        let bytes = payload::encode(&Sent { stamp_ns: 0, number: 0, frame: text.parse().unwrap() });
        peer.put(format!("candor/car7/{key}"), bytes).wait().unwrap();
    };
    // The first ones may come before the bridge is known.
    wait_until("the bridge is found", || {
        put("front/send/7FF", "7FF#");
        bridge.counts().refused.contains_key("not-allowed")
    });
    std::thread::sleep(Duration::from_millis(100));
    let before = bridge.counts().refused["not-allowed"];
    put("front/send/100", "100#11");
    put("rear/send/200", "200#11");
    put("front/send/200", "201#11");
    put("front/send/*", "200#11");
    peer.put("candor/car7/front/send/200", "200#11").wait().unwrap();
    for at in 0..6 {
        put("front/send/200", &format!("200#0{at}"));
    }
    wait_for(&bridge, "all frames are judged", |counts| {
        counts.sent_to_bus + counts.refused.values().sum::<u64>() >= before + 11
    });
    assert_eq!(bus.written(), ["200#00", "200#01", "200#02"]);
    let counts = bridge.stop();
    assert_eq!(counts.sent_to_bus, 3);
    assert_eq!(counts.refused["not-allowed"], before + 2);
    assert_eq!((counts.refused["malformed"], counts.refused["rate"]), (3, 3));
    peer.close().wait().unwrap();
}

#[test]
fn nothing_that_the_queue_can_hold_is_lost_while_the_router_restarts() {
    let port = free_port();
    let router = session(&config("router", Some(port), None));
    let (bridge, bus) = start(&settings(config("client", None, Some(port)), 1000, LIMIT));
    let listener = session(&config("client", None, Some(port)));
    let got = collect(&listener, "candor/car7/front/frame/*");
    bus.push("100#");
    wait_until("the first frame comes", || got.lock().unwrap().len() == 1);
    router.close().wait().unwrap();
    drop(router);
    // What Zenoh takes before it finds out is not promised.
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..500 {
        bus.push("101#");
    }
    wait_for(&bridge, "all frames wait", |counts| counts.waiting == 500);
    let router = session(&config("router", Some(port), None));
    wait_until("all frames come", || got.lock().unwrap().len() == 501);
    let numbers: Vec<_> =
        got.lock().unwrap()[1..].iter().map(|(_, bytes)| payload::decode(bytes).unwrap().number).collect();
    assert_eq!(numbers, (1..=500).collect::<Vec<_>>());
    let counts = bridge.stop();
    assert_eq!((counts.published, counts.dropped.len()), (501, 0), "{counts:?}");
    listener.close().wait().unwrap();
    router.close().wait().unwrap();
}

#[test]
fn frames_wait_for_a_router_that_comes_later() {
    let port = free_port();
    let (bridge, bus) = start(&settings(config("client", None, Some(port)), 1000, LIMIT));
    (0..500).for_each(|_| bus.push("101#"));
    wait_for(&bridge, "all frames wait", |counts| counts.waiting == 500);
    let router = session(&config("router", Some(port), None));
    let listener = session(&config("client", None, Some(port)));
    let got = collect(&listener, "candor/car7/front/frame/*");
    wait_until("all frames come", || got.lock().unwrap().len() == 500);
    let counts = bridge.stop();
    assert_eq!((counts.published, counts.dropped.len()), (500, 0), "{counts:?}");
    listener.close().wait().unwrap();
    router.close().wait().unwrap();
}

#[test]
fn a_bridge_without_a_router_drops_by_its_policy_and_ends() {
    let (bridge, bus) = start(&settings(config("client", None, Some(free_port())), 10, Duration::from_millis(300)));
    (0..25).for_each(|_| bus.push("101#"));
    wait_for(&bridge, "old frames are dropped", |counts| counts.dropped.get("too-old") == Some(&10));
    bus.push("102#");
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(bridge.stop()));
    let counts = end.recv_timeout(LIMIT).unwrap();
    assert_eq!((counts.received, counts.published, counts.dropped["queue-full"]), (26, 0, 15), "{counts:?}");
}

#[test]
fn what_the_queue_cannot_hold_is_counted() {
    let (bridge, bus) = start(&settings(config("peer", Some(free_port()), None), 10, Duration::from_millis(300)));
    for _ in 0..25 {
        bus.push("101#");
    }
    wait_for(&bridge, "old frames are dropped", |counts| counts.dropped.get("too-old") == Some(&10));
    let counts = bridge.stop();
    assert_eq!((counts.received, counts.published, counts.dropped["queue-full"]), (25, 0, 15));
}

#[test]
fn frames_cross_in_shared_memory_if_the_configuration_says_so() {
    const POOL: usize = 2 << 20;
    let with = |text: String| {
        let shared = "transport_optimization: { message_size_threshold: 1, pool_size: 2097152 }";
        format!("{}, transport: {{ shared_memory: {{ {shared} }} }} }}", text.strip_suffix('}').unwrap())
    };
    let port = free_port();
    let (bridge, bus) = start(&settings(with(config("peer", Some(port), None)), 100, LIMIT));
    let peer = session(&with(config("peer", None, Some(port))));
    let got = collect(&peer, "candor/car7/front/frame/*");
    bus.push("123#2710000000000000");
    wait_until("the frame comes", || got.lock().unwrap().len() == 1);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_pool = |line: &str| {
        let ends = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let (from, to) = ends.map(|(from, to)| (hex(from), hex(to))).unwrap();
        to - from == POOL && line.contains("/dev/shm/")
    };
    assert!(maps.lines().any(is_pool), "{maps}");
    let _ = bridge.stop();
    peer.close().wait().unwrap();
}

fn hex(text: &str) -> usize {
    usize::from_str_radix(text, 16).unwrap()
}
