//! Short ways to set up a bus and to ask a log.

use candor_core::frame::Frame;

use crate::bit_model::{Bus, Config, Counters, ErrorKind, Log, What};

/// A frame in can-utils notation.
pub(crate) fn frame(text: &str) -> Frame {
    text.parse().expect("tests write valid frames")
}

/// A bus of ordinary nodes.
pub(crate) fn bus(nodes: usize) -> Bus {
    Bus::new(vec![Config::default(); nodes])
}

/// An ordinary node with these counters.
pub(crate) fn with_counters(tec: u32, rec: u32) -> Config {
    Config { counters: Counters { tec, rec }, ..Config::default() }
}

/// Node and bit time of every attempt.
pub(crate) fn starts(log: &[Log]) -> Vec<(usize, u64)> {
    let started = |entry: &Log| matches!(entry.what, What::Started { .. }).then_some((entry.node, entry.at));
    log.iter().filter_map(started).collect()
}

/// Sender, tag, start, end and receivers of every frame that was sent well.
pub(crate) fn delivered(log: &[Log]) -> Vec<(usize, u64, u64, u64, Vec<usize>)> {
    let delivery = |entry: &Log| match &entry.what {
        What::Delivered { tag, start, receivers, .. } => Some((entry.node, *tag, *start, entry.at, receivers.clone())),
        _ => None,
    };
    log.iter().filter_map(delivery).collect()
}

/// Node, bit in the frame and kind of every error.
pub(crate) fn errors(log: &[Log]) -> Vec<(usize, u64, ErrorKind)> {
    let error = |entry: &Log| match entry.what {
        What::ErrorDetected { bit, kind, .. } => Some((entry.node, bit, kind)),
        _ => None,
    };
    log.iter().filter_map(error).collect()
}

/// Bit time and both counters (transmit, receive) of every change in this node.
pub(crate) fn counts(log: &[Log], node: usize) -> Vec<(u64, u32, u32)> {
    let change = |entry: &Log| match entry.what {
        What::Counters { counters, .. } if entry.node == node => Some((entry.at, counters.tec, counters.rec)),
        _ => None,
    };
    log.iter().filter_map(change).collect()
}

/// Bit time and node of every event of this kind.
pub(crate) fn times(log: &[Log], what: &What) -> Vec<(u64, usize)> {
    log.iter().filter(|entry| entry.what == *what).map(|entry| (entry.at, entry.node)).collect()
}
