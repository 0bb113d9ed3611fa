use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::plan::{Echo, Incoming};
use crate::testing::pattern;
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_MAX_DLEN, FrameFormat, RawId};
use candor_core::oracle::{self, Delivery, JobCounters, World};
use candor_core::payload::PayloadPattern;
use candor_core::rule::{ChecksumSpan, Checksums, Modifications, Operand, Operation, XorChecksum};

const BUSES: usize = 3;
const A: BusIndex = BusIndex(0);
const B: BusIndex = BusIndex(1);
const C: BusIndex = BusIndex(2);

fn job(from: BusIndex, to: BusIndex, filter: &str) -> Job {
    Job::plain(from, to, FrameFormat::Classic, Filter::parse(filter).unwrap())
}

fn echoing(from: BusIndex, to: BusIndex) -> Job {
    Job { echo: Echo::On, ..job(from, to, "0:0") }
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

fn explained(jobs: &[Job], side: Side, machine: &Machine, text: &str) -> Explanation {
    let sides = vec![side; jobs.len()];
    explain(&Gateway { jobs, sides: &sides, exclusive: &[], machine }, A, &frame(text))
}

fn in_kernel(jobs: &[Job], text: &str) -> Explanation {
    explained(jobs, Side::Kernel, &Machine::unknown(1), text)
}

fn reasons(filter: &str, text: &str) -> Vec<Reason> {
    let job =
        if text.contains("##") { Job { format: FrameFormat::Fd, ..job(A, B, filter) } } else { job(A, B, filter) };
    Miss::of(0, &job, &frame(text)).map(|miss| miss.reasons).unwrap_or_default()
}

/// Jobs with all features of the oracle. Boxed, because the value trees are too large for the stack of a test.
fn any_job() -> BoxedStrategy<Job> {
    let send_as =
        prop_oneof![Just(SendAs::Classic), any::<bool>().prop_map(|bit_rate_switch| SendAs::Fd { bit_rate_switch })];
    let payload = (0..CANFD_MAX_DLEN, any::<u8>(), any::<u8>())
        .prop_map(|(at, mask, value)| pattern(at / 8, mask & 0x81, value & mask & 0x81));
    (arbitrary::job(BUSES).boxed(), option::weighted(0.3, send_as), vec(payload, 0..3), any::<bool>())
        .prop_map(|(job, send_as, payload, echo)| Job {
            send_as: send_as.filter(|send_as| send_as.format() != job.format),
            payload,
            echo: if echo { Echo::On } else { Echo::Off },
            ..job
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn explanation_equals_the_oracle(
        jobs in vec((any_job(), 0..3_usize, any::<bool>()), 0..12),
        on in 0..BUSES,
        frame in prop_oneof![arbitrary::wire_frame(), arbitrary::any_frame()],
    ) {
        let sides: Vec<_> = jobs.iter().map(|(_, side, _)| [Side::Bpf, Side::Kernel, Side::User][*side]).collect();
        let exclusive: Vec<_> = jobs.iter().map(|(.., exclusive)| *exclusive).collect();
        let jobs: Vec<_> = jobs.into_iter().map(|(job, ..)| job).collect();
        let (on, machine) = (BusIndex(on), Machine::unknown(1));
        let gateway = Gateway { jobs: &jobs, sides: &sides, exclusive: &exclusive, machine: &machine };
        let explanation = explain(&gateway, on, &frame);

        let visits = &explanation.visits;
        let mut expected = oracle::deliver(&jobs, on, &frame);
        // An exclusive program takes the frames that it sends away from the other sides.
        let is_taken = expected.iter().any(|sent| sides[sent.job] == Side::Bpf && exclusive[sent.job]);
        let receives = |job: usize| sides[job] == Side::Bpf || !is_taken;
        expected.retain(|sent| receives(sent.job));
        // Programs come before can-gw and user space last, otherwise the order is that of the oracle.
        expected.sort_by_key(|sent| [Side::Bpf, Side::Kernel, Side::User].iter().position(|side| *side == sides[sent.job]));
        let sent: Vec<_> = visits.iter().filter_map(|visit| match visit.outcome {
            Outcome::Sent(frame) => Some(Delivery { job: visit.job, to: jobs[visit.job].to, frame }),
            _ => None,
        }).collect();
        prop_assert_eq!(sent, expected);

        let mut counters = vec![JobCounters::default(); jobs.len()];
        for visit in visits {
            match visit.outcome.counter() {
                Some(Counter::Handled) => counters[visit.job].handled += 1,
                Some(Counter::Deleted) => counters[visit.job].deleted += 1,
                other => prop_assert!(false, "nothing is known that could drop the frame: {:?}", other),
            }
        }
        let mut of_oracle = oracle::count(&jobs, &[(on, frame)]);
        let matching: Vec<_> = of_oracle.iter().map(|counted| *counted != JobCounters::default()).collect();
        (0..jobs.len()).filter(|&job| !receives(job)).for_each(|job| of_oracle[job] = JobCounters::default());
        prop_assert_eq!(&counters, &of_oracle);

        for visit in visits {
            let last = visit.steps.last().map_or(frame, |step| step.frame);
            if let Outcome::Sent(sent) = visit.outcome {
                prop_assert_eq!(last, sent);
            }
        }
        let mut of_bus: Vec<_> = visits.iter().map(|visit| visit.job).collect();
        of_bus.extend(explanation.misses.iter().map(|miss| miss.job));
        of_bus.sort_unstable();
        let expected = (0..jobs.len()).filter(|&at| jobs[at].from == on && (receives(at) || !matching[at]));
        let expected: Vec<_> = expected.collect();
        prop_assert_eq!(of_bus, expected, "every job that receives the frame takes it or has a reason not to, never both");
        for &at in &explanation.elsewhere {
            prop_assert!(oracle::count(&jobs, &[(jobs[at].from, frame)])[at] != JobCounters::default());
        }
    }
}

/// Result of the oracle for one visit, in the types of this module; numbers are not compared.
fn by_oracle(did: oracle::Did) -> (&'static str, Option<Frame>) {
    match did {
        oracle::Did::Handled(frame) => ("sent", Some(frame)),
        oracle::Did::Dropped(oracle::Dropped::Down) => ("down", None),
        oracle::Did::Dropped(oracle::Dropped::TooLarge) => ("mtu", None),
        oracle::Did::Dropped(oracle::Dropped::QueueFull) => ("full", None),
        oracle::Did::Deleted(oracle::Deleted::Hops) => ("hops", None),
        oracle::Did::Deleted(oracle::Deleted::Length) => ("length", None),
        oracle::Did::Skipped => ("skipped", None),
    }
}

fn by_explanation(outcome: Outcome) -> (&'static str, Option<Frame>) {
    match outcome {
        Outcome::Sent(frame) => ("sent", Some(frame)),
        Outcome::Dropped(Dropped::Down) => ("down", None),
        Outcome::Dropped(Dropped::Mtu { .. }) => ("mtu", None),
        Outcome::Deleted(Deleted::Hops { .. }) => ("hops", None),
        Outcome::Deleted(Deleted::Length { .. } | Deleted::NoForm(_) | Deleted::Refused(_)) => ("length", None),
        Outcome::BackToIncoming => ("skipped", None),
    }
}

/// Buses of a machine whose last two may be the ends of a vxcan pair; the first is up.
fn any_machine() -> impl Strategy<Value = (Vec<oracle::Interface>, u8)> {
    let interface = (prop::bool::weighted(0.9), prop::bool::weighted(0.8)).prop_map(|(up, fd)| oracle::Interface {
        state: if up { oracle::State::Up } else { oracle::State::Down },
        mtu: if fd { 72 } else { 16 },
        ..oracle::Interface::vcan("")
    });
    (vec(interface, BUSES), any::<bool>(), 1..=6_u8).prop_map(|(mut interfaces, vxcan, max_hops)| {
        interfaces[0].state = oracle::State::Up;
        if vxcan {
            (interfaces[1].peer, interfaces[2].peer) = (Some(C), Some(B));
        }
        (interfaces, max_hops)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn explanation_equals_the_simulated_machine(
        jobs in vec((any_job(), option::of(1..=6_u8), any::<bool>()), 0..6),
        (interfaces, max_hops) in any_machine(),
        frame in prop_oneof![arbitrary::wire_frame(), arbitrary::any_frame()],
    ) {
        let jobs: Vec<_> = jobs.into_iter().map(|(job, limit, back)| Job {
            hop_limit: limit.filter(|limit| *limit <= max_hops),
            incoming: if back { Incoming::Allowed } else { Incoming::Skipped },
            // Jobs that the kernel can have.
            payload: Vec::new(),
            send_as: None,
            ..job
        }).collect();
        let mut world = World::new(oracle::Kernel { max_hops, ..oracle::Kernel::DEFAULT });
        let known = interfaces.into_iter().map(|interface| {
            let link = if interface.state == oracle::State::Up { LinkState::Up } else { LinkState::Down };
            let known = Interface { mtu_bytes: Some(interface.mtu), link: Some(link), peer: interface.peer };
            world.attach(interface);
            known
        }).collect();
        // Installed as candor does it, last to first, so that the number of a job counts from the end.
        for job in jobs.iter().rev() {
            world.add(job).unwrap();
        }
        let machine = Machine { max_hops, interfaces: known };
        let sides = vec![Side::Kernel; jobs.len()];
        let explanation = explain(&Gateway { jobs: &jobs, sides: &sides, exclusive: &[], machine: &machine }, A, &frame);
        let expected = world.receive(A, &frame);
        prop_assert!(explanation.is_cut || expected.end == oracle::End::Settled, "it would go on for ever");
        if explanation.is_cut {
            return Ok(());
        }
        let expected: Vec<_> = expected.visits.iter().map(|visit| {
            (jobs.len() - 1 - usize::try_from(visit.job.0).unwrap(), by_oracle(visit.did))
        }).collect();
        let mut explained = Vec::new();
        let mut arrivals = std::collections::VecDeque::from([&explanation.visits]);
        while let Some(visits) = arrivals.pop_front() {
            for visit in visits {
                explained.push((visit.job, by_explanation(visit.outcome)));
                arrivals.extend(visit.next.iter().map(|next| &next.visits));
            }
        }
        prop_assert_eq!(explained, expected);
    }
}

#[test]
fn steps_show_frame_and_changes() {
    let operand = |data: u8, id| {
        let mut bytes = [0; CANFD_MAX_DLEN];
        bytes[1] = data;
        Operand { id, data: Some(bytes), ..Operand::NONE }
    };
    let xor = XorChecksum { span: ChecksumSpan { from: 0, to: 1, result: 2 }, init: 0 };
    let job = Job {
        modifications: Modifications {
            or: operand(0x80, Some(CAN_EFF_FLAG)),
            xor: operand(0, None),
            ..Modifications::NONE
        },
        checksums: Checksums { xor: Some(xor), ..Checksums::NONE },
        ..job(A, B, "123")
    };
    let Trace { steps, end } = trace(&job, &frame("123#112200"));
    let acts: Vec<_> = steps.iter().map(|step| (step.act, step.frame.to_string())).collect();
    let expected = [
        (Act::Modify(Operation::Or), "00000123#11A200".to_owned()),
        (Act::Modify(Operation::Xor), "00000123#11A200".to_owned()),
        (Act::Checksum(ChecksumKind::Xor), "00000123#11A2B3".to_owned()),
    ];
    assert_eq!(acts, expected);
    assert_eq!(steps[0].changed, Changes { id: true, bytes: 0b10, ..Changes::default() });
    assert_eq!(steps[1].changed, Changes::default());
    assert_eq!(steps[2].changed.positions().collect::<Vec<_>>(), [2]);
    assert_eq!(end, End::Leaves(frame("00000123#11A2B3")));
}

#[test]
fn checksum_outside_the_frame_is_left_out() {
    let xor = XorChecksum { span: ChecksumSpan { from: 0, to: -2, result: -1 }, init: 0 };
    let or = Operand { data: Some([0; CANFD_MAX_DLEN]), ..Operand::NONE };
    let job = Job {
        modifications: Modifications { or, ..Modifications::NONE },
        checksums: Checksums { xor: Some(xor), ..Checksums::NONE },
        ..job(A, B, "123")
    };
    let act = |text| trace(&job, &frame(text)).steps[1].act;
    assert_eq!(act("123#1122"), Act::Checksum(ChecksumKind::Xor));
    assert_eq!(act("123#"), Act::ChecksumLeftOut(ChecksumKind::Xor));
}

#[test]
fn link_state_and_mtu_drop_frames() {
    let jobs = [job(A, B, "0:0"), Job { format: FrameFormat::Fd, ..job(A, B, "0:0") }];
    let on_b = |interface| Machine { max_hops: 1, interfaces: vec![Interface::default(), interface] };
    let outcome = |interface, side, text| explained(&jobs, side, &on_b(interface), text).visits[0].outcome;
    for side in [Side::Kernel, Side::User] {
        let classic = Interface { mtu_bytes: Some(16), ..Interface::default() };
        let too_large = Outcome::Dropped(Dropped::Mtu { frame_bytes: 72, mtu_bytes: 16 });
        assert_eq!(outcome(classic, side, "123##011"), too_large);
        assert_eq!(outcome(classic, side, "123#11"), Outcome::Sent(frame("123#11")));
        let down = Interface { link: Some(LinkState::Down), ..Interface::default() };
        assert_eq!(outcome(down, side, "123#11"), Outcome::Dropped(Dropped::Down));
    }
    assert_eq!(Outcome::Dropped(Dropped::Down).counter().map(Counter::name), Some("dropped"));
}

#[test]
fn frames_return_only_if_allowed() {
    let back = job(A, A, "0:0");
    assert_eq!(in_kernel(std::slice::from_ref(&back), "123#").visits[0].outcome, Outcome::BackToIncoming);
    assert_eq!(Outcome::BackToIncoming.counter(), None);
    let allowed = Job { incoming: Incoming::Allowed, ..back };
    assert_eq!(in_kernel(&[allowed], "123#").visits[0].outcome, Outcome::Sent(frame("123#")));
}

#[test]
fn echo_counts_hops_in_the_kernel_only() {
    let jobs = [echoing(A, B), echoing(B, A), job(B, C, "0:0")];
    let next = &in_kernel(&jobs, "123#").visits[0].next[0];
    assert_eq!((next.by, next.on, next.own.as_slice()), (Way::Echo, B, &[][..]));
    let met: Vec<_> = next.visits.iter().map(|visit| (visit.job, visit.outcome)).collect();
    let deleted = Outcome::Deleted(Deleted::Hops { hops: 1, max_hops: 1 });
    assert_eq!(met, [(1, deleted), (2, deleted)]);

    let next = &explained(&jobs, Side::User, &Machine::unknown(1), "123#").visits[0].next[0];
    assert_eq!((next.own.as_slice(), next.visits.len()), (&[1, 2][..], 0));

    let silent = [job(A, B, "0:0"), echoing(B, A)];
    assert_eq!(in_kernel(&silent, "123#").visits[0].next, []);
}

#[test]
fn frames_are_forwarded_up_to_the_hop_limit() {
    let ring = |first: Option<u8>| {
        [Job { hop_limit: first, ..echoing(A, B) }, echoing(B, C), Job { incoming: Incoming::Skipped, ..echoing(C, A) }]
    };
    let machine = Machine::unknown(3);
    let last = |jobs: &[Job]| {
        let mut visit = explained(jobs, Side::Kernel, &machine, "123#").visits.remove(0);
        let mut way = vec![visit.job];
        while let Some(mut next) = visit.next.pop() {
            visit = next.visits.remove(0);
            way.push(visit.job);
        }
        (way, visit.outcome)
    };
    assert_eq!(last(&ring(None)), (vec![0, 1, 2], Outcome::BackToIncoming), "specification a.3, step 4");
    let stopped = Outcome::Deleted(Deleted::Hops { hops: 3, max_hops: 3 });
    assert_eq!(last(&ring(Some(1))), (vec![0, 1], stopped), "no further hop");
    assert_eq!(last(&ring(Some(2))), (vec![0, 1, 2], stopped));
}

#[test]
fn loops_through_a_vxcan_pair_are_cut() {
    let end = |peer| Interface { peer: Some(peer), ..Interface::default() };
    let machine = Machine { max_hops: 1, interfaces: vec![Interface::default(), end(C), end(B)] };
    let jobs = [job(A, B, "0:0"), job(C, B, "0:0")];
    let explanation = explained(&jobs, Side::Kernel, &machine, "123#");
    assert!(explanation.is_cut, "it never ends");
    let next = &explanation.visits[0].next[0];
    assert_eq!((next.by, next.on, next.visits[0].outcome), (Way::Vxcan, C, Outcome::Sent(frame("123#"))));
}

#[test]
fn number_of_followed_visits_is_limited() {
    let jobs: Vec<_> = (0..100).flat_map(|_| [echoing(A, B), echoing(B, A)]).collect();
    let explanation = in_kernel(&jobs, "123#");
    assert_eq!(explanation.visits.len(), 100);
    let followed: usize = explanation.visits.iter().flat_map(|visit| &visit.next).map(|next| next.visits.len()).sum();
    assert_eq!((followed, explanation.is_cut), (MAX_FOLLOWED, true));
}

#[test]
fn filters_have_reasons() {
    assert_eq!(reasons("123", "123#"), []);
    let identifier = Reason::Identifier { id: RawId(0x124), wanted: 0x123, found: 0x124, mask: 0x7FF };
    assert_eq!(reasons("123", "124#"), [identifier]);
    assert_eq!(reasons("123", "123#R"), [Reason::Remote { is_rtr: false }]);
    assert_eq!(reasons("123", "00000123#"), [Reason::IdFormat { is_eff: false }]);
    let of_remote = Reason::Identifier { id: RawId(CAN_RTR_FLAG | 0x124), wanted: 0x123, found: 0x124, mask: 0x7FF };
    assert_eq!(reasons("123", "124#R"), [Reason::Remote { is_rtr: false }, of_remote]);
    assert_eq!(reasons("40000123:C00007FF", "123#"), [Reason::Remote { is_rtr: true }]);
    let masked = Reason::Identifier { id: RawId(0x456), wanted: 0x120, found: 0x450, mask: 0x7F0 };
    assert_eq!(reasons("123:7F0", "456#"), [masked]);
    assert_eq!(reasons("123~C00007FF", "123#"), [Reason::HeldBack { id: 0x123, mask: 0xC000_07FF }]);
    assert_eq!(reasons("0~0", "123#"), [Reason::NeverMatches]);
    assert_eq!(reasons("0:0", "20000004#0000000000000000"), [Reason::ErrorFrame]);
}

#[test]
fn error_frame_filters_have_reasons() {
    let errors = Job { filter: Filter { id: 0, mask: 0x2000_0040 }, ..job(A, B, "0:0") };
    let of = |text| Miss::of(7, &errors, &frame(text)).map(|miss| (miss.job, miss.reasons));
    assert_eq!(of("20000040#0000000000000000"), None);
    let class = Reason::ErrorClass { wanted: 0x40, found: 0x04 };
    assert_eq!(of("20000004#0000000000000000"), Some((7, vec![class])));
    assert_eq!(of("123#"), Some((7, vec![Reason::OnlyErrorFrames])));
}

#[test]
fn formats_lengths_and_payloads_have_reasons() {
    let classic = job(A, B, "123");
    let of = |job: &Job, frame: &Frame| Miss::of(0, job, frame).map(|miss| miss.reasons);
    assert_eq!(of(&classic, &frame("123##0")), Some(vec![Reason::Format(FrameFormat::Classic)]));
    let too_long = Frame { len: 9, ..frame("123#") };
    assert_eq!(of(&classic, &too_long), Some(vec![Reason::Length { len: 9 }]));

    let mut both = pattern(0, 0xFF, 0x01);
    (both.mask[2], both.value[2]) = (0xF0, 0x30);
    let looking = Job { payload: vec![both, pattern(2, 0xFF, 0x44)], ..classic };
    assert_eq!(of(&looking, &frame("123#01FF35")), None);
    let byte = |at, found, wanted, mask| Reason::PayloadByte { at, found, wanted, mask };
    assert_eq!(of(&looking, &frame("123#01FF25")), Some(vec![byte(2, 0x25, 0x30, 0xF0)]), "the first of the nearest");
    assert_eq!(of(&looking, &frame("123#02FF26")), Some(vec![byte(2, 0x26, 0x44, 0xFF)]));
    assert_eq!(of(&looking, &frame("123#01")), Some(vec![Reason::PayloadTooShort { needs: 3, carries: 1 }]));
    assert_eq!(of(&looking, &frame("123#R3")), Some(vec![Reason::Remote { is_rtr: false }, Reason::PayloadOfRemote]));
}

#[test]
fn nearest_miss_comes_first() {
    let pattern = PayloadPattern { mask: [0xFF; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
    let jobs = [
        job(A, B, "7FF"),
        job(A, B, "00000123"),
        job(A, B, "122"),
        Job { payload: vec![pattern], ..job(A, B, "123") },
        Job { format: FrameFormat::Fd, ..job(A, B, "123") },
        job(B, A, "123"),
        job(A, B, "0~0"),
    ];
    let explanation = in_kernel(&jobs, "123#11");
    let order: Vec<_> = explanation.misses.iter().map(|miss| miss.job).collect();
    assert_eq!((order.as_slice(), explanation.elsewhere.as_slice()), (&[3, 4, 1, 2, 0, 6][..], &[5][..]));
    assert_eq!(explanation.visits, []);
}

#[test]
fn distance_to_a_range_is_that_of_its_nearest_end() {
    let jobs = ["600:C0000700", "400:C0000780", "501", "480:C0000780", "500~C00007FF"].map(|filter| job(A, B, filter));
    let misses = |text| in_kernel(&jobs, text).misses.iter().map(|miss| miss.job).collect::<Vec<_>>();
    assert_eq!(misses("500#"), [4, 2, 3, 1, 0]);
    assert_eq!(misses("5FF#"), [0, 2, 3, 1], "600 is next to it, 501 is not");
}
