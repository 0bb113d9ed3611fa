//! Identifiers in tables of `u32`: made, read back, and compared with the policy, filter by filter.

use candor_core::filter::Filter as IdFilter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG};
use candor_core::ids::{Effort, IdSet};
use candor_egress::compile;
use candor_egress::kernel::{Target, apply};
use candor_egress::policy::{Band, Fair, Full, Outgoing, Policy, Queue, Selection};
use candor_egress::steps::Steps;
use candor_egress::text;

use super::counted::{Counts, Sent};
use super::*;

const FRAMES: u32 = 400;

/// Without an order that helps a hash (the end of MurmurHash3).
const fn scattered(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85EB_CA6B);
    let number = (number ^ number >> 13).wrapping_mul(0xC2B2_AE35);
    number ^ number >> 16
}

fn extended(number: u32) -> u32 {
    scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG
}

fn exact(number: u32) -> IdFilter {
    IdFilter { id: extended(number), mask: 0xDFFF_FFFF }
}

fn band(filters: Vec<IdFilter>) -> Band {
    let ids = IdSet::of_filters(filters, &mut Effort::new(u32::MAX)).unwrap();
    let take = vec![Selection { ids: Some(ids), ..Selection::default() }];
    Band { take, ..rest() }
}

fn rest() -> Band {
    let queue = Queue::new(Fair::No, 10, Full::Refuse).unwrap();
    Band { name: "band".to_owned(), take: Vec::new(), queue, rate: None, share: None }
}

/// Identifiers of data frames; parameter groups and odd masks; and identifiers of 11 bits, with remote frames of 29.
fn policy() -> Policy {
    let group = |number: u32| IdFilter { mask: 0xC3FF_FF00, ..exact(number) };
    let odd = |number: u32| IdFilter { mask: 0x9F0F_0FF3, ..exact(number) };
    let remote = |number: u32| IdFilter { id: exact(number).id | CAN_RTR_FLAG, mask: 0xDFFF_FFFF };
    let short = |number: u32| IdFilter { id: number * 7 % 0x800, mask: 0xC000_07FF };
    let groups = (1000..1150).map(group).chain((2000..2060).map(odd)).collect();
    let others = (0..100).map(remote).chain((0..100).map(short)).collect();
    Policy::new(vec![band((0..500).map(exact).collect()), band(groups), band(others), rest()], Vec::new()).unwrap()
}

/// Frames with the identifiers of filters, and near them.
fn frame(number: u32) -> Frame {
    let near = extended(number * 3);
    let id = match number % 8 {
        0 | 1 => extended(number),
        2 => extended(number / 8) | CAN_RTR_FLAG,
        3 => scattered(1000 + number / 4) & 0x03FF_FF00 | CAN_EFF_FLAG | number & 0xFF,
        4 => extended(2000 + number / 8) | 0x00F0_0000,
        5 => near ^ 1 << (number / 8 % 29),
        6 => number % 0x800,
        _ => (number % 0x800) | CAN_RTR_FLAG,
    };
    let payload: &[u8] = if id & CAN_RTR_FLAG == 0 { &[1, 2, 3] } else { &[] };
    classic(id, payload)
}

#[test]
#[ignore = "runs in a guest"]
fn tables_select_the_band_of_the_policy() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let policy = policy();
    let wanted = compile::tree(&policy);
    let has_tables = wanted.filters.iter().filter(|filter| matches!(filter.classifier, Classifier::U32(_))).count();
    assert!(has_tables > 700, "{has_tables} filters of u32");
    let steps = |wanted: &Tree| -> Steps {
        let kernel = Interface::open(NEAR).unwrap().unwrap();
        let target = Target { name: NEAR.to_owned(), kernel, wanted: wanted.clone() };
        apply(&mut [target]).unwrap().remove(0).steps
    };
    assert!(!steps(&wanted).requests.is_empty());
    assert_eq!(steps(&wanted), Steps::default(), "applied twice");

    // Filters in the order of the kernel, not in that of their creation.
    let found = fixture.observe().tree;
    let sender = fixture.sender();
    let mut bands = [0_u64; 4];
    let mut courses = Vec::new();
    for frame in (0..FRAMES).map(frame) {
        bands[policy.band_of(&outgoing(&frame))] += 1;
        let sent = sent(&frame);
        courses.push(sent.course(&found));
        sent.send(&sender).unwrap();
    }
    assert!(bands.iter().all(|frames| *frames > 20), "frames of each band: {bands:?}");
    let observed = fixture.observe();
    let queued = |band: u16| {
        let is_its = |(qdisc, _): &(&Qdisc, _)| qdisc.handle == Handle::new(band * 0x10, 0);
        observed.tree.qdiscs.iter().zip(&observed.qdiscs).find(is_its).unwrap().1.frames
    };
    assert_eq!([1, 2, 3, 4].map(queued), bands);
    let counts = Counts::of(&courses);
    assert_eq!([counts.at_filters(&found, &observed), counts.at_queues(&found, &observed)].concat(), [""; 0]);

    // The filters are replaced with their tables, and the queues stay.
    let mut other = wanted;
    other.filters.retain(|filter| filter.preference != 2);
    let exchanged = steps(&other);
    assert!(!exchanged.loses_frames);
    assert_eq!(steps(&other), Steps::default());
    fixture.clear();
}

#[test]
#[ignore = "runs in a guest"]
fn tc_can_make_the_tables() {
    let Some(mut fixture) = Fixture::new(&[VCAN, &[Feature::Tc]].concat()) else { return };
    let policy = Policy::new(vec![band((0..60).map(exact).collect()), rest()], Vec::new()).unwrap();
    let wanted = compile::tree(&policy);
    let script = text::script(&wanted, NEAR).unwrap();
    let commands = script.lines().filter_map(|line| line.strip_prefix("tc ")).filter(|line| line.contains(" add "));
    for command in commands {
        made::tc(&command.replace("\"$DEV\"", NEAR)).unwrap();
    }
    assert_eq!(differences(&wanted, &fixture.observe().tree), []);
    fixture.clear();
}

fn outgoing(frame: &Frame) -> Outgoing<'static> {
    Outgoing { id: RawId(frame.id.0), len: frame.len, priority: 0, mark: 0, from: None, groups: &[] }
}

fn sent(frame: &Frame) -> Sent {
    Sent { bytes: bytes_of(frame), priority: 0, mark: 0 }
}
