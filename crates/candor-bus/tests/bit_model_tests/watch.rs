//! Short ways to set up a bus and to ask a log.

use candor_core::frame::Frame;

use crate::bit_model::{Bus, Config, Log, What};

/// A frame in can-utils notation.
pub(crate) fn frame(text: &str) -> Frame {
    text.parse().expect("tests write valid frames")
}

/// A bus of ordinary nodes.
pub(crate) fn bus(nodes: usize) -> Bus {
    Bus::new(vec![Config::default(); nodes])
}

/// Sender, tag, start, end and receivers of every frame that was sent well.
pub(crate) fn delivered(log: &[Log]) -> Vec<(usize, u64, u64, u64, Vec<usize>)> {
    let delivery = |entry: &Log| match &entry.what {
        What::Delivered { tag, start, receivers, .. } => Some((entry.node, *tag, *start, entry.at, receivers.clone())),
        _ => None,
    };
    log.iter().filter_map(delivery).collect()
}
