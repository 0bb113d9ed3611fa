//! `candor-lab measure` on this machine: testbed `host`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use candor_io::process;
use candor_io::signal::{self, Signal};
use serde_json::Value;

use crate::candor::{Place, Said, lab, said};
use crate::require::{Feature, jobs_between, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];
const PATIENCE: Duration = Duration::from_secs(60);

const BENCH: &str = "[bench]\nsend = \"t-left\"\nreceive = \"t-right\"\nfrom = \"t-left\"\nto = \"t-right\"\n";

pub(crate) fn written(folder: &Path, factors: &str) -> std::path::PathBuf {
    let plan = folder.join("plan.toml");
    let numbers = "warm-up = 5\ngap-min = \"200us\"\ngap-max = \"400us\"\nlost-after = \"200ms\"\n";
    fs::write(&plan, format!("{numbers}{factors}")).unwrap();
    plan
}

fn measure(plan: &Path) -> Command {
    let mut command = Command::new(lab());
    command.arg("measure").arg(plan).arg("--json");
    command
}

/// The cells, by gateway and traffic.
pub(crate) fn cells(said: &Said) -> Vec<(String, Value)> {
    let answer: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    let name = |cell: &Value| {
        let level = |factor: &str| cell["levels"][factor].as_str().unwrap_or_default().to_owned();
        format!("{}, {}", level("gateway"), level("traffic"))
    };
    answer["cells"].as_array().unwrap().iter().map(|cell| (name(cell), cell.clone())).collect()
}

/// Times of user-mode Linux mean nothing, lateness included.
fn is_measured(cell: &Value) -> bool {
    let invalid = cell["state"]["invalid"].as_str().unwrap_or_default();
    cell["state"] == "ok" || invalid.starts_with("the tester was late")
}

/// Command lines of what a measurement starts, here or on a board that is here.
pub(crate) fn leftovers() -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    let is_ours = |line: &String| {
        let mut words = line.split_whitespace();
        let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        program.starts_with("candor")
            && matches!(
                words.next(),
                Some("supervise" | "hold" | "cells" | "load" | "relay" | "run" | "baseline" | "preflight")
            )
    };
    all.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(is_ours).collect()
}

pub(crate) fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < PATIENCE, "{what}: {:?}", leftovers());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn this_machine_is_a_testbed() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        &format!(
            "frames = 40\n[factor]\ntestbed = \"host\"\ngateway = [\"none\", \"kernel\", \"read-write\", \"bare\", \"broken\"]\n\
             traffic = [\"one at a time\", \"every 5ms\"]\n[gateway.bare]\nbaseline = \"read-write\"\n[gateway.broken]\n\
             command = [\"candor\", \"run\", \"nothing.toml\"]\n{BENCH}"
        ),
    );
    let run = said(measure(&plan));
    assert_eq!(run.status, 1, "{run:?}");
    let cells = cells(&run);
    assert_eq!(cells.len(), 10);
    for (name, cell) in &cells {
        if name.starts_with("broken") {
            assert!(cell["state"]["failed"].as_str().unwrap().contains("ended"), "{cell:#}");
            continue;
        }
        assert!(is_measured(cell), "{cell:#}");
        assert_eq!((&cell["frames"], &cell["lost"]), (&40.into(), &0.into()), "{cell:#}");
        assert_eq!(cell["levels"]["topology"], "bench");
    }
    assert_eq!((jobs_between(&[&place.left, &place.right]), leftovers()), (Vec::new(), Vec::new()));
    let records = fs::read_dir(folder.path().join("plan.results/blocks")).unwrap();
    let texts: Vec<String> = records
        .flat_map(|block| fs::read_dir(block.unwrap().path()).unwrap())
        .filter_map(|file| Some(file.unwrap().path()).filter(|path| path.to_string_lossy().ends_with(".record.csv")))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(texts.len(), 8);
    assert!(texts.iter().all(|text| text.contains("\"testbed\":\"host\"")), "{}", texts[0]);
    // What is measured stays, also what failed.
    let again = said(measure(&plan));
    assert_eq!(again.out, run.out);
    assert!(again.err.contains("10 of 10 cells have been measured already"), "{again:?}");
}

#[test]
#[ignore = "runs in a guest"]
fn a_black_box_is_left_alone() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let gateway = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n[[route]]\nname = \"all\"\n\
                   from = \"left\"\nto = \"right\"\necho = true\n";
    let box_itself = place.run(gateway, "kernel", None).start();
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        "frames = 40\n[factor]\ntestbed = \"host\"\ngateway = \"external\"\ntraffic = [\"one at a time\", \"every 5ms\"]\n\
         [bench]\nsend = \"t-left\"\nreceive = \"t-right\"\nfrom = \"t-left\"\nto = \"t-right\"\n",
    );
    let run = said(measure(&plan));
    for (name, cell) in cells(&run) {
        assert!(is_measured(&cell), "{name}: {cell:#}");
        assert_eq!((&cell["frames"], &cell["lost"]), (&40.into(), &0.into()), "{cell:#}");
    }
    assert!(!jobs_between(&[&place.left, &place.right]).is_empty(), "{run:?}");
    assert!(box_itself.end(Signal::Terminate).status.success());
}

