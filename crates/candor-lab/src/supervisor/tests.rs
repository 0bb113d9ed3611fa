use std::io::Cursor;
use std::path::PathBuf;
use std::sync::mpsc;

use super::*;

fn assignment(start: &[&str], stop: &[&str]) -> Assignment {
    let list = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let device = Device::Command { start: list(start), stop: list(stop) };
    Assignment { name: "c".to_owned(), device, load: "none".to_owned(), silence_s: None }
}

fn replies_in(output: &[u8]) -> Vec<Reply> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replies of a supervisor to these lines and the end of input.
fn replies_to(lines: &str) -> Vec<Reply> {
    let mut output = Vec::new();
    run(&PathBuf::from("/nonexistent"), Cursor::new(lines.to_owned()), &mut output).unwrap();
    replies_in(&output)
}

fn text(assignment: &Assignment) -> String {
    serde_json::to_string(assignment).unwrap()
}

#[test]
fn assignment_runs_until_its_end_is_requested() {
    let assignment = assignment(&["/bin/sleep", "60"], &[]);
    let replies = replies_to(&format!("{}\n\nend\n", text(&assignment)));
    assert!(
        matches!(&replies[..], [Reply::Ready(machine), Reply::Ended(_)] if !machine.kernel_release.is_empty()),
        "{replies:?}"
    );
}

#[test]
fn abandoned_assignment_is_stopped_properly() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("stopped");
    let assignment = assignment(&["/bin/sleep", "60"], &["/bin/touch", mark.to_str().unwrap()]);
    let replies = replies_to(&format!("{}\n", text(&assignment)));
    assert!(matches!(&replies[..], [Reply::Ready(_)]), "{replies:?}");
    assert!(mark.exists());
}

#[test]
fn silence_ends_an_assignment() {
    let assignment = Assignment { silence_s: Some(0), ..assignment(&["/bin/sleep", "60"], &[]) };
    // Stays open.
    let (input, mut line) = io::pipe().unwrap();
    writeln!(line, "{}", text(&assignment)).unwrap();
    let mut output = Vec::new();
    run(&PathBuf::from("/nonexistent"), io::BufReader::new(input), &mut output).unwrap();
    assert!(matches!(&replies_in(&output)[..], [Reply::Ready(_)]));
}

#[test]
fn failed_start_is_reported() {
    let replies = replies_to(&format!("{}\n", text(&assignment(&["/nonexistent"], &[]))));
    assert!(matches!(&replies[..], [Reply::Failed(why)] if why.contains("/nonexistent")), "{replies:?}");
    let replies = replies_to(&format!("{}\n", text(&assignment(&["/bin/false"], &[]))));
    assert!(matches!(&replies[..], [Reply::Failed(why)] if why.contains("ended before")), "{replies:?}");
}

#[test]
fn folder_is_removed_when_the_input_ends() {
    let folder = tempfile::tempdir().unwrap().keep();
    hold(&folder, Cursor::new("\n\n"), Duration::from_secs(60)).unwrap();
    assert!(!folder.exists());
}

#[test]
fn lost_supervisor_and_failed_gateway_are_different_errors() {
    let assignment = assignment(&[], &[]);
    let start = |command: &[&str]| {
        let command: Vec<_> = command.iter().map(|reply| (*reply).to_owned()).collect();
        Supervised::start(&command, &assignment, || panic!("nothing ran")).unwrap_err()
    };
    assert!(matches!(start(&["/bin/true"]), SupervisorError::Gone));
    assert!(matches!(start(&["/nonexistent"]), SupervisorError::Start { .. }));
    assert!(matches!(start(&["/bin/sh", "-c", "read a; echo hello; echo '{\"failed\":\"no room\"}'; read b"]),
        SupervisorError::Failed(why) if why == "no room"));
}

/// Otherwise the tester would continue to the end of its series.
#[test]
fn tester_is_notified_when_the_supervisor_is_lost() {
    let start = |rest: &str| {
        let ready = serde_json::to_string(&Reply::Ready(Machine::default())).unwrap();
        let command = ["/bin/sh", "-c", &format!("read a; echo '{ready}'; {rest}")].map(str::to_owned);
        let (notify, notified) = mpsc::channel();
        let supervised = Supervised::start(&command, &assignment(&[], &[]), move || notify.send(()).unwrap()).unwrap();
        (supervised, notified)
    };
    let (supervised, notified) = start("exit 3");
    assert_eq!(notified.recv(), Ok(()));
    assert!(matches!(supervised.end(), Err(SupervisorError::Gone)));
    // Not after the end was requested, or on drop.
    let ended = serde_json::to_string(&Reply::Ended(Ended::default())).unwrap();
    let (supervised, notified) = start(&format!("read b; echo '{ended}'"));
    assert_eq!(supervised.end().unwrap(), Ended::default());
    assert!(notified.recv().is_err());
    let (supervised, notified) = start("read b");
    drop(supervised);
    assert!(notified.recv().is_err());
}
