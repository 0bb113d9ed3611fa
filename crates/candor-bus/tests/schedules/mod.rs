//! Random schedules, the same in each run, so a failure is caused by a change.

use std::fmt::{self, Debug};

use candor_bus::{NodeConfig, Order, Timing};
use candor_core::units::BitRate;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

pub(crate) const BIT_NS: u64 = 2_000;

pub(crate) fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

/// Nodes with any controller and these bit rates.
pub(crate) fn config(timing: Timing) -> impl Strategy<Value = NodeConfig> {
    let order = prop_oneof![Just(Order::Fifo), Just(Order::LowestId)];
    (order, 1_usize..6, prop::bool::weighted(0.1), prop::bool::weighted(0.1)).prop_map(
        move |(order, depth, listen_only, one_shot)| NodeConfig { timing, order, depth, listen_only, one_shot },
    )
}

/// Writes a line for each node.
pub(crate) fn write_nodes(f: &mut fmt::Formatter<'_>, configs: &[NodeConfig]) -> fmt::Result {
    for (node, NodeConfig { order, depth, listen_only, one_shot, .. }) in configs.iter().enumerate() {
        writeln!(f, "node {node}: {order:?} {depth}, listen only {listen_only}, one shot {one_shot}")?;
    }
    Ok(())
}

/// Checks this number of schedules, or `CANDOR_CASES`.
pub(crate) fn run<T: Debug>(
    cases: u32,
    schedules: &impl Strategy<Value = T>,
    check: impl Fn(&T) -> Result<(), TestCaseError>,
) {
    let cases = std::env::var("CANDOR_CASES").map_or(cases, |cases| cases.parse().expect("CANDOR_CASES is a number"));
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    if let Err(error) = runner.run(schedules, |schedule| check(&schedule)) {
        panic!("{error}");
    }
}
