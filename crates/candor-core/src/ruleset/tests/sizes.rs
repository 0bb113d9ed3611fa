//! The cost of a frame in visited slots and filters, which must not grow with the number of rules.

use std::collections::BTreeSet;

use super::*;
use crate::filter::CAN_INV_FILTER;
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK};

const EFF: u32 = CAN_EFF_FLAG;
/// Eight masks of 29-bit identifiers.
const MASKS: [u32; 8] =
    [0x9FFF_FF00, 0x9FFF_F0FF, 0x9FFF_0FFF, 0x9FF0_FFFF, 0x9F0F_FFFF, 0x90FF_FFFF, 0x8FFF_FFF0, 0x9FFF_FFFE];

/// A pseudo-random identifier for each number.
fn scattered(at: u32) -> u32 {
    at.wrapping_mul(0x9E37_79B1).rotate_left(13).wrapping_mul(0x85EB_CA6B) & CAN_EFF_MASK
}

/// Maximum and average steps for these identifiers.
fn work(jobs: &[Job], ids: impl Iterator<Item = u32>) -> (usize, f64) {
    let rules = RuleSet::compile(jobs, 2);
    let (mut most, mut all, mut count) = (0, 0, 0_u32);
    for id in ids {
        let mut looks = 0_usize;
        let lists = &rules.buses[0].classic;
        if lists.matches(RawId(id), &mut looks).is_none() {
            lists.for_each_match(RawId(id), &mut looks, &mut |_| {});
        }
        most = most.max(looks);
        all += looks;
        count += 1;
    }
    (most, all as f64 / f64::from(count))
}

fn exact_eff(count: u32) -> Vec<Job> {
    (0..count).map(|at| Job { filter: Filter::exact(RawId(EFF | scattered(at))), ..job() }).collect()
}

fn masked_eff(count: u32) -> Vec<Job> {
    (0..count).map(|at| filtered(EFF | scattered(at), MASKS[scattered(at) as usize % 8])).collect()
}

#[test]
fn exact_29_bit_identifiers_take_few_steps() {
    let (_, one) = work(&exact_eff(1), (0..1).map(|at| EFF | scattered(at)));
    assert!((one - 1.0).abs() < f64::EPSILON);
    for count in [16, 256, 2048, 16_384] {
        let (most, average) = work(&exact_eff(count), (0..count).map(|at| EFF | scattered(at)));
        assert!(average < 1.5 && most <= 24, "{count} rules: {average} slots, at most {most}");
        let (_, missed) = work(&exact_eff(count), (0..count).map(|at| EFF | scattered(at + 1_000_000)));
        assert!(missed < 2.0, "{count} rules, not found: {missed} slots");
    }
}

/// The hash must spread the identifiers of real networks.
#[test]
fn regular_identifiers_take_few_steps() {
    let number = |at: u32| at;
    let j1939_sources = |at: u32| (at & 7) << 26 | 0x00FE_F100 | at >> 3 & 0xFF;
    let j1939_groups = |at: u32| 0x18FE_0017 | (at & 0xFF) << 8 | (at >> 8) << 18;
    let high_bits = |at: u32| at << 15;
    let networks: [(&str, &dyn Fn(u32) -> u32); 4] = [
        ("consecutive", &number),
        ("J1939: one group, all sources and priorities", &j1939_sources),
        ("J1939: all groups of one source", &j1939_groups),
        ("high bits only", &high_bits),
    ];
    for (name, id) in networks {
        let ids: BTreeSet<u32> = (0..8192).map(|at| EFF | id(at) & CAN_EFF_MASK).collect();
        let jobs: Vec<_> = ids.iter().map(|&id| Job { filter: Filter::exact(RawId(id)), ..job() }).collect();
        let (most, average) = work(&jobs, ids.iter().copied());
        assert!(average < 1.6 && most <= 24, "{name}: {average} slots, at most {most}");
    }
}

#[test]
fn masked_filters_take_steps_per_mask() {
    for count in [64, 256, 2048, 16_384] {
        let jobs = masked_eff(count);
        let ids: Vec<_> = jobs.iter().map(|job| job.filter.id).collect();
        let (most, average) = work(&jobs, ids.into_iter());
        // Eight tables; if two have a job, all are searched again.
        assert!(average < 8.0 * 1.6 && most <= 100, "{count} rules: {average} slots, at most {most}");
    }
}

/// Standard frames are not compared with filters for 29-bit identifiers.
#[test]
fn filters_of_the_other_format_take_no_steps() {
    assert_eq!(work(&masked_eff(16_384), 0..0x7FF).0, 1, "the table of exact identifiers");
}

#[test]
fn distinct_masks_are_compared_one_by_one() {
    let jobs: Vec<_> =
        (0..300).map(|at| filtered(EFF | scattered(at), EFF | scattered(at + 7) | 0x1000_0000)).collect();
    let (most, _) = work(&jobs, (0..300).map(|at| EFF | scattered(at + 99)));
    assert!(most <= 300 + 2, "{most}");
}

/// The maximum number of rules, all with the same filters, and none matches the frame.
#[test]
fn inverted_filters_that_exclude_a_frame_take_steps_per_mask() {
    let id = EFF | 0x0123_4567;
    let jobs: Vec<_> = (0..16_384).map(|at| filtered(id | CAN_INV_FILTER, MASKS[scattered(at) as usize % 8])).collect();
    let (most, _) = work(&jobs, std::iter::once(id));
    assert!(most <= 20, "{most}");
    let same: Vec<_> = (0..16_384).map(|_| filtered(id | CAN_INV_FILTER, MASKS[0])).collect();
    let (most, _) = work(&same, std::iter::once(id));
    assert!(most <= 2, "{most}");
}
