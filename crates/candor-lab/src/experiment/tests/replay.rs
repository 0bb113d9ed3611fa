//! Replayed logs.

use super::*;

const PLAN: &str = "frames = 3\nwarm-up = 1\n[factor]\ngateway = \"kernel\"\ntraffic = \"replay drive.log\"\n";

const LOG: &str = "(1.0) can0 001#\n(1.1) can0 002#\n(1.2) can0 003#\n(1.3) can0 004#\n";

fn with(text: &str, log: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let logs = BTreeMap::from([("drive.log".to_owned(), log.as_bytes().to_vec())]);
    load(text.as_bytes(), Available { kernels: None, logs: Some(&logs) })
}

/// Codes and messages.
fn messages(text: &str, log: &str) -> Vec<(&'static str, String)> {
    let findings = with(text, log).map_or_else(|findings| findings, |loaded| loaded.warnings);
    findings.into_iter().map(|finding| (finding.code, finding.message)).collect()
}

#[test]
fn log_is_part_of_cell_names() {
    let plan = |log: &str| with(PLAN, log).unwrap().plan;
    let (one, other) = (plan(LOG), plan(&LOG.replace("001#", "011#")));
    assert_eq!(one.replays(), BTreeSet::from(["drive.log"]));
    assert_eq!(one.logs["drive.log"].text, LOG);
    assert_ne!(one.cells()[0].name(&one), other.cells()[0].name(&other));
    // The plan knows its logs before they are read.
    let unread = super::plan(PLAN);
    assert_eq!((unread.replays(), unread.logs.len()), (BTreeSet::from(["drive.log"]), 0));
}

#[test]
fn log_may_have_frames_without_room_for_a_number() {
    assert_eq!(messages(&PLAN.replace("[factor]", "[factor]\nframe = \"123#\""), LOG), []);
}

#[test]
fn mistakes_in_a_log_are_reported_with_the_line() {
    let why = |log: &str| match &messages(PLAN, log)[..] {
        [(code, why)] => (*code, why.clone()),
        other => panic!("{other:?}"),
    };
    for (log, code, part) in [
        (LOG.replace("(1.2)", "1.2"), "P0310", "drive.log: line 3 is not a line of a candump log"),
        (LOG.replace("(1.2)", "(0.2)"), "P0310", "drive.log: line 3 is earlier"),
        (LOG.replace("can0 002", "can1 002"), "P0310", "replay FILE of can0"),
        ("(1.0) can0 001#\n".to_owned(), "P0310", "1 frame: warm-up = 1 leaves none to measure"),
        (format!("{LOG}(1.4) can0 005#\n"), "P0504", "5 frames, of which the first 4 are sent"),
    ] {
        let (found, message) = why(&log);
        assert!(found == code && message.contains(part), "{found} {message}");
    }
    let chosen = PLAN.replace("drive.log", "drive.log of can1");
    assert_eq!(messages(&chosen, LOG)[0].1, "drive.log: it has no frame of can1");
}
