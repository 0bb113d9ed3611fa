//! Plans: cells become records, even if interrupted or split.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{static_lab, text};

const PLAN: &str = r#"
frames = 60
warm-up = 5
cells-per-guest = 2
lost-after = "50ms"
[factor]
gateway = ["kernel", "read-write"]
traffic = ["one at a time", "50 %"]
"#;

fn measure(lab: &Path, plan: &Path, options: &[&str]) -> Output {
    Command::new(lab).arg("measure").arg(plan).args(options).output().unwrap()
}

fn written(folder: &Path, plan: &str) -> PathBuf {
    let path = folder.join("plan.toml");
    fs::write(&path, plan).unwrap();
    path
}

/// All files in a folder with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
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

#[test]
#[ignore = "boots guests"]
fn a_program_that_is_missing_is_said_before_a_guest_boots() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text_of_plan =
        "[factor]\ngateway = [\"kernel\", \"mine\"]\n[gateway.mine]\ncommand = [\"candor-has-no-such-program\"]\n";
    fs::write(&plan, text_of_plan).unwrap();
    let run = Command::new(&lab).arg("measure").arg(&plan).output().unwrap();
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("no program candor-has-no-such-program") && !said.contains("block"), "{said}");
}

#[test]
#[ignore = "boots guests"]
fn a_plan_in_parts_gives_what_it_gives_in_one_piece() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(folder.path(), PLAN);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = measure(&lab, &plan, &["--json"]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let told: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    let cells = told["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &told["missing"]), (4, &0.into()));
    for cell in cells {
        assert_eq!((&cell["state"], &cell["frames"], &cell["lost"]), (&"ok".into(), &60.into(), &0.into()), "{cell:#}");
        assert!(cell["p50_ns"].as_i64().unwrap() > 1000, "{cell:#}");
    }
    // Nothing is measured again, and the output is the same.
    let again = measure(&lab, &plan, &["--json"]);
    assert_eq!(again.stdout, whole.stdout);
    assert!(text(&again.stderr).contains("4 of 4 cells have been measured already"), "{}", text(&again.stderr));
    // In two parts.
    for part in ["1", "2"] {
        let options = ["--shard", &format!("{part}/2"), "--out", &at(part)];
        let run = measure(&lab, &plan, &options);
        assert!(run.status.success(), "{}", text(&run.stderr));
    }
    let merge = |parts: &[String]| {
        Command::new(&lab).arg("merge").args(parts).args(["--out", &at("together")]).output().unwrap()
    };
    let half = merge(&[at("1")]);
    assert_eq!(half.status.code(), Some(1));
    assert!(text(&half.stderr).contains("2 cells are missing"), "{}", text(&half.stderr));
    assert!(merge(&[at("1"), at("2")]).status.success());
    let (one, other) = (files(&folder.path().join("plan.results")), files(&folder.path().join("together")));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(other[name] == *bytes, "{} differs", name.display());
    }
}

/// The log is copied into the guest and stored with the results.
#[test]
#[ignore = "boots guests"]
fn a_log_is_replayed_and_kept() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let factors = "frames = 30\nwarm-up = 5\n[factor]\ngateway = [\"none\", \"kernel\", \"read-write\"]\ntraffic = \"replay a/drive.log\"\n";
    let plan = written(folder.path(), factors);
    let line = |number: u32| format!("(7.{:06}) can0 {:03X}#{number:02X}\n", number * 700, number % 5);
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::write(folder.path().join("a/drive.log"), (0..35).map(line).collect::<String>()).unwrap();
    let out = |name: &str| folder.path().join(name);
    for name in ["one", "other"] {
        let run = measure(&lab, &plan, &["--json", "--out", &out(name).display().to_string()]);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        for cell in told["cells"].as_array().unwrap() {
            assert_eq!(
                (&cell["state"], &cell["frames"], &cell["lost"]),
                (&"ok".into(), &30.into(), &0.into()),
                "{cell:#}"
            );
        }
    }
    assert!(files(&out("one")) == files(&out("other")), "two runs differ");
    assert!(out("one").join("logs/1-drive.log").is_file());
    // The plan in the results uses the log stored there.
    let again = measure(&lab, &out("one/plan.toml"), &["--out", &out("one").display().to_string()]);
    assert!(text(&again.stderr).contains("3 of 3 cells have been measured already"), "{}", text(&again.stderr));
    let merge = Command::new(&lab).arg("merge").arg(out("one")).arg("--out").arg(out("whole")).output().unwrap();
    assert!(merge.status.success(), "{}", text(&merge.stderr));
    assert!(files(&out("one")) == files(&out("whole")));
    fs::write(out("other/logs/1-drive.log"), "(1.0) can0 001#\n").unwrap();
    let merge = Command::new(&lab)
        .arg("merge")
        .args([out("one"), out("other")])
        .arg("--out")
        .arg(out("both"))
        .output()
        .unwrap();
    assert_eq!(merge.status.code(), Some(2));
    assert!(text(&merge.stderr).contains("results of another a/drive.log"), "{}", text(&merge.stderr));
}

