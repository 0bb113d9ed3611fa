//! The gateways that are compared with the oracle.

use std::fmt;

use candor_config::config;
use candor_config::engine::UserEngine;
use candor_config::plan::{Echo, Engine};
use candor_config::text;
use candor_core::frame::Frame;
use candor_core::job::Job;
use candor_core::ruleset::{Routed, RuleSet};
use candor_engine::Gateway;
use candor_netlink::cangw::{self, JobCounters};

use super::case::{Burst, Case, FENCE, INTERFACES};
use super::expected::{Difference, Outcome, can_be_seen, takes};
use super::machine::{Abilities, Machine, Until};
use super::mutation::Mutation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// Between vxcan pairs ([`Machine::of_pairs`]), with cases of its own ([`Case::for_programs`]).
    Bpf,
    Engine(UserEngine),
    Kernel,
    /// The compiled rules alone, for jobs that the sockets of an engine cannot serve together.
    RuleSet,
}

impl Leg {
    pub(super) fn of(case: &Case) -> Vec<Self> {
        vec![Self::Kernel, if case.is_for_engine() { Self::Engine(UserEngine::PLAINEST) } else { Self::RuleSet }]
    }

    pub(super) fn machine(self) -> Machine {
        if self == Self::Bpf { Machine::of_pairs() } else { Machine::new() }
    }

    pub(super) fn case(self, seed: u64, number: u64, kernel: Abilities) -> Case {
        if self == Self::Bpf { Case::for_programs(seed, number, kernel) } else { Case::from_seed(seed, number, kernel) }
    }

    pub(super) fn can_run(self, case: &Case) -> bool {
        match self {
            Self::Bpf => case.not_for_programs().is_none() && case.is_read_as_written(Engine::Bpf),
            Self::Engine(_) => case.is_for_engine(),
            Self::Kernel | Self::RuleSet => true,
        }
    }

    /// For a report.
    pub(super) const fn engine(self) -> Engine {
        if matches!(self, Self::Bpf) { Engine::Bpf } else { Engine::User(UserEngine::PLAINEST) }
    }

    /// Runs a case. Returns the number of frames that arrived as predicted, without fences.
    pub(super) fn run(self, machine: &mut Machine, case: &Case, mutation: Mutation) -> Result<u64, Box<Difference>> {
        let expected = match self {
            Self::Bpf => Outcome::of_programs(case, mutation),
            Self::Kernel => Outcome::of_machine(case, mutation),
            Self::Engine(_) | Self::RuleSet => Outcome::of_process(case, mutation),
        };
        machine.discard_late_frames();
        let seen = match self {
            Self::Kernel => kernel(machine, case, &expected)?,
            Self::Bpf => engine(machine, case, (&case.all_jobs_for_programs(), Engine::Bpf), &expected),
            Self::Engine(engine) => self::engine(machine, case, (&case.all_jobs(), Engine::User(engine)), &expected),
            Self::RuleSet => rule_set(case),
        };
        match expected.difference(&seen) {
            None => Ok(expected.frames()),
            Some(difference) => Err(difference),
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bpf => f.write_str("programs"),
            Self::Engine(engine) => write!(f, "the {engine} engine"),
            Self::Kernel => f.write_str("the kernel"),
            Self::RuleSet => f.write_str("the compiled rule set"),
        }
    }
}

fn kernel(machine: &mut Machine, case: &Case, expected: &Outcome) -> Result<Outcome, Box<Difference>> {
    let jobs: Vec<_> = case.all_jobs().iter().map(|job| machine.cangw(job)).collect();
    for job in jobs.iter().rev() {
        cangw::add(&mut machine.client, job).unwrap_or_else(|error| panic!("adding {job:?}: {error}"));
    }
    let send = |(burst, expected): (&Burst, &Vec<Vec<Frame>>)| {
        let counts: Vec<_> = expected.iter().map(Vec::len).collect();
        let until = if case.max_hops == 1 { Until::Fences(counts[FENCE.0]) } else { Until::Counts(&counts) };
        machine.send(burst.from, &case.for_kernel(burst), until)
    };
    let delivered = case.bursts.iter().zip(&expected.delivered).map(send).collect();
    machine.assert_no_loss();
    let listed = cangw::dump(&mut machine.client).unwrap();
    for job in &jobs {
        cangw::delete(&mut machine.client, job).unwrap_or_else(|error| panic!("deleting {job:?}: {error}"));
    }
    assert_eq!(listed.len(), jobs.len(), "jobs in the kernel");
    for (at, (given, listed)) in jobs.iter().zip(&listed).enumerate() {
        if !given.is_same_job(listed) {
            let (given, listed) = (format!("{given:?}"), format!("{listed:?}"));
            return Err(Difference::Dump { job: at, given, listed }.into());
        }
    }
    let counters = listed.iter().map(|job| {
        let JobCounters { handled, dropped, deleted } = job.counters;
        [handled, dropped, deleted].map(u64::from)
    });
    Ok(Outcome { counters: counters.collect(), delivered })
}

fn engine(machine: &mut Machine, case: &Case, (jobs, engine): (&[Job], Engine), expected: &Outcome) -> Outcome {
    // The plan is written to a file and read again.
    let given = case.plan(jobs, engine);
    let text = text::write(&given);
    let plan = config::load(text.as_bytes()).unwrap_or_else(|wrong| panic!("{wrong:?} in\n{text}")).plan;
    assert_eq!(plan, given, "after writing and reading:\n{text}");
    let (gateway, _notices) = Gateway::start(plan).unwrap();
    let delivered = case.bursts.iter().zip(&expected.delivered).map(|(burst, expected)| {
        let fences = expected[FENCE.0].len();
        machine.send(burst.from, &Case::fenced(burst), Until::Fences(fences))
    });
    let delivered = delivered.collect();
    machine.assert_no_loss();
    let ended = gateway.stop().unwrap();
    let counters = ended.counters.iter().map(|route| [route.handled, route.dropped, route.deleted]);
    Outcome { counters: counters.collect(), delivered }
}

fn rule_set(case: &Case) -> Outcome {
    let jobs = case.all_jobs();
    let rules = RuleSet::compile(&jobs, INTERFACES.len());
    let mut counters = vec![[0; 3]; jobs.len()];
    let mut delivered = Vec::new();
    for burst in &case.bursts {
        let mut by_bus = vec![Vec::new(); INTERFACES.len()];
        for frame in Case::fenced(burst) {
            rules.from_bus(burst.from).outcomes(&frame, |job, routed| match routed {
                Routed::Delete => counters[job][2] += 1,
                Routed::Send { to, frame } if !takes(to, frame) => counters[job][1] += 1,
                Routed::Send { to, frame } => {
                    counters[job][0] += 1;
                    if jobs[job].echo == Echo::On && can_be_seen(frame) {
                        by_bus[to.0].push(*frame);
                    }
                }
            });
        }
        delivered.push(by_bus);
    }
    Outcome { counters, delivered }
}
