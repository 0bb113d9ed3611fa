//! What each fault does to the nodes that share a bus.

use candor_bus::{Counters, ErrorState, Target};

use super::*;
use crate::fault::{Effect, Hold};

const MS: u64 = 1_000_000;
const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Two ucan adapters, A and B, and a gs_usb of two channels, all on the bus and ready.
fn ready() -> Harness {
    let mut harness = one_bus(None);
    for (device, channel) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
        start(&mut harness, device, channel, 500_000);
    }
    assert_eq!(happenings(&mut harness, MS), []);
    harness
}

fn order(harness: &mut Harness, at: Option<u64>, fault: Fault) -> Option<BusNs> {
    lasting(harness, at, None, fault)
}

fn lasting(harness: &mut Harness, at: Option<u64>, lasts_ns: Option<u64>, fault: Fault) -> Option<BusNs> {
    harness.order(BUS, FaultOrder { id: FaultId(7), at: at.map(BusNs), lasts_ns, fault }, BusNs(MS))
}

fn faults(story: &[Happening]) -> Vec<Effect> {
    let of = |happening: &Happening| match happening {
        Happening::Fault(effect) => Some(*effect),
        Happening::Event(_) => None,
    };
    story.iter().filter_map(of).collect()
}

fn events(story: &[Happening]) -> Vec<Event> {
    let of = |happening: &Happening| match happening {
        Happening::Event(event) => Some(*event),
        Happening::Fault(_) => None,
    };
    story.iter().filter_map(of).collect()
}

/// When a node came to which state.
fn states(story: &[Happening], node: NodeId) -> Vec<(u64, ErrorState)> {
    let of = |event: &Event| match *event {
        Event::State { at, node: of, state, .. } if of == node => Some((at.0, state)),
        _ => None,
    };
    events(story).iter().filter_map(of).collect()
}

fn errors(story: &[Happening]) -> Vec<(ErrorKind, u32)> {
    let of = |event: &Event| match *event {
        Event::Error { kind, bit, .. } => Some((kind, bit)),
        _ => None,
    };
    events(story).iter().filter_map(of).collect()
}

#[test]
fn a_fault_has_its_moment_on_the_time_line_of_the_bus() {
    let mut harness = ready();
    let at = 5 * MS + 123;
    assert_eq!(order(&mut harness, Some(at), Fault::BusOff { node: B }), Some(BusNs(at)));
    assert_eq!(harness.next_event(BUS), Some(BusNs(at)));
    // The holder wakes up much later.
    let story = happenings(&mut harness, 50 * MS);
    let effect = Effect { at: BusNs(at), order: FaultId(7), fault: Fault::BusOff { node: B }, refused: None };
    assert_eq!(story[0], Happening::Fault(effect));
    assert_eq!(states(&story, B), [(at, ErrorState::BusOff)]);

    let past = harness.order(
        BUS,
        FaultOrder { id: FaultId(8), at: Some(BusNs(MS)), lasts_ns: None, fault: Fault::Stuck },
        BusNs(50 * MS),
    );
    assert_eq!(past, None);
    let refused = faults(&happenings(&mut harness, 51 * MS))[0].refused;
    assert_eq!(refused, Some(Refusal::Past { now: BusNs(50 * MS) }));
}

#[test]
fn a_bus_off_node_forgets_its_frames_and_comes_back_when_its_driver_says_so() {
    let mut harness = ready();
    order(&mut harness, None, Fault::BusOff { node: A });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    let story = happenings(&mut harness, 3 * MS);
    assert_eq!(states(&story, A), [(MS, ErrorState::BusOff)]);
    assert_eq!(delivered(&events(&story)), []);
    // What means nothing for a node that is off.
    order(&mut harness, None, Fault::Counters { node: A, counters: Counters::default() });
    assert_eq!(faults(&happenings(&mut harness, 4 * MS))[0].refused, Some(Refusal::NotOnBus));
    ask(&mut harness, 0, Request::Restart { channel: Channel(0) }, 4 * MS);
    let story = happenings(&mut harness, 20 * MS);
    assert_eq!(states(&story, A), [(4 * MS + 128 * 11 * NOMINAL_BIT_NS, ErrorState::Active)]);
}

#[test]
fn lost_acknowledgements_make_the_sender_passive_and_no_more() {
    let mut harness = ready();
    let target = Target { sender: Some(A), ..Target::default() };
    order(&mut harness, None, Fault::LostAck { target, times: 100 });
    send(&mut harness, 1, 0, 9, 0x050, 2 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    let story = happenings(&mut harness, 100 * MS);
    let errors = errors(&story);
    assert_eq!(errors.len(), 100);
    assert!(errors.iter().all(|(kind, _)| *kind == ErrorKind::Ack), "{errors:?}");
    let states: Vec<_> = states(&story, A).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [ErrorState::Warning, ErrorState::Passive, ErrorState::Warning], "16 errors of 8, and no more");
    let frames: Vec<u32> = delivered(&events(&story)).iter().map(|frame| frame.3).collect();
    assert_eq!(frames, [0x050, 0x100], "the frame of another is acknowledged");
}

