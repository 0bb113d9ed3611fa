//! Makes a failing case as small as possible, and prints it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use candor_config::plan::{Echo, Engine, Incoming, Timestamp};
use candor_config::text;
use candor_core::filter::Filter;
use candor_core::frame::{Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Profile, Modifications, Operand};

use super::case::{Burst, Case, FIRST_DESTINATION, INTERFACES};
use super::expected::Difference;
use crate::frames::bytes_of;

/// Longer than shrinking takes; then the smallest case so far is reported.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Small {
    pub(super) case: Case,
    pub(super) difference: Box<Difference>,
}

/// Replaces the case with the first simpler one that fails, until none does.
///
/// # Panics
/// If the case does not fail again: then it is not the cause.
pub(super) fn shrink(case: &Case, mut fails: impl FnMut(&Case) -> Option<Box<Difference>>) -> Small {
    let start = Instant::now();
    let difference = fails(case).unwrap_or_else(|| panic!("the case does not fail again: {case:#?}"));
    let mut small = Small { case: case.clone(), difference };
    for smaller in [fewer_frames as fn(&Case) -> Vec<Case>, fewer_jobs, simpler_jobs, simpler_frames] {
        while let Some(next) = smaller(&small.case).into_iter().find_map(|case| {
            let in_time = start.elapsed() < PATIENCE;
            let difference = if in_time { fails(&case) } else { None };
            difference.map(|difference| Small { case, difference })
        }) {
            small = next;
        }
    }
    small
}

fn fewer_frames(case: &Case) -> Vec<Case> {
    if case.bursts.len() > 1 {
        let one = |burst: &Burst| Case { bursts: vec![burst.clone()], ..case.clone() };
        return case.bursts.iter().map(one).collect();
    }
    let Some(burst) = case.bursts.first() else { return Vec::new() };
    let fewer = without_chunks(&burst.frames).into_iter().filter(|frames| !frames.is_empty());
    fewer.map(|frames| Case { bursts: vec![Burst { frames, ..*burst }], ..case.clone() }).collect()
}

fn fewer_jobs(case: &Case) -> Vec<Case> {
    without_chunks(&case.jobs).into_iter().map(|jobs| Case { jobs, ..case.clone() }).collect()
}

/// The list without each of its halves, quarters, and so on to single elements.
fn without_chunks<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    let sizes = std::iter::successors(Some(all.len().div_ceil(2)), |size| (*size > 1).then(|| size.div_ceil(2)));
    sizes
        .filter(|size| *size > 0)
        .flat_map(|size| (0..all.len()).step_by(size).map(move |from| (from, from + size)))
        .map(|(from, to)| [&all[..from], &all[to.min(all.len())..]].concat())
        .collect()
}

fn simpler_jobs(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, job) in case.jobs.iter().enumerate() {
        let simpler = simpler_job(job).into_iter().map(effective);
        for simpler in simpler.filter(|simpler| simpler != job && leads_somewhere(simpler)) {
            let mut jobs = case.jobs.clone();
            jobs[at] = simpler;
            cases.push(Case { jobs, ..case.clone() });
        }
    }
    cases
}

/// A job without the keys that need a modification.
fn effective(job: Job) -> Job {
    if job.modifications.is_empty() { Job { checksums: Checksums::NONE, uid: None, ..job } } else { job }
}

/// Gateway files have no other routes.
fn leads_somewhere(job: &Job) -> bool {
    job.from != job.to || job.incoming == Incoming::Allowed
}

fn simpler_job(job: &Job) -> Vec<Job> {
    let mut jobs = vec![
        Job { modifications: Modifications::NONE, ..job.clone() },
        Job { checksums: Checksums::NONE, ..job.clone() },
        Job { checksums: Checksums { crc8: None, ..job.checksums }, ..job.clone() },
        Job { checksums: Checksums { xor: None, ..job.checksums }, ..job.clone() },
        Job { uid: None, ..job.clone() },
        Job { hop_limit: None, ..job.clone() },
        Job { incoming: Incoming::Skipped, ..job.clone() },
        Job { timestamp: Timestamp::Fresh, ..job.clone() },
        Job { payload: Vec::new(), ..job.clone() },
        Job { echo: Echo::On, ..job.clone() },
        Job { to: FIRST_DESTINATION, ..job.clone() },
        Job { filter: Filter::ALL, ..job.clone() },
        Job { filter: Filter { mask: job.filter.mask & 0xE000_0000, ..job.filter }, ..job.clone() },
        Job { filter: Filter { id: job.filter.id & 0xE000_0000, ..job.filter }, ..job.clone() },
    ];
    let mut change = |change: &dyn Fn(&mut Job)| {
        let mut job = job.clone();
        change(&mut job);
        jobs.push(job);
    };
    for which in 0..4 {
        change(&|job| *operand(job, which) = Operand::NONE);
        change(&|job| operand(job, which).id = None);
        change(&|job| operand(job, which).len = None);
        change(&|job| operand(job, which).flags = None);
        change(&|job| operand(job, which).data = None);
        change(&|job| operand(job, which).data.iter_mut().for_each(|data| data.fill(0)));
        change(&|job| operand(job, which).data.iter_mut().for_each(|data| data[1..].fill(0)));
        change(&|job| operand(job, which).id.iter_mut().for_each(|id| *id &= 0xE000_07FF));
    }
    change(&|job| job.checksums.crc8.iter_mut().for_each(|crc8| crc8.profile = Crc8Profile::None));
    change(&|job| job.checksums.crc8.iter_mut().for_each(|crc8| (crc8.init, crc8.final_xor) = (0, 0)));
    change(&|job| job.checksums.xor.iter_mut().for_each(|xor| xor.init = 0));
    let first = ChecksumSpan { from: 0, to: 1, result: 2 };
    change(&|job| job.checksums.xor.iter_mut().for_each(|xor| xor.span = first));
    change(&|job| job.checksums.crc8.iter_mut().for_each(|crc8| crc8.span = first));
    jobs
}

