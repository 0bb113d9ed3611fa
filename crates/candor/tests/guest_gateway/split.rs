//! A gateway that is split between kernel and user space is the same gateway as one that is all in user space.
//!
//! Each bus is a vxcan pair: the gateway has one end, the test sends and listens at the other. That end hears what is on
//! the bus, with echo and without, and nothing of what local sockets hear at the gateway's end. So what is compared is
//! what a real bus would carry.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::oracle;
use candor_core::payload::PayloadPattern;
use candor_core::placement::{Because, Placement, Side};
use candor_core::plan::{BusIndex, Echo, Engine, RouteIndex, SendAs};
use candor_core::text;
use candor_engine::{Gateway, GatewayError};
use candor_io::can::{self, CanSocket, InterfaceIndex, Options};
use candor_netlink::cangw;
use candor_netlink::client::Client;
use candor_netlink::link;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::require::{Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];
const BUSES: usize = 3;
const CASES: u32 = 150;
const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(3);
const ERRORS: Filter = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };

/// Frames that each end of a two-way gateway sends.
const FRAMES: usize = 300;
const BATCH: usize = 16;

/// Both directions between two buses, with echo and without, either of them for user space only: what one side sends with
/// echo, the other side would take for a frame that came in. On vxcan the kernel's core makes the echo; on real
/// controllers (`--topology kvaser`) the driver does, after it has sent.
#[test]
fn no_frame_circulates_and_none_is_doubled() {
    let Some(_machine) = require(NEEDS) else { return };
    let on_controllers = std::env::var("CANDOR_TOPOLOGY").is_ok_and(|topology| topology == "kvaser");
    let _wires = (!on_controllers).then(Wires::new);
    let [near, far] = if on_controllers {
        [["can2", "can3"], ["can0", "can4"]]
    } else {
        [0, 1].map(|end| [NAMES[0][end], NAMES[1][end]])
    };
    for echo in [Echo::On, Echo::Off] {
        for in_user_space in [0, 1] {
            two_ways(near, far, echo, in_user_space);
        }
    }
}

fn two_ways(near: [&str; 2], far: [&str; 2], echo: Echo, in_user_space: usize) {
    let place = format!("{near:?}, echo {echo:?}, route {in_user_space} in user space");
    let mut client = Client::open().unwrap();
    let mut open = |name: &str| {
        let index = link::by_name(&mut client, name).unwrap().unwrap().index;
        let socket = CanSocket::open(index, &Options::default()).unwrap();
        socket.set_receive_buffer(8 << 20).unwrap();
        socket
    };
    let mut jobs = [0, 1]
        .map(|from| Job { echo, ..Job::plain(BusIndex(from), BusIndex(1 - from), FrameFormat::Classic, Filter::ALL) });
    // Any frame with a byte passes.
    jobs[in_user_space].payload.push(PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] });
    let (gateway, notices) = Gateway::start(arbitrary::plan(&near, &jobs, Engine::Auto)).unwrap();
    assert_eq!(notices, [], "{place}");
    let sides = [0, 1].map(|route| gateway.placement().side(RouteIndex(route)));
    match echo {
        Echo::On => assert_eq!(sides, [Side::User; 2], "{place}"),
        Echo::Off => {
            assert_eq!(sides.map(|side| side == Side::User), [in_user_space == 0, in_user_space == 1], "{place}")
        }
    }
    let ends = far.map(&mut open);
    let locals = near.map(&mut open);
    let numbers: Vec<_> = (0..u32::try_from(FRAMES).unwrap()).collect();
    let mut heard = [Vec::new(), Vec::new()];
    for batch in numbers.chunks(BATCH) {
        for (end, marker) in ends.iter().zip([0x8000_0000_u32, 0]) {
            batch.iter().for_each(|number| write(end, number | marker));
        }
        for (end, heard) in ends.iter().zip(&mut heard) {
            heard.extend((0..batch.len()).map_while(|_| read(end, PATIENCE)));
        }
    }
    // What came from the other end, each once and in order, and nothing after it.
    for ((end, heard), marker) in ends.iter().zip(&heard).zip([0, 0x8000_0000]) {
        let expected: Vec<_> = numbers.iter().map(|number| number | marker).collect();
        assert_eq!(heard, &expected, "{place}");
        assert_eq!(read(end, SETTLED), None, "{place}: a frame too many");
    }
    // Local sockets hear what comes in, and with echo what goes out, each once.
    for local in &locals {
        let mut heard: Vec<_> = std::iter::from_fn(|| read(local, SETTLED)).collect();
        heard.sort_unstable();
        let both: Vec<_> = numbers.iter().copied().chain(numbers.iter().map(|number| number | 0x8000_0000)).collect();
        let expected = if echo == Echo::On { both.len() } else { numbers.len() };
        assert_eq!(heard.len(), expected, "{place}: local sockets");
        heard.dedup();
        assert_eq!(heard.len(), expected, "{place}: local sockets hear a frame twice");
    }
    let counted = gateway.stop().unwrap().counters;
    let frames = FRAMES as u64;
    assert_eq!(
        counted.iter().map(|c| (c.handled, c.dropped, c.deleted)).collect::<Vec<_>>(),
        [(frames, 0, 0); 2],
        "{place}"
    );
}

