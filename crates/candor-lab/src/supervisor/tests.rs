use std::io::Cursor;
use std::path::PathBuf;

use super::*;

fn charge(start: &[&str], stop: &[&str]) -> Charge {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let device = Device::Command { start: words(start), stop: words(stop) };
    Charge { name: "c".to_owned(), device, load: "none".to_owned(), silence_s: None }
}

fn said(output: &[u8]) -> Vec<Word> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replies of a supervisor to these lines and the end of input.
fn kept(lines: &str) -> Vec<Word> {
    let mut output = Vec::new();
    keep(&PathBuf::from("/nonexistent"), Cursor::new(lines.to_owned()), &mut output).unwrap();
    said(&output)
}

fn text(charge: &Charge) -> String {
    serde_json::to_string(charge).unwrap()
}

#[test]
fn a_charge_is_kept_until_its_end_is_asked_for() {
    let charge = charge(&["/bin/sleep", "60"], &[]);
    let words = kept(&format!("{}\n\nend\n", text(&charge)));
    assert!(
        matches!(&words[..], [Word::Ready(machine), Word::Ended(_)] if !machine.kernel_release.is_empty()),
        "{words:?}"
    );
}

#[test]
fn an_abandoned_charge_is_ended_as_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("stopped");
    let charge = charge(&["/bin/sleep", "60"], &["/bin/touch", mark.to_str().unwrap()]);
    let words = kept(&format!("{}\n", text(&charge)));
    assert!(matches!(&words[..], [Word::Ready(_)]), "{words:?}");
    assert!(mark.exists());
}

#[test]
fn silence_is_an_end_where_somebody_should_speak() {
    let charge = Charge { silence_s: Some(0), ..charge(&["/bin/sleep", "60"], &[]) };
    // Stays open.
    let (input, mut line) = io::pipe().unwrap();
    writeln!(line, "{}", text(&charge)).unwrap();
    let mut output = Vec::new();
    keep(&PathBuf::from("/nonexistent"), io::BufReader::new(input), &mut output).unwrap();
    assert!(matches!(&said(&output)[..], [Word::Ready(_)]));
}

#[test]
fn what_does_not_run_is_told() {
    let words = kept(&format!("{}\n", text(&charge(&["/nonexistent"], &[]))));
    assert!(matches!(&words[..], [Word::Failed(why)] if why.contains("/nonexistent")), "{words:?}");
    let words = kept(&format!("{}\n", text(&charge(&["/bin/false"], &[]))));
    assert!(matches!(&words[..], [Word::Failed(why)] if why.contains("ended before")), "{words:?}");
}

#[test]
fn a_folder_is_held_as_long_as_somebody_wants_it() {
    let folder = tempfile::tempdir().unwrap().keep();
    hold(&folder, Cursor::new("\n\n"), Duration::from_secs(60)).unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_supervisor_that_is_gone_is_told_from_a_gateway_that_does_not_run() {
    let charge = charge(&[], &[]);
    let start = |command: &[&str]| {
        let command: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
        Kept::start(&command, &charge, || panic!("nothing ran")).unwrap_err()
    };
    assert!(matches!(start(&["/bin/true"]), SupervisorError::Gone));
    assert!(matches!(start(&["/nonexistent"]), SupervisorError::Start { .. }));
    assert!(matches!(start(&["/bin/sh", "-c", "read a; echo hello; echo '{\"failed\":\"no room\"}'; read b"]),
        SupervisorError::Charge(why) if why == "no room"));
}

/// Otherwise the tester would continue to the end of its series.
#[test]
fn who_measures_is_told_when_the_supervisor_is_gone() {
    let start = |rest: &str| {
        let ready = serde_json::to_string(&Word::Ready(Machine::default())).unwrap();
        let command = ["/bin/sh", "-c", &format!("read a; echo '{ready}'; {rest}")].map(str::to_owned);
        let (tell, told) = mpsc::channel();
        let kept = Kept::start(&command, &charge(&[], &[]), move || tell.send(()).unwrap()).unwrap();
        (kept, told)
    };
    let (kept, told) = start("exit 3");
    assert_eq!(told.recv(), Ok(()));
    assert!(matches!(kept.end(), Err(SupervisorError::Gone)));
    // Not after the end was requested, or on drop.
    let ended = serde_json::to_string(&Word::Ended(Ended::default())).unwrap();
    let (kept, told) = start(&format!("read b; echo '{ended}'"));
    assert_eq!(kept.end().unwrap(), Ended::default());
    assert!(told.recv().is_err());
    let (kept, told) = start("read b");
    drop(kept);
    assert!(told.recv().is_err());
}
