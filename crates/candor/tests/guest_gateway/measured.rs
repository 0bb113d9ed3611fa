//! `candor-lab measure` on this machine: testbed `host`.

use std::io;

use crate::prelude::*;

pub(crate) struct Measurement {
    pub(crate) scene: Scenario,
}

impl Measurement {
    pub(crate) fn new(features: &[Feature]) -> Option<Self> {
        Some(Self { scene: Scenario::new(features, ["left", "right"])? })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.scene.files.path()
    }

    /// Writes a plan of these tables.
    pub(crate) fn plan(&self, tables: &str) {
        let (numbers, bench) = (include_str!("measured/numbers.toml"), include_str!("measured/bench.toml"));
        self.scene.file("plan.toml", &[numbers, tables, bench].concat());
    }

    /// Replaces text of the plan.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.folder().join("plan.toml")).unwrap();
        assert!(text.contains(from), "{text}");
        self.scene.file("plan.toml", &text.replace(from, to));
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(lab());
        command.arg("measure").arg(self.folder().join("plan.toml")).arg("--json");
        command
    }

    pub(crate) fn run(&self) -> Output {
        output(&mut self.command())
    }

    pub(crate) fn records(&self) -> Vec<String> {
        let blocks = fs::read_dir(self.folder().join("plan.results/blocks")).unwrap();
        let files =
            blocks.flat_map(|block| fs::read_dir(block.unwrap().path()).unwrap()).map(|file| file.unwrap().path());
        files
            .filter(|path| path.to_string_lossy().ends_with(".record.csv"))
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }

    /// No block has been completed.
    #[track_caller]
    pub(crate) fn assert_unfinished(&self) {
        let blocks = fs::read_dir(self.folder().join("plan.results/blocks")).unwrap();
        let names: Vec<_> = blocks.map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name.to_string_lossy().ends_with(".part")), "{names:?}");
    }

    /// Waits until a measurement of the kernel engine with load runs.
    pub(crate) fn wait_for_load(&self) {
        wait_until("a job is installed", || !self.scene.jobs().is_empty());
        wait_until("the load runs", || leftovers().iter().any(|line| line.contains(" relay")));
    }
}

pub(crate) fn cells(run: &Output) -> Vec<(String, Value)> {
    let name = |cell: &Value| {
        let level = |factor: &str| cell["levels"][factor].as_str().unwrap_or_default().to_owned();
        format!("{}, {}", level("gateway"), level("traffic"))
    };
    run.json()["cells"].as_array().unwrap().iter().map(|cell| (name(cell), cell.clone())).collect()
}

/// All frames arrived. Times of user-mode Linux mean nothing, so the tester may be late.
#[track_caller]
fn assert_measured(cell: &Value, frames: u32) {
    let invalid = cell["state"]["invalid"].as_str().unwrap_or_default();
    assert!(cell["state"] == "ok" || invalid.starts_with("the tester was late"), "{cell:#}");
    assert_eq!((&cell["frames"], &cell["lost"]), (&frames.into(), &0.into()), "{cell:#}");
}

pub(crate) fn command_lines() -> Vec<(u32, String)> {
    let line = |entry: io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let line = fs::read(path.join("cmdline")).ok()?;
        Some((path.file_name()?.to_str()?.parse().ok()?, String::from_utf8_lossy(&line).replace('\0', " ")))
    };
    fs::read_dir("/proc").unwrap().filter_map(line).collect()
}

