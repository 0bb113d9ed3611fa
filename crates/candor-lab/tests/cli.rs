//! The command line of the laboratory, as in the transcripts of `tests/cmd`.
#![expect(clippy::unwrap_used, reason = "a failing test shall panic")]

use std::process::{Command, Stdio};

use candor_cli::schema::{assert_all_valid, command_of};
use serde_json::Value;

fn lab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor-lab"));
    command.args(arguments.split(' ')).stdin(Stdio::null());
    command
}

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}

#[test]
fn help_states_the_exit_status() {
    for command in [
        "tester",
        "compare",
        "conformance",
        "demo inversion",
        "report",
        "wire",
        "run",
        "bench",
        "baseline",
        "timeline",
        "convert",
        "replay",
        "database",
        "learn allow",
        "learn checksum",
        "learn detect",
        "learn traffic",
        "evidence",
        "bounds",
    ] {
        let output = lab(command).arg("--help").output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("\nExit status: "), "{command}");
    }
}

#[test]
fn learn_lists_all_identifiers() {
    let output = lab("learn checksum tests/cmd/drive.log").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("tests/cmd/drive.log: 6 identifiers, 4 with a checksum\n"), "{text}");
    for line in [
        "0FD     146      8  146 of 146  protect = { e2e = \"P02\", ",
        "122     150      8  149 of 150  protect = { checksum = \"sum\", at = 0, ",
        "2E4     150      8  150 of 150  protect = { checksum = \"sum\", init = \"08\", at = 7, before = \"02E4\" }",
        "591      30      8              all 30 payloads are equal",
    ] {
        assert!(text.contains(&format!("\n{line}")), "{text}");
    }
}

/// The list without the guards, whose keys are tested by the reader of gateway files.
#[test]
fn learned_list_is_a_gateway_file() {
    let output = lab("learn allow tests/cmd/drive.log").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let without: Vec<_> = text.lines().filter(|line| !line.starts_with("guard.")).collect();
    let loaded = candor_config::config::load(without.join("\n").as_bytes()).unwrap();
    // One of them has remote frames, too.
    assert_eq!(loaded.plan.routes().len(), 7);
    // Each check that a comment has is valid in its route.
    let checked = text.replace("# check = ", "check = ");
    let checked: Vec<_> = checked.lines().filter(|line| !line.starts_with("guard.")).collect();
    let mut moved: Vec<&str> = Vec::new();
    let mut check = None;
    for line in checked {
        match line {
            line if line.starts_with("check = ") => check = Some(line),
            line if line.starts_with("match = ") => moved.extend([Some(line), check.take()].into_iter().flatten()),
            line => moved.push(line),
        }
    }
    let loaded = candor_config::config::load(moved.join("\n").as_bytes()).unwrap();
    assert_eq!(loaded.plan.routes().iter().filter(|route| !route.checks.is_empty()).count(), 4);
}

/// The output must have the published schema.
fn assert_published(arguments: &str, stdout: &[u8]) {
    let command = command_of("candor-lab", &arguments.split(' ').collect::<Vec<_>>()).unwrap();
    assert!(!stdout.is_empty(), "{arguments}");
    assert_all_valid(&command, str::from_utf8(stdout).unwrap());
}

