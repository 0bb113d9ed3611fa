//! Every message of a collection of databases, decoded and encoded by candor and by cantools, which must agree.
//!
//! `CANDOR_CANTOOLS` is a directory with `venv`, in which cantools is installed, and `files`, the databases of its source
//! package. `cargo xtask test` makes it and sets the variable; without it, the test prints `SKIP` and the reason. If
//! `CANDOR_DATABASES` is a directory, all its DBC and KCD files are compared, too.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

mod cases;
#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use require::require;

/// Differences that have a reason, by file, message and signal.
const KNOWN: &str = include_str!("known.txt");

/// The same for checkouts, without the folder.
const KNOWN_OF_CHECKOUTS: &str = include_str!("known-of-checkouts.txt");

#[test]
fn databases_of_cantools_mean_the_same() {
    let Some(peer) = peer() else { return };
    let summary = compare(&peer, &peer.join("files"));
    let unknown: Vec<&String> =
        summary.differences.iter().filter(|line| !KNOWN.lines().any(|one| one == *line)).collect();
    assert_eq!(unknown, [""; 0], "differences that tests/cantools/known.txt does not name");
    let gone: Vec<&str> = KNOWN
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !summary.differences.iter().any(|one| one == line))
        .collect();
    assert_eq!(gone, [""; 0], "differences of tests/cantools/known.txt that do not exist any more");
    assert!(summary.counts["messages"] > 400, "{:?}", summary.counts);
    assert!(summary.counts["signals-changed"] > 4000, "{:?}", summary.counts);
    assert!(summary.counts["kcd-files"] >= 10 && summary.counts["kcd-messages"] > 250, "{:?}", summary.counts);
}

#[test]
fn databases_of_a_checkout_mean_the_same() {
    let Some(folder) = std::env::var_os("CANDOR_DATABASES") else {
        println!("SKIP needs CANDOR_DATABASES, a directory of DBC or KCD files");
        return;
    };
    let Some(peer) = peer() else { return };
    let summary = compare(&peer, Path::new(&folder));
    println!("{}", summary.differences.join("\n"));
    let is_known =
        |line: &str| KNOWN_OF_CHECKOUTS.lines().any(|one| !one.is_empty() && line.ends_with(&format!("/{one}")));
    let unexplained: Vec<&String> =
        summary.differences.iter().filter(|line| line.contains(": DIFFERS") && !is_known(line)).collect();
    assert_eq!(unexplained, [""; 0]);
}

/// The directory of cantools. `None` after saying why there is none.
fn peer() -> Option<PathBuf> {
    let found = std::env::var_os("CANDOR_CANTOOLS").map(PathBuf::from);
    require("cantools", found, "CANDOR_CANTOOLS is not set; cargo xtask cantools prints it")
}

struct Summary {
    counts: BTreeMap<String, u64>,
    differences: Vec<String>,
}

fn compare(peer: &Path, folder: &Path) -> Summary {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "{} has no DBC or KCD files", folder.display());
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cantools/judge.py");
    let mut child = Command::new(peer.join("venv/bin/python"))
        .arg(judge)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cannot start the Python of cantools");
    let mut stdin = child.stdin.take().unwrap();
    let folder = folder.to_owned();
    let writer = std::thread::spawn(move || {
        for file in files {
            let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
            let bytes = std::fs::read(&file).unwrap();
            let mut text = format!("F\t{}\t{name}\n", file.display());
            cases::write(&candor_signals::read(&bytes), &mut text);
            stdin.write_all(text.as_bytes()).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "judge.py: {}", output.status);
    let mut summary = Summary { counts: BTreeMap::new(), differences: Vec::new() };
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        match line.strip_prefix("COUNT ").and_then(|rest| rest.split_once(' ')) {
            Some((name, count)) => drop(summary.counts.insert(name.to_owned(), count.parse().unwrap())),
            None => summary.differences.push(line.to_owned()),
        }
    }
    println!("{:?}", summary.counts);
    summary
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("cannot read the directory of databases") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|one| one.eq_ignore_ascii_case("dbc") || one.eq_ignore_ascii_case("kcd"))
        {
            files.push(path);
        }
    }
}
