//! The acts, from `files/acts.toml`, and their gateway files.

use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_config::config;
use candor_config::plan::Plan;
use candor_core::frame::{Frame, FrameError};
use serde::Deserialize;

use crate::cli::{BusSpec, Identifier};

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Act {
    pub(super) title: String,
    pub(super) story: String,
    /// Waiting that no queueing discipline can prevent.
    pub(super) remains: String,
    /// In the syntax of `candor-lab wire --bus`.
    buses: Vec<String>,
    pub(super) waits_on: usize,
    pub(super) urgent: Urgent,
    pub(super) bursts: Vec<Burst>,
    pub(super) rival: Option<usize>,
    pub(super) runs: Vec<Run>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Urgent {
    pub(super) interface: String,
    id: Identifier,
}

/// Frames that are sent at once, periodically.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Burst {
    pub(super) interface: String,
    id: Identifier,
    pub(super) frames: u16,
    every_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub(super) name: String,
    /// The gateway to run, by the name of its file.
    pub(super) gateway: Option<String>,
    /// Files whose `[egress]` is applied, by the gateway or like `candor egress apply`.
    #[serde(default)]
    pub(super) files: Vec<String>,
}

/// Gateway files by name. All but the routes without `[egress]` are for users.
const FILES: [(&str, &str); 6] = [
    ("one-queue.toml", include_str!("files/one-queue.toml")),
    ("one-queue-arbitration.toml", include_str!("files/one-queue-arbitration.toml")),
    ("two-nodes.toml", include_str!("files/two-nodes.toml")),
    ("two-nodes-other.toml", include_str!("files/two-nodes-other.toml")),
    ("routes.toml", include_str!("files/gateway.toml")),
    ("gateway.toml", concat!(include_str!("files/gateway.toml"), include_str!("files/gateway-egress.toml"))),
];

pub(super) fn acts() -> Vec<Act> {
    #[derive(Deserialize)]
    struct File {
        act: Vec<Act>,
    }
    let file: File = toml::from_str(include_str!("files/acts.toml")).expect("a test loads it");
    file.act
}

/// The gateway files for users, by name.
pub(super) fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.into_iter().filter(|(name, _)| *name != "routes.toml")
}

pub(super) fn text_of(name: &str) -> Result<&'static str, String> {
    let found = FILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| format!("there is no file {name}"))
}

pub(super) fn plan_of(name: &str) -> Result<Plan, String> {
    let invalid = |findings: Vec<_>| format!("{name} is not valid: {}", plural(findings.len(), "finding"));
    config::load(text_of(name)?.as_bytes()).map(|loaded| loaded.plan).map_err(invalid)
}

impl Act {
    pub(super) fn buses(&self) -> Result<Vec<BusSpec>, Box<dyn std::error::Error>> {
        self.buses.iter().map(|bus| Ok(bus.parse()?)).collect()
    }

    /// Urgent frames with their numbers, which [`Self::number`] returns.
    pub(super) fn urgent_frames(&self, count: u16) -> Result<Vec<Frame>, FrameError> {
        let frame = |number: u16| {
            let [high, low] = number.to_be_bytes();
            Frame::classic(self.urgent.id.0, &[high, low, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66])
        };
        (0..count).map(frame).collect()
    }

    /// The number of an urgent frame; `None` for other frames.
    pub(super) fn number(&self, frame: &Frame) -> Option<u16> {
        (frame.id == self.urgent.id.0).then(|| u16::from_be_bytes([frame.data[0], frame.data[1]]))
    }
}

impl Run {
    /// True if a file has a queue in the order of arbitration, which some kernels do not have.
    pub(super) fn has_arbitration(&self) -> bool {
        self.files.iter().any(|file| plan_of(file).is_ok_and(|plan| plan.has_arbitration()))
    }
}

impl Burst {
    /// Its frames, numbered like consecutive frames of ISO-TP.
    pub(super) fn frames(&self) -> Result<Vec<Frame>, FrameError> {
        let frame = |number: u16| {
            let sequence = 0x20 | u8::try_from(number % 16).unwrap_or_default();
            Frame::classic(self.id.0, &[sequence, 0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0])
        };
        (0..self.frames).map(frame).collect()
    }

    pub(super) const fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_valid_without_warnings() {
        let acts = acts();
        for name in acts.iter().flat_map(|act| &act.runs).flat_map(|run| &run.files) {
            let mut loaded = config::load(text_of(name).unwrap().as_bytes()).unwrap();
            loaded.settle_queues(|| true);
            assert!(loaded.warnings.is_empty(), "{name}: {:?}", loaded.warnings);
            assert!(!loaded.plan.egress().is_empty(), "{name}");
        }
        assert!(plan_of("routes.toml").unwrap().egress().is_empty());
        assert!(acts.iter().all(|act| act.buses().is_ok() && act.runs[0].files.is_empty()));
    }

    #[test]
    fn urgent_frames_are_recognised() {
        for act in acts() {
            let urgent = act.urgent_frames(0xABCE).unwrap();
            assert_eq!(act.number(&urgent[0xABCD]), Some(0xABCD));
            let others = act.bursts.iter().flat_map(|burst| burst.frames().unwrap());
            assert!(others.into_iter().all(|frame| act.number(&frame).is_none()));
        }
    }
}
