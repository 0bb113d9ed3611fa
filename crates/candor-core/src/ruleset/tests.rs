use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestError, TestRunner};

use super::*;
use crate::arbitrary;
use crate::filter::Filter;
use crate::frame::RawId;
use crate::oracle::{self, Delivery, JobCounters};

mod sizes;
mod small_domains;

const BUSES: usize = 3;
/// Frames for each rule set of the property below.
const FRAMES: usize = 32;
/// Pairs of a rule set and a frame in the property below, unless `CANDOR_CASES` says how many.
const CASES: u32 = 4_000;

fn deliveries(rules: &RuleSet, from: BusIndex, frame: &Frame) -> (Vec<Delivery>, Vec<usize>) {
    let (mut sent, mut deleted) = (Vec::new(), Vec::new());
    rules.from_bus(from).outcomes(frame, |job, routed| match routed {
        Routed::Send { to, frame } => sent.push(Delivery { job, to, frame: *frame }),
        Routed::Delete => deleted.push(job),
    });
    (sent, deleted)
}

/// Numbers of the matching jobs, in order.
fn fired(rules: &RuleSet, frame: &Frame) -> Vec<usize> {
    let mut fired = Vec::new();
    rules.from_bus(BusIndex(0)).outcomes(frame, |job, _| fired.push(job));
    fired
}

fn job() -> Job {
    Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL)
}

fn filtered(id: u32, mask: u32) -> Job {
    Job { filter: Filter { id, mask }, ..job() }
}

/// The first difference between the compiled rule set and the oracle.
fn difference(jobs: &[Job], frames: &[(BusIndex, Frame)]) -> Option<(usize, String)> {
    let rules = RuleSet::compile(jobs, BUSES);
    for (position, (from, frame)) in frames.iter().enumerate() {
        let (sent, deleted) = deliveries(&rules, *from, frame);
        let mut counted = vec![JobCounters::default(); jobs.len()];
        sent.iter().for_each(|delivery| counted[delivery.job].handled += 1);
        deleted.iter().for_each(|&job| counted[job].deleted += 1);
        let expected = oracle::deliver(jobs, *from, frame);
        let expected_counts = oracle::count(jobs, &[(*from, *frame)]);
        if sent != expected || counted != expected_counts {
            let text =
                format!("oracle:   {}\nrule set: {}", shown(&expected, &expected_counts), shown(&sent, &counted));
            return Some((position, text));
        }
    }
    None
}

fn shown(sent: &[Delivery], counted: &[JobCounters]) -> String {
    let sent: Vec<_> = sent.iter().map(|sent| format!("job {} sends {}", sent.job, bytes(&sent.frame))).collect();
    let deleting = (0..counted.len()).filter(|&job| counted[job].deleted > 0);
    let deleted: Vec<_> = deleting.map(|job| format!("job {job} deletes")).collect();
    [sent, deleted].concat().join(", ")
}

/// A frame as text, and all bytes that the kernel keeps.
fn bytes(frame: &Frame) -> String {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    format!("{frame} ({:08X} {:02X?})", frame.id.0, &bytes[4..len])
}

/// A failing case as cangw commands and a frame.
fn as_commands(jobs: &[Job], (from, frame): &(BusIndex, Frame)) -> String {
    let command = |job: &Job| {
        let interface = |bus: BusIndex| format!("vcan{}", bus.0);
        let cangw = crate::job::cangw_arguments(job, &interface(job.from), &interface(job.to)).join(" ");
        match (&job.payload[..], job.send_as) {
            ([], None) => format!("cangw {cangw}\n"),
            (payload, send_as) => format!("cangw {cangw} # payload {payload:?}, send as {send_as:?}\n"),
        }
    };
    let jobs: String = jobs.iter().map(command).collect();
    format!("{jobs}cansend vcan{} {}", from.0, bytes(frame))
}

