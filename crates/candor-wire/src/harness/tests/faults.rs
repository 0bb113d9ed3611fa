//! Effects of each fault on the nodes of a bus.

use candor_bus::{Counters, ErrorState, Target};

use super::*;
use crate::fault::{Effect, Hold};

const MS: u64 = 1_000_000;
const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Two ucan adapters, A and B, and a gs_usb with two channels, all started.
fn ready() -> Harness {
    let mut harness = one_bus(None);
    for (device, channel) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
        start(&mut harness, device, channel);
    }
    assert_eq!(trace(&mut harness, MS), []);
    harness
}

fn order(harness: &mut Harness, at: Option<u64>, fault: Fault) -> Option<BusNs> {
    lasting(harness, at, None, fault)
}

fn lasting(harness: &mut Harness, at: Option<u64>, lasts_ns: Option<u64>, fault: Fault) -> Option<BusNs> {
    harness.order(BUS, FaultOrder { id: FaultId(7), at: at.map(BusNs), lasts_ns, fault }, BusNs(MS))
}

fn faults(trace: &[TraceEntry]) -> Vec<Effect> {
    let effect = |entry: &TraceEntry| match entry {
        TraceEntry::Fault(effect) => Some(*effect),
        TraceEntry::Event(_) => None,
    };
    trace.iter().filter_map(effect).collect()
}

fn refusals(trace: &[TraceEntry]) -> Vec<Option<Refusal>> {
    faults(trace).iter().map(|effect| effect.refused).collect()
}

/// Times and states of a node.
fn states(trace: &[TraceEntry], node: NodeId) -> Vec<(u64, ErrorState)> {
    let of = |event: Event| match event {
        Event::State { at, node: of, state, .. } if of == node => Some((at.0, state)),
        _ => None,
    };
    events(trace).into_iter().filter_map(of).collect()
}

fn last_state(trace: &[TraceEntry], node: NodeId) -> Option<ErrorState> {
    states(trace, node).last().map(|(_, state)| *state)
}

fn errors(trace: &[TraceEntry]) -> Vec<(ErrorKind, u32)> {
    let of = |event: Event| match event {
        Event::Error { kind, bit, .. } => Some((kind, bit)),
        _ => None,
    };
    events(trace).into_iter().filter_map(of).collect()
}

fn ids(trace: &[TraceEntry]) -> Vec<u32> {
    delivered(trace).iter().map(|frame| frame.3).collect()
}

#[test]
fn fault_takes_effect_at_its_bus_time() {
    let mut harness = ready();
    let at = 5 * MS + 123;
    assert_eq!(order(&mut harness, Some(at), Fault::BusOff { node: B }), Some(BusNs(at)));
    assert_eq!(harness.next_event(BUS), Some(BusNs(at)));
    // The caller wakes up much later.
    let seen = trace(&mut harness, 50 * MS);
    let effect = Effect { at: BusNs(at), order: FaultId(7), fault: Fault::BusOff { node: B }, refused: None };
    assert_eq!(seen[0], TraceEntry::Fault(effect));
    assert_eq!(states(&seen, B), [(at, ErrorState::BusOff)]);

    let late = FaultOrder { id: FaultId(8), at: Some(BusNs(MS)), lasts_ns: None, fault: Fault::Stuck };
    assert_eq!(harness.order(BUS, late, BusNs(50 * MS)), None);
    assert_eq!(refusals(&trace(&mut harness, 51 * MS)), [Some(Refusal::Past { now: BusNs(50 * MS) })]);
}

#[test]
fn bus_off_node_drops_its_frames_until_its_driver_restarts_it() {
    let mut harness = ready();
    order(&mut harness, None, Fault::BusOff { node: A });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    let seen = trace(&mut harness, 3 * MS);
    assert_eq!(states(&seen, A), [(MS, ErrorState::BusOff)]);
    assert_eq!(delivered(&seen), []);
    order(&mut harness, None, Fault::Counters { node: A, counters: Counters::default() });
    assert_eq!(refusals(&trace(&mut harness, 4 * MS)), [Some(Refusal::NotOnBus)]);
    request(&mut harness, 0, Request::Restart { channel: Channel(0) }, 4 * MS);
    let seen = trace(&mut harness, 20 * MS);
    assert_eq!(states(&seen, A), [(4 * MS + 128 * 11 * NOMINAL_BIT_NS, ErrorState::Active)]);
}

