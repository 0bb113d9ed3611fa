use candor_core::arbitrary;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::oracle::{self, Delivery, JobCounters};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::machine::{self, Buffer, Maps};

mod protected;

const BUSES: usize = 3;

/// What happened to a frame.
#[derive(Debug, PartialEq, Eq)]
struct Seen<F = Frame> {
    sent: Vec<(RouteIndex, BusIndex, F)>,
    deleted: u64,
    /// What others on this machine get.
    rest: Option<F>,
}

fn bytes(frame: &Frame) -> Vec<u8> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    bytes[..len].to_vec()
}

fn run(filters: &Filters, frame: &Frame) -> Seen {
    run_chain(&filters.filters.iter().map(|filter| (filters, filter)).collect::<Vec<_>>(), frame)
}

/// Filters, each with those whose maps it has.
fn run_chain(chain: &[(&Filters, &Filter)], come: &Frame) -> Seen {
    let frame = |bytes: &[u8]| Frame::from_kernel(bytes).unwrap();
    run_bytes(chain, bytes(come), frame)
}

fn run_bytes<F>(chain: &[(&Filters, &Filter)], bytes: Vec<u8>, frame: impl Fn(&[u8]) -> F) -> Seen<F> {
    let mut buffer = Buffer { frame: bytes, control_block: [0xA5; 20], mark: [0; 4], clocks: [0; 2] };
    let mut all_maps = Vec::<(&Filters, Maps)>::new();
    let mut seen = Seen { sent: Vec::new(), deleted: 0, rest: None };
    let mut goes_on = true;
    for &(filters, filter) in chain {
        let of = all_maps.iter().position(|(known, _)| std::ptr::eq::<Filters>(*known, filters));
        let of = of.unwrap_or_else(|| {
            all_maps.push((filters, Maps::new(&filters.maps)));
            all_maps.len() - 1
        });
        let program = filter.program.with_maps(machine::descriptor);
        let (answer, _) = machine::run(&program, &mut buffer, &mut all_maps[of].1);
        match (answer, filter.action) {
            (0, _) => {}
            (1, Action::Send { route, to, how }) => {
                seen.sent.push((route, to, frame(&buffer.frame)));
                goes_on = how == How::Mirror;
            }
            (1, Action::End) => goes_on = false,
            other => panic!("{other:?}"),
        }
        if !goes_on {
            break;
        }
    }
    seen.rest = goes_on.then(|| frame(&buffer.frame));
    for (filters, maps) in &all_maps {
        let deleted = filters.maps.iter().position(|map| matches!(map, Map::Deleted(_)));
        seen.deleted += deleted.map_or(0, |map| maps.numbers(map).iter().sum());
    }
    seen
}

/// By bus, in order: what differs between buses cannot be seen.
fn by_bus(mut sent: Vec<(RouteIndex, BusIndex, Frame)>) -> Vec<(RouteIndex, BusIndex, Frame)> {
    sent.sort_by_key(|(_, to, _)| *to);
    sent
}

fn expected(jobs: &[Job], frame: &Frame) -> (Vec<(RouteIndex, BusIndex, Frame)>, u64) {
    let sent = oracle::deliver(jobs, BusIndex(0), frame).into_iter();
    let sent = sent.map(|Delivery { job, to, frame }| (jobs[job].route, to, frame));
    let counted = oracle::count(jobs, &[(BusIndex(0), *frame)]);
    (by_bus(sent.collect()), counted.iter().map(|JobCounters { deleted, .. }| deleted).sum())
}

