//! What a frame costs when several come at once: instructions for each frame of a burst.
//!
//! The tester sends a burst with a priority above the gateway's, so that all of it lies in the gateway's queue before the
//! gateway runs, and then sleeps. A tap writes down when each frame leaves.
//!
//! ```text
//!   first send ─── last send ─────────────── last frame leaves
//!   └─ the tester's own ─┘└─ the gateway's, and the tap's part of it ─┘      (can-gw works within the sends)
//! ```
//!
//! The tester's own part is measured without a gateway, the tap's by sending where it listens, with and without it; both
//! are taken off ([`Overhead`]).

mod bench;
mod figures;

pub use bench::{Bench, Taps, Way};
pub use figures::{Burst, Figures, Overhead, median};

use std::io;
use std::time::Duration;

use crate::stats::LatencyNs;

use crate::tester::pause::Pauses;

/// How bursts are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Frames of a burst on each way.
    pub size: u16,
    /// Bursts to measure.
    pub bursts: u32,
    /// Bursts before the first that counts.
    pub warm_up: u32,
    /// Shortest and longest time between two bursts, in which the gateway has to be finished.
    pub gap: (Duration, Duration),
    /// Seed of the pauses.
    pub seed: u64,
}

impl Pattern {
    /// A gap that is long enough for the slowest of engines, in a machine of 1 ns for an instruction.
    #[must_use]
    pub fn new(size: u16, ways: usize, bursts: u32, warm_up: u32) -> Self {
        const EACH: Duration = Duration::from_micros(40);
        const REST: Duration = Duration::from_millis(1);
        let frames = u32::from(size) * u32::try_from(ways).unwrap_or(u32::MAX);
        let shortest = EACH * frames + REST;
        Self { size, bursts, warm_up, gap: (shortest, shortest + REST), seed: 1 }
    }
}

/// Sends bursts and sees when they leave.
///
/// # Errors
/// What an interface says, or a tap that missed frames.
pub fn measure(bench: &mut Bench, pattern: &Pattern) -> io::Result<Vec<Burst>> {
    let mut pauses = Pauses::new(pattern.seed, pattern.gap);
    bench.settle(pauses.next())?;
    let mut all = Vec::with_capacity(pattern.bursts as usize);
    for position in 0..pattern.warm_up + pattern.bursts {
        let burst = bench.burst(pattern.size, pauses.next())?;
        if position >= pattern.warm_up {
            all.push(burst);
        }
    }
    Ok(all)
}

/// Frames that come alone, from a timer while the tester sleeps: from the stamp of the tap where each comes in to that of the
/// tap where it leaves. A lost frame has no latency.
///
/// # Errors
/// As [`measure`].
pub fn measure_single(bench: &mut Bench, pattern: &Pattern) -> io::Result<Vec<Option<LatencyNs>>> {
    let mut pauses = Pauses::new(pattern.seed, pattern.gap);
    bench.settle(pauses.next())?;
    let all: io::Result<Vec<_>> = (0..pattern.warm_up + pattern.bursts).map(|_| bench.single(pauses.next())).collect();
    Ok(all?.split_off(pattern.warm_up as usize))
}