#[test]
fn lost_acknowledgements_make_the_sender_error_passive_at_most() {
    let mut harness = ready();
    let target = Target { sender: Some(A), ..Target::default() };
    order(&mut harness, None, Fault::LostAck { target, times: 100 });
    send(&mut harness, 1, 0, 9, 0x050, 2 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    let seen = trace(&mut harness, 100 * MS);
    let errors = errors(&seen);
    assert_eq!(errors.len(), 100);
    assert!(errors.iter().all(|(kind, _)| *kind == ErrorKind::Ack), "{errors:?}");
    let states: Vec<_> = states(&seen, A).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [ErrorState::Warning, ErrorState::Passive, ErrorState::Warning], "only 16 errors count 8");
    assert_eq!(ids(&seen), [0x050, 0x100], "the frame of another node is acknowledged");
}

#[test]
fn bit_errors_destroy_only_matching_frames() {
    let mut harness = ready();
    let target = Target { id: Some(RawId(0x200)), ..Target::default() };
    order(&mut harness, None, Fault::BitError { target, bit: Some(20), times: 2 });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    send(&mut harness, 1, 0, 1, 0x200, 2 * MS);
    let seen = trace(&mut harness, 10 * MS);
    assert_eq!(errors(&seen), [(ErrorKind::Bit, 20); 2]);
    assert_eq!(delivered(&seen).len(), 2);

    order(&mut harness, Some(11 * MS), Fault::BitErrorRate { rate: 1.0 });
    order(&mut harness, Some(12 * MS), Fault::Clear);
    let mut seen = trace(&mut harness, 11 * MS);
    send(&mut harness, 0, 0, 2, 0x100, 11 * MS + 1);
    seen.extend(trace(&mut harness, 20 * MS));
    assert!(errors(&seen).len() > 3 && delivered(&seen).len() == 1, "{seen:?}");
}

#[test]
fn error_frame_is_sent_by_one_node() {
    let mut harness = ready();
    order(&mut harness, None, Fault::ErrorFrame { node: B, id: None, bit: Some(30), times: 1 });
    stop(&mut harness, 1, 0, 2 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 3 * MS);
    assert_eq!(errors(&trace(&mut harness, 4 * MS)), [], "the node is not on the bus");
    start_at(&mut harness, 1, 0, 4 * MS);
    send(&mut harness, 0, 0, 2, 0x100, 5 * MS);
    assert_eq!(errors(&trace(&mut harness, 6 * MS)).len(), 1);
    // The first node to send the flag counts 1 and 8, and 1 less for the frame that follows.
    let receive_errors = [B, NodeId(2)].map(|node| harness.bus(BUS).unwrap().counters(node).receive);
    assert_eq!(receive_errors, [8, 0]);
}

#[test]
fn stuck_bus_carries_no_frame_until_released() {
    let mut harness = ready();
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    let at = 2 * MS + 20_000;
    assert_eq!(lasting(&mut harness, Some(at), Some(5 * MS), Fault::Stuck), Some(BusNs(at)));
    let seen = trace(&mut harness, 30 * MS);
    let effects: Vec<_> = faults(&seen).iter().map(|effect| (effect.at.0, effect.fault)).collect();
    assert_eq!(effects, [(at, Fault::Stuck), (at + 5 * MS, Fault::Release { what: Hold::Stuck })]);
    assert_eq!(last_state(&seen, A), Some(ErrorState::BusOff), "it was sending");
    assert_eq!(last_state(&seen, B), Some(ErrorState::Passive), "it counted 8 again and again");
    assert_eq!(delivered(&seen), []);
    send(&mut harness, 1, 0, 1, 0x200, 31 * MS);
    assert_eq!(delivered(&trace(&mut harness, 32 * MS)).len(), 1);
}

#[test]
fn babbling_node_blocks_higher_identifiers() {
    let mut harness = ready();
    let frame: Frame = "010#".parse().unwrap();
    lasting(&mut harness, Some(2 * MS), Some(10 * MS), Fault::Babble { frame, node: None });
    send(&mut harness, 0, 0, 1, 0x100, 3 * MS);
    send(&mut harness, 1, 0, 1, 0x00F, 4 * MS);
    let seen = trace(&mut harness, 20 * MS);
    let frames = delivered(&seen);
    let babbled: Vec<_> = frames.iter().filter(|frame| frame.3 == 0x010).collect();
    assert!(babbled.len() > 80, "{}", babbled.len());
    assert!(babbled.iter().all(|frame| frame.0 == 4), "one more node than there are channels");
    let gaps = frames.windows(2).filter(|pair| pair[1].1 != pair[0].2 + 3 * NOMINAL_BIT_NS).count();
    assert_eq!(gaps, 0);
    let ids = ids(&seen);
    assert_eq!(ids.last(), Some(&0x100), "sent when the babbling has ended");
    assert!(ids.iter().position(|&id| id == 0x00F) < Some(ids.len() - 2), "a lower identifier gets through");
    assert!(babbled.last().unwrap().2 >= 12 * MS && babbled.last().unwrap().1 < 12 * MS);
    // The additional node is gone: a lone node is not acknowledged.
    for device in [1, 2] {
        for channel in 0..2 {
            stop(&mut harness, device, channel, 21 * MS);
        }
    }
    send(&mut harness, 0, 0, 2, 0x100, 22 * MS);
    assert_eq!(delivered(&trace(&mut harness, 30 * MS)), []);
}

