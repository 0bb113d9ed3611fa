//! Random gateways and random frames, three ways: the oracle says what must come out, the kernel's can-gw and candor's
//! own gateway must do just that. Every byte, flag and raw DLC, the order on every bus, and what every job counted.
//!
//! `CANDOR_DIFFERENTIAL_SEED` chooses other gateways, `CANDOR_DIFFERENTIAL_CASE` runs a single one of them again, and
//! `CANDOR_DIFFERENTIAL_DELIVERIES` says after how many frames from the kernel it is enough.

mod case;
mod composition;
mod expected;
mod leg;
mod machine;
mod mutation;
mod random;
mod report;
mod shrink;

use std::io::Write as _;
use std::time::Instant;

use candor_config::engine::{Sender, UserEngine};
use candor_config::plan::Echo;
use case::Case;
use leg::Leg;
use machine::Machine;
use mutation::Mutation;

use crate::kernel::{WithMaxHops, WithVcanEcho};
use crate::require::{Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

/// Any seed will do; a fixed one makes every run of the tests the same.
const SEED: u64 = 2011;
/// Frames from the kernel's gateway that are compared in the uml laboratory, and where every instruction is counted.
const DELIVERIES: (u64, u64) = (200_000, 10_000);
/// The same for each number of hops above 1.
const DELIVERIES_WITH_HOPS: (u64, u64) = (5_000, 500);
/// Gateways that each engine runs, in the uml laboratory and where every instruction is counted.
const CASES_OF_AN_ENGINE: (usize, usize) = (6, 2);
/// A mutation must be found among so many cases.
const CASES_TO_FIND_A_MUTATION: u64 = 200;

#[test]
#[ignore = "runs in a guest"]
fn kernel_and_user_space_do_what_the_oracle_says() {
    let Some(_machine) = require(NEEDS) else { return };
    let enough = if icount() { DELIVERIES.1 } else { DELIVERIES.0 };
    let done = compare(number("DELIVERIES").unwrap_or(enough), Leg::of);
    assert!(number("CASE").is_some() || done.engine_cases > done.cases / 2, "most cases run in the whole gateway");
}

/// Frames that several gateways of the kernel pass on to each other.
#[test]
#[ignore = "runs in a guest"]
fn the_kernel_counts_hops_as_the_oracle_says() {
    let Some(_machine) = require(NEEDS) else { return };
    for max_hops in [2, 3, 6] {
        let Some(_with) = WithMaxHops::new(max_hops) else { return };
        let enough = if icount() { DELIVERIES_WITH_HOPS.1 } else { DELIVERIES_WITH_HOPS.0 };
        compare(enough, |_case| vec![Leg::Kernel]);
    }
}

/// Runs cases until the kernel has delivered so many frames, and tells what was done.
fn compare(enough: u64, legs: fn(&Case) -> Vec<Leg>) -> Done {
    let (seed, only) = (number("SEED").unwrap_or(SEED), number("CASE"));
    let mut machine = Machine::new();
    tell(&format!("{}, seed {seed}", machine.kernel()));
    let (start, mut done) = (Instant::now(), Done::default());
    for number in only.map_or(0..u64::MAX, |only| only..only + 1) {
        let case = Case::from_seed(seed, number, machine.abilities);
        for leg in legs(&case) {
            let _named = NamedIfItPanics { seed, number, leg };
            match leg.run(&mut machine, &case, Mutation::None) {
                Ok(frames) => done.add(leg, frames),
                Err(difference) => {
                    tell(&format!("seed {seed}, case {number}, {leg}: {difference:?}; looking for a smaller case"));
                    panic!("seed {seed}, case {number}: {}{}", found(&mut machine, leg, &case), again(seed, number));
                }
            }
        }
        done.cases += 1;
        if done.kernel >= enough {
            break;
        }
    }
    tell(&format!("{done} in {:.1} s", start.elapsed().as_secs_f64()));
    done
}

/// Every receiver with every sender is the same gateway. The transmit ring echoes only what drivers echo, so those engines
/// that have nothing else need a vcan that does.
#[test]
#[ignore = "runs in a guest"]
fn every_engine_does_what_the_oracle_says() {
    let Some(_machine) = require(NEEDS) else { return };
    let everywhere = |engine: &UserEngine| engine.sender() != Sender::Mmap;
    compare_engines(UserEngine::all().filter(everywhere));
    let Some(_with) = WithVcanEcho::new() else { return };
    compare_engines(UserEngine::all());
}

fn compare_engines(engines: impl Iterator<Item = UserEngine>) {
    let seed = number("SEED").unwrap_or(SEED);
    let mut machine = Machine::new();
    let enough = if icount() { CASES_OF_AN_ENGINE.1 } else { CASES_OF_AN_ENGINE.0 };
    for engine in engines {
        let leg = Leg::Engine(engine);
        let cases = (0..).map(|number| (number, Case::from_seed(seed, number, machine.abilities)));
        let cases: Vec<_> = cases.filter(|(_, case)| case.is_for_engine()).take(enough).collect();
        let mut frames = 0;
        for (number, mut case) in cases {
            if engine.sender() == Sender::Mmap {
                case.jobs.iter_mut().for_each(|job| job.echo = Echo::On);
            }
            frames += leg.run(&mut machine, &case, Mutation::None).unwrap_or_else(|difference| {
                tell(&format!("seed {seed}, case {number}, {leg}: {difference:?}; looking for a smaller case"));
                panic!("seed {seed}, case {number}: {}", found(&mut machine, leg, &case));
            });
        }
        tell(&format!("{frames} frames delivered by {leg} are as predicted"));
    }
}

/// The comparison is worth something only if it sees a wrong gateway, so the oracle is made wrong in several ways.
#[test]
#[ignore = "runs in a guest"]
fn a_wrong_oracle_is_found_out_and_the_case_becomes_small() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut machine = Machine::new();
    for mutation in Mutation::WRONG {
        for leg in [Leg::Kernel, Leg::Engine(UserEngine::PLAINEST)] {
            let difference = (0..CASES_TO_FIND_A_MUTATION).find_map(|number| {
                let case = Case::from_seed(SEED, number, machine.abilities);
                let runs = Leg::of(&case).contains(&leg);
                (runs && leg.run(&mut machine, &case, mutation).is_err()).then_some(case)
            });
            let case = difference.unwrap_or_else(|| panic!("{mutation:?} was not noticed in {leg}"));
            let small = shrink::shrink(&case, |case| leg.run(&mut machine, case, mutation).err());
            println!("{mutation:?} in {leg}:\n{}", report::text(&small.case, &small.difference));
            assert!(small.case.jobs.len() <= 2, "{mutation:?} in {leg} stays large");
            assert_eq!(small.case.frames(), 1, "{mutation:?} in {leg} stays large");
        }
    }
}