/// Longer than a frame takes through the gateway.
const SETTLED: Duration = Duration::from_millis(50);

fn write(socket: &CanSocket, number: u32) {
    let mut bytes = [0; CANFD_MTU];
    let len = Frame::classic(RawId(0x123), &number.to_be_bytes()).unwrap().to_kernel(&mut bytes);
    socket.write(&bytes[..len]).unwrap();
}

/// The number in the next frame.
fn read(socket: &CanSocket, patience: Duration) -> Option<u32> {
    if can::poll(&[socket], Some(patience)).unwrap().is_empty() {
        return None;
    }
    let mut bytes = [0; CANFD_MTU];
    let len = socket.read(&mut bytes).unwrap();
    Frame::from_kernel(&bytes[..len]).unwrap().data.first_chunk().copied().map(u32::from_be_bytes)
}

/// Takes descriptors away, so that the start fails at one point after the other: both sides run, or neither.
#[test]
fn a_start_that_fails_leaves_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let wires = Wires::new();
    let mut jobs = [1, 2].map(|to| Job::plain(BusIndex(0), BusIndex(to), FrameFormat::Classic, Filter::ALL));
    jobs[1].payload.push(PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] });
    let plan = arbitrary::plan(&NAMES.map(|[near, _far]| near), &jobs, Engine::Auto);
    let in_kernel = || {
        let all = cangw::dump(&mut Client::open().unwrap()).unwrap();
        all.iter().filter(|job| wires.gateway.contains(&job.source)).count()
    };
    let lists = || {
        let files = std::fs::read_dir("/run/candor").into_iter().flatten();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    };
    let mut failures = Vec::new();
    for left in 0.. {
        let mut hoard: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        hoard.truncate(hoard.len() - left);
        let started = Gateway::start(plan.clone());
        drop(hoard);
        match started {
            Ok((gateway, notices)) => {
                assert_eq!((notices, in_kernel(), lists()), (vec![], 1, 1));
                assert_eq!(gateway.stop().unwrap().removed_jobs, 1);
                break;
            }
            Err(error) => {
                assert_eq!((in_kernel(), lists()), (0, 0), "with {left} descriptors: {error}");
                failures.push(error);
            }
        }
    }
    // At least one of them came when the kernel's part ran already.
    let in_user_space = |error: &GatewayError| matches!(error, GatewayError::Socket { .. });
    assert!(failures.iter().any(in_user_space), "{failures:#?}");
    assert_eq!((in_kernel(), lists()), (0, 0));
}

/// The far ends of the gateway's interfaces, by bus.
struct Wires {
    gateway: Vec<InterfaceIndex>,
    sockets: Vec<CanSocket>,
}

/// Interfaces of the gateway, and the ends at which the test sits.
const NAMES: [[&str; 2]; BUSES] = [["t-a", "t-far-a"], ["t-b", "t-far-b"], ["t-c", "t-far-c"]];

impl Wires {
    fn new() -> Self {
        let mut client = Client::open().unwrap();
        let mut wires = Self { gateway: Vec::new(), sockets: Vec::new() };
        for names in NAMES {
            link::create_vxcan(&mut client, names).unwrap();
            let [near, far] = names.map(|name| link::by_name(&mut client, name).unwrap().unwrap().index);
            link::set_up(&mut client, near).unwrap();
            link::set_up(&mut client, far).unwrap();
            wires.gateway.push(near);
            let options = Options { filters: &[Filter::ALL, ERRORS], ..Options::default() };
            let socket = CanSocket::open(far, &options).unwrap();
            socket.set_receive_buffer(8 << 20).unwrap();
            wires.sockets.push(socket);
        }
        wires
    }

    fn send(&self, bus: usize, frame: &Frame) {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        self.sockets[bus].write(&bytes[..len]).unwrap();
    }

    /// Forgets what a run that failed has left, which may be much.
    fn drain(&self) {
        for bus in 0..BUSES {
            while !self.hear(bus, 0).is_empty() {}
        }
    }