#[test]
fn bit_errors_hit_the_frames_that_are_meant() {
    let mut harness = ready();
    let target = Target { id: Some(RawId(0x200)), ..Target::default() };
    order(&mut harness, None, Fault::BitError { target, bit: Some(20), times: 2 });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    send(&mut harness, 1, 0, 1, 0x200, 2 * MS);
    let story = happenings(&mut harness, 10 * MS);
    assert_eq!(errors(&story), [(ErrorKind::Bit, 20); 2]);
    assert_eq!(delivered(&events(&story)).len(), 2);

    order(&mut harness, Some(11 * MS), Fault::BitErrorRate { rate: 1.0 });
    order(&mut harness, Some(12 * MS), Fault::Clear);
    let mut story = happenings(&mut harness, 11 * MS);
    send(&mut harness, 0, 0, 2, 0x100, 11 * MS + 1);
    story.extend(happenings(&mut harness, 20 * MS));
    assert!(errors(&story).len() > 3 && delivered(&events(&story)).len() == 1, "{story:?}");
}

#[test]
fn an_error_frame_is_that_of_one_node() {
    let mut harness = ready();
    order(&mut harness, None, Fault::ErrorFrame { node: B, id: None, bit: Some(30), times: 1 });
    ask(&mut harness, 1, Request::Stop { channel: Channel(0) }, 2 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 3 * MS);
    assert_eq!(errors(&happenings(&mut harness, 4 * MS)), [], "it is not there to flag anything");
    ask(
        &mut harness,
        1,
        Request::Start {
            channel: Channel(0),
            timing: Timing { nominal: rate(500_000), data: None },
            listen_only: false,
            one_shot: false,
        },
        4 * MS,
    );
    send(&mut harness, 0, 0, 2, 0x100, 5 * MS);
    let story = happenings(&mut harness, 6 * MS);
    assert_eq!(errors(&story).len(), 1);
    // The one who flagged it first has counted 1 and 8, and 1 less for the frame that came in the end.
    assert_eq!(
        (harness.bus(BUS).unwrap().counters(B).receive, harness.bus(BUS).unwrap().counters(NodeId(2)).receive),
        (8, 0)
    );
}

#[test]
fn a_dominant_wire_is_nobodys_until_it_is_released() {
    let mut harness = ready();
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    assert_eq!(lasting(&mut harness, Some(2 * MS + 20_000), Some(5 * MS), Fault::Stuck), Some(BusNs(2 * MS + 20_000)));
    let happened = happenings(&mut harness, 30 * MS);
    let told: Vec<_> = faults(&happened).iter().map(|effect| (effect.at.0, effect.fault)).collect();
    let release = Fault::Release { what: Hold::Stuck };
    assert_eq!(told, [(2 * MS + 20_000, Fault::Stuck), (7 * MS + 20_000, release)]);
    assert_eq!(states(&happened, A).last().map(|(_, state)| *state), Some(ErrorState::BusOff), "it was sending");
    assert_eq!(
        states(&happened, B).last().map(|(_, state)| *state),
        Some(ErrorState::Passive),
        "it counted 8 again and again"
    );
    assert_eq!(delivered(&events(&happened)), []);
    send(&mut harness, 1, 0, 1, 0x200, 31 * MS);
    assert_eq!(delivered(&story(&mut harness, 32 * MS)).len(), 1);
}

#[test]
fn a_babbling_node_leaves_no_gap_and_nobody_below_it_a_chance() {
    let mut harness = ready();
    let frame: Frame = "010#".parse().unwrap();
    lasting(&mut harness, Some(2 * MS), Some(10 * MS), Fault::Babble { frame, node: None });
    send(&mut harness, 0, 0, 1, 0x100, 3 * MS);
    send(&mut harness, 1, 0, 1, 0x00F, 4 * MS);
    let frames = delivered(&story(&mut harness, 20 * MS));
    let babbled: Vec<_> = frames.iter().filter(|frame| frame.3 == 0x010).collect();
    assert!(babbled.len() > 80, "{}", babbled.len());
    assert!(babbled.iter().all(|frame| frame.0 == 4), "one more node than there are channels");
    let gaps = frames.windows(2).filter(|pair| pair[1].1 != pair[0].2 + 3 * NOMINAL_BIT_NS).count();
    assert_eq!(gaps, 0);
    let ids: Vec<u32> = frames.iter().map(|frame| frame.3).collect();
    assert_eq!(ids.last(), Some(&0x100), "its turn comes when the babbling is over");
    assert!(ids.iter().position(|&id| id == 0x00F) < Some(ids.len() - 2), "a lower identifier gets through");
    assert!(babbled.last().unwrap().2 >= 12 * MS && babbled.last().unwrap().1 < 12 * MS);
    // It has gone: nobody acknowledges a lone node.
    for device in [1, 2] {
        for channel in 0..2 {
            ask(&mut harness, device, Request::Stop { channel: Channel(channel) }, 21 * MS);
        }
    }
    send(&mut harness, 0, 0, 2, 0x100, 22 * MS);
    assert_eq!(delivered(&story(&mut harness, 30 * MS)), []);
}