/// Command lines of processes that a measurement starts.
pub(crate) fn leftovers() -> Vec<String> {
    let commands = ["supervise", "hold", "cells", "load", "relay", "run", "baseline", "preflight"];
    let is_ours = |line: &String| {
        let mut words = line.split_whitespace();
        let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
        program.starts_with("candor") && words.next().is_some_and(|word| commands.contains(&word))
    };
    command_lines().into_iter().map(|(_, line)| line).filter(is_ours).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn measures_gateways_of_this_machine() {
    let Some(bench) = Measurement::new(VCAN_AND_CANGW) else { return };
    bench.plan(include_str!("measured/gateways.toml"));
    let run = bench.run();
    assert_eq!(run.status, 1, "{run:?}");
    let cells = cells(&run);
    assert_eq!(cells.len(), 10);
    for (name, cell) in &cells {
        if name.starts_with("broken") {
            assert!(cell["state"]["failed"].as_str().unwrap().contains("ended"), "{cell:#}");
            continue;
        }
        assert_measured(cell, 40);
        assert_eq!(cell["levels"]["topology"], "bench");
    }
    assert_eq!((bench.scene.jobs(), leftovers()), (Vec::new(), Vec::new()));
    let records = bench.records();
    assert_eq!(records.len(), 8);
    assert!(records.iter().all(|text| text.contains("\"testbed\":\"host\"")), "{}", records[0]);
    // Results are kept, also those of failures.
    let again = bench.run();
    assert_eq!(again.out, run.out);
    assert!(again.err.contains("10 of 10 cells have already been measured"), "{again:?}");
}

#[test]
#[ignore = "runs in a guest"]
fn leaves_an_external_gateway_alone() {
    let Some(bench) = Measurement::new(VCAN_AND_CANGW) else { return };
    let gateway = LEFT_RIGHT.to_owned() + &route("all", "left", "right", "echo = true");
    let external = bench.scene.start(&gateway, "kernel");
    bench.plan(include_str!("measured/external.toml"));
    let run = bench.run();
    for (_, cell) in cells(&run) {
        assert_measured(&cell, 40);
    }
    assert!(!bench.scene.jobs().is_empty(), "{run:?}");
    external.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn an_interrupted_measurement_leaves_nothing() {
    let Some(bench) = Measurement::new(VCAN_AND_CANGW) else { return };
    // Longer than the test.
    bench.plan(include_str!("measured/long.toml"));
    for end in [Some(Signal::Interrupt), Some(Signal::Terminate), None] {
        let mut child = bench.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        bench.wait_for_load();
        match end {
            Some(signal) => signal::send(child.id(), signal).unwrap(),
            None => process::kill(child.id()).unwrap(),
        }
        child.wait().unwrap();
        wait_until("the jobs are removed", || bench.scene.jobs().is_empty());
        wait_until("the processes end", || leftovers().is_empty());
        bench.assert_unfinished();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn reports_what_is_missing_before_it_measures() {
    let Some(bench) = Measurement::new(VCAN_AND_CANGW) else { return };
    let right = bench.scene.bus("right");
    right.set_down();
    bench.plan(include_str!("measured/missing.toml"));
    bench.edit("send = \"t-left\"", "send = \"t-nowhere\"");
    bench
        .run()
        .assert(2, &["not ready to measure", "Interface t-nowhere not found", "t-right is down", "no-such-program"]);
    assert!(bench.scene.jobs().is_empty());
    // As a user without privileges.
    right.set_up();
    bench.plan(include_str!("measured/paced.toml"));
    let mut command = bench.command();
    command.arg("--out").arg(bench.folder().join("other"));
    std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    fs::set_permissions(bench.folder(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    output(&mut command).assert(2, &["CAP_NET_RAW", "CAP_NET_ADMIN"]);
}

/// 20 frames of 1xx, which pass, and 20 of 2xx, which the rules filter. No frame is unique.
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
fn replays_a_log() {
    let Some(bench) = Measurement::new(VCAN_AND_CANGW) else { return };
    bench.scene.file("drive.log", &log());
    bench.plan(include_str!("measured/replay.toml"));
    let run = bench.run();
    for (_, cell) in cells(&run) {
        assert_measured(&cell, 35);
    }
    let outcomes = |name: &str| {
        let mut records = bench.records().into_iter();
        let record = records.find(|text| text.contains(&format!("\"device\":\"{name}\""))).unwrap();
        let count = |outcome| record.lines().filter(|line| line.ends_with(&format!(",{outcome}"))).count();
        ["ok", "filtered"].map(count)
    };
    // Of 40 frames 5 are for the warm-up, 3 of them of 1xx.
    assert_eq!(["kernel", "read-write", "none"].map(outcomes), [[17, 18], [17, 18], [35, 0]]);
    bench.scene.file("drive.log", &log().replace("200#", "201#"));
    bench.run().assert(2, &["results of another drive.log"]);
    bench.scene.file("drive.log", &log().replace("200#", "200"));
    let refused = bench.run();
    assert_eq!(refused.status, 2, "{refused:?}");
    let finding = &refused.json()["findings"][0];
    assert_eq!(finding["code"], "P0310", "{refused:?}");
    assert!(finding["message"].as_str().unwrap().contains("line 2"), "{finding:#}");
}