/// Load, another program, no gateway, and gateways that cannot work.
#[test]
#[ignore = "boots guests"]
fn cells_that_do_not_work_stay_visible() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        r#"
frames = 40
warm-up = 5
lost-after = "20ms"
[factor]
gateway = ["none", "cangw", "broken", "deaf"]
load = "cpu 2"
[gateway.cangw]
command = ["cangw", "-A", "-s", "{from}", "-d", "{to}", "-e"]
stop = ["cangw", "-F"]
[gateway.broken]
command = ["cangw", "-A", "-s", "nothing"]
[gateway.deaf]
command = ["candor-lab", "load", "timers", "1"]
"#,
    );
    let run = measure(&lab, &plan, &["--json"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let of = |gateway: &str| {
        let cells = told["cells"].as_array().unwrap();
        cells.iter().find(|cell| cell["levels"]["gateway"] == gateway).unwrap()
    };
    assert_eq!(of("none")["state"], "ok", "{told:#}");
    assert_eq!(of("cangw")["state"], "ok", "{told:#}");
    assert!(of("broken")["state"]["failed"].as_str().unwrap().contains("ended before it was ready"), "{told:#}");
    assert_eq!(of("deaf")["state"]["invalid"], "no frame arrived");
    let record = files(&folder.path().join("plan.results"));
    let name = format!("{}.record.csv", of("cangw")["name"].as_str().unwrap());
    let (_, bytes) = record.iter().find(|(path, _)| path.ends_with(&name)).unwrap();
    let header: serde_json::Value =
        serde_json::from_str(text(bytes).lines().nth(1).unwrap().trim_start_matches("# ")).unwrap();
    assert_eq!(header["load"], "cpu 2");
    assert!(header["activity_per_second"]["context_switches"].as_u64().unwrap() > 1000, "{header:#}");
}

#[test]
#[ignore = "boots guests"]
fn the_stages_of_a_frame_repeat_byte_for_byte() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        "frames = 40\nwarm-up = 5\nstages = true\n[factor]\ntopology = [\"vcan\", \"kvaser\"]\ngateway = [\"none\", \"kernel\"]\n\
         traffic = [\"one at a time\", \"every 1ms\"]\n",
    );
    let out = |name: &str| folder.path().join(name);
    for name in ["one", "other"] {
        let run = measure(&lab, &plan, &["--out", &out(name).display().to_string()]);
        assert!(run.status.success(), "{}\n{}", text(&run.stdout), text(&run.stderr));
    }
    let one = files(&out("one"));
    assert!(one == files(&out("other")), "two runs differ");
    let records: Vec<String> = one
        .iter()
        .filter(|(path, _)| path.to_string_lossy().ends_with(".record.csv"))
        .map(|(_, bytes)| text(bytes))
        .collect();
    assert_eq!(records.len(), 8);
    for record in records {
        let rows: Vec<Vec<&str>> = record.lines().skip(2).map(|line| line.split(',').collect()).collect();
        let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
        let order = ["sent_ns", "queued_ns", "handed_ns"].map(at);
        for row in &rows[1..] {
            let times = order.map(|at| row[at].parse::<i64>().unwrap_or_else(|_| panic!("{row:?}")));
            assert!(times.is_sorted(), "{row:?}");
        }
    }
}

