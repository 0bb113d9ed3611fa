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
    assert_eq!(alarm(&candor, "length", "begins")["frame"], "123#010203");
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
    assert_eq!(alarm(&candor, "length", "begins")["not_sent"], Value::Null);
    candor.stop();
}