    /// So many frames from a bus, or fewer if they do not come, and any that come after them.
    fn hear(&self, bus: usize, count: usize) -> Vec<Frame> {
        let mut heard = Vec::new();
        loop {
            let patience = if heard.len() < count { PATIENCE } else { SILENCE };
            if can::poll(&[&self.sockets[bus]], Some(patience)).unwrap().is_empty() {
                return heard;
            }
            let mut bytes = [0; CANFD_MTU];
            let len = self.sockets[bus].read(&mut bytes).unwrap();
            heard.push(Frame::from_kernel(&bytes[..len]).unwrap());
            if heard.len() > 100 * (count + 1) {
                // It circulates.
                return heard;
            }
        }
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        let mut client = Client::open().unwrap();
        // The other end goes along.
        self.gateway.iter().for_each(|near| link::delete(&mut client, *near).unwrap());
    }
}

#[derive(Clone)]
struct Case {
    jobs: Vec<Job>,
    /// Frames that come one after another from one bus.
    bursts: Vec<(usize, Vec<Frame>)>,
}

impl fmt::Debug for Case {
    /// As a gateway file and frames, which somebody can try.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = arbitrary::plan(&NAMES.map(|[near, _far]| near), &self.jobs, Engine::Auto);
        writeln!(f, "\n{}", text::write(&plan))?;
        for (from, frames) in &self.bursts {
            writeln!(f, "from {}: {}", NAMES[*from][0], listed(frames))?;
        }
        Ok(())
    }
}

fn listed(frames: &[Frame]) -> String {
    let shown: Vec<_> = frames.iter().take(SHOWN).map(Frame::to_string).collect();
    let more = frames.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}

/// Frames of a list that are printed.
const SHOWN: usize = 24;

/// Routes of any kind, some of them for user space only; all routes to one bus have the same echo, because user space has
/// one socket for each bus.
fn case() -> impl Strategy<Value = Case> {
    let echo = vec(any::<bool>(), BUSES);
    let bursts = vec((0..BUSES, vec(arbitrary::wire_frame(), 1..24)), 1..6);
    (vec(route(), 1..12), echo, bursts).prop_map(|(mut jobs, echo, bursts)| {
        for job in &mut jobs {
            job.echo = if echo[job.to.0] { Echo::On } else { Echo::Off };
        }
        Case { jobs, bursts }
    })
}

fn route() -> impl Strategy<Value = Job> {
    let pattern = (any::<u8>(), prop::sample::select(vec![0x00_u8, 0x01, 0x80, 0xFF])).prop_map(|(value, mask)| {
        let (mut pattern, byte) =
            (PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] }, value & mask);
        (pattern.mask[0], pattern.value[0]) = (mask, byte);
        pattern
    });
    let filter = prop_oneof![2 => Just(Some(Filter::ALL)), 3 => Just(None)];
    (arbitrary::job(BUSES), filter, 0..10_u8, pattern, any::<bool>()).prop_map(
        |(mut job, filter, kind, pattern, bit_rate_switch)| {
            job.filter = filter.unwrap_or(job.filter);
            match kind {
                0..=1 => job.payload.push(pattern),
                2 if job.format == FrameFormat::Classic => job.send_as = Some(SendAs::Fd { bit_rate_switch }),
                2 => {
                    job.send_as = Some(SendAs::Classic);
                    for operand in [
                        &mut job.modifications.and,
                        &mut job.modifications.or,
                        &mut job.modifications.xor,
                        &mut job.modifications.set,
                    ] {
                        operand.flags = None;
                    }
                }
                _ => {}
            }
            job
        },
    )
}

/// What the cases had, so that nobody believes a test of nothing.
#[derive(Debug, Default)]
struct Seen {
    split: usize,
    meetings: usize,
    deliveries: usize,
    deleted: u64,
    /// Copies that a job in the kernel deleted because its like had sent them already.
    echoes: u64,
}

#[test]
fn a_split_gateway_is_the_same_gateway() {
    let Some(_machine) = require(NEEDS) else { return };
    let wires = Wires::new();
    let seen = std::cell::RefCell::new(Seen::default());
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&case(), |case| run_both(&wires, &case, &mut seen.borrow_mut()));
    let seen = seen.into_inner();
    println!("{seen:?}");
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen.split > 50 && seen.meetings > 50, "{seen:?}");
    assert!(seen.deliveries > 4000 && seen.deleted > 100 && seen.echoes > 50, "{seen:?}");
}

