//! Modes on a real kernel: entered by a command and by a frame, announced, left after their time, kept by a reload.

use crate::prelude::*;

const DIAGNOSIS: u32 = 0x7E0;
const ALWAYS: u32 = 0x123;
/// What announces the mode, and its end.
const LASTS: [u8; 1] = [1];
const OVER: [u8; 1] = [0];
const SILENCE: Duration = Duration::from_millis(50);

/// A route that always exists, and one in the mode.
fn file(lasts: &str) -> String {
    let mode = format!(
        "[mode.service]\nfor = \"{lasts}\"\nenter = {{ from = \"left\", frame = \"7F0#0153\" }}\n\
         leave = {{ from = \"left\", frame = \"7F0#00\" }}\n\
         announce = {{ to = [\"left\", \"right\"], frame = \"7F1#01\", every = \"100ms\", at-end = \"7F1#00\" }}\n"
    );
    let flash = "mode = \"service\"\nmatch = \"7E0\"\necho = true\nframes = \"classic\"";
    let always = "match = \"123\"\necho = true\nframes = \"classic\"";
    [LEFT_RIGHT, &mode, &route("flash", "left", "right", flash), &route("always", "left", "right", always)].concat()
}

struct Place {
    scene: Scenario,
    left: CanSocket,
    right: CanSocket,
}

impl Place {
    fn new(features: &[Feature]) -> Option<Self> {
        let scene = Scenario::new(features, ["left", "right"])?;
        let (left, right) = (scene.listener("left"), scene.listener("right"));
        Some(Self { scene, left, right })
    }

    fn start(&self, text: &str, engine: &str) -> Candor {
        self.scene.run(text, engine).start_from(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.scene.files.path().join("candor.toml")
    }

    /// `candor mode` with these arguments.
    fn mode(&self, arguments: &[&str]) -> Output {
        let path = self.path();
        self.scene.candor(&[&["mode", path.to_str().unwrap(), "--json"], arguments].concat())
    }

    /// Which of the two frames cross, after everything else has arrived.
    #[track_caller]
    fn crosses(&self) -> [bool; 2] {
        heard(&self.right);
        for id in [DIAGNOSIS, ALWAYS] {
            send(&self.left, &classic(id, &[7]));
        }
        // The second one arrives last.
        let mut crossed = [false; 2];
        while !crossed[1] {
            let frame = next_frame(&self.right);
            crossed[0] |= frame.id.0 == DIAGNOSIS;
            crossed[1] |= frame.id.0 == ALWAYS;
        }
        crossed
    }
}

/// The frames that wait now.
fn heard(socket: &CanSocket) -> Vec<(u32, Vec<u8>)> {
    let frames = std::iter::from_fn(|| hear(socket, SILENCE).filter(|frame| frame.id.0 != 0x7F0));
    frames.take(100).map(|frame| (frame.id.0, frame.payload().to_vec())).collect()
}

/// Waits for an announcement.
#[track_caller]
fn announced(socket: &CanSocket, payload: &[u8]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let frame = next_frame(socket);
        if (frame.id.0, frame.payload()) == (0x7F1, payload) {
            return;
        }
        assert!(Instant::now() < deadline, "no announcement {payload:?}");
    }
}

#[track_caller]
fn changed(candor: &Candor, by: &str, mode: Option<&str>) {
    let event = candor.event(&["mode"]);
    assert_eq!((&event["by"], &event["mode"], &event["because"]), (&by.into(), &json!(mode), &Value::Null), "{event}");
    let audit = candor.event(&["audit"]);
    let what = if mode.is_none() { format!("service left by {by}") } else { format!("service entered by {by}") };
    assert_eq!((&audit["cause"], &audit["mode"]), (&"mode".into(), &what.into()), "{audit}");
    let (named, other) = if mode.is_none() { ("removed", "added") } else { ("added", "removed") };
    assert_eq!((&audit[named], &audit[other]), (&json!(["flash"]), &json!([])), "{audit}");
    assert_eq!(audit["files"][0]["blake2b_hex"].as_str().unwrap().len(), 128, "{audit}");
}

