//! Cost of a frame in a burst, in instructions.
//!
//! The tester has a higher priority than the gateway. It sends a burst, so that all of it is queued before the gateway
//! runs, and sleeps. A tap records when each frame leaves.
//!
//! ```text
//!   first send ─── last send ─────────────── last frame leaves
//!   └───── tester ───────┘└──────── gateway and tap ──────────┘      (can-gw forwards within the sends)
//! ```
//!
//! The part of the tester is measured without a gateway, that of the tap by sending on its interface with and without it.
//! Both are subtracted ([`Overhead`]).

mod bench;
mod figures;

pub use bench::{Bench, Taps, Way};
pub use figures::{Burst, Figures, Overhead, median};

use std::io;
use std::time::Duration;

use crate::stats::LatencyNs;

use crate::tester::pause::Pauses;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Frames per burst on each way.
    pub size: u16,
    pub bursts: u32,
    /// Bursts before the first that counts.
    pub warm_up: u32,
    /// Shortest and longest time between bursts. The gateway has to finish within it.
    pub gap: (Duration, Duration),
    pub seed: u64,
}

impl Pattern {
    /// Chooses a gap that is long enough for the slowest engine at 1 ns per instruction.
    pub fn new(size: u16, ways: usize, bursts: u32, warm_up: u32) -> Self {
        const EACH: Duration = Duration::from_micros(40);
        const REST: Duration = Duration::from_millis(1);
        let frames = u32::from(size) * u32::try_from(ways).unwrap_or(u32::MAX);
        let shortest = EACH * frames + REST;
        Self { size, bursts, warm_up, gap: (shortest, shortest + REST), seed: 1 }
    }
}

/// Sends bursts and records when they leave.
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

/// Single frames, sent by a timer while the tester sleeps. Latency is from tap to tap; `None` if the frame was lost.
pub fn measure_single(bench: &mut Bench, pattern: &Pattern) -> io::Result<Vec<Option<LatencyNs>>> {
    let mut pauses = Pauses::new(pattern.seed, pattern.gap);
    bench.settle(pauses.next())?;
    let all: io::Result<Vec<_>> = (0..pattern.warm_up + pattern.bursts).map(|_| bench.single(pauses.next())).collect();
    Ok(all?.split_off(pattern.warm_up as usize))
}
