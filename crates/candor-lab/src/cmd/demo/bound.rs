//! The maximum latency of an urgent frame with the highest priority, computed from bit times.
//!
//! ```text
//!  sent ─▶│ another frame │ frames in the controller, and other nodes that win         │ itself │
//!         │ on the wire   │                                                             │        │
//! ```
//!
//! # Source
//! R. I. Davis, A. Burns, R. J. Bril, J. J. Lukkien, Controller Area Network (CAN) schedulability analysis, Real-Time
//! Systems 35, 2007, <https://doi.org/10.1007/s11241-007-9012-7>: blocking, interference within the window up to the
//! start of the frame, and the frame itself.

use candor_config::plan::Queueing;
use candor_core::bits::FrameBits;
use candor_core::frame::Frame;
use candor_core::units::BitRate;
use serde::{Deserialize, Serialize};

use super::Failure;
use super::act::{Act, Burst, Run, plan_of};

/// The parts of a bound, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Bound {
    /// The frame itself, on the buses before the one where it waits.
    pub(super) earlier_buses_ns: u64,
    /// The longest frame, which may be on the bus.
    pub(super) blocking_ns: u64,
    /// The frames in the controller, of maximum length.
    pub(super) controller_ns: u64,
    /// Frames of other nodes that win arbitration against these.
    pub(super) other_nodes_ns: u64,
    /// Time of the frame itself on the bus, in ns.
    pub(super) own_ns: u64,
    pub(super) total_ns: u64,
}

/// Traffic of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Bursts { frames: u64, every_ns: u64 },
    Throttled { every_ns: u64 },
}

/// Iterations after which the window is considered unbounded.
const STEPS: u32 = 10_000;

/// The bound of a run; `None` if other nodes overload the bus.
pub(super) fn of(act: &Act, run: &Run, depth: u8, urgent_frames: u16) -> Result<Option<Bound>, Failure> {
    let rates: Vec<BitRate> = act.buses()?.iter().map(|bus| bus.rate).collect();
    let (earlier, rate) = match rates.split_at_checked(act.waits_on) {
        // Urgent frames cross the first bus and the one where they wait.
        Some((earlier, [rate, ..])) => (earlier.first(), *rate),
        _ => return Err("an act without its bus".into()),
    };
    let urgent = act.urgent_frames(urgent_frames)?;
    let mut all = urgent.clone();
    for burst in &act.bursts {
        all.extend(burst.frames()?);
    }
    let (slot_ns, own_ns) = (longest_ns(&all, rate, FrameBits::of), longest_ns(&urgent, rate, alone));
    let earlier_buses_ns = earlier.map_or(0, |rate| longest_ns(&urgent, *rate, alone));
    let (blocking_ns, controller_ns) = (slot_ns, u64::from(depth) * slot_ns);
    let rival = act.rival.and_then(|rival| act.bursts.get(rival));
    let other_nodes_ns = match rival.map(|rival| pace(rival, run)).transpose()? {
        None => Some(0),
        Some(pace) => interference_ns(pace, blocking_ns + controller_ns, slot_ns),
    };
    Ok(other_nodes_ns.map(|other_nodes_ns| Bound {
        earlier_buses_ns,
        blocking_ns,
        controller_ns,
        other_nodes_ns,
        own_ns,
        total_ns: earlier_buses_ns + blocking_ns + controller_ns + other_nodes_ns + own_ns,
    }))
}

fn alone(frame: &Frame) -> FrameBits {
    FrameBits::of(frame).without_intermission()
}

fn longest_ns(frames: &[Frame], rate: BitRate, bits: fn(&Frame) -> FrameBits) -> u64 {
    frames.iter().map(|frame| bits(frame).wire_time_ns(rate, None)).max().unwrap_or(0)
}

/// The traffic of a burst on the bus: as sent, or as throttled by `[egress]` of its interface.
fn pace(rival: &Burst, run: &Run) -> Result<Pace, Failure> {
    for file in &run.files {
        let plan = plan_of(file)?;
        for egress in plan.egress().iter().filter(|one| plan.bus(one.bus).interface == rival.interface) {
            let Queueing::Bands(policy) = &egress.queueing else { continue };
            if let Some(rate) = policy.bands().last().and_then(|band| band.rate) {
                return Ok(Pace::Throttled { every_ns: 1_000_000_000 / u64::from(rate.frames_per_second()) });
            }
        }
    }
    Ok(Pace::Bursts { frames: rival.frames.into(), every_ns: u64::try_from(rival.every().as_nanos())? })
}

/// Time of the other node's frames within a window that they extend themselves.
fn interference_ns(pace: Pace, without_ns: u64, slot_ns: u64) -> Option<u64> {
    let mut others_ns = 0;
    for _ in 0..STEPS {
        let frames = pace.frames_within(without_ns + others_ns, slot_ns);
        match frames.checked_mul(slot_ns)? {
            same if same == others_ns => return Some(others_ns),
            longer => others_ns = longer,
        }
    }
    None
}

impl Pace {
    /// The maximum of frames within a window. Earlier frames may still wait: a burst for the time of a frame on the bus and an
    /// urgent one, throttled frames for one.
    const fn frames_within(self, window_ns: u64, slot_ns: u64) -> u64 {
        match self {
            Self::Bursts { frames, every_ns } => frames * (window_ns + 2 * slot_ns).div_ceil(every_ns),
            Self::Throttled { every_ns } => (window_ns + every_ns).div_ceil(every_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::acts;
    use super::*;

    fn bound(act: usize, run: usize, depth: u8) -> Bound {
        let act = &acts()[act];
        of(act, &act.runs[run], depth, 200).unwrap().unwrap()
    }

    #[test]
    fn bound_of_one_queue_is_a_frame_and_the_controller() {
        let (two, three) = (bound(0, 1, 2), bound(0, 1, 3));
        assert_eq!((two.earlier_buses_ns, two.other_nodes_ns), (0, 0));
        assert_eq!(two.controller_ns, 2 * two.blocking_ns);
        assert_eq!(three.total_ns - two.total_ns, two.blocking_ns);
        // 111 to 135 bits of 4 us are a classic frame of 8 bytes with its intermission.
        assert!((444_000..=540_000).contains(&two.blocking_ns), "{two:?}");
        assert!(two.own_ns < two.blocking_ns);
    }

    #[test]
    fn bound_of_a_gateway_includes_the_first_bus() {
        let bound = bound(2, 1, 2);
        assert_eq!(bound.earlier_buses_ns, bound.own_ns);
    }

    #[test]
    fn throttled_node_interferes_less() {
        let (burst, throttled) = (bound(1, 1, 2), bound(1, 2, 2));
        assert_eq!(burst.other_nodes_ns, 16 * burst.blocking_ns);
        assert!(throttled.other_nodes_ns < burst.other_nodes_ns / 2, "{throttled:?}");
    }

    #[test]
    fn window_grows_by_interference() {
        let pace = Pace::Bursts { frames: 2, every_ns: 10_000 };
        // 1000 and 4 of 1000 are 5000; within these and the 2000 before there is one burst of two.
        assert_eq!(interference_ns(pace, 1000, 1000), Some(2000));
        // 7000, 2000 before and 2000 of the first burst include the second.
        assert_eq!(interference_ns(pace, 7000, 1000), Some(4000));
        let flood = Pace::Throttled { every_ns: 900 };
        assert_eq!(interference_ns(flood, 1000, 1000), None);
    }
}
