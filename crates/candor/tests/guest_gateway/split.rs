//! A gateway that is split between kernel and user space behaves like one that runs in user space.
//!
//! Each bus is a vxcan pair: the gateway has one end, the test sends and receives at the other. That end sees what a real
//! bus would carry, with echo and without, and not what local sockets receive at the gateway's end.

mod case;
mod two_ways;

use std::fs::File;

use candor_config::placement::{Because, Placement, Side};
use candor_config::plan::{Engine, RouteIndex, UserEngine};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MAX_DLEN};
use candor_core::oracle;
use candor_core::payload::PayloadPattern;
use candor_engine::{Gateway, GatewayError, UserError};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::prelude::*;
use case::{Case, Expected, case, deleted_echoes, listed};

const CASES: u32 = 150;
const BUSES: usize = 3;
/// Interfaces of the gateway, and those of the test.
const NAMES: [[&str; 2]; BUSES] = [["t-a", "t-far-a"], ["t-b", "t-far-b"], ["t-c", "t-far-c"]];
const GATEWAY: [&str; BUSES] = [NAMES[0][0], NAMES[1][0], NAMES[2][0]];
const SILENCE: Duration = Duration::from_millis(3);
const ERRORS: Filter = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
/// Every frame with a data byte passes, but only user space can match it.
const ANY_PAYLOAD: PayloadPattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };

/// The ends of the gateway, and a socket at each far end.
struct Wires {
    pairs: Vec<Pair>,
    sockets: Vec<CanSocket>,
}

impl Wires {
    fn new() -> Self {
        let pairs: Vec<_> = NAMES.into_iter().map(Pair::new).collect();
        let sockets = pairs.iter().map(|pair| Self::open(pair.far)).collect();
        Self { pairs, sockets }
    }

    /// A socket for every frame of an interface.
    fn open(interface: InterfaceIndex) -> CanSocket {
        let options = Options { filters: &[Filter::ALL, ERRORS], ..Options::default() };
        let socket = CanSocket::open(interface, &options).unwrap();
        socket.set_receive_buffer(8 << 20).unwrap();
        socket
    }

    fn drain(&self) {
        for bus in 0..BUSES {
            while !self.hear(bus, 0).is_empty() {}
        }
    }

    /// Waits for this many frames from a bus, and returns them with any that follow.
    fn hear(&self, bus: usize, count: usize) -> Vec<Frame> {
        let mut heard = Vec::new();
        loop {
            let patience = if heard.len() < count { PATIENCE } else { SILENCE };
            let Some(frame) = hear(&self.sockets[bus], patience) else { return heard };
            heard.push(frame);
            if heard.len() > 100 * (count + 1) {
                // It circulates.
                return heard;
            }
        }
    }
}

/// Coverage of the cases, because a comparison of nothing always passes.
#[derive(Debug, Default)]
struct Seen {
    split: usize,
    meetings: usize,
    deliveries: usize,
    deleted: u64,
    /// Frames that a job in the kernel deleted because another one had sent them.
    echoes: u64,
}

#[test]
#[ignore = "runs in a guest"]
fn a_split_gateway_behaves_like_user_space() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
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

/// Runs a case in user space and split, and compares each with the oracle.
fn run_both(wires: &Wires, case: &Case, seen: &mut Seen) -> Result<(), TestCaseError> {
    wires.drain();
    for engine in [Engine::User(UserEngine::PLAINEST), Engine::Auto] {
        let plan = candor_config::arbitrary::plan(&GATEWAY, &case.jobs, engine);
        let (mut gateway, notices) = Gateway::start(plan).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(notices.is_empty(), "{engine:?}: {notices:?}");
        let placement = gateway.placement().clone();
        if engine == Engine::Auto {
            note(case, &placement, seen);
        }
        for (at, (from, frames)) in case.bursts.iter().enumerate() {
            frames.iter().for_each(|frame| send(&wires.sockets[*from], frame));
            for (to, name) in GATEWAY.iter().enumerate() {
                let expected = Expected::of(case, &placement, *from, to, frames);
                let heard = wires.hear(to, expected.kernel.len() + expected.user.len());
                seen.deliveries += heard.len();
                let place = format!("{engine:?}, burst {at}, bus {name}");
                let (kernel, user, heard_text) = (listed(&expected.kernel), listed(&expected.user), listed(&heard));
                prop_assert!(
                    expected.explains(&heard),
                    "{place}: expected [{kernel}] from the kernel and [{user}] from user space, but got [{heard_text}]"
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

/// With too few file descriptors, the start fails at one point after another: both sides run, or neither.
#[test]
#[ignore = "runs in a guest"]
fn a_start_that_fails_leaves_nothing() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let wires = Wires::new();
    let mut jobs = [1, 2].map(|to| Job::plain(BusIndex(0), BusIndex(to), FrameFormat::Classic, Filter::ALL));
    jobs[1].payload.push(ANY_PAYLOAD);
    let plan = candor_config::arbitrary::plan(&GATEWAY, &jobs, Engine::Auto);
    let in_kernel = || {
        let all = cangw::dump(&mut Client::open().unwrap()).unwrap();
        all.iter().filter(|job| wires.pairs.iter().any(|pair| pair.near == job.source)).count()
    };
    let lists = || {
        let files = fs::read_dir("/run/candor").into_iter().flatten();
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
    // In at least one case the kernel part was running.
    let in_other_part =
        |error: &GatewayError| matches!(error, GatewayError::User(UserError::Socket { .. }) | GatewayError::Bpf(_));
    assert!(failures.iter().any(in_other_part), "{failures:#?}");
    assert_eq!((in_kernel(), lists()), (0, 0));
}
