//! Comparisons of modified records.

use super::super::summary::tests::record;
use super::*;
use crate::record::Disposition;

fn run(latencies: impl Iterator<Item = i64>) -> Record {
    record("d", "kernel", &latencies.map(Some).collect::<Vec<_>>())
}

fn counted(add: i64) -> [Record; 1] {
    [run((0..400).map(|step| 8000 + step + add))]
}

/// Times of a real clock, around this value.
fn times(around: i64, runs: i64) -> Vec<Record> {
    let one = |number: i64| {
        let mut record = run((0..400).map(|step| around + 10 * step + number));
        record.header.testbed = "host".to_owned();
        record.header.instruction_ns = None;
        record
    };
    (0..runs).map(one).collect()
}

fn figures(difference: &Difference) -> &[(&'static str, Figure); 4] {
    let Difference::Figures { figures, .. } = difference else { panic!("{difference:?}") };
    figures
}

#[test]
fn equal_records_are_identical_and_differences_are_counted() {
    assert_eq!(Difference::of(&counted(0), &counted(0)), Difference::Identical);
    let more = Difference::of(&counted(0), &counted(12));
    for (name, a) in [("p50", 8199), ("p90", 8359), ("p99", 8395), ("max", 8399)] {
        let (_, figure) = figures(&more).iter().find(|(known, _)| *known == name).unwrap();
        let Figure::Counted { a: in_a, b: in_b, .. } = figure else { panic!("{figure:?}") };
        assert_eq!((*in_a, *in_b), (a, a + 12), "{name}");
    }
    assert_eq!([0.001, 0.002].map(|tolerance| more.held_to(tolerance)), [Held::Worse, Held::Yes]);
    assert_eq!(Difference::of(&counted(12), &counted(0)).held_to(0.0), Held::Yes);
}

/// Equal frames, but different records.
#[test]
fn other_version_of_candor_is_a_note_and_no_difference() {
    let mut other = counted(0);
    other[0].header.candor_version = "0.2.0".to_owned();
    other[0].header.platform.insert("kernel_command_line".to_owned(), "quiet".to_owned());
    let difference = Difference::of(&counted(0), &other);
    let Difference::Figures { notes, .. } = &difference else { panic!("{difference:?}") };
    assert_eq!(notes, &["candor version 0.1.0 → 0.2.0", "kernel command line – → quiet"]);
    let is_identical = |figure: &Figure| matches!(figure, Figure::Counted { is_identical: true, .. });
    assert!(figures(&difference).iter().all(|(_, figure)| is_identical(figure)));
}

#[test]
fn lost_frames_are_worse_than_latency() {
    let mut other = counted(-100);
    other[0].samples[7].far_ns = None;
    other[0].samples[7].disposition = Disposition::Lost;
    let difference = Difference::of(&counted(0), &other);
    assert!(matches!(difference, Difference::Figures { lost: [0, 1], .. }), "{difference:?}");
    assert_eq!(difference.held_to(1.0), Held::Worse);
}

#[test]
fn instructions_that_differ_between_runs_are_not_counted() {
    let two = [counted(0), counted(1)].concat();
    let difference = Difference::of(&two, &counted(0));
    assert!(matches!(figures(&difference)[0].1, Figure::Refused { .. }), "{difference:?}");
}

#[test]
fn times_need_runs_and_runs_have_a_noise_floor() {
    let refused = Difference::of(&times(50_000, 4), &times(60_000, 5));
    let Figure::Refused { a, b, why } = &figures(&refused)[0].1 else { panic!("{refused:?}") };
    assert_eq!([a.0, b.0], [51_991, 61_992]);
    assert_eq!(why, "not enough runs: 5 needed, 4 there: repeats = 5 in the plan makes them");
    assert_eq!(refused.held_to(1.0), Held::Unknown);

    let slower = Difference::of(&times(50_000, 5), &times(60_000, 5));
    let Figure::Judged { verdict: Verdict::Slower(change), floor: Some(floor), .. } = &figures(&slower)[0].1 else {
        panic!("{slower:?}")
    };
    assert!((change.value - 0.192).abs() < 0.001 && floor.pairs == 4, "{change:?} {floor:?}");
    assert_eq!([0.1, 0.2].map(|tolerance| slower.held_to(tolerance)), [Held::Worse, Held::Yes]);

    let same = Difference::of(&times(50_000, 5), &times(50_001, 5));
    assert!(matches!(figures(&same)[0].1, Figure::Judged { verdict: Verdict::BelowNoise(_), .. }), "{same:?}");
    assert_eq!(same.held_to(0.0), Held::Yes);
}

#[test]
fn quantiles_of_few_frames_are_refused_but_not_the_maximum() {
    let few = |add: i64| [run((0..100).map(|step| 8000 + step + add))];
    let difference = Difference::of(&few(0), &few(3));
    let [_, _, p99, max] = figures(&difference);
    let Figure::Refused { why, .. } = &p99.1 else { panic!("{p99:?}") };
    assert_eq!(why, "n too small: p99 needs 368 frames, there are 100");
    assert!(matches!(max.1, Figure::Counted { a: 8099, b: 8102, .. }), "{max:?}");
    assert_eq!(difference.held_to(1.0), Held::Unknown);
}

#[test]
fn clocks_and_timestamp_sources_are_not_mixed() {
    let why = |change: fn(&mut Record)| {
        let mut other = counted(0);
        change(&mut other[0]);
        match Difference::of(&counted(0), &other) {
            Difference::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        why(|other| other.header.testbed = "uml".to_owned()),
        "their times have different clocks: icount and uml"
    );
    assert!(why(|other| other.header.instruction_ns = Some(8)).contains("different clocks"));
    assert!(why(|other| other.header.stamps = "taps".to_owned()).contains("different sources"));
    assert_eq!(
        why(|other| other.samples.iter_mut().for_each(|sample| sample.far_ns = None)),
        "no frame arrived in a run of B"
    );
}
