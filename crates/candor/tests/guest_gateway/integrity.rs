//! Checksums with counters, on a real kernel. The schemes are proved by the tests of `candor-e2e`; here are routes, metrics and
//! reloads.

use crate::prelude::*;

const FEATURES: &[Feature] = &[Feature::Vcan, Feature::Root];
const ID: u32 = 0x123;
/// P01 with Data-ID 123 of eight zero bytes, by counter: golden vectors.
const GOLDEN: [[u8; 2]; 3] = [[0xCC, 0], [0x91, 1], [0x76, 2]];

fn file(further: &str) -> String {
    let keys = "match = \"123\"\necho = true\nframes = \"classic\"\ncheck = { e2e = \"P01\", data-id = 0x123 }\n\
                and = { data = \"FFFF000000000000\" }\nprotect = { e2e = \"P01\", data-id = 0x123 }";
    LEFT_RIGHT.to_owned() + &route("speed", "left", "right", keys) + further
}

#[test]
#[ignore = "runs in a guest"]
fn changed_frames_arrive_valid_and_bad_ones_do_not() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right"]) else { return };
    let (left, right) = (place.sender("left"), place.listener("right"));
    let path = place.files.path().join("candor.toml");
    let candor = place.run(&file(""), "read-write").start_from(&path);
    let send_with = |[crc, counter]: [u8; 2]| send(&left, &classic(ID, &[crc, counter, 0, 0, 0, 0, 0, 0]));
    let next = || <[u8; 2]>::try_from(&next_frame(&right).payload()[..2]).unwrap();
    // The first one, the same again, a damaged one, and the next one.
    send_with(GOLDEN[0]);
    assert_eq!(next(), GOLDEN[0]);
    send_with(GOLDEN[0]);
    send_with([GOLDEN[1][0] ^ 1, 1]);
    send_with(GOLDEN[1]);
    assert_eq!(next(), GOLDEN[1]);
    let labels = "route=\"speed\",from=\"left\",to=\"right\",side=\"user\"";
    let text = crate::metrics::of_run_dir(place.run_dir.path());
    for (verdict, frames) in [("ok", 1), ("initial", 1), ("repeated", 1), ("wrong-checksum", 1), ("wrong-length", 0)] {
        let line = format!("candor_route_checked_frames_total{{{labels},verdict=\"{verdict}\"}} {frames}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    // A reload of another route keeps both counters.
    place.file("candor.toml", &file(&route("other", "right", "left", "match = \"456\"")));
    assert_eq!(candor.reload()["event"], "reloaded");
    send_with(GOLDEN[1]);
    send_with(GOLDEN[2]);
    assert_eq!(next(), GOLDEN[2]);
    let ended = candor.stop();
    assert_eq!(ended.counted("speed"), [3, 0, 3]);
}

/// P02 with Data-IDs 1 to 16 of seven zero bytes, whose counters are 1 and 2: golden vectors.
const GOLDEN_P02: [[u8; 2]; 2] = [[0x1B, 1], [0x98, 2]];

/// Where can-gw does the same, it protects.
#[test]
#[ignore = "runs in a guest"]
fn the_kernel_protects_frames_that_keep_their_counter() {
    let Some(place) = Scenario::new(&[Feature::Root, Feature::Vcan, Feature::Cangw], ["left", "right"]) else { return };
    let (left, right) = (place.sender("left"), place.listener("right"));
    let keys = "match = \"123\"\necho = true\nframes = \"classic\"\nset = { len = 8 }\n\
                protect = { e2e = \"P02\", data-id = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], counter = \"follow\" }";
    let candor = place.start(&(LEFT_RIGHT.to_owned() + &route("speed", "left", "right", keys)), "kernel");
    for golden in GOLDEN_P02 {
        send(&left, &classic(ID, &[0, golden[1], 0, 0, 0, 0, 0, 0]));
        assert_eq!(next_frame(&right).payload()[..2], golden);
    }
    assert_eq!(candor.stop().counted("speed"), [2, 0, 0]);
}

/// An eBPF program has the counter in a map, which goes on over reloads and in the other engine.
#[test]
#[ignore = "runs in a guest"]
fn a_program_counts_and_user_space_goes_on() {
    let features = &[Feature::Root, Feature::Vcan, Feature::Programs];
    let Some(place) = Scenario::new(features, ["left"]) else { return };
    // A program sends without echo.
    let pair = Pair::new(["t-right", "t-far"]);
    let (left, right) = (place.sender("left"), listener_on(pair.far));
    let file = |further: &str| {
        let keys = "match = \"123\"\nframes = \"classic\"\nprotect = { e2e = \"P01\", data-id = 0x123 }\n";
        LEFT_RIGHT.to_owned() + &route("speed", "left", "right", &format!("{keys}{further}"))
    };
    let path = place.files.path().join("candor.toml");
    let candor = place.run(&file(""), "auto").start_from(&path);
    let mut number = 0;
    let mut sends_next = |side: &str| {
        // A frame of another length is deleted, and takes no number.
        send(&left, &classic(ID, &[0; 7]));
        send(&left, &classic(ID, &[0; 8]));
        let [crc, counter] = <[u8; 2]>::try_from(&next_frame(&right).payload()[..2]).unwrap();
        assert_eq!(counter, number % 15, "{side}");
        if let Some(golden) = GOLDEN.get(usize::from(number)) {
            assert_eq!([crc, counter], *golden, "{side}");
        }
        number += 1;
        let text = crate::metrics::of_run_dir(place.run_dir.path());
        let labels = format!("route=\"speed\",from=\"left\",to=\"right\",side=\"{side}\"");
        assert!(text.contains(&format!("candor_route_deleted_frames_total{{{labels}}} ")), "{text}");
    };
    sends_next("bpf");
    let other = route("other", "left", "right", "match = \"456\"\nset = { id = \"457\" }");
    for (further, side) in [(other.as_str(), "bpf"), ("max-age = \"1s\"\n", "user"), ("", "bpf"), (&other, "bpf")] {
        place.file("candor.toml", &file(further));
        assert_eq!(candor.reload()["event"], "reloaded");
        (0..7).for_each(|_| sends_next(side));
    }
    candor.stop();
}

/// What is sent again has the next counter, in a route with a timing and in a composed frame.
#[test]
#[ignore = "runs in a guest"]
fn frames_that_are_sent_at_other_times_have_new_counters() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right", "third"]) else { return };
    let (left, right, third) = (place.sender("left"), place.listener("right"), place.listener("third"));
    place.file("third.dbc", "BO_ 291 Speed: 8 N\n SG_ S : 16|8@1+ (1,0) [0|0] \"\" N\n");
    let keys = "match = \"123\"\nframes = \"classic\"\ncycle = \"50ms\"\nprotect = { e2e = \"P01\", data-id = 0x123 }";
    let frame = "[[frame]]\nname = \"composed\"\nmessage = \"Speed\"\nto = \"third\"\nsend = \"periodic\"\ncycle = \"50ms\"\n\
                 protect = { e2e = \"P01\", data-id = 0x123 }\n";
    let text = buses(&["left", "right", "third"])
        + &format!("[database]\nthird = \"{}/third.dbc\"\n", place.files.path().display())
        + &route("timed", "left", "right", keys)
        + frame;
    let candor = place.start(&text, "auto");
    send(&left, &classic(ID, &[0; 8]));
    for socket in [&right, &third] {
        for golden in GOLDEN {
            assert_eq!(next_frame(socket).payload()[..2], golden);
        }
    }
    candor.stop();
}

