//! Plans: cells become records, even if interrupted or split.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Called, Lab};

const PLAN: &str = include_str!("plans/parts.toml");

fn measure(lab: &Lab, plan: &str, options: &[&str]) -> Called {
    lab.call(&[&["measure", plan], options].concat())
}

fn merge(lab: &Lab, parts: &[&str], out: &str) -> Called {
    let parts: Vec<_> = parts.iter().map(|part| lab.at(part)).collect();
    Called::of(lab.command(&["merge", "--out", &lab.at(out)]).args(parts))
}

fn cells(results: &Value) -> &[Value] {
    results["cells"].as_array().unwrap()
}

fn cell<'a>(results: &'a Value, gateway: &str) -> &'a Value {
    cells(results).iter().find(|cell| cell["levels"]["gateway"] == gateway).unwrap()
}

#[track_caller]
fn all_frames_arrived(results: &Value, frames: u32) {
    for cell in cells(results) {
        assert_eq!(
            (&cell["state"], &cell["frames"], &cell["lost"]),
            (&"ok".into(), &frames.into(), &0.into()),
            "{cell:#}"
        );
    }
}

/// All files in a directory with their contents.
pub(super) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(name, bytes)| (path.join(name), bytes)));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all.into_iter().map(|(path, bytes)| (path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes)).collect()
}

fn records(folder: &Path) -> Vec<String> {
    let all = files(folder).into_iter().filter(|(path, _)| path.to_string_lossy().ends_with(".record.csv"));
    all.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect()
}

/// The rows of a record, and the positions of some columns.
fn rows<'a, const N: usize>(record: &'a str, columns: [&str; N]) -> (Vec<Vec<&'a str>>, [usize; N]) {
    let mut rows: Vec<Vec<&str>> = record.lines().skip(2).map(|line| line.split(',').collect()).collect();
    let names = rows.remove(0);
    (rows, columns.map(|column| names.iter().position(|name| *name == column).unwrap()))
}

#[test]
#[ignore = "boots guests"]
fn missing_program_is_reported_before_a_guest_boots() {
    let Some(lab) = Lab::find() else { return };
    let plan =
        "[factor]\ngateway = [\"kernel\", \"mine\"]\n[gateway.mine]\ncommand = [\"candor-has-no-such-program\"]\n";
    let run = measure(&lab, &lab.write("plan.toml", plan), &[]).exits_with(2);
    let run = run.reports("no program candor-has-no-such-program");
    assert!(!run.stderr.contains("block"), "{}", run.stderr);
}

#[test]
#[ignore = "boots guests"]
fn plan_in_parts_gives_the_same_results() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write("plan.toml", PLAN);
    let whole = measure(&lab, &plan, &["--json"]).exits_with(0);
    let results = whole.json();
    assert_eq!((cells(&results).len(), &results["missing"]), (4, &0.into()));
    all_frames_arrived(&results, 60);
    for cell in cells(&results) {
        assert!(cell["p50_ns"].as_i64().unwrap() > 1000, "{cell:#}");
    }
    // Nothing is measured again, and the output is the same.
    let again = measure(&lab, &plan, &["--json"]).reports("4 of 4 cells have already been measured");
    assert_eq!(again.stdout, whole.stdout);
    for part in ["1", "2"] {
        measure(&lab, &plan, &["--shard", &format!("{part}/2"), "--out", &lab.at(part)]).exits_with(0);
    }
    merge(&lab, &["1"], "together").exits_with(1).reports("2 cells missing");
    merge(&lab, &["1", "2"], "together").exits_with(0);
    let (one, other) = (files(&lab.path("plan.results")), files(&lab.path("together")));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(other[name] == *bytes, "{} differs", name.display());
    }
}

