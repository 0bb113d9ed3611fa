//! What becomes of an action in the kernel.
//!
//! # Source
//! `tcf_police_init()`, `net/sched/act_police.c` of Linux 6.1.

use super::disciplines::same_burst;
use crate::action::{Action, Police};

pub(super) fn same(wanted: &[Action], found: &[Action]) -> bool {
    wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| same_action(wanted, found))
}

fn same_action(wanted: &Action, found: &Action) -> bool {
    match (wanted, found) {
        (Action::Other { kind: wanted, .. }, Action::Other { kind: found, .. }) => wanted == found,
        (Action::Police(wanted), Action::Police(found)) => same_police(wanted, found),
        (wanted, found) => wanted == found,
    }
}

/// A longest frame of 0 bytes is the kernel's to choose.
fn same_police(wanted: &Police, found: &Police) -> bool {
    let same_bytes = match (wanted.bytes, found.bytes) {
        (Some(wanted), Some(found)) => {
            wanted.rate == found.rate
                && same_burst(wanted.burst_bytes.into(), found.burst_bytes.into(), found.rate.0)
                && (wanted.mtu_bytes == 0 || wanted.mtu_bytes == found.mtu_bytes)
        }
        (wanted, found) => wanted == found,
    };
    let same_frames = match (wanted.frames, found.frames) {
        (Some(wanted), Some(found)) => {
            wanted.per_second == found.per_second
                && same_burst(wanted.burst_frames, found.burst_frames, found.per_second)
        }
        (wanted, found) => wanted == found,
    };
    same_bytes && same_frames && (wanted.exceed, wanted.conform) == (found.exceed, found.conform)
}
