//! Settings of the user-space engines that a reload cannot change.

use candor_config::engine::UserEngine;

use crate::latency::MeasureLatency;

/// How frames come in and leave, and what is measured of them; chosen at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineConfig {
    pub(super) engine: UserEngine,
    pub(super) latency: MeasureLatency,
}

impl EngineConfig {
    pub(crate) fn new(engine: UserEngine, latency: MeasureLatency) -> Self {
        // Without stamps there is nothing to measure.
        Self { engine, latency: if engine.receiver().has_stamps() { latency } else { MeasureLatency::No } }
    }
}