/// The log is copied into the guest and stored with the results.
#[test]
#[ignore = "boots guests"]
fn log_is_replayed_and_stored() {
    let Some(lab) = Lab::find() else { return };
    let plan = "frames = 30\nwarm-up = 5\n[factor]\ngateway = [\"none\", \"kernel\", \"read-write\"]\ntraffic = \"replay a/drive.log\"\n";
    let plan = lab.write("plan.toml", plan);
    let line = |number: u32| format!("(7.{:06}) can0 {:03X}#{number:02X}\n", number * 700, number % 5);
    fs::create_dir(lab.path("a")).unwrap();
    lab.write("a/drive.log", &(0..35).map(line).collect::<String>());
    for name in ["one", "other"] {
        all_frames_arrived(&measure(&lab, &plan, &["--json", "--out", &lab.at(name)]).exits_with(0).json(), 30);
    }
    assert!(files(&lab.path("one")) == files(&lab.path("other")), "two runs differ");
    assert!(lab.path("one/logs/1-drive.log").is_file());
    // The plan in the results uses the log stored there.
    let again = measure(&lab, &lab.at("one/plan.toml"), &["--out", &lab.at("one")]);
    again.reports("3 of 3 cells have already been measured");
    merge(&lab, &["one"], "whole").exits_with(0);
    assert!(files(&lab.path("one")) == files(&lab.path("whole")));
    lab.write("other/logs/1-drive.log", "(1.0) can0 001#\n");
    merge(&lab, &["one", "other"], "both").exits_with(2).reports("results of another a/drive.log");
}

/// Load, another program, no gateway, and gateways that cannot work.
#[test]
#[ignore = "boots guests"]
fn failed_cells_stay_visible() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write("plan.toml", include_str!("plans/failing.toml"));
    let results = measure(&lab, &plan, &["--json"]).exits_with(1).json();
    let of = |gateway| cell(&results, gateway);
    assert_eq!(of("none")["state"], "ok", "{results:#}");
    assert_eq!(of("cangw")["state"], "ok", "{results:#}");
    assert!(of("broken")["state"]["failed"].as_str().unwrap().contains("ended before it was ready"), "{results:#}");
    assert_eq!(of("silent")["state"]["invalid"], "no frame arrived");
    let name = format!("{}.record.csv", of("cangw")["name"].as_str().unwrap());
    let all = files(&lab.path("plan.results"));
    let (_, bytes) = all.iter().find(|(path, _)| path.ends_with(&name)).unwrap();
    let header = str::from_utf8(bytes).unwrap().lines().nth(1).unwrap();
    let header: Value = serde_json::from_str(header.trim_start_matches("# ")).unwrap();
    assert_eq!(header["load"], "cpu 2");
    assert!(header["activity_per_second"]["context_switches"].as_u64().unwrap() > 1000, "{header:#}");
}

#[test]
#[ignore = "boots guests"]
fn stages_of_frames_are_complete_and_repeat() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write(
        "plan.toml",
        "frames = 40\nwarm-up = 5\nstages = true\n[factor]\ntopology = [\"vcan\", \"kvaser\"]\ngateway = [\"none\", \"kernel\"]\n\
         traffic = [\"one at a time\", \"every 1ms\"]\n",
    );
    for name in ["one", "other"] {
        measure(&lab, &plan, &["--out", &lab.at(name)]).exits_with(0);
    }
    assert!(files(&lab.path("one")) == files(&lab.path("other")), "two runs differ");
    let records = records(&lab.path("one"));
    assert_eq!(records.len(), 8);
    for record in &records {
        let (rows, order) = rows(record, ["sent_ns", "queued_ns", "handed_ns"]);
        for row in rows {
            let times = order.map(|at| row[at].parse::<i64>().unwrap_or_else(|_| panic!("{row:?}")));
            assert!(times.is_sorted(), "{row:?}");
        }
    }
}

