//! Invariants over seeded random schedules.

use std::collections::BTreeMap;

use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, Frame, RawId};

use crate::bit_model::{Bus, Config, Disturbance, Log, NodeState, Order, What};
use crate::delivered;

const NODES: usize = 5;
const BITS: u64 = 20_000;

/// The same number on every processor, unlike `usize()`.
fn below(random: &mut fastrand::Rng, end: usize) -> usize {
    usize::try_from(random.u64(..end as u64)).expect("below a usize")
}

fn random_frame(random: &mut fastrand::Rng) -> Frame {
    let mut bytes = [0; 64];
    random.fill(&mut bytes);
    let id = if random.bool() { random.u32(..1 << 29) | CAN_EFF_FLAG } else { random.u32(..1 << 11) };
    let frame = if random.u8(..4) == 0 {
        Frame::fd(RawId(id), random.u8(..2), &bytes[..below(random, 65)])
    } else {
        let remote = if random.u8(..8) == 0 { CAN_RTR_FLAG } else { 0 };
        Frame::classic(RawId(id | remote), &bytes[..below(random, 9)])
    };
    frame.expect("short enough")
}

/// 200 frames and some flips on a bus of five.
fn schedule(seed: u64, flips: usize) -> Bus {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bus = Bus::new((0..NODES).map(|node| Config {
        order: if node % 2 == 0 { Order::Fifo } else { Order::LowestFirst },
        depth: 1 + node * 4,
        ..Config::default()
    }));
    for tag in 0..200 {
        bus.submit(random.u64(..BITS), below(&mut random, NODES), tag, random_frame(&mut random));
    }
    for _ in 0..flips {
        bus.disturb(Disturbance::Flip { frame: below(&mut random, 100), bit: random.u64(..150) });
    }
    bus
}

#[test]
fn frames_are_delivered_once_or_refused() {
    for seed in 0..2 {
        for flips in [0, 20] {
            let mut bus = schedule(seed, flips);
            let log = bus.run_until(BITS + 20_000);
            let mut ends: BTreeMap<u64, u32> = BTreeMap::new();
            for entry in &log {
                if let What::Delivered { tag, .. } | What::Refused { tag } = entry.what {
                    *ends.entry(tag).or_default() += 1;
                }
            }
            assert_eq!(ends.len(), 200, "seed {seed}, {flips} flips");
            assert!(ends.values().all(|&times| times == 1), "seed {seed}, {flips} flips");
        }
    }
}

#[test]
fn without_faults_all_nodes_receive_and_frames_do_not_overlap() {
    for seed in 0..2 {
        let log = schedule(seed, 0).run_until(BITS + 20_000);
        assert!(!log.iter().any(|entry| matches!(entry.what, What::ErrorDetected { .. })), "seed {seed}");
        let mut free = 0;
        for (sender, _, start, end, receivers) in delivered(&log) {
            assert!(start >= free, "seed {seed}: {start} < {free}");
            free = end + 3;
            let others: Vec<usize> = (0..NODES).filter(|&node| node != sender).collect();
            assert_eq!(receivers, others, "seed {seed}");
        }
    }
}

#[test]
fn states_follow_from_counters() {
    for seed in 0..2 {
        for entry in schedule(seed, 60).run_until(BITS) {
            if let What::Counters { counters, state } = entry.what {
                assert!(counters.tec < 264 && counters.rec < 256);
                assert_eq!(state == NodeState::BusOff, counters.tec >= 256);
                assert_eq!(state == NodeState::Active, counters.tec < 128 && counters.rec < 128);
            }
        }
    }
}

/// All kinds of faults up to bit time `BITS`; then all nodes have power and are restarted.
fn chaos(seed: u64) -> Bus {
    let mut bus = schedule(seed, 60);
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5EED);
    for _ in 0..20 {
        let (frame, bit, node) = (below(&mut random, 100), random.u64(..150), below(&mut random, NODES));
        bus.disturb(Disturbance::Misread { frame, bit, node });
        bus.disturb(Disturbance::NoAck { frame: below(&mut random, 100) });
        bus.switch_off(random.u64(..BITS), below(&mut random, NODES));
        bus.switch_on(random.u64(..BITS), below(&mut random, NODES));
        bus.restart(random.u64(..BITS), below(&mut random, NODES));
    }
    for _ in 0..5 {
        let from = random.u64(..BITS);
        bus.disturb(Disturbance::Stuck { from, to: from + random.u64(1..100) });
    }
    for node in 0..NODES {
        bus.switch_on(BITS, node);
        bus.restart(BITS, node);
    }
    bus
}

#[test]
fn bus_recovers_after_the_last_fault() {
    for seed in 0..3 {
        let mut bus = chaos(seed);
        let log = bus.run_until(BITS);
        assert!(log.iter().any(|entry| matches!(entry.what, What::ErrorDetected { .. })), "seed {seed}");
        // Disturbances wait for their frames, of which there are more than 100.
        bus.run_until(BITS + 30_000);
        for node in 0..NODES {
            assert_eq!(bus.pending(node), 0, "seed {seed}, node {node}");
            assert_ne!(bus.counters(node).state(), NodeState::BusOff, "seed {seed}, node {node}");
        }
        // All nodes receive a frame that is submitted now.
        let now = bus.now();
        bus.submit(now, 0, 999, Frame::classic(RawId(0), &[]).expect("empty"));
        let sent = delivered(&bus.run_until(now + 100));
        assert_eq!(sent, [(0, 999, now, now + 50, vec![1, 2, 3, 4])], "seed {seed}");
    }
}

#[test]
fn log_does_not_depend_on_the_number_of_runs() {
    let whole = chaos(1).run_until(BITS);
    let mut bus = chaos(1);
    let pieces: Vec<Log> = (0..=BITS / 7).flat_map(|piece| bus.run_until((piece * 7).min(BITS))).collect();
    let rest = bus.run_until(BITS);
    assert_eq!(whole, [pieces, rest].concat());
}