/// The guest gets the adapter that the plan needs.
#[test]
#[ignore = "boots guests"]
fn all_stamps_of_a_plan_are_of_one_adapter() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        "frames = 30\nwarm-up = 5\nstamps = \"hardware\"\n[factor]\ntopology = \"wire\"\ngateway = [\"none\", \"kernel\"]\n\
         traffic = [\"one at a time\", \"every 2ms\"]\n",
    );
    let run = measure(&lab, &plan, &["--json"]);
    assert!(run.status.success(), "{}\n{}", text(&run.stdout), text(&run.stderr));
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    for cell in told["cells"].as_array().unwrap() {
        assert_eq!((&cell["state"], &cell["lost"]), (&"ok".into(), &0.into()), "{cell:#}");
        // Without a gateway, both channels receive the same frame.
        let is_null = cell["levels"]["gateway"] == "none";
        assert_eq!(cell["p50_ns"].as_i64().unwrap() == 0, is_null, "{cell:#}");
    }
    let all = files(&folder.path().join("plan.results"));
    let records = all.iter().filter(|(path, _)| path.to_string_lossy().ends_with(".record.csv"));
    assert_eq!(records.clone().count(), 4);
    for (_, bytes) in records {
        let record = text(bytes);
        assert!(record.contains("\"stamps\":\"adapter receive stamps"), "{record}");
        let rows: Vec<Vec<&str>> = record.lines().skip(2).map(|line| line.split(',').collect()).collect();
        let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
        let [monitor, far] = ["monitor_ns", "far_ns"].map(at);
        for row in &rows[1..] {
            let [monitor, far] = [monitor, far].map(|at| row[at].parse::<i64>().unwrap());
            assert_eq!((far - monitor) % 1000, 0, "the adapter counts microseconds: {row:?}");
        }
    }
}

/// can-gw keeps up at rates where user space no longer does.
#[test]
#[ignore = "boots guests"]
fn the_highest_rate_without_loss_is_searched_and_found_again() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(
        folder.path(),
        "frames = 3000\nwarm-up = 50\nlost-after = \"50ms\"\n[factor]\nshift = 3\ngateway = [\"kernel\", \"read-write\"]\n\
         traffic = \"throughput up to 20000 frames/s\"\n",
    );
    let out = |name: &str| folder.path().join(name);
    let run = measure(&lab, &plan, &["--json", "--out", &out("one").display().to_string()]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let rate = |gateway: &str, which: &str| {
        let cells = told["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["levels"]["gateway"] == gateway).unwrap();
        assert_eq!((&cell["state"], &cell["frames"]), (&"ok".into(), &3000.into()), "{cell:#}");
        cell[which].as_u64().unwrap_or_else(|| panic!("{told:#}"))
    };
    let (user, kernel) = (rate("read-write", "no_loss_frames_per_s"), rate("kernel", "no_loss_frames_per_s"));
    assert!(user < kernel && user > 1000, "{user} {kernel}");
    assert!(rate("read-write", "partial_loss_frames_per_s") >= user);
    assert!(
        text(&measure(&lab, &plan, &["--out", &out("one").display().to_string()]).stdout).contains(" without loss, ")
    );
}

#[test]
#[ignore = "boots guests"]
fn what_is_wrong_with_a_plan_is_said_before_anything_runs() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = written(folder.path(), "[factor]\ngateway = [\"kernal\"]\n");
    let run = measure(&lab, &plan, &[]);
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("did you mean \"kernel\"?"), "{}", text(&run.stderr));
    let plan = written(folder.path(), PLAN);
    let dry = measure(&lab, &plan, &["--dry-run"]);
    assert!(
        dry.status.success() && text(&dry.stdout).contains("4 cells of 60 frames in 2 guests"),
        "{}",
        text(&dry.stdout)
    );
    assert!(!folder.path().join("plan.results").exists());
}

/// The engines' costs beyond their system calls, within half a percent.
#[test]
#[ignore = "boots guests"]
fn engines_keep_their_budgets() {
    let Some(lab) = static_lab() else { return };
    let budgets = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laboratory/budgets");
    let folder = tempfile::tempdir().unwrap();
    let plan = Path::new(budgets).join("engines.plan.toml");
    let out = folder.path().join("out").display().to_string();
    let run = measure(&lab, &plan, &["--out", &out, "--budget", &format!("{budgets}/engines.toml")]);
    assert!(run.status.success(), "{}\n{}", text(&run.stdout), text(&run.stderr));
    assert!(text(&run.stdout).contains("\n0 of 12 budgets are exceeded\n"), "{}", text(&run.stdout));
    // The same cells with a budget that cannot be met, and one that matches no cell: nothing is measured again.
    let strict = folder.path().join("strict.toml");
    let text_of_it =
        "[[budget]]\ngateway = \"kernel\"\np50 = \"1 instructions\"\n[[budget]]\ngateway = \"cangw\"\nlost = 0\n";
    fs::write(&strict, text_of_it).unwrap();
    let run = measure(&lab, &plan, &["--out", &out, "--budget", &strict.display().to_string()]);
    assert_eq!(run.status.code(), Some(1));
    let said = text(&run.stdout);
    assert!(said.contains("EXCEEDED") && said.contains("The budget on line 4 compares nothing"), "{said}");
    assert!(said.contains("2 of 2 budgets are exceeded"), "{said}");
}
