//! A gateway and frames for it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use candor_config::config;
use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{BusIndex, Echo, Engine, Incoming, Plan, RouteIndex, Timestamp};
use candor_config::text;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_MTU, Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::oracle::{End, Interface, Kernel, Loopback, State, World};
use candor_core::rule::{Checksums, Modifications};

use super::machine::Abilities;
use super::random::{self, Random};

/// Interfaces by bus. Frames are sent on the first ones.
pub(super) const INTERFACES: [&str; 7] = ["t-in0", "t-in1", "t-fd0", "t-fd1", "t-classic", "t-down", "t-fence"];
pub(super) const SOURCES: usize = 2;
pub(super) const FIRST_DESTINATION: BusIndex = BusIndex(2);
pub(super) const CLASSIC_ONLY: BusIndex = BusIndex(4);
pub(super) const DOWN: BusIndex = BusIndex(5);
/// A bus for the last frame of each burst, by the last job of its source: when that arrives, all other frames of the burst
/// have arrived.
pub(super) const FENCE: BusIndex = BusIndex(6);
const FENCE_ID: RawId = RawId(0x5FE);

/// Sources and destinations of jobs. A destination may be the source of others.
const FROM: [usize; 10] = [0, 0, 0, 0, 0, 0, 1, 1, 2, 3];
const TO: [usize; 16] = [0, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5];

const MAX_JOBS: usize = 64;
/// Jobs where frames may take several hops: each of them multiplies.
const MAX_JOBS_WITH_HOPS: usize = 16;
/// Routes for programs, some with several filters.
const MAX_ROUTES_OF_PROGRAMS: usize = 16;
/// Sometimes nearly as many as a program has room for: 31 steps from a bus for a format.
const MANY_ROUTES_OF_PROGRAMS: usize = 60;
const MAX_BURSTS: usize = 4;
/// Frames in a row: the receive queue of the read-write engine has room for about 250.
const MAX_BURST: usize = 128;
const SINGLE_FRAMES: usize = 64;
/// Deliveries because of one frame: the kernel's backlog has room for 1000.
const MAX_DELIVERIES: usize = 300;

/// Jobs in the order of delivery, the fences last, and frames from one bus after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) max_hops: u8,
    /// Without the fences. Jobs of one route that differ only in the filter follow each other.
    pub(super) jobs: Vec<Job>,
    /// For programs.
    pub(super) exclusive: BTreeSet<RouteIndex>,
    pub(super) bursts: Vec<Burst>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) from: BusIndex,
    /// Without the fences.
    pub(super) frames: Vec<Frame>,
}

impl Case {
    pub(super) fn from_seed(seed: u64, number: u64, kernel: Abilities) -> Self {
        let mut random = Random::new(seed, number);
        let several_hops = kernel.max_hops > 1;
        let most = if several_hops { MAX_JOBS_WITH_HOPS } else { MAX_JOBS };
        let jobs = random.between(1, most);
        let style = Style::random(&mut random);
        let jobs: Vec<_> = (0..jobs).map(|number| style.job(&mut random, number, kernel)).collect();
        // A frame with few hops may overtake an earlier one with several, so those are sent one by one.
        let (bursts, burst) = if several_hops { (SINGLE_FRAMES, 1) } else { (MAX_BURSTS, MAX_BURST) };
        let bursts = bursts_for(&mut random, &jobs, bursts, burst);
        let mut case = Self { max_hops: kernel.max_hops, exclusive: BTreeSet::new(), bursts, jobs };
        if several_hops {
            case.remove_avalanches();
        }
        case
    }