/// The guest gets the adapter that the plan needs.
#[test]
#[ignore = "boots guests"]
fn hardware_stamps_are_of_one_adapter() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write(
        "plan.toml",
        "frames = 30\nwarm-up = 5\nstamps = \"hardware\"\n[factor]\ntopology = \"wire\"\ngateway = [\"none\", \"kernel\"]\n\
         traffic = [\"one at a time\", \"every 2ms\"]\n",
    );
    let results = measure(&lab, &plan, &["--json"]).exits_with(0).json();
    for cell in cells(&results) {
        assert_eq!((&cell["state"], &cell["lost"]), (&"ok".into(), &0.into()), "{cell:#}");
        // Without a gateway, both channels receive the same frame.
        let is_null = cell["levels"]["gateway"] == "none";
        assert_eq!(cell["p50_ns"].as_i64().unwrap() == 0, is_null, "{cell:#}");
    }
    let records = records(&lab.path("plan.results"));
    assert_eq!(records.len(), 4);
    for record in &records {
        assert!(record.contains("\"stamps\":\"adapter receive stamps"), "{record}");
        let (rows, columns) = rows(record, ["monitor_ns", "far_ns"]);
        for row in rows {
            let [monitor, far] = columns.map(|at| row[at].parse::<i64>().unwrap());
            assert_eq!((far - monitor) % 1000, 0, "the adapter counts microseconds: {row:?}");
        }
    }
}

/// can-gw keeps up at rates where user space no longer does.
#[test]
#[ignore = "boots guests"]
fn highest_rate_without_loss_is_reproducible() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write(
        "plan.toml",
        "frames = 3000\nwarm-up = 50\nlost-after = \"50ms\"\n[factor]\nshift = 3\ngateway = [\"kernel\", \"read-write\"]\n\
         traffic = \"throughput up to 20000 frames/s\"\n",
    );
    let results = measure(&lab, &plan, &["--json", "--out", &lab.at("one")]).exits_with(0).json();
    let rate = |gateway: &str, which: &str| {
        let cell = cell(&results, gateway);
        assert_eq!((&cell["state"], &cell["frames"]), (&"ok".into(), &3000.into()), "{cell:#}");
        cell[which].as_u64().unwrap_or_else(|| panic!("{results:#}"))
    };
    let (user, kernel) = (rate("read-write", "no_loss_frames_per_s"), rate("kernel", "no_loss_frames_per_s"));
    assert!(user < kernel && user > 1000, "{user} {kernel}");
    assert!(rate("read-write", "partial_loss_frames_per_s") >= user);
    assert!(measure(&lab, &plan, &["--out", &lab.at("one")]).stdout.contains(" without loss, "));
}

#[test]
#[ignore = "boots guests"]
fn mistakes_in_a_plan_are_reported_before_anything_runs() {
    let Some(lab) = Lab::find() else { return };
    let plan = lab.write("plan.toml", "[factor]\ngateway = [\"kernal\"]\n");
    measure(&lab, &plan, &[]).exits_with(2).reports("did you mean \"kernel\"?");
    let dry = measure(&lab, &lab.write("plan.toml", PLAN), &["--dry-run"]).exits_with(0);
    assert!(dry.stdout.contains("4 cells of 60 frames in 2 guests"), "{}", dry.stdout);
    assert!(!lab.path("plan.results").exists());
}

/// The engines' costs beyond their system calls, within half a percent.
#[test]
#[ignore = "boots guests"]
fn engines_stay_within_their_budgets() {
    let Some(lab) = Lab::find() else { return };
    let budgets = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laboratory/budgets");
    let plan = format!("{budgets}/engines.plan.toml");
    let run = measure(&lab, &plan, &["--out", &lab.at("out"), "--budget", &format!("{budgets}/engines.toml")]);
    let run = run.exits_with(0);
    assert!(run.stdout.contains("\n0 of 12 budgets are exceeded\n"), "{}", run.stdout);
    // The same cells with a budget that cannot be met, and one that matches no cell: nothing is measured again.
    let strict = lab.write(
        "strict.toml",
        "[[budget]]\ngateway = \"kernel\"\np50 = \"1 instructions\"\n[[budget]]\ngateway = \"cangw\"\nlost = 0\n",
    );
    let results = measure(&lab, &plan, &["--out", &lab.at("out"), "--budget", &strict]).exits_with(1).stdout;
    assert!(results.contains("EXCEEDED") && results.contains("The budget on line 4 compares nothing"), "{results}");
    assert!(results.contains("2 of 2 budgets are exceeded"), "{results}");
}
