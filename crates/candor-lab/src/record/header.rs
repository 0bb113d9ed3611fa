//! Constants of a series.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Origin;
use crate::throughput::Searched;

/// [`Header::stamps`] if the timestamps are those of one adapter.
pub const ADAPTER_STAMPS: &str = "adapter receive stamps (SO_TIMESTAMPING, raw hardware)";

/// [`Header::stamps`] if the timestamps are the kernel's and frames are sent one at a time.
pub const KERNEL_STAMPS: &str = "kernel receive stamps (SO_TIMESTAMPNS)";

/// Before the engine's name in records of `candor-lab baseline`.
const BASELINE: &str = "baseline of ";

pub fn baseline_of(engine: &str) -> String {
    format!("{BASELINE}{engine}")
}

/// The engine of a baseline record.
pub fn engine_of_baseline(engine: &str) -> Option<&str> {
    engine.strip_prefix(BASELINE)
}

/// Key of the platform for the name of the tester's machine, whose times cannot be compared with those of another.
pub const HOST: &str = "host";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Device under test: stem of the gateway file.
    pub device: String,
    /// Engine of the gateway; `baseline of ENGINE` for its baseline loop; or `external`.
    pub engine: String,
    /// `icount`, `uml`, `host` or `ssh`: decides the meaning of a nanosecond.
    pub testbed: String,
    /// ns per instruction; `None` where time is not counted in instructions.
    pub instruction_ns: Option<u32>,
    /// Interfaces of the guest; `None` outside of guests.
    pub topology: Option<String>,
    /// `uname -r` of the gateway's kernel.
    pub kernel_release: String,
    /// Kernel package, QEMU and command line of a guest; name and architecture of a board, and the tester's kernel;
    /// `host`, the name of the tester's machine, outside of guests.
    pub platform: BTreeMap<String, String>,
    pub candor_version: String,
    /// In can-utils notation; the first two payload bytes carry the tag.
    pub frame: String,
    pub send: String,
    /// Receives on the first bus.
    pub monitor: String,
    /// Receives on the second bus.
    pub receive: String,
    /// As of [`Origin::traffic`].
    pub traffic: String,
    /// Of the tester; the gateway has the normal one.
    pub tester_policy: String,
    /// Source of the timestamps.
    pub stamps: String,
    /// Shortest pause between a reception and the next frame.
    pub gap_min_ns: u64,
    pub gap_max_ns: u64,
    /// Of the random pauses.
    pub seed: u64,
    /// A frame that has not arrived by then is lost.
    pub timeout_ns: u64,
    /// Sent before the first sample and not recorded.
    pub warm_up_frames: u32,
    /// `CLOCK_REALTIME` at the start; rows are relative to it.
    pub start_realtime_ns: i64,
    /// Of the far bus, whose frame time is subtracted; `None` if frames take no time.
    pub wire_bits_per_second: Option<u32>,
    pub wire_data_bits_per_second: Option<u32>,
    /// Reached the far side twice or after the timeout.
    pub late_or_duplicate_frames: u32,
    /// Seen on the far side, but not sent by the tester.
    pub foreign_frames: u32,
    /// Sent while the frame that precedes a timer was still in flight.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlapped_frames: u32,
    /// Settings that the tester could not make.
    pub warnings: Vec<String>,
    /// Background load of the gateway's machine, as in a plan.
    #[serde(default = "no_load")]
    pub load: String,
    /// Events on the machine by name: the strength of the load.
    #[serde(default)]
    pub activity_per_second: BTreeMap<String, u64>,
    /// The search for the rate, if frames were sent at the highest rate without loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Searched>,
    /// Factors and levels of the plan's cell; empty without a plan.
    #[serde(default)]
    pub levels: Vec<(String, String)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(super) fn no_load() -> String {
    "none".to_owned()
}

impl Header {
    /// Factors and levels: of the plan's cell or, without a plan, from the header.
    pub fn all_levels(&self) -> Vec<(String, String)> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let levels = [
            ("testbed", self.testbed.as_str()),
            ("kernel", &self.kernel_release),
            ("topology", self.topology.as_deref().unwrap_or_default()),
            ("gateway", &self.device),
            ("traffic", &self.traffic),
            ("load", &self.load),
            ("frame", &self.frame),
        ];
        levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into()
    }

    pub fn is_closed_loop(&self) -> bool {
        [Origin::Call, Origin::Timer].iter().any(|origin| origin.traffic() == self.traffic)
    }

    /// Receive timestamps have another clock than send times: there is no response, and no stage that starts or ends in
    /// the tester.
    pub fn has_two_clocks(&self) -> bool {
        self.stamps == ADAPTER_STAMPS
    }

    /// Everything but the device under test is equal. Where a rate was searched, each device has its own.
    pub fn is_comparable_with(&self, other: &Self) -> bool {
        self.throughput.is_none() && other.throughput.is_none() && self.conditions() == other.conditions()
    }

    /// Without the device under test and without results.
    pub(crate) fn conditions(&self) -> Self {
        Self {
            device: String::new(),
            engine: String::new(),
            start_realtime_ns: 0,
            late_or_duplicate_frames: 0,
            foreign_frames: 0,
            overlapped_frames: 0,
            warnings: Vec::new(),
            activity_per_second: BTreeMap::new(),
            throughput: None,
            levels: Vec::new(),
            ..self.clone()
        }
    }
}
