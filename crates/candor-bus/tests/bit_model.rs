//! Tests of the bit model itself: its frames against golden vectors, its errors against scenarios worked out by hand.

#[path = "bit_model/mod.rs"]
mod bit_model;

#[path = "bit_model_tests/invariants.rs"]
mod invariants;
#[path = "bit_model_tests/scenarios.rs"]
mod scenarios;
#[path = "bit_model_tests/vectors.rs"]
mod vectors;

use bit_model::{Bus, Config, Log, What};
use candor_core::frame::Frame;

fn frame(text: &str) -> Frame {
    text.parse().expect("tests write valid frames")
}

fn bus(nodes: usize) -> Bus {
    Bus::new(vec![Config::default(); nodes])
}

/// Sender, tag, start, end and receivers of every delivered frame.
fn delivered(log: &[Log]) -> Vec<(usize, u64, u64, u64, Vec<usize>)> {
    let delivery = |entry: &Log| match &entry.what {
        What::Delivered { tag, start, receivers, .. } => Some((entry.node, *tag, *start, entry.at, receivers.clone())),
        _ => None,
    };
    log.iter().filter_map(delivery).collect()
}
