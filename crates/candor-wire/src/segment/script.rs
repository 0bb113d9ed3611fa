//! Nodes without an adapter, which play scripts.

use std::collections::VecDeque;

use candor_bus::{BusNs, NodeConfig, NodeId, Order, Tag, Timing};
use candor_core::frame::Frame;

use super::Segment;
use crate::devices::Devices;

/// The frames of a node that no adapter has. Its controller has room for all of them, and sends nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub timing: Timing,
    /// The order in which its controller sends the frames that wait.
    pub order: Order,
    /// When the controller gets each frame, in the order of time. The position of a frame is its tag.
    pub frames: Vec<(BusNs, Frame)>,
}

/// A script that is played.
#[derive(Clone, Debug)]
pub(super) struct Playing {
    node: NodeId,
    /// With their tags.
    next: VecDeque<(BusNs, Tag, Frame)>,
}

impl Segment {
    /// Plays scripts in place of those before, whose frames are dropped. The first script is that of the first node without an
    /// adapter. `None` if the bus has no room for them; then nothing changes.
    pub(crate) fn play(&mut self, scripts: Vec<Script>, now: BusNs, devices: &mut Devices) -> Option<Vec<NodeId>> {
        let at = self.in_time(now);
        self.bus.advance(at, &mut self.events);
        self.settle(at, devices);
        while self.scripted.len() < scripts.len() {
            let node = self.bus.add_node()?;
            self.nodes.push(None);
            self.scripted.push(Playing { node, next: VecDeque::new() });
        }
        for playing in &mut self.scripted {
            playing.next.clear();
            self.bus.switch_off(at, playing.node);
        }
        for (script, playing) in scripts.into_iter().zip(&mut self.scripted) {
            let Script { timing, order, frames } = script;
            let depth = frames.len().max(1);
            let config = NodeConfig { timing, order, depth, listen_only: false, one_shot: false };
            self.bus.switch_on(at, playing.node, config);
            let tagged = (0..).zip(frames).map(|(tag, (at, frame))| (at, Tag(tag), frame));
            playing.next = tagged.collect();
        }
        self.settle(at, devices);
        Some(self.scripted.iter().map(|playing| playing.node).collect())
    }

    pub(super) fn is_scripted(&self, node: NodeId) -> bool {
        self.scripted.iter().any(|playing| playing.node == node)
    }

    /// When the next frame of a script is due.
    pub(super) fn next_scripted(&self) -> Option<BusNs> {
        self.scripted.iter().filter_map(|playing| Some(playing.next.front()?.0)).min()
    }

    /// Gives the frames that are due to their controllers.
    pub(super) fn play_due(&mut self, now: BusNs) {
        for playing in &mut self.scripted {
            while let Some((at, tag, frame)) = playing.next.front().copied().filter(|(at, ..)| *at <= now) {
                playing.next.pop_front();
                // Only a node that is bus-off refuses it, and the trace has no end of such a frame.
                let _refused = self.bus.submit(at, playing.node, tag, frame);
            }
        }
    }
}