fn operand(job: &mut Job, which: usize) -> &mut Operand {
    let Modifications { and, or, xor, set } = &mut job.modifications;
    [and, or, xor, set].into_iter().nth(which).unwrap()
}

fn simpler_frames(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, burst) in case.bursts.iter().enumerate() {
        for (place, frame) in burst.frames.iter().enumerate() {
            for simpler in simpler_frame(frame).into_iter().filter(|simpler| simpler != frame) {
                let mut bursts = case.bursts.clone();
                bursts[at].frames[place] = simpler;
                cases.push(Case { bursts, ..case.clone() });
            }
        }
    }
    cases
}

fn simpler_frame(frame: &Frame) -> Vec<Frame> {
    let mut frames = vec![
        Frame { data: [0; 64], ..*frame },
        Frame { len8_dlc: 0, ..*frame },
        Frame { len: 0, ..*frame },
        Frame { len: frame.len / 2, ..*frame },
        Frame { len: frame.len.saturating_sub(1), ..*frame },
        Frame { id: RawId(frame.id.0 & 0xE000_07FF), ..*frame },
        Frame { id: RawId(frame.id.0 & !0x2000_0000), ..*frame },
        Frame { id: RawId(frame.id.0 & !0x4000_0000), ..*frame },
        Frame { id: RawId(frame.id.0 & 0xE000_0000), ..*frame },
    ];
    if frame.format == FrameFormat::Fd {
        frames.push(Frame { flags: 0x04, ..*frame });
    }
    let mut beyond = *frame;
    beyond.data[usize::from(frame.len).min(64)..].fill(0);
    frames.push(beyond);
    frames
}

/// A failed case, to try by hand: a gateway file, a cangw script, frames.
pub(super) fn report(case: &Case, engine: Engine, difference: &Difference) -> String {
    let mut report = String::new();
    match difference {
        Difference::Frame { burst, bus, at, expected, seen } => {
            let place = match INTERFACES.get(*bus) {
                Some(name) => format!("on {name}"),
                None => format!("beside the gateway on {}", INTERFACES[bus - INTERFACES.len()]),
            };
            let place = format!("{place}, frame {at} of burst {burst}");
            let shown = |frame: &Option<Frame>| frame.as_ref().map_or_else(|| "nothing".to_owned(), show);
            writeln!(report, "{place}:\n  expected {}\n  seen     {}", shown(expected), shown(seen)).unwrap();
        }
        Difference::Counters { job, expected, seen } => {
            writeln!(report, "job {job} counted:\n  expected {expected:?}\n  seen     {seen:?}").unwrap();
        }
        Difference::Dump { job, given, listed } => {
            writeln!(report, "job {job} was\n  given {given}\n  listed {listed}").unwrap();
        }
    }
    let plan = case.plan(&case.jobs, engine);
    for (title, gateway) in [("gateway", text::write(&plan)), ("the same for cangw", text::script(&plan))] {
        writeln!(report, "--- {title}:\n{gateway}").unwrap();
    }
    report.push_str("--- frames:\n");
    for burst in &case.bursts {
        for frame in &burst.frames {
            writeln!(report, "cansend {} {}", INTERFACES[burst.from.0], show(frame)).unwrap();
        }
    }
    report
}

/// In can-utils notation, with the bytes of the kernel if that notation loses information.
fn show(frame: &Frame) -> String {
    let notation = frame.to_string();
    if notation.parse() == Ok(*frame) {
        return notation;
    }
    let hex: String = bytes_of(frame).iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{notation} (incomplete; as struct: {hex})")
}
