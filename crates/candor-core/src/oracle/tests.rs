use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::filter::Filter;
use crate::frame::{CAN_MTU, FrameFormat};
use crate::job::{Echo, Timestamp};
use crate::rule::{Modifications, Operand};

fn job(filter: &str) -> Job {
    Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::parse(filter).unwrap())
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

fn jobs_that_fire(jobs: &[Job], text: &str) -> Vec<usize> {
    deliver(jobs, BusIndex(0), &frame(text)).into_iter().map(|delivery| delivery.job).collect()
}

#[test]
fn receive_lists_precede_the_order_of_jobs() {
    let jobs = ["123", "456~7FF", "123:7FF", "000:000", "123", "120:7F0", "0:0"].map(job);
    assert_eq!(jobs_that_fire(&jobs, "123#"), [3, 6, 2, 5, 1, 0, 4]);
    assert_eq!(jobs_that_fire(&jobs, "123#R"), [3, 6, 2, 5, 1], "filters for one identifier match data frames only");
    assert_eq!(jobs_that_fire(&jobs, "00000123#"), [3, 6, 2, 5, 1]);
    assert_eq!(jobs_that_fire(&jobs, "456#"), [3, 6]);
}

#[test]
fn jobs_match_their_own_format_and_bus_only() {
    let fd = Job { format: FrameFormat::Fd, ..job("0:0") };
    let elsewhere = Job { from: BusIndex(2), ..job("0:0") };
    let jobs = [job("0:0"), fd, elsewhere];
    assert_eq!(jobs_that_fire(&jobs, "123#11"), [0]);
    assert_eq!(jobs_that_fire(&jobs, "123##111"), [1]);
    assert_eq!(jobs_that_fire(&jobs, "20000004#0000000000000000"), [0; 0], "error frames are not routed");
    let too_long = Frame { len: 9, ..frame("123#11") };
    assert_eq!(deliver(&jobs, BusIndex(0), &too_long), []);
}

#[test]
fn fd_frames_are_sent_with_fdf() {
    let fd = Job { format: FrameFormat::Fd, ..job("0:0") };
    let unmarked = Frame { flags: 0, ..frame("123##011") };
    assert_eq!(deliver(&[fd], BusIndex(0), &unmarked)[0].frame, frame("123##011"));
}

#[test]
fn deleted_frames_are_counted() {
    let set = Operand { len: Some(0x10), ..Operand::default() };
    let deleting = Job { modifications: Modifications { set, ..Modifications::default() }, ..job("0:0") };
    let jobs = [deleting, job("123")];
    let frames = [(BusIndex(0), frame("123#11")), (BusIndex(0), frame("124#11")), (BusIndex(1), frame("123#11"))];
    let counted = count(&jobs, &frames);
    assert_eq!(counted, [JobCounters { handled: 0, deleted: 2 }, JobCounters { handled: 1, deleted: 0 }]);
    assert_eq!(deliver(&jobs, BusIndex(0), &frame("123#11")).len(), 1);
}

#[test]
fn frames_are_not_sent_back() {
    let itself = Job { to: BusIndex(0), ..job("0:0") };
    assert_eq!(deliver(std::slice::from_ref(&itself), BusIndex(0), &frame("123#11")), []);
    let allowed = Job { incoming: Incoming::Allowed, ..itself };
    assert_eq!(deliver(&[allowed], BusIndex(0), &frame("123#11")).len(), 1);
}

fn world(interfaces: usize, max_hops: u8) -> World {
    let mut world = World::new(Kernel { max_hops, ..Kernel::DEFAULT });
    for index in 0..interfaces {
        world.attach(Interface::vcan(&format!("vcan{index}")));
    }
    world
}

fn route(from: usize, to: usize) -> Job {
    Job { from: BusIndex(from), to: BusIndex(to), echo: Echo::On, ..job("0:0") }
}

fn buses(outcome: &Outcome) -> Vec<usize> {
    outcome.seen.iter().map(|seen| seen.on.0).collect()
}

/// The sockets of one interface, then the jobs, then their effects, in this order.
#[test]
fn a_frame_spreads_breadth_first() {
    let mut world = world(4, 6);
    for (from, to) in [(1, 3), (0, 2), (0, 1)] {
        world.add(&route(from, to)).unwrap();
    }
    let outcome = world.receive(BusIndex(0), &frame("123#11"));
    assert_eq!(buses(&outcome), [0, 1, 2, 3]);
    assert_eq!(outcome.sent.iter().map(|sent| sent.on.0).collect::<Vec<_>>(), [1, 2, 3], "received from bus 0");
    assert_eq!(outcome.seen.iter().map(|seen| seen.hops).collect::<Vec<_>>(), [0, 1, 1, 2]);
    world.interface(BusIndex(1)).unwrap().echo_by = EchoBy::Driver;
    assert_eq!(buses(&world.receive(BusIndex(0), &frame("123#11"))), [0, 2, 1, 3], "drivers echo after transmission");
}