/// Frames between two looks are taken in their order.
#[test]
#[ignore = "runs in a guest"]
fn the_last_frame_decides() {
    let Some(place) = Place::new(VCAN) else { return };
    let candor = place.start(&file("10min"), "read-write");
    let [enter, leave] = [classic(0x7F0, &[1, 0x53]), classic(0x7F0, &[0])];
    for _ in 0..5 {
        for (frames, lasts) in [([&enter, &leave], Value::Null), ([&leave, &enter], json!("service"))] {
            frames.into_iter().for_each(|frame| send(&place.left, frame));
            // Longer than two looks.
            std::thread::sleep(Duration::from_millis(700));
            assert_eq!(place.mode(&[]).json()["mode"], lasts);
        }
    }
    candor.stop();
}

fn entered_and_left(features: &[Feature], engine: &str) {
    let Some(place) = Place::new(features) else { return };
    let candor = place.start(&file("10min"), engine);
    assert_eq!(place.crosses(), [false, true], "the routes of a mode do not exist outside of it");
    assert_eq!(heard(&place.left), [], "nothing is announced");

    let answer = place.mode(&["service"]);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(answer.json()["added"], json!(["flash"]));
    changed(&candor, "command", Some("service"));
    announced(&place.left, &LASTS);
    announced(&place.right, &LASTS);
    assert_eq!(place.crosses(), [true, true]);
    announced(&place.left, &LASTS);
    let text = crate::metrics::of_run_dir(place.scene.run_dir.path());
    assert!(text.contains("candor_mode{mode=\"service\"} 1\n"), "{text}");
    let answer = place.mode(&[]).json();
    let left = answer["remaining_s"].as_f64().unwrap();
    assert!(answer["mode"] == "service" && left > 500.0 && left <= 600.0, "{answer}");

    assert_eq!(place.mode(&["--leave"]).status, 0);
    changed(&candor, "command", None);
    announced(&place.left, &OVER);
    announced(&place.right, &OVER);
    assert_eq!(place.crosses(), [false, true]);

    // Another payload does not enter it.
    send(&place.left, &classic(0x7F0, &[1, 0x54]));
    send(&place.left, &classic(0x7F0, &[1, 0x53]));
    changed(&candor, "frame", Some("service"));
    announced(&place.right, &LASTS);
    assert_eq!(place.crosses(), [true, true]);
    send(&place.left, &classic(0x7F0, &[0]));
    changed(&candor, "frame", None);
    assert_eq!(place.crosses(), [false, true]);
    assert_eq!(place.mode(&[]).json()["mode"], Value::Null);

    // Counters go on when the mode is entered again.
    place.mode(&["service"]);
    changed(&candor, "command", Some("service"));
    assert_eq!(place.crosses(), [true, true]);
    let refused = place.mode(&["flash"]);
    assert_eq!(refused.status, 1);
    assert!(refused.json()["because"].as_str().unwrap().contains("modes: service"), "{refused:?}");
    let ended = candor.stop();
    assert_eq!((ended.counted("flash"), ended.counted("always")), ([3, 0, 0], [6, 0, 0]));
    announced(&place.right, &OVER);
    place.scene.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn a_mode_is_entered_and_left_in_user_space() {
    entered_and_left(&[Feature::Vcan, Feature::Root], "read-write");
}

#[test]
#[ignore = "runs in a guest"]
fn a_mode_is_entered_and_left_in_the_kernel() {
    entered_and_left(VCAN_AND_CANGW, "kernel");
}

#[test]
#[ignore = "runs in a guest"]
fn a_mode_is_entered_and_left_with_any_engine() {
    entered_and_left(VCAN_AND_CANGW, "auto");
}

#[test]
#[ignore = "runs in a guest"]
fn a_mode_is_left_when_its_time_is_over() {
    let Some(place) = Place::new(&[Feature::Vcan, Feature::Root]) else { return };
    let candor = place.start(&file("2s"), "read-write");
    let begun = Instant::now();
    assert_eq!(place.mode(&["service"]).status, 0);
    changed(&candor, "command", Some("service"));
    assert_eq!(place.crosses(), [true, true]);
    // The frame of the mode begins its time again, and is no event.
    while begun.elapsed() < Duration::from_secs(1) {
        heard(&place.left);
    }
    send(&place.left, &classic(0x7F0, &[1, 0x53]));
    changed(&candor, "time", None);
    assert!(begun.elapsed() >= Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(place.crosses(), [false, true]);
    candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn a_reload_keeps_the_mode_and_its_time() {
    let Some(place) = Place::new(&[Feature::Vcan, Feature::Root]) else { return };
    let candor = place.start(&file("4s"), "read-write");
    let begun = Instant::now();
    assert_eq!(place.mode(&["service"]).status, 0);
    changed(&candor, "command", Some("service"));
    while begun.elapsed() < Duration::from_secs(1) {
        heard(&place.left);
    }
    let reloaded = candor.reload();
    assert_eq!((&reloaded["event"], &reloaded["new_routes"]), (&"reloaded".into(), &json!([])), "{reloaded}");
    candor.event(&["audit"]);
    assert_eq!(place.crosses(), [true, true]);
    announced(&place.right, &LASTS);
    let left = place.mode(&[]).json()["remaining_s"].as_f64().unwrap();
    assert!(left <= 3.0, "{left}");

    // A request for an earlier gateway is no request.
    let control = place.scene.run_dir.path().read_dir().unwrap().map(|file| file.unwrap().path());
    let control = control.into_iter().find(|path| path.extension().is_some_and(|end| end == "reload")).unwrap();
    fs::write(control.with_extension("mode"), "{\"started_ns\":1,\"request\":\"leave\"}").unwrap();
    assert_eq!(candor.reload()["event"], "reloaded");
    candor.event(&["audit"]);
    assert!(!control.with_extension("mode").exists());
    assert_eq!(place.crosses(), [true, true]);
    changed(&candor, "time", None);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());

    // A file without the mode ends it.
    assert_eq!(place.mode(&["service"]).status, 0);
    changed(&candor, "command", Some("service"));
    let always = route("always", "left", "right", "match = \"123\"\necho = true\nframes = \"classic\"");
    crate::candor::write(&place.path(), &(LEFT_RIGHT.to_owned() + &always));
    assert_eq!(candor.reload()["gone_routes"][0]["route"], "flash");
    announced(&place.right, &OVER);
    assert_eq!(place.crosses(), [false, true]);
    candor.stop();
}

/// Closed until somebody opens it.
#[test]
#[ignore = "runs in a guest"]
fn all_routes_may_be_in_a_mode() {
    let Some(place) = Place::new(VCAN_AND_CANGW) else { return };
    let text = file("10min");
    let (closed, _always) = text.rsplit_once("[[route]]").unwrap();
    for engine in ["read-write", "kernel", "auto"] {
        let candor = place.start(closed, engine);
        assert_eq!(place.scene.lists(), 1, "candor mode finds it");
        send(&place.left, &classic(DIAGNOSIS, &[1]));
        assert_eq!(heard(&place.right), []);
        for _ in 0..2 {
            assert_eq!(place.mode(&["service"]).status, 0);
            announced(&place.right, &LASTS);
            send(&place.left, &classic(DIAGNOSIS, &[2]));
            let crossed = std::iter::from_fn(|| hear(&place.right, PATIENCE)).find(|frame| frame.id.0 == DIAGNOSIS);
            assert_eq!(crossed, Some(classic(DIAGNOSIS, &[2])));
            assert_eq!((place.mode(&["--leave"]).status, place.scene.lists()), (0, 1));
            heard(&place.right);
            send(&place.left, &classic(DIAGNOSIS, &[3]));
            assert_eq!(heard(&place.right), []);
        }
        candor.stop();
        place.scene.assert_clean();
    }
}
