//! The order of frames with `[egress.BUS]`, on a bus with a bit rate.

use candor_egress::canonical::differences;
use candor_egress::compile;
use candor_egress::kernel::{Interface, Kernel as _, Target};
use candor_egress::tree::Tree;

use super::*;

const FILE: &str = include_str!("ordered.toml");

/// Frames that have left the queue when the urgent ones come: that on the wire, and those of the driver.
const AHEAD: usize = 3;

fn apply(tree: &Tree) -> usize {
    let kernel = Interface::open("t-near").unwrap().unwrap();
    let mut targets = [Target { name: "t-near".to_owned(), kernel, wanted: tree.clone() }];
    let applied = candor_egress::kernel::apply(&mut targets).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(differences(tree, &targets[0].kernel.found().unwrap()), []);
    applied[0].steps.requests.len()
}

fn tree() -> Tree {
    let plan = config::load(FILE.as_bytes()).unwrap().plan;
    compile::trees(plan.egress()).into_values().next().unwrap()
}

/// A fifth of 125 kbit/s is 156 of the longest frames in a second.
#[test]
#[ignore = "runs in a guest"]
fn a_throttled_band_has_its_share_of_the_bus() {
    let Some(wire) = Wire::start("--bus b0:125k:t-near,t-far --depth 1") else { return };
    apply(&tree());
    let (low, far) = (open("t-near"), open("t-far"));
    let frames = [classic(0x700, &[0; 8]); 80];
    send_all(&low, &frames);
    receive(&far, frames.len());
    let log = wire.end().frames();
    let (first, last) = (log[0].start_ns, log[log.len() - 1].start_ns);
    let intervals = u32::try_from(log.len() - 1).unwrap();
    let rate = f64::from(intervals) * 1e9 / (last - first) as f64;
    assert!((rate - 156.0).abs() < 1.0, "{rate} frames/s");
}

#[test]
#[ignore = "runs in a guest"]
fn urgent_frames_go_first_and_equals_take_turns() {
    let Some(wire) = Wire::start("--bus b0:125k:t-near,t-far --depth 1") else { return };
    assert!(apply(&tree()) > 0);
    assert_eq!(apply(&tree()), 0, "applied twice");

    let (one, other, urgent, low) = (open("t-near"), open("t-near"), open("t-near"), open("t-near"));
    let far = open("t-far");
    let frames = |id, count: u8| (0..count).map(|number| classic(id, &[number; 8])).collect::<Vec<_>>();
    send_all(&low, &frames(0x700, 3));
    send_all(&one, &frames(0x200, 12));
    send_all(&other, &frames(0x201, 12));
    send_all(&urgent, &frames(0x080, 4));
    receive(&far, 31);

    let log = wire.end().frames();
    let order: Vec<u32> = log.iter().map(|logged| logged.frame.id.0).collect();
    let first_urgent = order.iter().position(|id| *id == 0x080).unwrap();
    assert!(first_urgent <= AHEAD, "{first_urgent} frames before the first urgent one: {order:03X?}");
    assert_eq!(order[first_urgent..first_urgent + 4], [0x080; 4], "{order:03X?}");
    // Then neither sender is more than a frame ahead while both have frames.
    let rest: Vec<u32> = order[first_urgent + 4..].iter().copied().filter(|id| id & 0x7FE == 0x200).collect();
    let lead = |count: usize| {
        let of_one = rest[..count].iter().filter(|id| **id == 0x200).count();
        (2 * of_one).abs_diff(count)
    };
    let both = 2 * (12 - AHEAD);
    assert!((1..=both).all(|count| lead(count) <= 2), "{order:03X?}");
    // The frames of each sender are in order.
    for id in [0x080, 0x200, 0x201, 0x700] {
        let numbers: Vec<u8> =
            log.iter().filter(|logged| logged.frame.id.0 == id).map(|logged| logged.frame.data[0]).collect();
        assert!(numbers.is_sorted(), "{id:03X}: {numbers:?}");
    }
}
