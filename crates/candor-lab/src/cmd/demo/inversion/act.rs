//! The three acts: who sends what on which buses, and the files that cure it.

use std::time::Duration;

use candor_config::config;
use candor_config::plan::Plan;
use candor_core::frame::{Frame, FrameError, RawId};

use candor_cli::gateway_file::plural;

/// One problem.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) title: &'static str,
    /// What happens, for people.
    pub(super) story: &'static str,
    /// What no queue of the kernel can help, for people.
    pub(super) remains: &'static str,
    /// As `candor-lab wire --bus` reads them.
    pub(super) buses: &'static [&'static str],
    /// The bus where urgent frames have to wait; they cross those before it alone.
    pub(super) waits_on: usize,
    pub(super) urgent: Source,
    pub(super) bursts: &'static [Burst],
    /// That of `bursts` which other nodes send, and wins against what the controller holds.
    pub(super) rival: Option<usize>,
    /// The first is the one without `[egress]`.
    pub(super) runs: &'static [Run],
}

/// Where frames come from, and their identifier.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) interface: &'static str,
    pub(super) id: RawId,
}

/// So many frames at once, again and again, as transport protocols send them.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) source: Source,
    pub(super) frames: u16,
    pub(super) every: Duration,
}

/// One measurement of an act.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: &'static str,
    /// What `candor run` is given, which applies its `[egress]`.
    pub(super) gateway: Option<&'static str>,
    /// Whose `[egress]` is in force; without a gateway it is applied as `candor egress apply` does.
    pub(super) files: &'static [File],
}

/// A gateway file to take home.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

const ONE_QUEUE: File = File { name: "one-queue.toml", text: include_str!("files/one-queue.toml") };
const TWO_NODES: File = File { name: "two-nodes.toml", text: include_str!("files/two-nodes.toml") };
const OTHER_NODE: File = File { name: "two-nodes-other.toml", text: include_str!("files/two-nodes-other.toml") };
const ROUTES: &str = include_str!("files/gateway.toml");
const GATEWAY: File = File {
    name: "gateway.toml",
    text: concat!(include_str!("files/gateway.toml"), include_str!("files/gateway-egress.toml")),
};

const WITHOUT: Run = Run { name: "without [egress]", gateway: None, files: &[] };

pub(super) const ACTS: [Act; 3] = [
    Act {
        title: "one queue",
        story: "Two programs of a node. One sends urgent frames (080); the other sends 64 frames at once (7E8), as\n\
                ISO-TP does. The interface has one queue: an urgent frame waits until the burst is over.",
        remains: "frames that the controller has taken already go first; one that holds fewer\n\
                  (--depth) takes fewer.",
        buses: &["drive:250k:can0,can1"],
        waits_on: 0,
        urgent: Source { interface: "can0", id: RawId(0x080) },
        bursts: &[Burst {
            source: Source { interface: "can0", id: RawId(0x7E8) },
            frames: 64,
            every: Duration::from_millis(47),
        }],
        rival: None,
        runs: &[WITHOUT, Run { name: "with [egress]", gateway: None, files: &[ONE_QUEUE] }],
    },
    Act {
        title: "two nodes",
        story: "A node has urgent frames (080) and patient ones (700). Another node sends 16 frames at once (400)\n\
                each 16 ms. A patient frame loses to every one of them, and those behind it wait too, the urgent\n\
                ones among them.",
        remains: "the patient frames in the controller still lose to the other node's, and an urgent\n\
                  frame cannot pass them. It helps that the other node leaves room between its frames, by [egress] of\n\
                  its own.",
        buses: &["drive:250k:can0,can1"],
        waits_on: 0,
        urgent: Source { interface: "can0", id: RawId(0x080) },
        bursts: &[
            Burst {
                source: Source { interface: "can0", id: RawId(0x700) },
                frames: 64,
                every: Duration::from_millis(101),
            },
            Burst {
                source: Source { interface: "can1", id: RawId(0x400) },
                frames: 16,
                every: Duration::from_millis(16),
            },
        ],
        rival: Some(1),
        runs: &[
            WITHOUT,
            Run { name: "with [egress]", gateway: None, files: &[TWO_NODES] },
            Run { name: "on both nodes", gateway: None, files: &[TWO_NODES, OTHER_NODE] },
        ],
    },
    Act {
        title: "gateway",
        story: "can-gw forwards urgent frames (400) from one bus and bursts of 96 frames (200) from a faster one to\n\
                a third bus. They meet in its queue. The bursts have the lower identifier: only the bus where a\n\
                frame came in tells that it is urgent.",
        remains: "as in act 1. The frame's way over its first bus is part of its time.",
        buses: &["control:250k:can0,can1", "diagnosis:500k:can2,can3", "body:250k:can4,can5"],
        waits_on: 2,
        urgent: Source { interface: "can0", id: RawId(0x400) },
        bursts: &[Burst {
            source: Source { interface: "can2", id: RawId(0x200) },
            frames: 96,
            every: Duration::from_millis(61),
        }],
        rival: None,
        runs: &[
            Run { gateway: Some(ROUTES), ..WITHOUT },
            Run { name: "with [egress]", gateway: Some(GATEWAY.text), files: &[GATEWAY] },
        ],
    },
];

impl Act {
    /// The urgent frame of this number; [`Self::number`] finds it again.
    pub(super) fn urgent_frame(&self, number: u16) -> Result<Frame, FrameError> {
        let [high, low] = number.to_be_bytes();
        Frame::classic(self.urgent.id, &[high, low, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66])
    }

    /// The number of an urgent frame; `None` for other frames.
    pub(super) fn number(&self, frame: &Frame) -> Option<u16> {
        (frame.id == self.urgent.id).then(|| u16::from_be_bytes([frame.data[0], frame.data[1]]))
    }
}

impl Burst {
    /// Its frames, numbered as consecutive frames of ISO-TP are.
    pub(super) fn frames(&self) -> Result<Vec<Frame>, FrameError> {
        (0..self.frames)
            .map(|number| {
                let sequence = 0x20 | u8::try_from(number % 16).unwrap_or_default();
                Frame::classic(self.source.id, &[sequence, 0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0])
            })
            .collect()
    }
}

impl File {
    /// What it means.
    pub(super) fn plan(&self) -> Result<Plan, String> {
        let invalid = |findings: Vec<_>| format!("{} is not valid: {}", self.name, plural(findings.len(), "finding"));
        config::load(self.text.as_bytes()).map(|loaded| loaded.plan).map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_valid_and_nothing_is_found_in_them() {
        for file in ACTS.iter().flat_map(|act| act.runs).flat_map(|run| run.files) {
            let loaded = config::load(file.text.as_bytes()).unwrap();
            assert!(loaded.warnings.is_empty(), "{}: {:?}", file.name, loaded.warnings);
            assert!(!loaded.plan.egress().is_empty(), "{}", file.name);
        }
        assert!(config::load(ROUTES.as_bytes()).unwrap().plan.egress().is_empty());
    }

    #[test]
    fn urgent_frames_are_found_again() {
        for act in &ACTS {
            assert_eq!(act.number(&act.urgent_frame(0xABCD).unwrap()), Some(0xABCD));
            let others = act.bursts.iter().flat_map(|burst| burst.frames().unwrap());
            assert!(others.into_iter().all(|frame| act.number(&frame).is_none()));
        }
    }
}
