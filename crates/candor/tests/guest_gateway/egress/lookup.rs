//! Identifiers that are looked up in tables of `u32`, on a real kernel: made, read back as they were made, and asked what the
//! policy says, filter by filter.

use candor_core::filter::Filter as IdFilter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CANFD_MTU, Frame, RawId};
use candor_core::ids::{Effort, IdSet};
use candor_egress::compile;
use candor_egress::kernel::{Interface, Target, apply};
use candor_egress::policy::{Band, Fair, Full, Outgoing, Policy, Queue, Selection};
use candor_egress::steps::Steps;
use candor_egress::text;

use super::counted::{Counts, Sent};
use super::*;
use crate::frames::{classic, sender_on};

const FRAMES: u32 = 400;

/// Without an order that a hash could make use of (the end of MurmurHash3).
const fn scattered(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85EB_CA6B);
    let number = (number ^ number >> 13).wrapping_mul(0xC2B2_AE35);
    number ^ number >> 16
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
    let exact = |number: u32| IdFilter { id: scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG, mask: 0xDFFF_FFFF };
    let group = |number: u32| IdFilter { id: scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG, mask: 0xC3FF_FF00 };
    let odd = |number: u32| IdFilter { id: scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG, mask: 0x9F0F_0FF3 };
    let remote = |number: u32| IdFilter { id: exact(number).id | CAN_RTR_FLAG, mask: 0xDFFF_FFFF };
    let short = |number: u32| IdFilter { id: number * 7 % 0x800, mask: 0xC000_07FF };
    let groups = (1000..1150).map(group).chain((2000..2060).map(odd)).collect();
    let others = (0..100).map(remote).chain((0..100).map(short)).collect();
    Policy::new(vec![band((0..500).map(exact).collect()), band(groups), band(others), rest()], Vec::new()).unwrap()
}

/// Frames that a filter has been made for, and their neighbours.
fn frame(number: u32) -> Frame {
    let near = scattered(number * 3) & CAN_EFF_MASK | CAN_EFF_FLAG;
    let id = match number % 8 {
        0 | 1 => scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG,
        2 => scattered(number / 8) & CAN_EFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG,
        3 => scattered(1000 + number / 4) & 0x03FF_FF00 | CAN_EFF_FLAG | number & 0xFF,
        4 => scattered(2000 + number / 8) & CAN_EFF_MASK | CAN_EFF_FLAG | 0x00F0_0000,
        5 => near ^ 1 << (number / 8 % 29),
        6 => number % 0x800,
        _ => (number % 0x800) | CAN_RTR_FLAG,
    };
    let payload: &[u8] = if id & CAN_RTR_FLAG == 0 { &[1, 2, 3] } else { &[] };
    classic(id, payload)
}

#[test]
#[ignore = "runs in a guest"]
fn identifiers_are_looked_up_as_the_policy_says() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
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
    assert_eq!(steps(&wanted), Steps::default(), "it is there already");

    // Numbered as the kernel has them, which is not the order in which they were made.
    let found = place.observe().tree;
    let sender = sender_on(place.pair.near);
    let mut bands = [0_u64; 4];
    let mut courses = Vec::new();
    for frame in (0..FRAMES).map(frame) {
        bands[policy.band_of(&outgoing(&frame))] += 1;
        let sent = sent(&frame);
        courses.push(sent.course(&found));
        sent.send(&sender).unwrap();
    }
    assert!(bands.iter().all(|frames| *frames > 20), "each band has its frames: {bands:?}");
    let observed = place.observe();
    let queued = |band: u16| {
        let is_its = |(qdisc, _): &(&Qdisc, _)| qdisc.handle == Handle::new(band * 0x10, 0);
        observed.tree.qdiscs.iter().zip(&observed.qdiscs).find(is_its).unwrap().1.frames
    };
    assert_eq!([1, 2, 3, 4].map(queued), bands);
    let counts = Counts::of(&courses);
    assert_eq!([counts.at_filters(&found, &observed), counts.at_queues(&found, &observed)].concat(), [""; 0]);

    // The filters are exchanged, tables and all, while the queues stay.
    let mut other = wanted;
    other.filters.retain(|filter| filter.preference != 2);
    let exchanged = steps(&other);
    assert!(!exchanged.loses_frames);
    assert_eq!(steps(&other), Steps::default());
    place.clear();
}

#[test]
#[ignore = "runs in a guest"]
fn what_is_looked_up_can_be_made_by_tc() {
    let Some(_machine) = require(&[NEEDS, &[Feature::Tc]].concat()) else { return };
    let mut place = Place::new();
    let exact = |number: u32| IdFilter { id: scattered(number) & CAN_EFF_MASK | CAN_EFF_FLAG, mask: 0xDFFF_FFFF };
    let policy = Policy::new(vec![band((0..60).map(exact).collect()), rest()], Vec::new()).unwrap();
    let wanted = compile::tree(&policy);
    let script = text::script(&wanted, NEAR).unwrap();
    let commands = script.lines().filter_map(|line| line.strip_prefix("tc ")).filter(|line| line.contains(" add "));
    for command in commands {
        tool::tc(&command.replace("\"$DEV\"", NEAR)).unwrap();
    }
    assert_eq!(differences(&wanted, &place.observe().tree), []);
    place.clear();
}

fn outgoing(frame: &Frame) -> Outgoing<'static> {
    Outgoing { id: RawId(frame.id.0), len: frame.len, priority: 0, mark: 0, from: None, groups: &[] }
}

fn sent(frame: &Frame) -> Sent {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    Sent { bytes: bytes[..len].to_vec(), priority: 0, mark: 0 }
}
