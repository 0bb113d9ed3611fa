//! A program of another project that judges lines.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Writes the cases to the program. It prints `COUNT name number` for what it has compared, and a line for each difference, of
/// which there must be none. Returns the numbers.
pub(crate) fn judged(judge: &mut Command, cases: impl FnOnce() -> String + Send + 'static) -> BTreeMap<String, u64> {
    let mut child =
        judge.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cannot start the Python of a judge");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(cases().as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "judge.py: {}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let (counts, differences): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("COUNT "));
    assert_eq!(differences.iter().take(10).collect::<Vec<_>>(), [&""; 0], "{} differences", differences.len());
    let counts = counts.iter().filter_map(|line| line[6..].split_once(' '));
    let counts = counts.map(|(name, count)| (name.to_owned(), count.parse().unwrap())).collect();
    println!("{counts:?}");
    counts
}
