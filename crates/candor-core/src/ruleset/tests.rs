use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::arbitrary;
use crate::filter::Filter;
use crate::oracle::{self, Delivery, JobCounters};

const BUSES: usize = 3;

fn deliveries(rules: &RuleSet, from: BusIndex, frame: &Frame) -> (Vec<Delivery>, Vec<usize>) {
    let (mut sent, mut deleted) = (Vec::new(), Vec::new());
    rules.route(from, frame, |job, routed| match routed {
        Routed::Send { to, frame } => sent.push(Delivery { job, to, frame: *frame }),
        Routed::Delete => deleted.push(job),
    });
    (sent, deleted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn compiled_jobs_do_what_the_oracle_does(
        jobs in vec(arbitrary::job(BUSES), 0..12),
        frames in vec((0..BUSES, prop_oneof![arbitrary::wire_frame(), arbitrary::any_frame()]), 1..12),
    ) {
        let rules = RuleSet::compile(&jobs, BUSES);
        let frames: Vec<_> = frames.into_iter().map(|(from, frame)| (BusIndex(from), frame)).collect();
        let mut counters = vec![JobCounters::default(); jobs.len()];
        for (from, frame) in &frames {
            let (sent, deleted) = deliveries(&rules, *from, frame);
            for delivery in &sent {
                counters[delivery.job].handled += 1;
            }
            for job in deleted {
                counters[job].deleted += 1;
            }
            prop_assert_eq!(sent, oracle::deliver(&jobs, *from, frame));
        }
        prop_assert_eq!(counters, oracle::count(&jobs, &frames));
    }
}

/// The generators make jobs that fire and jobs that delete, or the property above would prove nothing.
#[test]
fn jobs_and_frames_meet() {
    let mut runner = TestRunner::deterministic();
    let (mut sent, mut deleted) = (0, 0);
    for _ in 0..20 {
        let jobs = vec(arbitrary::job(2), 20).new_tree(&mut runner).unwrap().current();
        let frames = vec(arbitrary::wire_frame(), 20).new_tree(&mut runner).unwrap().current();
        let rules = RuleSet::compile(&jobs, 2);
        for frame in &frames {
            let routed = deliveries(&rules, BusIndex(0), frame);
            sent += routed.0.len();
            deleted += routed.1.len();
        }
    }
    assert!(sent > 300 && deleted > 15, "{sent} {deleted}");
}

#[test]
fn every_standard_identifier_finds_its_own_job() {
    let jobs: Vec<Job> =
        (0..=0x7FF).map(|id| Job { filter: Filter::exact(crate::frame::RawId(id)), ..job() }).collect();
    let rules = RuleSet::compile(&jobs, 2);
    for id in 0..=0x7FF {
        let frame = Frame::classic(crate::frame::RawId(id), &[]).unwrap();
        let (sent, _) = deliveries(&rules, BusIndex(0), &frame);
        assert_eq!(sent.iter().map(|delivery| delivery.job).collect::<Vec<_>>(), [id as usize]);
    }
}

#[test]
fn unchanged_frames_are_not_copied() {
    let rules = RuleSet::compile(&[job()], 2);
    let frame: Frame = "123#11".parse().unwrap();
    let mut same = false;
    rules.route(BusIndex(0), &frame, |_, routed| {
        same = matches!(routed, Routed::Send { frame: sent, .. } if std::ptr::eq(sent, &raw const frame));
    });
    assert!(same);
}

#[test]
fn an_unknown_bus_has_no_routes() {
    let rules = RuleSet::compile(&[job()], 2);
    let frame: Frame = "123#11".parse().unwrap();
    assert_eq!(deliveries(&rules, BusIndex(7), &frame), (vec![], vec![]));
}

fn job() -> Job {
    Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL)
}