/// Runs a case in user space and split, and compares each with what the oracle says, which is the same for both.
fn run_both(wires: &Wires, case: &Case, seen: &mut Seen) -> Result<(), TestCaseError> {
    let names = NAMES.map(|[near, _far]| near);
    wires.drain();
    for engine in [Engine::ReadWrite, Engine::Auto] {
        let plan = arbitrary::plan(&names, &case.jobs, engine);
        let (mut gateway, notices) = Gateway::start(plan).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(notices.is_empty(), "{engine:?}: {notices:?}");
        let placement = gateway.placement().clone();
        if engine == Engine::Auto {
            note(case, &placement, seen);
        }
        for (at, (from, frames)) in case.bursts.iter().enumerate() {
            frames.iter().for_each(|frame| wires.send(*from, frame));
            for (to, name) in names.iter().enumerate() {
                let expected = Expected::of(case, &placement, *from, to, frames);
                let heard = wires.hear(to, expected.kernel.len() + expected.user.len());
                seen.deliveries += heard.len();
                let place = format!("{engine:?}, burst {at}, bus {name}");
                let (kernel, user, heard_text) = (listed(&expected.kernel), listed(&expected.user), listed(&heard));
                prop_assert!(
                    expected.explains(&heard),
                    "{place}: the kernel was to send [{kernel}], user space [{user}], but there came [{heard_text}]"
                );
            }
        }
        prop_assert!(gateway.check().is_ok());
        let ended = gateway.stop().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(ended.notices, vec![]);
        let frames: Vec<_> = case
            .bursts
            .iter()
            .flat_map(|(from, frames)| frames.iter().map(|frame| (BusIndex(*from), *frame)))
            .collect();
        let echoes = deleted_echoes(&case.jobs, &placement, &frames);
        for (at, (counted, expected)) in ended.counters.iter().zip(oracle::count(&case.jobs, &frames)).enumerate() {
            seen.deleted += expected.deleted;
            seen.echoes += echoes[at];
            let counted = (counted.handled, counted.dropped, counted.deleted);
            let expected = (expected.handled, 0, expected.deleted + echoes[at]);
            prop_assert_eq!(counted, expected, "{:?}: handled, dropped, deleted of route {}", engine, at);
        }
    }
    Ok(())
}

fn note(case: &Case, placement: &Placement, seen: &mut Seen) {
    let routes = || (0..case.jobs.len()).map(RouteIndex);
    let kernel = routes().any(|route| placement.side(route) == Side::Kernel);
    let user = routes().any(|route| placement.side(route) == Side::User);
    let meets = routes().any(|route| matches!(placement.because(route), Some(Because::Meets(_))));
    seen.split += usize::from(kernel && user);
    seen.meetings += usize::from(meets);
}

/// What a burst makes arrive at one bus: what each side sends, in the order in which it does so.
struct Expected {
    kernel: Vec<Frame>,
    user: Vec<Frame>,
}

impl Expected {
    fn of(case: &Case, placement: &Placement, from: usize, to: usize, frames: &[Frame]) -> Self {
        let mut expected = Self { kernel: Vec::new(), user: Vec::new() };
        for frame in frames {
            for delivery in oracle::deliver(&case.jobs, BusIndex(from), frame) {
                if delivery.to != BusIndex(to) || !can_be_heard(&delivery.frame) {
                    continue;
                }
                match placement.side(RouteIndex(delivery.job)) {
                    Side::Kernel => expected.kernel.push(delivery.frame),
                    Side::User => expected.user.push(delivery.frame),
                }
            }
        }
        expected
    }

    /// Whether the heard frames are these, each once, with those of either side in their order.
    fn explains(&self, heard: &[Frame]) -> bool {
        let (kernel, user) = (&self.kernel, &self.user);
        if heard.len() != kernel.len() + user.len() {
            return false;
        }
        // After so many heard frames: can the first `k` of the kernel's have been among them?
        let mut possible = vec![false; kernel.len() + 1];
        possible[0] = true;
        for (at, frame) in heard.iter().enumerate() {
            let mut next = vec![false; kernel.len() + 1];
            for k in (0..=kernel.len().min(at)).filter(|&k| possible[k]) {
                if kernel.get(k) == Some(frame) {
                    next[k + 1] = true;
                }
                if user.get(at - k) == Some(frame) {
                    next[k] = true;
                }
            }
            possible = next;
        }
        possible[kernel.len()]
    }
}

/// An error frame without a class passes no filter.
fn can_be_heard(frame: &Frame) -> bool {
    !frame.id.is_err() || frame.id.0 & CAN_EFF_MASK != 0
}

/// What jobs in the kernel send with echo is offered to the jobs from that bus, too, and deleted there: it has made the
/// one hop that the module allows. User space does not even hear it.
fn deleted_echoes(jobs: &[Job], placement: &Placement, frames: &[(BusIndex, Frame)]) -> Vec<u64> {
    let mut echoes = vec![0; jobs.len()];
    let in_kernel = |at: usize| placement.side(RouteIndex(at)) == Side::Kernel;
    for (from, frame) in frames {
        for sent in oracle::deliver(jobs, *from, frame) {
            if !in_kernel(sent.job) || jobs[sent.job].echo == Echo::Off {
                continue;
            }
            for (at, job) in jobs.iter().enumerate().filter(|(at, job)| in_kernel(*at) && job.from == sent.to) {
                if job.filter.normalise().matches(sent.frame.id) && job.takes(&sent.frame) {
                    echoes[at] += 1;
                }
            }
        }
    }
    echoes
}