/// What to tell of a case that failed, as small as it can be made.
fn found(machine: &mut Machine, leg: Leg, case: &Case) -> String {
    let small = shrink::shrink(case, |case| {
        let runs = case.is_for_engine() || !matches!(leg, Leg::Engine(_));
        runs.then(|| leg.run(machine, case, Mutation::None).err()).flatten()
    });
    format!("{leg} differs from the oracle\n{}", report::text(&small.case, &small.difference))
}

/// What to type to see the same again.
fn again(seed: u64, number: u64) -> String {
    format!("--- again: CANDOR_DIFFERENTIAL_SEED={seed} CANDOR_DIFFERENTIAL_CASE={number} cargo xtask test")
}

/// A gateway that does not even start, or a machine that loses frames, is no difference, and still has its case.
struct NamedIfItPanics {
    seed: u64,
    number: u64,
    leg: Leg,
}

impl Drop for NamedIfItPanics {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, number, leg } = self;
            tell(&format!("it was seed {seed}, case {number}, {leg}\n{}", again(*seed, *number)));
        }
    }
}

/// Says how much was compared also where the test harness keeps the output of successful tests to itself.
fn tell(text: &str) {
    std::io::stdout().write_all(format!("differential: {text}\n").as_bytes()).unwrap();
}

/// Where every instruction is counted, the kernel is some fifty times as slow.
fn icount() -> bool {
    std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "icount")
}

fn number(name: &str) -> Option<u64> {
    let name = format!("CANDOR_DIFFERENTIAL_{name}");
    let text = std::env::var(&name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// How much was compared.
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