/// Frames of one format, and jobs whose routes take what they do: jobs of a route differ in the filter only.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let filters = vec(arbitrary::filter(), 1..4);
    let route = (arbitrary::user_space_job(BUSES).boxed(), filters).prop_map(|(job, filters)| {
        let of_filter = |filter| Job { filter, from: BusIndex(0), send_as: None, ..job.clone() };
        filters.into_iter().map(of_filter).collect::<Vec<_>>()
    });
    // Jobs are large, and a test has a small stack.
    vec(route.boxed(), 1..6).prop_map(|routes| {
        let numbered = routes.into_iter().enumerate();
        numbered
            .flat_map(|(route, jobs)| jobs.into_iter().map(move |job| Job { route: RouteIndex(route), ..job }))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn programs_agree_with_the_oracle(
        jobs in jobs(),
        frames in vec(prop_oneof![arbitrary::wire_frame(), arbitrary::any_frame()], 24),
        exclusive in any::<u8>(),
    ) {
        let is_exclusive = |route: RouteIndex| exclusive >> (route.0 % 8) & 1 != 0;
        for frame in frames {
            // No driver and no socket passes one on.
            if usize::from(frame.len) > frame.format.max_len() {
                continue;
            }
            let filters = match compile(&jobs, BusIndex(0), frame.format.into(), Generation::Even, is_exclusive, &[]) {
                Ok(filters) => filters,
                Err(CompileError::Restore) if frame.format == FrameFormat::Fd => continue,
                // Frames of a job that leaves in the other format.
                Err(CompileError::Format) => continue,
                Err(other) => panic!("{other}"),
            };
            let seen = run(&filters, &frame);
            let (sent, deleted) = expected(&jobs, &frame);
            let taken = sent.iter().any(|(route, ..)| is_exclusive(*route));
            let mut rest = frame;
            if frame.format == FrameFormat::Fd && !filters.filters.is_empty() {
                rest.flags |= candor_core::frame::CANFD_FDF;
            }
            prop_assert_eq!(by_bus(seen.sent), sent, "{} by {:?}", frame, jobs);
            prop_assert_eq!(seen.deleted, deleted);
            prop_assert_eq!(seen.rest, (!taken).then_some(rest), "{} by {:?}", frame, jobs);
        }
    }
}

/// `struct canxl_frame` with 3 bytes of data.
fn xl(first: u32) -> Vec<u8> {
    let (flags, sdu_type, acceptance_field) = (0x80_u8, 0x05_u8, 0x1122_3344_u32);
    let parts =
        [&first.to_ne_bytes()[..], &[flags, sdu_type], &3_u16.to_ne_bytes(), &acceptance_field.to_ne_bytes(), b"abc"];
    parts.concat()
}

proptest! {
    /// CAN XL frames meet filters by their first word, as other frames do by their identifier, and leave as they came.
    #[test]
    fn xl_frames_agree_with_the_oracle(
        jobs in jobs(),
        words in vec((0_u32..0x800, prop_oneof![Just(0), any::<u8>()]), 24),
        exclusive in any::<u8>(),
    ) {
        let is_exclusive = |route: RouteIndex| exclusive >> (route.0 % 8) & 1 != 0;
        let plain = |job: Job| Job {
            route: job.route,
            incoming: job.incoming,
            ..Job::plain(job.from, job.to, FrameFormat::Classic, job.filter)
        };
        let jobs: Vec<_> = jobs.into_iter().map(plain).collect();
        let xl_jobs: Vec<_> = jobs.iter().map(|job| Job { is_xl: true, ..job.clone() }).collect();
        let filters = compile(&xl_jobs, BusIndex(0), Kind::Xl, Generation::Even, is_exclusive, &[]).unwrap();
        for kind in [Kind::Classic, Kind::Fd] {
            prop_assert_eq!(compile(&xl_jobs, BusIndex(0), kind, Generation::Even, is_exclusive, &[]).unwrap().filters, []);
        }
        let chain: Vec<_> = filters.filters.iter().map(|filter| (&filters, filter)).collect();
        for (priority, network) in words {
            let first = priority | u32::from(network) << 16;
            let seen = run_bytes(&chain, xl(first), <[u8]>::to_vec);
            let as_classic = Frame::classic(candor_core::frame::RawId(first), &[]).unwrap();
            let mut sent: Vec<_> = expected(&jobs, &as_classic).0.into_iter().map(|(route, to, _)| (route, to, xl(first))).collect();
            sent.sort_by_key(|(_, to, _)| *to);
            let mut got = seen.sent;
            got.sort_by_key(|(_, to, _)| *to);
            let taken = got.iter().any(|(route, ..)| is_exclusive(*route));
            prop_assert_eq!(got, sent, "{:08X} by {:?}", first, jobs);
            prop_assert_eq!(seen.rest, (!taken).then(|| xl(first)));
            // User space and can-gw have no such jobs.
            prop_assert_eq!(oracle::deliver(&xl_jobs, BusIndex(0), &as_classic).len(), 0);
        }
    }
}

proptest! {
    /// While the rules change, frames meet the filters of both, and the first filter of one.
    #[test]
    fn generations_leave_each_other_alone(
        rules in [jobs().boxed(), jobs().boxed()],
        frames in vec(arbitrary::wire_frame(), 12),
        newest_is_last in any::<bool>(),
    ) {
        for frame in frames {
            let compiled = [Generation::Even, Generation::Odd].map(|generation| {
                let [even, odd] = &rules;
                let jobs = if generation == Generation::Even { even } else { odd };
                compile(jobs, BusIndex(0), frame.format.into(), generation, |_route| true, &[])
            });
            let [Ok(even), Ok(odd)] = compiled else { continue };
            if even.filters.is_empty() || odd.filters.is_empty() {
                continue;
            }
            for (first, jobs) in [(&even, &rules[0]), (&odd, &rules[1])] {
                let expected = expected(jobs, &frame).0;
                let mut chain = vec![(first, &first.filters[0])];
                let order = if newest_is_last { [&even, &odd] } else { [&odd, &even] };
                chain.extend(order.into_iter().flat_map(|of| of.filters[1..].iter().map(move |filter| (of, filter))));
                prop_assert_eq!(by_bus(run_chain(&chain, &frame).sent), expected, "{} by {:?}", frame, rules);
            }
            let idle = idle();
            let mut chain = vec![(&even, &idle)];
            chain.extend(even.filters[1..].iter().map(|filter| (&even, filter)));
            prop_assert_eq!(run_chain(&chain, &frame).sent, []);
        }
    }
}

const ALL: BusIndex = BusIndex(0);

fn plain(to: usize, filter: &str) -> Job {
    Job::plain(ALL, BusIndex(to), FrameFormat::Classic, candor_core::filter::Filter::parse(filter).unwrap())
}

fn classic(jobs: &[Job], exclusive: bool) -> Result<Filters, CompileError> {
    compile(jobs, ALL, Kind::Classic, Generation::Odd, |_route| exclusive, &[])
}

fn changed(job: Job) -> Job {
    let mut job = job;
    job.modifications.set.id = Some(0x456);
    job
}

/// How a filter treats its frames, or what it is for.
fn hows(filters: &Filters) -> Vec<Option<How>> {
    let how = |filter: &Filter| match filter.action {
        Action::Send { how, .. } => Some(how),
        Action::End | Action::Nothing => None,
    };
    filters.filters.iter().map(how).collect()
}

#[test]
fn programs_do_not_look_into_xl_frames() {
    let xl = |job: Job| compile(&[Job { is_xl: true, ..job }], ALL, Kind::Xl, Generation::Even, |_route| false, &[]);
    assert!(xl(plain(1, "123")).is_ok());
    assert_eq!(xl(changed(plain(1, "123"))), Err(CompileError::Xl));
}

#[test]
fn no_job_needs_no_filter() {
    assert_eq!(classic(&[], true), Ok(Filters { filters: Vec::new(), maps: Vec::new() }));
    let of_another_format = Job { format: FrameFormat::Fd, ..plain(1, "123") };
    assert_eq!(classic(&[of_another_format], true).unwrap().filters, []);
}

#[test]
fn frames_of_one_exclusive_route_are_redirected() {
    let one = plain(1, "123");
    let same_frames = Job { route: RouteIndex(1), ..plain(2, "123") };
    let other_frames = Job { route: RouteIndex(1), ..plain(2, "124") };
    let redirected = |jobs: &[Job]| hows(&classic(jobs, true).unwrap());
    assert_eq!(redirected(std::slice::from_ref(&one)), [Some(How::Redirect)]);
    assert_eq!(redirected(&[one.clone(), other_frames]), [Some(How::Redirect); 2]);
    // The first of two gets a copy, and the last filter ends the frame.
    assert_eq!(redirected(&[one.clone(), same_frames]), [Some(How::Mirror), Some(How::Redirect), None]);
    assert_eq!(hows(&classic(&[one], false).unwrap()), [Some(How::Mirror)]);
}

#[test]
fn changed_frames_are_restored_for_others() {
    let job = changed(plain(1, "123"));
    assert_eq!(hows(&classic(std::slice::from_ref(&job), true).unwrap()), [Some(How::Redirect)]);
    assert_eq!(hows(&classic(std::slice::from_ref(&job), false).unwrap()), [Some(How::Mirror), None]);
    let fd = Job { format: FrameFormat::Fd, ..job };
    assert_eq!(compile(&[fd], ALL, Kind::Fd, Generation::Odd, |_route| false, &[]), Err(CompileError::Restore));
}

#[test]
fn what_no_program_can_do_is_refused() {
    let buses = |count: usize| (0..count).map(|route| Job { route: RouteIndex(route), ..plain(1 + route, "123") });
    assert!(classic(&buses(MAX_STEPS).collect::<Vec<_>>(), false).is_ok());
    assert_eq!(
        classic(&buses(MAX_STEPS + 1).collect::<Vec<_>>(), false),
        Err(CompileError::Steps { steps: MAX_STEPS + 1 })
    );
    // Different in bits that all compare, so that no frame has two; and no mask compares all that another does.
    let masks = |count: u32| -> Vec<Job> {
        let three_bits = (0..256_u32).filter(|bits| bits.count_ones() == 3);
        let filters = (0..count).zip(three_bits).map(|(one, bits)| (0x8000_0000 | one << 8, 0x8000_FF00 | bits));
        filters.map(|(id, mask)| plain(1, &format!("{id:08X}:{mask:08X}"))).collect()
    };
    assert!(classic(&masks(32), false).is_ok());
    assert_eq!(classic(&masks(33), false), Err(CompileError::Masks { masks: 33 }));
    let converted = Job { send_as: Some(candor_core::job::SendAs::Fd { bit_rate_switch: false }), ..plain(1, "123") };
    assert_eq!(classic(&[converted], true), Err(CompileError::Format));
}

/// Instructions that a frame takes in all programs.
fn cost(filters: &Filters, frame: &str) -> usize {
    let mut buffer =
        Buffer { frame: bytes(&frame.parse().unwrap()), control_block: [0; 20], mark: [0; 4], clocks: [0; 2] };
    let mut maps = Maps::new(&filters.maps);
    let programs = filters.filters.iter().map(|filter| filter.program.with_maps(machine::descriptor));
    programs.map(|program| machine::run(&program, &mut buffer, &mut maps).1).sum()
}

#[test]
fn cost_does_not_depend_on_the_number_of_rules() {
    let masked = |count: u32| -> Vec<Job> { (0..count).map(|id| plain(1, &format!("{id:08X}:9FFFFFFF"))).collect() };
    let [few, many] = [10, 16_384].map(|count| classic(&masked(count), true).unwrap());
    for frame in ["00000003#11", "1FFFFFFF#11", "123#11"] {
        assert_eq!(cost(&few, frame), cost(&many, frame), "{frame}");
    }
    let one = classic(&[plain(1, "123")], true).unwrap();
    assert_eq!(cost(&one, "123#11"), 11, "the frame, its end, its identifier, the note, and the answer");
}

#[test]
fn a_frame_passes_a_guard_eight_times() {
    let mut buffer = Buffer {
        frame: bytes(&"123#".parse().unwrap()),
        control_block: [0; 20],
        mark: 7_u32.to_ne_bytes(),
        clocks: [0; 2],
    };
    let program = guard().program.with_maps(machine::descriptor);
    let mut pass = || machine::run(&program, &mut buffer, &mut Maps::new(&[])).0;
    for _ in 0..MOST_PASSES {
        assert_eq!(pass(), 0);
    }
    assert_eq!((pass(), pass()), (1, 1));
    assert_eq!(u32::from_ne_bytes(buffer.mark), 0x8000_0007, "the mark of its sender stays below");
}

#[test]
fn latencies_are_counted_by_step_and_class() {
    let route = |number, to, id| {
        let job = Job::plain(
            BusIndex(0),
            BusIndex(to),
            FrameFormat::Classic,
            candor_core::filter::Filter { id, mask: 0x7FF },
        );
        Job { route: RouteIndex(number), ..job }
    };
    let jobs = [route(0, 1, 0x123), route(1, 2, 0x123)];
    let filters = compile(&jobs, BusIndex(0), Kind::Classic, Generation::Odd, |_route| false, &[10, 20]).unwrap();
    let mut maps = Maps::new(&filters.maps);
    let at = |kind: fn(&Map) -> bool| filters.maps.iter().position(kind).unwrap();
    maps.set(at(|map| *map == Map::TaiAhead), 37);
    // Received at 1000; a frame without a timestamp is not counted, and no time is negative.
    for (received, now) in [(1000, 1047), (1000, 1048), (1000, 1099), (0, 9), (1000, 1036)] {
        let frame = bytes(&"123#".parse().unwrap());
        let mut buffer = Buffer { frame, control_block: [0; 20], mark: [0; 4], clocks: [received, now] };
        for filter in &filters.filters {
            let program = filter.program.with_maps(machine::descriptor);
            assert_eq!(machine::run(&program, &mut buffer, &mut maps).0, 1);
        }
    }
    let numbers = maps.numbers(at(|map| matches!(map, Map::Latencies { .. })));
    assert_eq!(numbers, [[10 + 11 + 62, 2, 1, 1]; 2].concat(), "sum, and three classes, for each step");
}
