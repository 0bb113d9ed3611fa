//! Random gateways and random frames: can-gw and candor's engines must do what the oracle predicts. Compared are every byte,
//! flag and raw DLC, the order on every bus, and the counters of every job.
//!
//! `CANDOR_DIFFERENTIAL_SEED` selects other gateways, `CANDOR_DIFFERENTIAL_CASE` one of them, and
//! `CANDOR_DIFFERENTIAL_DELIVERIES` the number of frames from the kernel to compare.

mod case;
mod composition;
pub(crate) mod expected;
mod leg;
mod machine;
mod mutation;
mod random;
mod shrink;

use std::collections::BTreeMap;
use std::io::Write as _;

use candor_config::engine::{Sender, UserEngine};
use candor_config::plan::Echo;
use case::Case;
use leg::Leg;
use machine::Machine;
use mutation::Mutation;
use shrink::Small;

use crate::kernel::{WithMaxHops, WithVcanEcho};
use crate::prelude::*;

const SEED: u64 = 2011;
const PROGRAMS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Programs];
/// Frames of the kernel to compare, in user-mode Linux and in a guest that counts instructions, which is fifty times slower.
const DELIVERIES: (u64, u64) = (200_000, 10_000);
/// The same for each number of hops above 1.
const DELIVERIES_WITH_HOPS: (u64, u64) = (5_000, 500);
const CASES_OF_AN_ENGINE: (usize, usize) = (6, 2);
const CASES_OF_PROGRAMS: (u64, u64) = (400, 60);
const CASES_TO_FIND_A_MUTATION: u64 = 200;

#[test]
#[ignore = "runs in a guest"]
fn kernel_and_user_space_agree_with_the_oracle() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let enough = if counts_instructions() { DELIVERIES.1 } else { DELIVERIES.0 };
    let done = compare(number("DELIVERIES").unwrap_or(enough), Leg::of);
    assert!(number("CASE").is_some() || done.engine_cases > done.cases / 2, "most cases run in the whole gateway");
}

#[test]
#[ignore = "runs in a guest"]
fn hops_agree_with_the_oracle() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    for max_hops in [2, 3, 6] {
        let Some(_with) = WithMaxHops::new(max_hops) else { return };
        let enough = if counts_instructions() { DELIVERIES_WITH_HOPS.1 } else { DELIVERIES_WITH_HOPS.0 };
        compare(enough, |_case| vec![Leg::Kernel]);
    }
}

/// Runs cases until the kernel has delivered enough frames.
fn compare(enough: u64, legs: fn(&Case) -> Vec<Leg>) -> Done {
    let (seed, only) = (number("SEED").unwrap_or(SEED), number("CASE"));
    let mut machine = Machine::new();
    print(&format!("{}, seed {seed}", machine.kernel()));
    let (start, mut done) = (Instant::now(), Done::default());
    for number in only.map_or(0..u64::MAX, |only| only..only + 1) {
        let case = Case::from_seed(seed, number, machine.abilities);
        for leg in legs(&case) {
            done.add(leg, run(&mut machine, leg, &case, (seed, number)));
        }
        done.cases += 1;
        if done.kernel >= enough {
            break;
        }
    }
    print(&format!("{done} in {:.1} s", start.elapsed().as_secs_f64()));
    done
}

/// Frames that arrive as predicted.
fn run(machine: &mut Machine, leg: Leg, case: &Case, (seed, number): (u64, u64)) -> u64 {
    let _named = NamedIfItPanics { seed, number, leg };
    leg.run(machine, case, Mutation::None).unwrap_or_else(|difference| {
        print(&format!("seed {seed}, case {number}, {leg}: {difference:?}; looking for a smaller case"));
        panic!("seed {seed}, case {number}: {}{}", found(machine, leg, case), again(seed, number));
    })
}