#[test]
fn node_babbles_in_addition_to_its_own_frames() {
    let mut harness = ready();
    let frame: Frame = "010#".parse().unwrap();
    order(&mut harness, None, Fault::Babble { frame, node: Some(A) });
    // As many as its adapter takes.
    for tag in 1..=3 {
        send(&mut harness, 0, 0, tag, 0x100 + tag, 2 * MS);
    }
    order(&mut harness, Some(8 * MS), Fault::Release { what: Hold::All });
    let frames = senders(&trace(&mut harness, 20 * MS));
    assert_eq!(frames.iter().filter(|(_, id)| *id > 0x100).count(), 3, "{frames:?}");
    assert!(frames.len() > 50 && frames.iter().all(|(node, _)| *node == 0));
    let fd: Frame = "010##0".parse().unwrap();
    order(&mut harness, None, Fault::Babble { frame: fd, node: Some(A) });
    let refused = refusals(&trace(&mut harness, 30 * MS));
    assert!(matches!(refused[..], [Some(Refusal::Frame(_))]), "{refused:?}");
}

#[test]
fn frozen_node_keeps_its_frames_and_acknowledges() {
    let mut harness = ready();
    lasting(&mut harness, None, Some(9 * MS), Fault::Freeze { node: A });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    for channel in 0..2 {
        stop(&mut harness, 2, channel, 2 * MS);
    }
    send(&mut harness, 1, 0, 1, 0x200, 3 * MS);
    let seen = trace(&mut harness, 20 * MS);
    assert_eq!(ids(&seen), [0x200, 0x100]);
    assert_eq!(delivered(&seen)[1].1, 10 * MS, "when it thaws");
}

#[test]
fn unplugged_adapter_is_silent_until_replugged() {
    let mut harness = ready();
    let device = DeviceId(2);
    order(&mut harness, Some(2 * MS), Fault::Unplug { device });
    order(&mut harness, Some(3 * MS), Fault::Unplug { device });
    assert_eq!(refusals(&trace(&mut harness, 4 * MS)), [None, Some(Refusal::Unplugged)]);
    assert!(harness.devices.is_unplugged(device));
    order(&mut harness, Some(5 * MS), Fault::Freeze { node: NodeId(2) });
    order(&mut harness, Some(6 * MS), Fault::Replug { device });
    order(&mut harness, Some(6 * MS), Fault::Replug { device });
    assert_eq!(refusals(&trace(&mut harness, 7 * MS)), [None, None, Some(Refusal::NotUnplugged)]);
    assert!(!harness.devices.is_unplugged(device));
    start(&mut harness, 2, 0);
    send(&mut harness, 2, 0, 1, 0x100, 8 * MS);
    assert_eq!(delivered(&trace(&mut harness, 9 * MS)).len(), 1, "the new one is not frozen");
}

#[test]
fn clear_ends_and_unschedules_all_faults() {
    let mut harness = ready();
    let frame: Frame = "000#".parse().unwrap();
    for fault in [
        Fault::Babble { frame, node: None },
        Fault::LostAck { target: Target::default(), times: 100 },
        Fault::BitErrorRate { rate: 0.5 },
        Fault::Freeze { node: A },
        Fault::Stuck,
    ] {
        order(&mut harness, None, fault);
    }
    order(&mut harness, Some(9 * MS), Fault::BusOff { node: B });
    order(&mut harness, Some(2 * MS), Fault::Clear);
    trace(&mut harness, 3 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 5 * MS);
    let seen = trace(&mut harness, 20 * MS);
    assert_eq!((faults(&seen), errors(&seen)), (vec![], vec![]));
    assert_eq!(ids(&seen).last(), Some(&0x100));
}

#[test]
fn scheduled_faults_are_bounded() {
    let mut harness = ready();
    let planned = (0..2000).filter(|_| order(&mut harness, Some(2 * MS), Fault::Stuck).is_some()).count();
    assert_eq!(planned, 1024);
    for _ in 0..2000 {
        order(&mut harness, None, Fault::LostAck { target: Target::default(), times: 1 });
    }
    let refused = refusals(&trace(&mut harness, MS)).iter().filter(|refused| refused.is_some()).count();
    assert_eq!(refused, 2 * (2000 - 1024));
}
