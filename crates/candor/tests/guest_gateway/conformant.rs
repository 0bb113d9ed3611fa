//! `candor-lab conformance` with correct gateways and a broken one.

use candor_core::filter::Filter;

use crate::prelude::*;

/// Interfaces of the broken gateway, `vcan0:vcan1`, and optionally the number of frames after which it ends:
/// `vcan0:vcan1:500`.
const BROKEN: &str = "CANDOR_TEST_BROKEN_GATEWAY";

fn gateway(keys: &str) -> String {
    LEFT_RIGHT.to_owned() + &route("over", "left", "right", keys)
}

#[derive(Debug)]
struct Found {
    status: i32,
    report: Value,
    errors: String,
}

impl Found {
    fn with(&self, verdict: &str) -> Vec<&str> {
        let properties = self.report["properties"].as_array().unwrap().iter();
        properties.filter(|line| line["verdict"] == verdict).map(|line| line["name"].as_str().unwrap()).collect()
    }

    fn detail(&self, name: &str) -> &str {
        let properties = self.report["properties"].as_array().unwrap();
        properties.iter().find(|line| line["name"] == name).unwrap()["detail"].as_str().unwrap()
    }
}

fn scene() -> Option<Scenario> {
    Scenario::new(VCAN_AND_CANGW, ["left", "right"])
}

/// Runs `candor-lab conformance --json` from left to right.
fn conformance(scene: &Scenario, arguments: &[&str]) -> Found {
    conformance_of("t-left:t-right", scene, arguments)
}

/// The same with this value of [`BROKEN`].
fn conformance_of(broken: &str, scene: &Scenario, arguments: &[&str]) -> Found {
    let mut command = Command::new(lab());
    command.args(["conformance", "--from", "t-left", "--to", "t-right", "--json"]).args(arguments);
    let output = output(command.env("CANDOR_RUN_DIR", scene.run_dir.path()).env(BROKEN, broken));
    let report = serde_json::from_str(&output.out).unwrap_or_default();
    Found { status: output.status, report, errors: output.err }
}

fn candor() -> String {
    program().to_str().unwrap().to_owned()
}