/// Programs, with all rule options that they have. Candor's own rules say which cases they cannot run.
#[test]
#[ignore = "runs in a guest"]
fn programs_agree_with_the_oracle() {
    let Some(_machine) = require(PROGRAMS) else { return };
    let (seed, only) = (number("SEED").unwrap_or(SEED), number("CASE"));
    let mut machine = Leg::Bpf.machine();
    let start = Instant::now();
    let (mut ran, mut frames, mut left_out) = (0, 0, BTreeMap::<_, u64>::new());
    let cases = if counts_instructions() { CASES_OF_PROGRAMS.1 } else { CASES_OF_PROGRAMS.0 };
    for number in only.map_or(0..cases, |only| only..only + 1) {
        let case = Leg::Bpf.case(seed, number, machine.abilities);
        match case.not_for_programs() {
            Some(why) => *left_out.entry(why).or_default() += 1,
            None => {
                frames += run(&mut machine, Leg::Bpf, &case, (seed, number));
                ran += 1;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    print(&format!(
        "seed {seed}: {ran} gateways of programs, {frames} frames in {seconds:.1} s; left out: {left_out:?}"
    ));
    assert!(
        only.is_some() || ran > left_out.values().sum::<u64>() && frames > 30 * ran,
        "{ran}, {frames}, {left_out:?}"
    );
}

/// Every receiver with every sender. Transmit rings depend on the echo of the driver, so engines with only a ring need a vcan
/// with echo.
#[test]
#[ignore = "runs in a guest"]
fn every_engine_agrees_with_the_oracle() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let everywhere = |engine: &UserEngine| engine.sender() != Sender::Mmap;
    compare_engines(UserEngine::all().filter(everywhere));
    let Some(_with) = WithVcanEcho::new() else { return };
    compare_engines(UserEngine::all());
}

fn compare_engines(engines: impl Iterator<Item = UserEngine>) {
    let seed = number("SEED").unwrap_or(SEED);
    let mut machine = Machine::new();
    let enough = if counts_instructions() { CASES_OF_AN_ENGINE.1 } else { CASES_OF_AN_ENGINE.0 };
    for engine in engines {
        let leg = Leg::Engine(engine);
        let cases = (0..).map(|number| (number, Case::from_seed(seed, number, machine.abilities)));
        let cases: Vec<_> = cases.filter(|(_, case)| case.is_for_engine()).take(enough).collect();
        let mut frames = 0;
        for (number, mut case) in cases {
            if engine.sender() == Sender::Mmap {
                case.jobs.iter_mut().for_each(|job| job.echo = Echo::On);
            }
            frames += run(&mut machine, leg, &case, (seed, number));
        }
        print(&format!("{frames} frames delivered by {leg} are as predicted"));
    }
}

/// The comparison must find errors, so the oracle makes some.
#[test]
#[ignore = "runs in a guest"]
fn finds_and_shrinks_errors_of_the_oracle() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    finds_and_shrinks(&[Leg::Kernel, Leg::Engine(UserEngine::PLAINEST)], 1);
}

#[test]
#[ignore = "runs in a guest"]
fn finds_and_shrinks_errors_in_programs() {
    let Some(_machine) = require(PROGRAMS) else { return };
    // Programs take a while to load.
    finds_and_shrinks(&[Leg::Bpf], if counts_instructions() { 2 } else { 1 });
}

/// With every mutation, or every second one.
fn finds_and_shrinks(legs: &[Leg], step: usize) {
    let mut machine = legs[0].machine();
    for mutation in Mutation::WRONG.into_iter().step_by(step) {
        for leg in legs {
            let difference = (0..CASES_TO_FIND_A_MUTATION).find_map(|number| {
                let case = leg.case(SEED, number, machine.abilities);
                (leg.can_run(&case) && leg.run(&mut machine, &case, mutation).is_err()).then_some(case)
            });
            let case = difference.unwrap_or_else(|| panic!("{mutation:?} was not noticed in {leg}"));
            let small = shrunk(&mut machine, *leg, &case, mutation);
            println!("{mutation:?} in {leg}:\n{}", shrink::report(&small.case, leg.engine(), &small.difference));
            assert!(small.case.jobs.len() <= 2, "{mutation:?} in {leg} stays large");
            assert_eq!(small.case.frames(), 1, "{mutation:?} in {leg} stays large");
        }
    }
}

fn found(machine: &mut Machine, leg: Leg, case: &Case) -> String {
    let small = shrunk(machine, leg, case, Mutation::None);
    format!("{leg} differs from the oracle\n{}", shrink::report(&small.case, leg.engine(), &small.difference))
}

fn shrunk(machine: &mut Machine, leg: Leg, case: &Case, mutation: Mutation) -> Small {
    shrink::shrink(case, |case| leg.can_run(case).then(|| leg.run(machine, case, mutation).err()).flatten())
}

fn again(seed: u64, number: u64) -> String {
    format!("--- again: CANDOR_DIFFERENTIAL_SEED={seed} CANDOR_DIFFERENTIAL_CASE={number} cargo xtask test")
}

struct NamedIfItPanics {
    seed: u64,
    number: u64,
    leg: Leg,
}

impl Drop for NamedIfItPanics {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, number, leg } = self;
            print(&format!("panic in seed {seed}, case {number}, {leg}\n{}", again(*seed, *number)));
        }
    }
}

/// Prints also if the test harness hides the output of successful tests.
fn print(text: &str) {
    std::io::stdout().write_all(format!("differential: {text}\n").as_bytes()).unwrap();
}

fn number(name: &str) -> Option<u64> {
    let name = format!("CANDOR_DIFFERENTIAL_{name}");
    let text = std::env::var(&name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

#[derive(Clone, Copy, Debug, Default)]
struct Done {
    cases: u64,
    engine_cases: u64,
    kernel: u64,
    user: u64,
}

impl Done {
    fn add(&mut self, leg: Leg, frames: u64) {
        match leg {
            Leg::Kernel => self.kernel += frames,
            Leg::Bpf => {}
            Leg::Engine(_) => (self.user, self.engine_cases) = (self.user + frames, self.engine_cases + 1),
            Leg::RuleSet => self.user += frames,
        }
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cases, engine_cases, kernel, user } = self;
        write!(f, "{cases} gateways, {kernel} frames delivered by the kernel ")?;
        if *user > 0 {
            let rule_sets = cases - engine_cases;
            write!(f, "and {user} by user space ({engine_cases} whole gateways, {rule_sets} rule sets) ")?;
        }
        f.write_str("are as predicted")
    }
}