#[test]
fn output_has_the_published_schema() {
    const RECORD: &str = "tests/cmd/before.results/blocks/f6ba597fe8c6b37b/f83b1ef7437c7626.record.csv";
    for arguments in [
        "report --json tests/cmd/before.results",
        &format!("report --json {RECORD}"),
        "compare --json tests/cmd/before.results tests/cmd/after.results --tolerance 5%",
        "compare --json tests/cmd/before.results --a load=none --b load=timers\u{a0}10",
        "measure --json --preset gateway-2011 --dry-run",
        "measure --json ../../examples/01-forward.toml",
        "papers --json --list",
        "database --json tests/cmd/car.dbc",
        "database --json tests/cmd/car.dbc ABS1",
        "database --json ../candor-signals/tests/car.kcd",
        "learn checksum --json tests/cmd/drive.log",
        "learn checksum --json tests/cmd/drive.log --id 122",
        "learn allow --json tests/cmd/drive.log",
        "learn allow --json tests/cmd/drive.log --id 122 --compare tests/cmd/drive.log",
        "learn detect --json --runs 1",
        "database --json tests/cmd/cut.kcd",
        "evidence --json --static --untrusted plug tests/cmd/border.toml",
        "evidence --json --static --untrusted plug ../../examples/24-border.toml",
        "bounds --json --latency 200us --plays 2 ../../examples/26-bounds.toml",
    ] {
        let words = arguments.split(' ').map(|word| word.replace('\u{a0}', " "));
        let output = Command::new(env!("CARGO_BIN_EXE_candor-lab")).args(words).stdin(Stdio::null()).output().unwrap();
        assert_published(arguments, &output.stdout);
    }
    assert_all_valid("candor-lab papers", include_str!("../../../results/claims.json"));
}

#[test]
fn plan_with_a_missing_kernel_leaves_no_results() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    std::fs::write(&plan, "[factor]\ngateway = \"kernel\"\nkernel = \"./no-such.deb\"\n").unwrap();
    let output = lab("measure").arg(&plan).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no-such.deb"), "{said}");
    // The corrected plan may have the same results.
    assert!(!folder.path().join("plan.results").exists());
}

#[test]
fn invalid_gateway_files_are_reported_as_json() {
    const WRONG: &str = "../candor/tests/findings/five-mistakes.toml";
    for arguments in [
        "tester --json --send a --monitor b --receive c --records /nowhere",
        "bench --json",
        "evidence --json --static --untrusted a",
        "bounds --json",
    ] {
        let output = lab(arguments).arg(WRONG).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0), "{arguments}");
        assert_published(arguments, &output.stdout);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&answer["valid"], &answer["file"]), (&false.into(), &WRONG.into()), "{arguments}");
        assert_eq!(answer["findings"].as_array().unwrap().len(), 5, "{arguments}");
        if arguments.starts_with("tester") {
            let lines = output.stdout.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!((&answer["event"], lines), (&"invalid".into(), 1));
        }
    }
}

#[test]
fn program_that_guests_cannot_start_is_named_before_they_boot() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_candor-lab")).unwrap();
    // Another architecture, and no sections.
    program.truncate(4096);
    program[18] ^= 1;
    program[0x28..0x30].fill(0);
    program[0x3C..0x40].fill(0);
    for name in ["candor", "candor-lab"] {
        std::fs::write(folder.path().join(name), &program).unwrap();
    }
    let output = lab("run -- true").env("CANDOR_STATIC", folder.path()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let path = folder.path().join("candor");
    for part in [path.to_str().unwrap(), "another architecture", "cargo xtask static", "CANDOR_STATIC"] {
        assert!(message.contains(part), "{message}");
    }
}

const HIDDEN: [&str; 8] = ["cells", "figure", "guard", "hold", "load", "preflight", "relay", "supervise"];

#[test]
fn hidden_commands_have_no_man_page_and_no_completion() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("man");
    assert!(lab("generate man").arg(&man).status().unwrap().success());
    let completions = lab("generate completions bash").output().unwrap();
    let completions = String::from_utf8(completions.stdout).unwrap();
    for command in ["run", "bench", "kernels"] {
        assert!(man.join(format!("candor-lab-{command}.1")).is_file(), "{command}");
        assert!(completions.contains(command), "{command}");
    }
    for hidden in HIDDEN {
        assert!(!man.join(format!("candor-lab-{hidden}.1")).exists(), "{hidden}");
        assert!(!completions.contains(&format!("candor__lab,{hidden})")), "{hidden}");
    }
}
