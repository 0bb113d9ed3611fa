//! Events of `candor-lab wire --json`.

use std::path::Path;

use serde::Serialize;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(in crate::cmd) enum Event<'a> {
    Ready {
        at_ns: u64,
        buses: Vec<BusView<'a>>,
        /// The interfaces of each.
        adapters: Vec<&'a [String]>,
        /// The socket for faults; `null` if it could not be opened.
        control: Option<&'a Path>,
        /// `CLOCK_MONOTONIC` when the bus time is 0.
        started_monotonic_ns: i64,
    },
    Warning {
        text: &'a str,
    },
    Fault {
        bus: &'a str,
        at_ns: u64,
        what: &'a str,
    },
    End {
        elapsed_ns: u64,
        buses: Vec<CountedView<'a>>,
        is_valid: bool,
        because: &'a [String],
    },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct BusView<'a> {
    pub(super) bus: &'a str,
    pub(super) bits_per_second: u32,
    pub(super) data_bits_per_second: Option<u32>,
    pub(super) model: &'static str,
    pub(super) depth_frames: u8,
    pub(super) interfaces: &'a [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct CountedView<'a> {
    pub(super) bus: &'a str,
    pub(super) frames: u64,
    pub(super) error_frames: u64,
    pub(super) busy_ns: u64,
    /// Share of the time in which the bus was busy.
    pub(super) load: f64,
    pub(super) worst_late_ns: u64,
    pub(super) worst_late_at_ns: u64,
    pub(super) dropped: u64,
    pub(super) waiting_most: usize,
    pub(super) lost_adapters: u32,
}
