//! The content of the random cases, because a comparison of nothing always passes.

use std::collections::BTreeMap;

use candor_config::engine::UserEngine;
use candor_config::plan::{BusIndex, Echo, Incoming, Timestamp};
use candor_core::frame::{CAN_EFF_MASK, CAN_SFF_MASK, Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle;
use candor_core::rule::{Crc8Profile, Operand};

use super::case::{Burst, CLASSIC_ONLY, Case, DOWN};
use super::machine::Abilities;
use super::{Leg, SEED};

const CASES: u64 = 300;

#[derive(Debug, Default)]
struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn add(&mut self, what: &'static str, times: usize) {
        *self.0.entry(what).or_default() += times;
    }

    fn add_if(&mut self, what: &'static str, is_so: bool) {
        self.add(what, usize::from(is_so));
    }

    fn percent(&self, what: &str, of: &str) -> usize {
        100 * self.0[what] / self.0[of]
    }
}

#[test]
fn random_cases_cover_every_feature() {
    let mut counts = Counts::default();
    let kernel = Abilities { max_hops: 1, relative_crc8: true };
    for number in 0..CASES {
        let case = Case::from_seed(SEED, number, kernel);
        counts.add_if("cases of one job", case.jobs.len() == 1);
        counts.add_if("cases of 64 jobs", case.jobs.len() == 64);
        counts.add_if("cases for the whole engine", Leg::of(&case).contains(&Leg::Engine(UserEngine::PLAINEST)));
        case.jobs.iter().for_each(|job| of_job(&mut counts, job));
        case.bursts.iter().for_each(|burst| of_burst(&mut counts, &case, burst));
    }
    println!("{CASES} cases: {:#?}", counts.0);
    let rare: Vec<_> = counts.0.iter().filter(|(_, times)| **times < 2).collect();
    assert!(rare.is_empty(), "{rare:?}");
    let untouched = counts.percent("frames that no job takes", "frames");
    assert!((5..50).contains(&untouched), "{untouched} % of the frames match no job");
    let changed = counts.percent("deliveries of changed frames", "deliveries");
    assert!((30..90).contains(&changed), "{changed} % of the deliveries are changed");
    let whole = 100 * counts.0["cases for the whole engine"] / usize::try_from(CASES).unwrap();
    assert!(whole > 50, "{whole} % of the cases run in the whole engine");
}

#[test]
fn random_cases_cover_every_feature_of_programs() {
    let mut counts = Counts::default();
    let mut refused = BTreeMap::<_, usize>::new();
    for number in 0..CASES {
        let case = Case::for_programs(SEED, number, Abilities::PROGRAMS);
        if let Some(why) = case.not_for_programs() {
            *refused.entry(why).or_default() += 1;
            continue;
        }
        counts.add("cases", 1);
        for route in Case::routes(&case.jobs) {
            counts.add("routes", 1);
            of_job(&mut counts, &route[0]);
            counts.add_if("routes with a list", route.len() > 1);
            counts.add_if("routes with a payload", !route[0].payload.is_empty());
            counts.add_if("exclusive routes", case.exclusive.contains(&route[0].route));
        }
        case.bursts.iter().for_each(|burst| of_burst(&mut counts, &case, burst));
    }
    println!("{CASES} cases, {refused:?} refused: {:#?}", counts.0);
    // A program counts no hops, echoes nothing and keeps no receive timestamp.
    counts.0.retain(|what, _| !["without echo", "kept stamps", "cases"].contains(what));
    let rare: Vec<_> = counts.0.iter().filter(|(_, times)| **times < 2).collect();
    assert!(rare.is_empty(), "{rare:?}");
    let all_refused: usize = refused.values().sum();
    assert!((20..100).contains(&all_refused), "{refused:?}");
}

fn of_job(counts: &mut Counts, job: &Job) {
    counts.add("jobs", 1);
    let operations = [
        ("AND", job.modifications.and),
        ("OR", job.modifications.or),
        ("XOR", job.modifications.xor),
        ("SET", job.modifications.set),
    ];
    for (operation, Operand { id, len, flags, data }) in operations {
        counts.add_if(operation, id.is_some() || len.is_some() || flags.is_some() || data.is_some());
        counts.add_if("identifiers that are changed", id.is_some());
        counts.add_if("lengths that are changed", len.is_some());
        counts.add_if("flags that are changed", flags.is_some());
        counts.add_if("data that is changed", data.is_some());
    }
    if let Some(crc8) = &job.checksums.crc8 {
        counts.add_if("CRC8 from the end", crc8.span.is_relative());
        counts.add_if("CRC8 downwards", crc8.span.from > crc8.span.to);
        counts.add_if("CRC8 without a profile", crc8.profile == Crc8Profile::None);
        counts.add_if("CRC8 with profile 1", matches!(crc8.profile, Crc8Profile::Byte(_)));
        counts.add_if("CRC8 with profile 2", matches!(crc8.profile, Crc8Profile::ByteByCounter(_)));
        counts.add_if("CRC8 with profile 3", crc8.profile == Crc8Profile::IdXor);
    }
    counts.add_if("XOR checksums", job.checksums.xor.is_some());
    counts.add_if("both checksums", job.checksums.xor.is_some() && job.checksums.crc8.is_some());
    counts.add_if("without echo", job.echo == Echo::Off);
    counts.add_if("kept stamps", job.timestamp == Timestamp::Kept);
    counts.add_if("back to where they come from", job.from == job.to && job.incoming == Incoming::Allowed);
    counts.add_if("hop limits", job.hop_limit.is_some());
    counts.add_if("uids", job.uid.is_some());
    counts.add_if("to an interface that is down", job.to == DOWN);
    counts.add_if("FD to classic frames only", job.to == CLASSIC_ONLY && job.format == FrameFormat::Fd);
}

fn of_burst(counts: &mut Counts, case: &Case, burst: &Burst) {
    for frame in &burst.frames {
        counts.add("frames", 1);
        let deliveries = oracle::deliver(&case.jobs, burst.from, frame);
        let deleted: u64 =
            oracle::count(&case.jobs, &[(burst.from, *frame)]).iter().map(|counted| counted.deleted).sum();
        counts.add("deleted", usize::try_from(deleted).unwrap());
        counts.add_if("frames that no job takes", deliveries.is_empty() && deleted == 0);
        counts.add_if("frames for more than 8 jobs", deliveries.len() > 8);
        for delivery in deliveries {
            counts.add("deliveries", 1);
            counts.add_if("deliveries of changed frames", delivery.frame != *frame);
            of_delivery(counts, delivery.to, &delivery.frame);
        }
    }
}

fn of_delivery(counts: &mut Counts, to: BusIndex, frame: &Frame) {
    let beyond = &frame.data[usize::from(frame.len).min(frame.format.max_len())..frame.format.max_len()];
    counts.add_if("deliveries of FD frames", frame.format == FrameFormat::Fd);
    counts.add_if("deliveries of remote frames", frame.id.is_rtr());
    counts.add_if("deliveries of error frames", frame.id.is_err());
    counts.add_if("deliveries with a raw DLC", frame.len8_dlc != 0);
    counts.add_if("deliveries with bytes beyond the length", beyond.iter().any(|byte| *byte != 0));
    counts
        .add_if("deliveries of malformed identifiers", !frame.id.is_eff() && frame.id.0 & CAN_EFF_MASK > CAN_SFF_MASK);
    counts.add_if("deliveries to where no socket sees them", to == DOWN);
}