#[test]
#[ignore = "runs in a guest"]
fn both_engines_pass() {
    let Some(scene) = scene() else { return };
    for engine in ["kernel", "read-write"] {
        for (keys, left_out) in [("echo = true", vec!["reverse"]), ("echo = true\nboth-ways = true", vec![])] {
            let path = scene.file("gateway.toml", &gateway(keys));
            let found = conformance(&scene, &["--fd", "--", &candor(), "run", &path, "--engine", engine]);
            assert_eq!((found.status, found.with("no")), (0, vec![]), "{engine}: {found:#?}");
            assert_eq!(found.with("not applicable"), left_out, "{engine}");
            assert_eq!((&found.report["state"], &found.report["all_right"]), (&"runs".into(), &true.into()));
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn applied_jobs_pass_and_are_removed() {
    let Some(scene) = scene() else { return };
    let path = scene.file("gateway.toml", &gateway("echo = true\nboth-ways = true"));
    let teardown = format!("{} down {path}", candor());
    let found = conformance(&scene, &["--both-ways", "--teardown", &teardown, "--", &candor(), "apply", &path]);
    assert_eq!((found.status, found.with("no")), (0, vec![]), "{found:#?}");
    assert_eq!(found.report["state"], "returned");
    assert_eq!(scene.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn a_cangw_rule_passes_with_classic_frames_only() {
    if !is_there(Feature::CanUtils) {
        return;
    }
    let Some(scene) = scene() else { return };
    let rule = ["-s", "t-left", "-d", "t-right", "-e"];
    let teardown = format!("cangw -D {}", rule.join(" "));
    let command = |options: &[&str]| {
        conformance(&scene, &[options, &["--teardown", &teardown, "--", "cangw", "-A"], &rule].concat())
    };
    let fd = ["fd-lengths", "fd-flags", "fd-ids", "fd-payload-bits"];
    let found = command(&[]);
    assert_eq!((found.status, found.with("no")), (1, fd.to_vec()), "{found:#?}");
    let found = command(&["--classic-only", "--one-way"]);
    assert_eq!((found.status, found.with("no")), (0, vec![]), "{found:#?}");
    assert_eq!(found.with("not applicable"), [&fd[..], &["reverse"]].concat());
    assert_eq!(scene.jobs(), []);
}

/// The report has the faults of the broken gateway and no others.
#[test]
#[ignore = "runs in a guest"]
fn a_broken_gateway_fails_where_it_is_broken() {
    let Some(scene) = scene() else { return };
    let found = conformance(&scene, &[&["--"], &broken(&this_program())[..]].concat());
    assert_eq!(found.status, 1, "{found:#?}");
    assert_eq!(found.with("no"), ["raw-dlc", "remote", "order", "doubled"], "{:#}", found.report);
    assert_eq!(found.detail("remote"), "none of 18 arrived");
    assert!(found.detail("raw-dlc").starts_with("7 of 7 changed; first: 080#"), "{}", found.detail("raw-dlc"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_that_ends_early_fails() {
    let Some(scene) = scene() else { return };
    let program = this_program();
    let words = [&["--lost-after", "20ms", "--"], &broken(&program)[..]].concat();
    let found = conformance_of("t-left:t-right:1500", &scene, &words);
    assert_eq!(found.status, 1, "{found:#?}");
    assert!(found.with("no").contains(&"ends") && found.with("ok").contains(&"classic-lengths"), "{:#}", found.report);
    assert!(found.detail("ends").contains("ended by itself"), "{}", found.detail("ends"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_signal_ends_the_test_and_the_gateway() {
    let Some(scene) = scene() else { return };
    // Without echo no frame is seen, so the test waits.
    let (candor, path) = (candor(), scene.file("gateway.toml", &gateway("")));
    let mut test = scene.command(&["conformance", "--from", "t-left", "--to", "t-right", "--wait", "60s"]);
    test.args(["--teardown", &format!("{candor} down {path}"), "--", &candor, "apply", &path]);
    let test = test.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the jobs are installed", || scene.jobs().len() >= 2);
    // Signals are handled from the first frame on, soon after the command has started.
    std::thread::sleep(Duration::from_millis(200));
    signal::send(test.id(), Signal::Terminate).unwrap();
    let output = test.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("the test is incomplete"), "{errors}");
    assert_eq!(scene.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn reports_what_cannot_be_tested() {
    let Some(scene) = scene() else { return };
    // No gateway at all is a finding.
    let found = conformance(&scene, &["--wait", "200ms"]);
    assert_eq!((found.status, found.with("no")), (1, vec!["crosses"]), "{}", found.errors);
    assert!(found.detail("crosses").contains("needs echo"), "{}", found.detail("crosses"));
    // The others are errors.
    for (arguments, expected) in [
        (vec!["--", "no-such-program"], "start no-such-program"),
        (vec!["--", &candor(), "run", "no-such-file"], "ended with exit status: 2"),
        (vec!["--to", "t-left"], "cannot be used multiple times"),
    ] {
        let found = conformance(&scene, &arguments);
        assert_eq!(found.status, 2, "{arguments:?}: {}", found.errors);
        assert!(found.errors.contains(expected), "{arguments:?}: {}", found.errors);
    }
}

fn this_program() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

fn broken(program: &str) -> [&str; 5] {
    [program, "conformant::broken_gateway", "--exact", "--ignored", "--nocapture"]
}

/// The gateway of other tests: it drops remote frames, clears raw DLCs, doubles every 100th frame and delays every 250th by
/// one.
#[test]
#[ignore = "it is the gateway of other tests"]
fn broken_gateway() {
    const DOUBLED: u32 = 100;
    const SWAPPED: u32 = 250;
    let Ok(interfaces) = std::env::var(BROKEN) else {
        println!("SKIP is the gateway of other tests");
        return;
    };
    let mut words = interfaces.split(':');
    let (from, to) = (words.next().unwrap(), words.next().unwrap());
    let last = words.next().map_or(u32::MAX, |frames| frames.parse().unwrap());
    let index = |name| link::by_name(&mut Client::open().unwrap(), name).unwrap().unwrap().index;
    let options = Options { filters: &[Filter::ALL], ..Options::default() };
    let (left, right) = (CanSocket::open(index(from), &options).unwrap(), sender_on(index(to)));
    let send = |frame: &Frame| send(&right, frame);
    let mut held = None;
    for number in 1..=last {
        let mut frame = loop {
            let mut bytes = [0; CANFD_MTU];
            let len = left.read(&mut bytes).unwrap();
            let frame = Frame::from_kernel(&bytes[..len]).unwrap();
            if !frame.id.is_rtr() {
                break frame;
            }
        };
        frame.len8_dlc = 0;
        if number % SWAPPED == 0 {
            held = Some(frame);
            continue;
        }
        send(&frame);
        if number % DOUBLED == 0 {
            send(&frame);
        }
        if let Some(held) = held.take() {
            send(&held);
        }
    }
}
