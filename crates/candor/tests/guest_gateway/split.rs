//! A gateway that is split between kernel and user space is the same gateway as one that is all in user space.
//!
//! Each bus is a vxcan pair: the gateway has one end, the test sends and listens at the other. That end hears what is on
//! the bus, with echo and without, and nothing of what local sockets hear at the gateway's end. So what is compared is
//! what a real bus would carry.

mod case;
mod expected;
mod two_ways;
mod wires;

use std::fs::File;

use candor_config::placement::{Because, Placement, Side};
use candor_config::plan::{BusIndex, Engine, RouteIndex, UserEngine};
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle;
use candor_core::payload::PayloadPattern;
use candor_engine::{Gateway, GatewayError, UserError};
use candor_netlink::cangw;
use candor_netlink::client::Client;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::require::{Feature, require};
use case::{Case, case, listed};
use expected::{Expected, deleted_echoes};
use wires::{NAMES, Wires};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];
const CASES: u32 = 150;

/// What the cases had, so that nobody believes a test of nothing.
#[derive(Debug, Default)]
struct Seen {
    split: usize,
    meetings: usize,
    deliveries: usize,
    deleted: u64,
    /// Copies that a job in the kernel deleted because its like had sent them already.
    echoes: u64,
}

#[test]
#[ignore = "runs in a guest"]
fn a_split_gateway_is_the_same_gateway() {
    let Some(_machine) = require(NEEDS) else { return };
    let wires = Wires::new();
    let seen = std::cell::RefCell::new(Seen::default());
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&case(), |case| run_both(&wires, &case, &mut seen.borrow_mut()));
    let seen = seen.into_inner();
    println!("{seen:?}");
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen.split > 50 && seen.meetings > 50, "{seen:?}");
    assert!(seen.deliveries > 4000 && seen.deleted > 100 && seen.echoes > 50, "{seen:?}");
}

/// Runs a case in user space and split, and compares each with what the oracle says, which is the same for both.
fn run_both(wires: &Wires, case: &Case, seen: &mut Seen) -> Result<(), TestCaseError> {
    let names = NAMES.map(|[near, _far]| near);
    wires.drain();
    for engine in [Engine::User(UserEngine::PLAINEST), Engine::Auto] {
        let plan = candor_config::arbitrary::plan(&names, &case.jobs, engine);
        let (mut gateway, notices) = Gateway::start(plan).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(notices.is_empty(), "{engine:?}: {notices:?}");
        let placement = gateway.placement().clone();
        if engine == Engine::Auto {
            note(case, &placement, seen);
        }
        for (at, (from, frames)) in case.bursts.iter().enumerate() {
            frames.iter().for_each(|frame| wires.send(*from, frame));
            for (to, name) in names.iter().enumerate() {
                let expected = Expected::of(case, &placement, *from, to, frames);
                let heard = wires.hear(to, expected.kernel.len() + expected.user.len());
                seen.deliveries += heard.len();
                let place = format!("{engine:?}, burst {at}, bus {name}");
                let (kernel, user, heard_text) = (listed(&expected.kernel), listed(&expected.user), listed(&heard));
                prop_assert!(
                    expected.explains(&heard),
                    "{place}: the kernel was to send [{kernel}], user space [{user}], but there came [{heard_text}]"
                );
            }
        }
        prop_assert!(gateway.check().is_ok());
        let ended = gateway.stop().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(ended.notices, vec![]);
        let frames: Vec<_> = case
            .bursts
            .iter()
            .flat_map(|(from, frames)| frames.iter().map(|frame| (BusIndex(*from), *frame)))
            .collect();
        let echoes = deleted_echoes(&case.jobs, &placement, &frames);
        for (at, (counted, expected)) in ended.counters.iter().zip(oracle::count(&case.jobs, &frames)).enumerate() {
            seen.deleted += expected.deleted;
            seen.echoes += echoes[at];
            let counted = (counted.handled, counted.dropped, counted.deleted);
            let expected = (expected.handled, 0, expected.deleted + echoes[at]);
            prop_assert_eq!(counted, expected, "{:?}: handled, dropped, deleted of route {}", engine, at);
        }
    }
    Ok(())
}

fn note(case: &Case, placement: &Placement, seen: &mut Seen) {
    let routes = || (0..case.jobs.len()).map(RouteIndex);
    let kernel = routes().any(|route| placement.side(route) == Side::Kernel);
    let user = routes().any(|route| placement.side(route) == Side::User);
    let meets = routes().any(|route| matches!(placement.because(route), Some(Because::Meets(_))));
    seen.split += usize::from(kernel && user);
    seen.meetings += usize::from(meets);
}

/// Takes descriptors away, so that the start fails at one point after the other: both sides run, or neither.
#[test]
#[ignore = "runs in a guest"]
fn a_start_that_fails_leaves_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let wires = Wires::new();
    let mut jobs = [1, 2].map(|to| Job::plain(BusIndex(0), BusIndex(to), FrameFormat::Classic, Filter::ALL));
    jobs[1].payload.push(PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] });
    let plan = candor_config::arbitrary::plan(&NAMES.map(|[near, _far]| near), &jobs, Engine::Auto);
    let in_kernel = || {
        let all = cangw::dump(&mut Client::open().unwrap()).unwrap();
        all.iter().filter(|job| wires.gateway.contains(&job.source)).count()
    };
    let lists = || {
        let files = std::fs::read_dir("/run/candor").into_iter().flatten();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    };
    let mut failures = Vec::new();
    for left in 0.. {
        let mut hoard: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        hoard.truncate(hoard.len() - left);
        let started = Gateway::start(plan.clone());
        drop(hoard);
        match started {
            Ok((gateway, notices)) => {
                assert_eq!((notices, in_kernel(), lists()), (vec![], 1, 1));
                assert_eq!(gateway.stop().unwrap().removed_jobs, 1);
                break;
            }
            Err(error) => {
                assert_eq!((in_kernel(), lists()), (0, 0), "with {left} descriptors: {error}");
                failures.push(error);
            }
        }
    }
    // At least one of them came when the kernel's part ran already.
    let in_user_space = |error: &GatewayError| matches!(error, GatewayError::User(UserError::Socket { .. }));
    assert!(failures.iter().any(in_user_space), "{failures:#?}");
    assert_eq!((in_kernel(), lists()), (0, 0));
}