/// Two jobs and a vxcan pair: 27 000 rounds in half a second on a real kernel.
#[test]
fn a_circle_through_vxcan_has_no_end() {
    let mut world = world(3, 1);
    world.interface(BusIndex(1)).unwrap().peer = Some(BusIndex(2));
    world.interface(BusIndex(2)).unwrap().peer = Some(BusIndex(1));
    let silent = |from, to| Job { echo: Echo::Off, ..route(from, to) };
    world.add(&silent(0, 1)).unwrap();
    assert_eq!(world.receive(BusIndex(0), &frame("123#11")).end, End::Settled);
    world.add(&silent(2, 1)).unwrap();
    let outcome = world.receive(BusIndex(0), &frame("123#11"));
    assert_eq!(outcome.end, End::Circulates);
    let [circle, into] = &world.list()[..] else { panic!("two jobs") };
    assert_eq!((into.handled, into.dropped, into.deleted), (2, 0, 0));
    assert!(circle.handled > 1000 && circle.dropped == 0 && circle.deleted == 0, "only `handled` counts");
}

#[test]
fn timestamp_depends_on_the_last_job() {
    let mut world = world(3, 6);
    world.add(&route(1, 2)).unwrap();
    world.add(&Job { timestamp: Timestamp::Kept, ..route(0, 1) }).unwrap();
    let stamps: Vec<_> = world.receive(BusIndex(0), &frame("123#")).seen.iter().map(|seen| seen.stamp).collect();
    assert_eq!(stamps, [Timestamp::Fresh, Timestamp::Kept, Timestamp::Fresh]);
}

#[test]
fn interfaces_refuse_frames_with_an_error() {
    let mut world = world(2, 1);
    world.add(&route(0, 1)).unwrap();
    let send = |world: &mut World, on: usize, frame: &Frame| world.send_locally(BusIndex(on), frame, Loopback::On);
    let too_long = Frame { len: 9, ..frame("123#11") };
    assert_eq!(world.receive(BusIndex(0), &too_long), Outcome::default());
    assert_eq!(send(&mut world, 0, &too_long), Err(Errno::Einval));
    assert_eq!(send(&mut world, 7, &frame("123#")), Err(Errno::Enodev));
    world.interface(BusIndex(0)).unwrap().mtu = CAN_MTU;
    assert_eq!(send(&mut world, 0, &frame("123##1")), Err(Errno::Einval));
    world.interface(BusIndex(0)).unwrap().room = Some(1);
    assert_eq!(buses(&send(&mut world, 0, &frame("123#")).unwrap()), [0, 1]);
    assert_eq!(send(&mut world, 0, &frame("123#")), Err(Errno::Enobufs));
    world.interface(BusIndex(0)).unwrap().state = State::Down;
    assert_eq!(send(&mut world, 0, &frame("123#")), Err(Errno::Enetdown));
    assert_eq!(world.receive(BusIndex(0), &frame("123#")), Outcome::default());
}

#[test]
fn lost_frames_have_a_reason() {
    let mut world = world(3, 1);
    world.add(&route(1, 2)).unwrap();
    let too_long = Operand { len: Some(0x10), ..Operand::default() };
    let deleting = Modifications { set: too_long, ..Modifications::default() };
    world.add(&Job { modifications: deleting, ..route(0, 1) }).unwrap();
    world.add(&route(0, 1)).unwrap();
    world.add(&Job { format: FrameFormat::Fd, ..route(0, 2) }).unwrap();
    world.interface(BusIndex(2)).unwrap().mtu = CAN_MTU;
    let did = |outcome: Outcome| outcome.visits.into_iter().map(|visit| visit.did).collect::<Vec<_>>();
    let classic = frame("123#11");
    assert_eq!(
        did(world.receive(BusIndex(0), &classic)),
        [Did::Handled(classic), Did::Deleted(Deleted::Length), Did::Deleted(Deleted::Hops)]
    );
    assert_eq!(did(world.receive(BusIndex(0), &frame("123##1"))), [Did::Dropped(Dropped::TooLarge)]);
    world.interface(BusIndex(1)).unwrap().state = State::Down;
    assert_eq!(did(world.receive(BusIndex(0), &classic))[..2], [Did::Dropped(Dropped::Down); 2]);
}

#[test]
fn counters_have_32_bits() {
    let mut world = world(2, 1);
    world.add(&route(0, 1)).unwrap();
    world.jobs[0].handled = u32::MAX;
    world.receive(BusIndex(0), &frame("123#"));
    assert_eq!(world.list()[0].handled, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With one hop and all interfaces up, a machine and a gateway process agree, including features beyond can-gw.
    #[test]
    fn world_with_one_hop_agrees_with_the_gateway(
        jobs in vec(arbitrary::user_space_job(3), 0..12),
        frames in vec((0..3_usize, arbitrary::wire_frame()), 1..8),
    ) {
        let jobs: Vec<_> = jobs.into_iter().map(|job| Job { echo: Echo::Off, hop_limit: None, uid: None, ..job }).collect();
        let mut world = world(3, 1);
        for job in jobs.iter().rev() {
            world.add(job).unwrap();
        }
        for (from, frame) in &frames {
            let sent: Vec<_> = world.receive(BusIndex(*from), frame).sent.iter().map(|sent| (sent.on, sent.frame)).collect();
            let delivered = deliver(&jobs, BusIndex(*from), frame);
            prop_assert_eq!(sent, delivered.into_iter().map(|delivery| (delivery.to, delivery.frame)).collect::<Vec<_>>());
        }
        let frames: Vec<_> = frames.into_iter().map(|(from, frame)| (BusIndex(from), frame)).collect();
        let listed = world.list().into_iter().map(|listed| (u64::from(listed.handled), u64::from(listed.deleted)));
        let counted = count(&jobs, &frames).into_iter().map(|counted| (counted.handled, counted.deleted));
        prop_assert!(listed.eq(counted));
    }
}
