//! Random schedules: the same ones in each run, so that what a change breaks is broken by that change.

use std::fmt::Debug;

use candor_core::units::BitRate;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

pub(crate) const BIT_NS: u64 = 2_000;

pub(crate) fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

/// Checks so many schedules, or as many as `CANDOR_CASES` says.
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