/// `CANDOR_CASES=10000000 cargo test --release -p candor-core compiled_jobs` is the long run.
#[test]
#[expect(clippy::disallowed_methods, reason = "the number of cases is an environment variable")]
fn compiled_jobs_agree_with_the_oracle() {
    let cases = std::env::var("CANDOR_CASES").map_or(CASES, |cases| cases.parse().expect("CANDOR_CASES is a number"));
    let sets = cases.div_ceil(u32::try_from(FRAMES).unwrap());
    let config = ProptestConfig {
        cases: sets,
        source_file: Some(file!()),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    let frames = vec(((0..BUSES).prop_map(BusIndex), frame()), FRAMES);
    let jobs = prop_oneof![vec(arbitrary::user_space_job(BUSES), 0..12), crowd()];
    let outcome = TestRunner::new(config).run(&(jobs, frames), |(jobs, frames)| match difference(&jobs, &frames) {
        None => Ok(()),
        Some((_, text)) => Err(TestCaseError::fail(text)),
    });
    if let Err(TestError::Fail(reason, (jobs, frames))) = outcome {
        let (position, _) = difference(&jobs, &frames).expect("it failed before");
        panic!("{}\n{reason}", as_commands(&jobs, &frames[position]));
    }
    outcome.expect("the cases can be made");
    println!("{sets} rule sets, {} frames", u64::from(sets) * FRAMES as u64);
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![arbitrary::wire_frame(), arbitrary::any_frame()]
}

/// Many jobs between the same two buses, so frames match several of each list.
fn crowd() -> impl Strategy<Value = Vec<Job>> {
    let together = |job: Job| Job { from: BusIndex(0), to: BusIndex(1), ..job };
    vec(arbitrary::user_space_job(BUSES).prop_map(together), 1..=64)
}

/// The strategies generate jobs that send and jobs that delete. Otherwise the property above would prove nothing.
#[test]
fn generated_frames_match_generated_jobs() {
    let mut runner = TestRunner::deterministic();
    let (mut sent, mut deleted, mut at_once) = (0, 0, 0);
    for _ in 0..20 {
        let jobs = crowd().new_tree(&mut runner).unwrap().current();
        let frames = vec(frame(), 20).new_tree(&mut runner).unwrap().current();
        let rules = RuleSet::compile(&jobs, 2);
        for frame in &frames {
            let routed = deliveries(&rules, BusIndex(0), frame);
            sent += routed.0.len();
            deleted += routed.1.len();
            at_once += usize::from(routed.0.len() > 8);
        }
    }
    assert!(sent > 900 && deleted > 45 && at_once > 10, "{sent} {deleted} {at_once}");
}

#[test]
fn standard_identifiers_match_their_own_job() {
    let jobs: Vec<Job> = (0..=0x7FF).map(|id| Job { filter: Filter::exact(RawId(id)), ..job() }).collect();
    let rules = RuleSet::compile(&jobs, 2);
    for id in 0..=0x7FF {
        let frame = Frame::classic(RawId(id), &[]).unwrap();
        assert_eq!(fired(&rules, &frame), [id as usize]);
    }
}

#[test]
fn unchanged_frames_are_not_copied() {
    let rules = RuleSet::compile(&[job()], 2);
    let frame: Frame = "123#11".parse().unwrap();
    let mut same = false;
    rules.from_bus(BusIndex(0)).outcomes(&frame, |_, routed| {
        same = matches!(routed, Routed::Send { frame: sent, .. } if std::ptr::eq(sent, &raw const frame));
    });
    assert!(same);
}

#[test]
fn unknown_bus_has_no_routes() {
    let rules = RuleSet::compile(&[job()], 2);
    let frame: Frame = "123#11".parse().unwrap();
    assert_eq!(deliveries(&rules, BusIndex(7), &frame), (vec![], vec![]));
}

/// More jobs with different masks than are sorted at once, in groups and alone, mixed in the order of the file.
#[test]
fn jobs_with_many_masks_keep_the_order() {
    let masks: Vec<u32> = (0..29).map(|bit| 1 << bit).collect();
    let jobs: Vec<Job> = (0..600_u32)
        .map(|at| {
            let mask = masks[at as usize * 7 % masks.len()];
            // One in three matches identifiers with the bit, the others those without.
            filtered(if at % 3 == 0 { mask } else { 0 }, if at % 100 == 0 { 3 << (at / 100) } else { mask })
        })
        .collect();
    let rules = RuleSet::compile(&jobs, 2);
    for id in [0, 0x123, 0x7FF, 0x8000_0000, 0x9234_5678, 0x9FFF_FFFF] {
        let frame = Frame::classic(RawId(id), &[]).unwrap();
        let expected: Vec<_> = oracle::deliver(&jobs, BusIndex(0), &frame).iter().map(|sent| sent.job).collect();
        assert!(expected.len() > 150, "{}", expected.len());
        assert_eq!(fired(&rules, &frame), expected, "{id:08X}");
    }
}

#[test]
fn inverted_filters_keep_the_order() {
    let inverted = |id: u32, mask| filtered(id | crate::filter::CAN_INV_FILTER, mask);
    let jobs: Vec<Job> =
        (0..40).map(|at| inverted(0x100 + at / 3 % 4, if at % 2 == 0 { 0x7FF } else { 0xF })).collect();
    let rules = RuleSet::compile(&jobs, 2);
    for id in [0x100, 0x101, 0x102, 0x104, 0x8000_0101] {
        let frame = Frame::classic(RawId(id), &[]).unwrap();
        let expected: Vec<_> = oracle::deliver(&jobs, BusIndex(0), &frame).iter().map(|sent| sent.job).collect();
        assert!(expected.len() > 20 && expected.len() <= jobs.len());
        assert_eq!(fired(&rules, &frame), expected, "{id:08X}");
    }
}