#[test]
fn a_node_can_babble_beside_its_own_frames() {
    let mut harness = ready();
    let frame: Frame = "010#".parse().unwrap();
    order(&mut harness, None, Fault::Babble { frame, node: Some(A) });
    // As many as its adapter takes.
    for tag in 1..=3 {
        send(&mut harness, 0, 0, tag, 0x100 + tag, 2 * MS);
    }
    order(&mut harness, Some(8 * MS), Fault::Release { what: Hold::All });
    let frames = delivered(&story(&mut harness, 20 * MS));
    let own: Vec<_> = frames.iter().filter(|frame| frame.3 > 0x100).collect();
    assert_eq!(own.len(), 3, "{frames:?}");
    assert!(frames.len() > 50 && frames.iter().all(|frame| frame.0 == 0));
    let fd: Frame = "010##0".parse().unwrap();
    order(&mut harness, None, Fault::Babble { frame: fd, node: Some(A) });
    let refused = faults(&happenings(&mut harness, 30 * MS))[0].refused;
    assert!(matches!(refused, Some(Refusal::Frame(_))), "{refused:?}");
}

#[test]
fn a_frozen_node_keeps_its_frames_and_still_acknowledges() {
    let mut harness = ready();
    lasting(&mut harness, None, Some(9 * MS), Fault::Freeze { node: A });
    send(&mut harness, 0, 0, 1, 0x100, 2 * MS);
    for device in [2] {
        for channel in 0..2 {
            ask(&mut harness, device, Request::Stop { channel: Channel(channel) }, 2 * MS);
        }
    }
    send(&mut harness, 1, 0, 1, 0x200, 3 * MS);
    let frames = delivered(&story(&mut harness, 20 * MS));
    assert_eq!(frames.iter().map(|frame| frame.3).collect::<Vec<_>>(), [0x200, 0x100]);
    assert_eq!(frames[1].1, 10 * MS, "when it thaws");
}

#[test]
fn an_unplugged_adapter_is_silent_until_a_new_one_takes_its_place() {
    let mut harness = ready();
    let device = DeviceId(2);
    order(&mut harness, Some(2 * MS), Fault::Unplug { device });
    order(&mut harness, Some(3 * MS), Fault::Unplug { device });
    let told = faults(&happenings(&mut harness, 4 * MS));
    assert_eq!(told.iter().map(|effect| effect.refused).collect::<Vec<_>>(), [None, Some(Refusal::Unplugged)]);
    assert!(harness.is_unplugged(device));
    order(&mut harness, Some(5 * MS), Fault::Freeze { node: NodeId(2) });
    order(&mut harness, Some(6 * MS), Fault::Replug { device });
    order(&mut harness, Some(6 * MS), Fault::Replug { device });
    let told = faults(&happenings(&mut harness, 7 * MS));
    let refused: Vec<_> = told.iter().map(|effect| effect.refused).collect();
    assert_eq!(refused, [None, None, Some(Refusal::NotUnplugged)]);
    assert!(!harness.is_unplugged(device));
    start(&mut harness, 2, 0, 500_000);
    send(&mut harness, 2, 0, 1, 0x100, 8 * MS);
    assert_eq!(delivered(&story(&mut harness, 9 * MS)).len(), 1, "the new one is not frozen");
}

#[test]
fn clear_takes_everything_back() {
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
    happenings(&mut harness, 3 * MS);
    send(&mut harness, 0, 0, 1, 0x100, 5 * MS);
    let story = happenings(&mut harness, 20 * MS);
    assert_eq!((faults(&story), errors(&story)), (vec![], vec![]));
    assert_eq!(delivered(&events(&story)).last().map(|frame| frame.3), Some(0x100));
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut harness = ready();
    let planned = (0..2000).filter(|_| order(&mut harness, Some(2 * MS), Fault::Stuck).is_some()).count();
    assert_eq!(planned, 1024);
    for _ in 0..2000 {
        order(&mut harness, None, Fault::LostAck { target: Target::default(), times: 1 });
    }
    let refused = faults(&happenings(&mut harness, MS)).iter().filter(|effect| effect.refused.is_some()).count();
    assert_eq!(refused, 2 * (2000 - 1024));
}