    /// With everything that a program can do, lists included, and in a few cases something that it cannot do.
    pub(super) fn for_programs(seed: u64, number: u64, kernel: Abilities) -> Self {
        let mut random = Random::new(!seed, number);
        let style = Style::for_programs(&mut random);
        let (beyond, many) = (random.chance(10), random.chance(15));
        let most = if many { MANY_ROUTES_OF_PROGRAMS } else { MAX_ROUTES_OF_PROGRAMS };
        let (mut jobs, mut exclusive) = (Vec::new(), BTreeSet::new());
        for number in 0..random.between(1, most) {
            let mut job = style.job(&mut random, number, kernel);
            job.payload = random.payload(job.format);
            if beyond && random.chance(20) {
                (job.hop_limit, job.echo) = if random.chance(50) { (Some(2), job.echo) } else { (None, Echo::On) };
            }
            let changes_fd = job.format == FrameFormat::Fd && !job.modifications.is_empty();
            if changes_fd && (many || random.chance(80)) {
                (job.modifications, job.checksums, job.uid) = (Modifications::NONE, Checksums::NONE, None);
            }
            if random.chance(if changes_fd { 97 } else { 40 }) {
                exclusive.insert(job.route);
            }
            let filters = if random.chance(40) { random.list() } else { vec![job.filter] };
            if filters.len() > 1 {
                job.uid = None;
            }
            jobs.extend(filters.into_iter().map(|filter| Job { filter, ..job.clone() }));
        }
        let bursts = bursts_for(&mut random, &jobs, MAX_BURSTS, MAX_BURST);
        Self { max_hops: 1, jobs, exclusive, bursts }
    }

    pub(super) fn all_jobs(&self) -> Vec<Job> {
        let fence = |from| {
            let filter = Filter::exact(FENCE_ID);
            let route = RouteIndex(MAX_JOBS + from);
            Job { route, echo: Echo::On, ..Job::plain(BusIndex(from), FENCE, FrameFormat::Classic, filter) }
        };
        self.jobs.iter().cloned().chain((0..SOURCES).map(fence)).collect()
    }

    /// Programs send without echo.
    pub(super) fn all_jobs_for_programs(&self) -> Vec<Job> {
        let mut jobs = self.all_jobs();
        jobs[self.jobs.len()..].iter_mut().for_each(|fence| fence.echo = Echo::Off);
        jobs
    }

    /// The jobs of each route.
    pub(super) fn routes(jobs: &[Job]) -> impl Iterator<Item = &[Job]> {
        jobs.chunk_by(|one, next| *one == Job { filter: one.filter, ..next.clone() })
    }

    pub(super) fn plan(&self, jobs: &[Job], engine: Engine) -> Plan {
        let first: Vec<_> = Self::routes(jobs).map(|jobs| jobs[0].clone()).collect();
        let exclusive: Vec<_> = first.iter().map(|job| self.exclusive.contains(&job.route)).collect();
        let filters = Self::routes(jobs).map(|jobs| jobs.iter().map(|job| job.filter).collect());
        let plan = candor_config::arbitrary::plan(&INTERFACES, &first, engine);
        let plan = candor_config::arbitrary::exclusive(plan, &exclusive);
        candor_config::arbitrary::lists(plan, &filters.collect::<Vec<_>>())
    }

    /// All frames of a burst for candor's own gateway, the fence last.
    pub(super) fn fenced(burst: &Burst) -> Vec<Frame> {
        burst.frames.iter().copied().chain([Frame::classic(FENCE_ID, &[]).unwrap()]).collect()
    }

    /// All frames of a burst for the kernel. Where frames may take several hops there is no fence: they could overtake
    /// it, and it them.
    pub(super) fn for_kernel(&self, burst: &Burst) -> Vec<Frame> {
        if self.max_hops == 1 { Self::fenced(burst) } else { burst.frames.clone() }
    }

    /// Without fences.
    pub(super) fn frames(&self) -> usize {
        self.bursts.iter().map(|burst| burst.frames.len()).sum()
    }

    /// candor's engines have one socket for each bus, count no hops and keep no timestamps.
    pub(super) fn is_for_engine(&self) -> bool {
        let agree = |job: &Job| self.jobs.iter().all(|other| other.to != job.to || other.echo == job.echo);
        let few_hops = |job: &Job| job.hop_limit.is_none_or(|limit| limit == 1);
        self.jobs.iter().all(|job| job.timestamp == Timestamp::Fresh && few_hops(job) && agree(job))
    }

    /// The first reason why programs cannot run it, by the rules of candor.
    pub(super) fn not_for_programs(&self) -> Option<String> {
        let plan = self.plan(&self.all_jobs_for_programs(), Engine::Bpf);
        let refused = Placement::of(&plan, KernelAbilities::NEWEST).err()?;
        Some(format!("{:?}", refused.kernel))
    }