/// The key is 000102…0F. Trip 1, reset 2, message 3: golden vectors of `candor-secoc`.
const SYNC: [u8; 8] = [0x00, 0x01, 0x00, 0x00, 0x2C, 0x10, 0x90, 0xFD];
const SECURED: [u8; 8] = [0x01, 0x02, 0x03, 0x04, 0xE9, 0x63, 0x37, 0xA5];

#[test]
#[ignore = "runs in a guest"]
fn authentic_frames_are_stripped_after_a_sync_frame() {
    let Some(place) = Scenario::new(FEATURES, ["left", "right"]) else { return };
    let (left, right) = (place.sender("left"), place.listener("right"));
    let path = place.files.path().join("candor.toml");
    let key = place.files.path().join("a.key");
    fs::write(&key, "000102030405060708090A0B0C0D0E0F\n").unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let check = |scheme: &str| format!("echo = true\nframes = \"classic\"\ncheck = {{ {scheme}, key = \"a.key\" }}");
    let steering = check("secoc = \"P03\", sync = \"sync\", strip = true");
    let file = LEFT_RIGHT.to_owned()
        + &route("steering", "left", "right", &format!("match = \"131\"\n{steering}"))
        + &route("sync", "left", "right", &format!("match = \"00F\"\n{}", check("secoc = \"sync\"")));
    let candor = place.run(&file, "read-write").start_from(&path);
    // Without a sync frame nothing is authentic.
    send(&left, &classic(0x131, &SECURED));
    send(&left, &classic(0xF, &SYNC));
    assert_eq!(next_frame(&right).payload(), SYNC);
    send(&left, &classic(0x131, &SECURED));
    assert_eq!(next_frame(&right).payload(), &SECURED[..4]);
    // Again, with another payload, and a forged sync frame.
    send(&left, &classic(0x131, &SECURED));
    send(&left, &classic(0x131, &[0xFF, 2, 3, 4, 0xE9, 0x63, 0x37, 0xA5]));
    send(&left, &classic(0xF, &[0xFF, 1, 0, 0, 0x2C, 0x10, 0x90, 0xFD]));
    // A reload of another route keeps the freshness value, and keys are read again.
    place.file("candor.toml", &(file.clone() + &route("other", "right", "left", "match = \"456\"")));
    assert_eq!(candor.reload()["event"], "reloaded");
    send(&left, &classic(0x131, &SECURED));
    send(&left, &classic(0xF, &SYNC));
    assert_eq!(next_frame(&right).payload(), SYNC);
    let labels = "route=\"steering\",from=\"left\",to=\"right\",side=\"user\"";
    let text = crate::metrics::of_run_dir(place.run_dir.path());
    for (verdict, frames) in [("ok", 1), ("no-sync", 1), ("repeated", 2), ("wrong-mac", 1), ("replayed", 0)] {
        let line = format!("candor_route_checked_frames_total{{{labels},verdict=\"{verdict}\"}} {frames}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
    // A key that others can read is refused, and nothing changes.
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    place.file("candor.toml", &file);
    assert_ne!(candor.reload()["event"], "reloaded");
    candor.stop();
}
