//! `candor watch` on a virtual bus: what it reports of frames, and that it forwards none.

use crate::prelude::*;

const FILE: &str = r#"
engine = "auto"

[bus.left]
interface = "t-left"

[bus.right]
interface = "t-absent"

[[route]]
name = "speed"
from = "left"
to = "right"
match = "123"
guard = { len = 2, rate = "20 frames/s", burst = 3, on-violation = "drop" }

[[route]]
name = "brake"
from = "left"
to = "right"
match = "200"
frames = "classic"
check = { e2e = "P01", data-id = 0x123 }
"#;

fn watch(scene: &Scenario, arguments: &[&str]) -> Candor {
    let file = scene.file("watched.toml", FILE);
    let candor = Candor::spawn(scene.command(&["watch", &file, "--json"]).args(arguments), "");
    assert_eq!(candor.event(&["watching", "invalid"])["event"], "watching");
    candor
}

#[test]
#[ignore = "runs in a guest"]
fn reports_what_the_file_does_not_allow_and_sends_nothing() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let (left, right) = (scene.sender("left"), scene.listener("right"));
    let candor = watch(&scene, &[]);
    for _ in 0..50 {
        send(&left, &classic(0x123, &[1, 2]));
    }
    send(&left, &classic(0x6A0, &[2, 0x10]));
    send(&left, &classic(0x200, &[0xFF, 1, 2, 3, 4, 5, 6, 7]));
    let mut found = Vec::new();
    while found.len() < 3 {
        let event = candor.event(&["alarm", "unlisted", "check"]);
        let what = ["rule", "id", "verdict"].into_iter().find_map(|key| event[key].as_str().map(str::to_owned));
        assert_eq!(event["state"], "begins", "{event}");
        found.push((event["event"].as_str().unwrap().to_owned(), what.unwrap()));
    }
    found.sort();
    let wanted = [("alarm", "rate"), ("check", "wrong-checksum"), ("unlisted", "6A0")];
    assert_eq!(found, wanted.map(|(event, what)| (event.to_owned(), what.to_owned())));
    let ended = candor.end(Signal::Interrupt);
    let end = ended.event("end");
    assert_eq!((&end["frames"], &end["unlisted"], &end["alarms"]), (&52.into(), &1.into(), &3.into()), "{end}");
    let speed = &end["routes"][0];
    let [allowed, refused] = ["allowed", "refused"].map(|key| speed[key].as_u64().unwrap());
    assert_eq!(allowed + refused, 50, "{end}");
    assert!(allowed >= 3 && refused == speed["found"]["rate"].as_u64().unwrap(), "{end}");
    assert_eq!(ended.status.code(), Some(1));
    assert!(hear(&right, Duration::from_millis(50)).is_none());
}

#[test]
#[ignore = "runs in a guest"]
fn finds_nothing_in_allowed_frames() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let left = scene.sender("left");
    let candor = watch(&scene, &["--duration", "2s"]);
    send(&left, &classic(0x123, &[1, 2]));
    let ended = candor.wait();
    let end = ended.event("end");
    assert_eq!((&end["frames"], &end["alarms"], &end["routes"][0]["allowed"]), (&1.into(), &0.into(), &1.into()));
    assert_eq!(ended.status.code(), Some(0));
    let file = scene.file("watched.toml", FILE);
    output(&mut scene.command(&["watch", &file, "--on", "right"])).assert(2, &["no route comes from this bus"]);
    output(&mut scene.command(&["watch", &file, "--on", "horn"])).assert(2, &["no such bus", "left, right"]);
}