    /// A part of a list may be written in another way than it was made.
    pub(super) fn is_read_as_written(&self, engine: Engine) -> bool {
        let plan = self.plan(&self.all_jobs_for_programs(), engine);
        config::load(text::write(&plan).as_bytes()).is_ok_and(|loaded| loaded.plan == plan)
    }

    pub(super) fn world(&self, jobs: &[Job]) -> World {
        let mut world = World::new(Kernel { max_hops: self.max_hops, ..Kernel::DEFAULT });
        for name in INTERFACES {
            world.attach(Interface::vcan(name));
        }
        world.interface(CLASSIC_ONLY).unwrap().mtu = CAN_MTU;
        world.interface(DOWN).unwrap().state = State::Down;
        for job in jobs.iter().rev() {
            world.add(job).unwrap();
        }
        world
    }

    fn remove_avalanches(&mut self) {
        let mut world = self.world(&self.all_jobs());
        for burst in &mut self.bursts {
            burst.frames.retain(|frame| {
                let outcome = world.send_locally(burst.from, frame, Loopback::On).unwrap();
                outcome.end == End::Settled && outcome.seen.len() <= MAX_DELIVERIES
            });
        }
        self.bursts.retain(|burst| !burst.frames.is_empty());
    }
}

fn bursts_for(random: &mut Random, jobs: &[Job], bursts: usize, burst: usize) -> Vec<Burst> {
    let bursts = (0..random.between(1, bursts)).map(|_| {
        let from = random.pick(&[BusIndex(0), BusIndex(0), BusIndex(0), BusIndex(1)]);
        let filters: Vec<_> = jobs.iter().filter(|job| job.from == from).map(|job| job.filter).collect();
        let frames = (0..random.between(1, burst)).map(|_| random.frame(&filters)).collect();
        Burst { from, frames }
    });
    bursts.collect()
}

struct Style {
    echo_of_bus: [Echo; INTERFACES.len()],
    mixes_echo: bool,
    keeps_stamps: bool,
}

impl Style {
    fn random(random: &mut Random) -> Self {
        Self {
            echo_of_bus: [(); INTERFACES.len()].map(|()| if random.chance(90) { Echo::On } else { Echo::Off }),
            mixes_echo: random.chance(10),
            keeps_stamps: random.chance(10),
        }
    }

    fn for_programs(random: &mut Random) -> Self {
        Self {
            echo_of_bus: [Echo::Off; INTERFACES.len()],
            mixes_echo: random.chance(2),
            keeps_stamps: random.chance(3),
        }
    }

    fn job(&self, random: &mut Random, number: usize, kernel: Abilities) -> Job {
        let from = BusIndex(random.pick(&FROM));
        let to = BusIndex(random.pick(&TO));
        let format = if random.chance(50) { FrameFormat::Classic } else { FrameFormat::Fd };
        let modifications = random.modifications(format);
        // Without a modification they have no effect, and the kernel ignores them.
        let mut checksums = if modifications.is_empty() { Checksums::NONE } else { random.checksums(format) };
        if let (Some(crc8), false) = (&mut checksums.crc8, kernel.relative_crc8) {
            crc8.span = random::from_the_start(crc8.span);
        }
        let allowed = from == to || random.chance(20);
        let kept = self.keeps_stamps && random.chance(50);
        let mixed_echo = if random.chance(70) { Echo::On } else { Echo::Off };
        // A second job with the same uid would change the first.
        let uid = u32::try_from(number).ok().and_then(|number| NonZeroU32::new(0x1000 + number));
        Job {
            route: RouteIndex(number),
            modifications,
            checksums,
            echo: if self.mixes_echo { mixed_echo } else { self.echo_of_bus[to.0] },
            timestamp: if kept { Timestamp::Kept } else { Timestamp::Fresh },
            incoming: if allowed { Incoming::Allowed } else { Incoming::Skipped },
            hop_limit: random.chance(20).then(|| 1 + random.below(kernel.max_hops)),
            uid: uid.filter(|_| random.chance(20) && !modifications.is_empty()),
            ..Job::plain(from, to, format, random.filter())
        }
    }
}