/// Starts a measurement of the kernel's gateway that takes longer than anybody waits, and waits until it is under way.
fn under_way(place: &Place, folder: &Path) -> Child {
    let factors = "frames = 1_000_000\n[factor]\ntestbed = \"host\"\ngateway = \"kernel\"\nload = \"cpu 2\"\n";
    let plan = written(folder, &format!("{factors}{BENCH}"));
    let child = measure(&plan).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("no job", || !jobs_between(&[&place.left, &place.right]).is_empty());
    wait_until("no load", || leftovers().iter().any(|line| line.contains(" relay")));
    child
}

#[test]
#[ignore = "runs in a guest"]
fn an_interrupted_measurement_leaves_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    for end in [Some(Signal::Interrupt), Some(Signal::Terminate), None] {
        let mut child = under_way(&place, folder.path());
        match end {
            Some(signal) => signal::send(child.id(), signal).unwrap(),
            None => process::kill(child.id()).unwrap(),
        }
        child.wait().unwrap();
        wait_until("jobs stay", || jobs_between(&[&place.left, &place.right]).is_empty());
        wait_until("processes stay", || leftovers().is_empty());
        let blocks = folder.path().join("plan.results/blocks");
        let names: Vec<_> = fs::read_dir(&blocks).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name.to_string_lossy().ends_with(".part")), "{names:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn what_is_missing_is_said_before_anything_runs() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    place.right.set_down();
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        &format!(
            "[factor]\ntestbed = \"host\"\ngateway = [\"kernel\", \"x\"]\n[gateway.x]\ncommand = [\"no-such-program\"]\n{}",
            BENCH.replace("send = \"t-left\"", "send = \"t-nowhere\"")
        ),
    );
    let run = said(measure(&plan));
    assert_eq!(run.status, 2, "{run:?}");
    for part in ["not ready to measure", "no interface t-nowhere", "t-right is down", "no-such-program"] {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
    assert!(jobs_between(&[&place.left, &place.right]).is_empty());
    // As a user without rights.
    place.right.set_up();
    let plan = written(
        folder.path(),
        &format!("[factor]\ntestbed = \"host\"\ngateway = \"kernel\"\ntraffic = \"every 1ms\"\n{BENCH}"),
    );
    let mut command = measure(&plan);
    command.arg("--out").arg(folder.path().join("other"));
    std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let run = said(command);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("CAP_NET_RAW") && run.err.contains("CAP_NET_ADMIN"), "{run:?}");
}

/// 20 frames of 1xx that pass, 20 of 2xx that the rules keep back; each looks as some others do.
fn log() -> String {
    let line = |number: u32| {
        let frame = match number % 4 {
            0 => "100#AB",
            2 => "102#AB",
            _ => "200#",
        };
        format!("({}.{:06}) can0 {frame}\n", 1_000 + number / 100, (number % 100) * 5_000)
    };
    (0..40).map(line).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn a_log_is_sent_again() {
    let Some(_machine) = require(NEEDS) else { return };
    let _place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("drive.log"), log()).unwrap();
    let factors = "frames = 100\n[factor]\ntestbed = \"host\"\ngateway = [\"none\", \"kernel\", \"read-write\"]\nrules = \"some\"\n\
                   traffic = \"replay drive.log\"\n[rules.some]\nroutes = \"[[route]]\\nname = \\\"some\\\"\\nfrom = \\\"first\\\"\\n\
                   to = \\\"second\\\"\\nmatch = \\\"100:700\\\"\\necho = true\\nset = { data = \\\"EE00000000000000\\\" }\\nframes = \\\"classic\\\"\\n\"\n";
    let plan = written(folder.path(), &format!("{factors}{BENCH}"));
    let run = said(measure(&plan));
    let fates = |name: &str| {
        let blocks = fs::read_dir(folder.path().join("plan.results/blocks")).unwrap();
        let files = blocks.flat_map(|block| fs::read_dir(block.unwrap().path()).unwrap());
        let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        let record = texts.into_iter().find(|text| text.contains(&format!("\"device\":\"{name}\""))).unwrap();
        ["ok", "filtered"].map(|fate| record.lines().filter(|line| line.ends_with(&format!(",{fate}"))).count())
    };
    for (name, cell) in cells(&run) {
        assert!(is_measured(&cell), "{name}: {cell:#}");
        assert_eq!((&cell["frames"], &cell["lost"]), (&35.into(), &0.into()), "{cell:#}");
    }
    // Of 40 frames 5 are for the warm-up, 3 of them of 1xx.
    assert_eq!((fates("kernel"), fates("read-write"), fates("none")), ([17, 18], [17, 18], [35, 0]));
    fs::write(folder.path().join("drive.log"), log().replace("200#", "201#")).unwrap();
    let again = said(measure(&plan));
    assert_eq!(again.status, 2, "{again:?}");
    assert!(again.err.contains("results of another drive.log"), "{again:?}");
    fs::write(folder.path().join("drive.log"), log().replace("200#", "200")).unwrap();
    let wrong = said(measure(&plan));
    assert_eq!(wrong.status, 1, "{wrong:?}");
    assert!(wrong.out.contains("P0310") && wrong.out.contains("line 2"), "{wrong:?}");
}
