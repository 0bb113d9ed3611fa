//! Numbers for options.

use proptest::prelude::*;
use proptest::sample::select;

use crate::discipline::ByteRate;

/// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME` and `CLOCK_TAI`.
pub(super) const CLOCKS: [i32; 4] = [0, 1, 7, 11];

/// A number that is small, round or any.
pub(super) fn quantity() -> impl Strategy<Value = u32> {
    prop_oneof![1..=100_u32, select([16, 72, 256, 1000, 1024, 1600, 2048, 65_536].as_slice()), 1..=u32::MAX]
}

/// Rates from 1 byte/s, among them round ones and those of whole frames.
pub fn rate() -> impl Strategy<Value = ByteRate> {
    prop_oneof![
        (1..=5000_u64).prop_map(|frames| ByteRate(frames * 16)),
        (1..=1000_u64).prop_map(|kbit| ByteRate(kbit * 125)),
        (1..=u64::from(u32::MAX)).prop_map(ByteRate),
    ]
}
