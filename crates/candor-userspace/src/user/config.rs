//! Settings of the user-space engines that a reload cannot change.

use candor_config::engine::UserEngine;

use crate::latency::MeasureLatency;

/// Receiver, sender, and whether latency is measured.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    pub(super) engine: UserEngine,
    pub(super) latency: MeasureLatency,
}

impl EngineConfig {
    pub fn new(engine: UserEngine, latency: MeasureLatency) -> Self {
        // Not measurable without receive timestamps.
        Self { engine, latency: if engine.receiver().has_stamps() { latency } else { MeasureLatency::No } }
    }
}
