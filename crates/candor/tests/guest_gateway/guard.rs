//! Guards of routes on a real kernel: stamps, drops, alarms and metrics. What is a violation is proved by the tests of
//! `candor-guard`.

use crate::prelude::*;

const FEATURES: &[Feature] = &[Feature::Vcan, Feature::Root];
const ID: u32 = 0x123;
const ALARM: u32 = 0x7F0;

fn file(guard: &str) -> String {
    let keys = format!("match = \"123\"\necho = true\nframes = \"classic\"\nguard = {{ {guard} }}");
    LEFT_RIGHT.to_owned() + &route("border", "left", "right", &keys)
}

fn alarm(candor: &Candor, rule: &str, state: &str) -> Value {
    loop {
        let event = candor.event(&["alarm"]);
        if event["rule"] == rule && event["state"] == state {
            return event;
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_flood_does_not_cross_and_is_reported() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right"]) else { return };
    let (left, right) = (place.sender("left"), place.listener("right"));
    // Every kind of receiver that has stamps.
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        let guard = "rate = \"20 frames/s\", burst = 3, on-violation = \"drop\", \
                     alarm = { to = \"right\", frame = \"7F0#01\" }";
        let candor = place.start(&file(guard), engine);
        for number in 0..100 {
            send(&left, &classic(ID, &[number, 0]));
        }
        let event = alarm(&candor, "rate", "begins");
        assert_eq!((&event["route"], &event["not_sent"]), (&"border".into(), &Value::Null), "{event}");
        assert!(event["frames"].as_u64().unwrap() > 0, "{event}");
        assert!(event["frame"].as_str().unwrap().starts_with("123#"), "{event}");
        assert!(event["received_ns"].as_i64().unwrap() > 0, "{event}");
        let mut passed = Vec::new();
        while let Some(frame) = hear(&right, Duration::from_millis(30)) {
            passed.push((frame.id.0, frame.data[0]));
        }
        assert_eq!(passed[..3], [(ID, 0), (ID, 1), (ID, 2)]);
        assert!(passed.contains(&(ALARM, 1)), "{passed:?}");
        assert!(passed.len() < 50, "{passed:?}");
        let through = passed.iter().filter(|(id, _)| *id == ID).count() as u64;
        let text = crate::metrics::of_run_dir(place.run_dir.path());
        let line = "candor_route_guard_violations_total{route=\"border\",from=\"left\",to=\"right\",side=\"user\",rule=\"rate\"}";
        assert!(text.contains(&format!("{line} {}\n", 100 - through)), "{through}: {text}");
        assert_eq!(candor.stop().counted("border"), [through, 0, 100 - through]);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_sender_that_stops_is_missed_and_found_again() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right"]) else { return };
    let left = place.sender("left");
    let candor = place.start(&file("silent = \"300ms\", len = 2"), "auto");
    send(&left, &classic(ID, &[1, 2]));
    let event = alarm(&candor, "silent", "begins");
    assert_eq!((&event["route"], &event["frames"]), (&"border".into(), &0.into()));
    send(&left, &classic(ID, &[1, 2, 3]));
    // Another length is only counted, and told in the same look as the end of the silence, before it.
    assert_eq!(alarm(&candor, "len", "begins")["frame"], "123#010203");
    alarm(&candor, "silent", "over");
    assert_eq!(candor.stop().counted("border"), [2, 0, 0]);
}

/// A bus that no route uses, and one that is gone.
#[test]
#[ignore = "runs in a guest"]
fn an_alarm_reaches_a_bus_without_routes() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right", "horn"]) else { return };
    let (left, horn) = (place.sender("left"), place.listener("horn"));
    let text = file("len = 8, alarm = { to = \"horn\", frame = \"7F0#01\" }");
    let text = format!("[bus.horn]\ninterface = \"t-horn\"\n{text}");
    let candor = place.start(&text, "read-write");
    send(&left, &classic(ID, &[1]));
    assert_eq!(next_frame(&horn), classic(ALARM, &[1]));
    assert_eq!(alarm(&candor, "len", "begins")["not_sent"], Value::Null);
    candor.stop();
}

const EXTENDED: u32 = 0x8000_0000;

/// The bus of the nodes: `right` is one of them, and does not receive its own frames.
struct Border {
    left: CanSocket,
    right: CanSocket,
}

impl Border {
    fn new(place: &Scenario) -> Self {
        Self { left: place.sender("left"), right: place.listener("right") }
    }

    /// Sends a frame from the left, and then one that always crosses; returns what came out before that.
    fn crossed(&self, frame: &Frame) -> Vec<Frame> {
        let last = classic(ID, &[]);
        send(&self.left, frame);
        send(&self.left, &last);
        std::iter::from_fn(|| Some(next_frame(&self.right)).filter(|frame| *frame != last)).collect()
    }

    /// True if a frame with this source address crosses.
    fn crosses(&self, address: u32) -> bool {
        !self.crossed(&classic(EXTENDED | 0x18FE_F100 | address, &[address.to_le_bytes()[0]; 8])).is_empty()
    }

    /// Claims an address on the right, and waits until that is known.
    fn claim(&self, address: u32, name: u8) {
        send(&self.right, &classic(EXTENDED | 0x18EE_FF00 | address, &[name; 8]));
        wait_until("the address is protected", || !self.crosses(address));
    }
}

/// As [`file`], for frames of all identifiers, with a third bus whose frames come to the right as well.
fn claimed(guard: &str) -> String {
    let keys = format!("echo = true\nframes = \"classic\"\nguard = {{ {guard}, on-violation = \"drop\" }}");
    let plain = route("plain", "other", "right", "echo = true\nframes = \"classic\"");
    buses(&["left", "right", "other"]) + &route("border", "left", "right", &keys) + &plain
}

/// Claims of another program on the protected bus count; those that candor itself brings there do not.
#[test]
#[ignore = "runs in a guest"]
fn frames_from_claimed_addresses_do_not_cross() {
    let Some(mut place) = Scenario::new(FEATURES, ["left", "right", "other"]) else { return };
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        let (mut border, other) = (Border::new(&place), place.sender("other"));
        let file = place.files.path().join("claimed.toml");
        let candor = place.run(&claimed("j1939 = [\"claimed\", \"F0\"]"), engine).start_from(&file);
        assert_eq!([0x0B, 0x0C, 0xF0].map(|address| border.crosses(address)), [true, true, false]);

        // Forwarded, not claimed: it is before the claim that is waited for.
        let forwarded = classic(EXTENDED | 0x18EE_FF0C, &[2; 8]);
        send(&other, &forwarded);
        assert_eq!(next_frame(&border.right), forwarded);
        border.claim(0x0B, 1);
        assert!(border.crosses(0x0C));
        let claim = classic(EXTENDED | 0x18EE_FF0C, &[3; 8]);
        assert_eq!(border.crossed(&claim), []);
        assert_eq!(border.crossed(&classic(0x10B, &[1])), [classic(0x10B, &[1])], "11 bits have no source address");
        let event = alarm(&candor, "j1939", "begins");
        assert_eq!((&event["route"], &event["not_sent"]), (&"border".into(), &Value::Null), "{event}");

        // The same node moves, and a reload knows it.
        border.claim(0x0D, 1);
        assert!(border.crosses(0x0B));
        crate::candor::write(&file, &claimed("j1939 = [\"claimed\", \"F1\"]"));
        assert_eq!(candor.reload()["event"], "reloaded");
        assert_eq!([0x0B, 0x0D, 0xF0, 0xF1].map(|address| border.crosses(address)), [true, false, true, false]);

        // Nodes keep their addresses while the adapter is away, and the next one hears others.
        place.unplug("right");
        place.plug_in("right");
        candor.notice_with("is back");
        border = Border::new(&place);
        wait_until("frames cross again", || {
            send(&border.left, &classic(ID, &[]));
            hear(&border.right, Duration::from_millis(50)).is_some()
        });
        while hear(&border.right, Duration::from_millis(100)).is_some() {}
        assert!(!border.crosses(0x0D));
        border.claim(0x0E, 4);

        let text = crate::metrics::of_run_dir(place.run_dir.path());
        let line = "candor_route_guard_violations_total{route=\"border\",from=\"left\",to=\"right\",side=\"user\",rule=\"j1939\"} ";
        let counted = text.lines().find_map(|at| at.strip_prefix(line)).unwrap_or_else(|| panic!("{text}"));
        assert_ne!(counted, "0");
        candor.stop();
    }
}
