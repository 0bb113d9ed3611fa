//! The program of all threads: rules, counters and ports.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use candor_config::plan::{BusIndex, Plan, WhenFull};
use candor_core::job::Job;
use candor_core::ruleset::RuleSet;

use super::age::Ages;
use super::count::Count;
use super::disposition::Disposition;
use super::port::Port;
use super::queued::Queued;
use crate::counters::{Drops, RouteCounters};
use crate::latency::{self, Latencies, MeasureLatency};

#[derive(Debug)]
pub(super) struct Program {
    pub(super) rules: RuleSet,
    /// By bus of the plan; `None` if no job uses it.
    pub(super) ports: Box<[Option<Arc<Port>>]>,
    counters: Box<[JobCounts]>,
    /// By job: deleted frames.
    deleted: Box<[Count]>,
    /// By job; empty unless measured.
    latencies: Box<[JobLatencies]>,
    /// `max-age`, indexed by job.
    max_ages: Box<[Option<Duration>]>,
    /// `when-full`, indexed by job.
    policies: Box<[WhenFull]>,
    /// By job: route name and source bus.
    accounts: Box<[(String, BusIndex)]>,
    /// Pairs of source and destination, and whether a job between them has a `max-age`.
    ways: BTreeMap<(BusIndex, BusIndex), bool>,
}

/// Per-frame counters of a job, on a cache line of their own and no larger, because there may be thousands of jobs.
#[derive(Debug, Default)]
#[repr(align(64))]
struct JobCounts {
    /// Frames that passed the rules, counted before sending.
    matched: Count,
    /// Indexed by [`Disposition::place`].
    dispositions: [Count; Disposition::PLACES],
    /// Payload bytes of sent frames.
    sent_bytes: Count,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct JobLatencies {
    classes: [Count; latency::CLASSES],
    sum_ns: Count,
}

impl Program {
    pub(super) fn new(plan: &Plan, jobs: &[Job], ports: Box<[Option<Arc<Port>>]>, latency: MeasureLatency) -> Self {
        let max_ages: Box<[_]> = jobs.iter().map(|job| plan.route(job.route).max_age).collect();
        let mut ways = BTreeMap::new();
        for (job, max_age) in jobs.iter().zip(&max_ages) {
            *ways.entry((job.from, job.to)).or_default() |= max_age.is_some();
        }
        Self {
            rules: RuleSet::compile(jobs, ports.len()),
            ports,
            counters: jobs.iter().map(|_job| JobCounts::default()).collect(),
            deleted: jobs.iter().map(|_job| Count::default()).collect(),
            latencies: match latency {
                MeasureLatency::No => Box::default(),
                MeasureLatency::Yes => jobs.iter().map(|_job| JobLatencies::default()).collect(),
            },
            max_ages,
            policies: jobs.iter().map(|job| plan.route(job.route).when_full).collect(),
            accounts: jobs.iter().map(|job| (plan.route(job.route).name.clone(), job.from)).collect(),
            ways,
        }
    }

    /// By job of this program: the job of the next one that counts its waiting frames; it has the same route and
    /// thread.
    pub(super) fn successors(&self, next: &Self) -> Box<[Option<usize>]> {
        let mut successors = HashMap::with_capacity(next.accounts.len());
        for (job, (name, from)) in next.accounts.iter().enumerate() {
            successors.entry((name.as_str(), Arc::as_ptr(next.port(*from)))).or_insert(job);
        }
        let successor = |(name, from): &(String, BusIndex)| {
            successors.get(&(name.as_str(), Arc::as_ptr(self.port(*from)))).copied()
        };
        self.accounts.iter().map(successor).collect()
    }

    pub(super) fn bus_of(&self, port: &Arc<Port>) -> Option<BusIndex> {
        self.used_ports().find(|(_, other)| Arc::ptr_eq(other, port)).map(|(bus, _)| bus)
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = BusIndex> {
        (0..self.ports.len()).map(BusIndex).filter(|bus| self.ways.keys().any(|(from, _)| from == bus))
    }

    /// True if a job leads from one bus to the other.
    pub(super) fn leads(&self, from: BusIndex, to: BusIndex) -> bool {
        self.ways.contains_key(&(from, to))
    }

    /// True if a job between these buses has a `max-age`.
    pub(super) fn has_max_age(&self, from: BusIndex, to: BusIndex) -> bool {
        self.ways.get(&(from, to)).is_some_and(|has| *has)
    }

    /// True if the frame exceeds the `max-age` of its route.
    pub(super) fn is_too_old(&self, queued: &Queued, ages: &Ages) -> bool {
        match (self.max_ages[queued.job], queued.at) {
            (Some(limit), Some(stamp)) => ages.of(stamp) > limit,
            _ => false,
        }
    }

    /// The `when-full` policy of its route.
    pub(super) fn when_full(&self, queued: &Queued) -> WhenFull {
        self.policies[queued.job]
    }

    pub(super) fn count_matched(&self, job: usize) {
        self.counters[job].matched.bump();
    }

    pub(super) fn measures_latency(&self) -> bool {
        !self.latencies.is_empty()
    }

    /// Adds the latency of a frame that was just sent, as of the last refresh of the ages.
    pub(super) fn count_latency(&self, queued: &Queued, ages: &Ages) {
        if let (Some(latencies), Some(stamp)) = (self.latencies.get(queued.job), queued.at) {
            let latency = ages.of(stamp);
            latencies.classes[latency::class(latency)].bump();
            latencies.sum_ns.add(u64::try_from(latency.as_nanos()).unwrap_or_default());
        }
    }

    pub(super) fn read(&self) -> Vec<RouteCounters> {
        let of_job = |(job, counts): (usize, &JobCounts)| RouteCounters {
            deleted: self.deleted[job].value(),
            latencies: self.latencies.get(job).map(|latencies| Box::new(latencies.read())),
            ..counts.read()
        };
        self.counters.iter().enumerate().map(of_job).collect()
    }

    pub(super) fn count_sent(&self, queued: &Queued) {
        let counters = &self.counters[queued.job];
        counters.dispositions[Disposition::Sent.place()].bump();
        counters.sent_bytes.add(queued.payload_bytes());
    }

    pub(super) fn count_deleted(&self, job: usize) {
        self.deleted[job].bump();
    }

    pub(super) fn count(&self, queued: &Queued, disposition: Disposition) {
        self.counters[queued.job].dispositions[disposition.place()].bump();
    }

    /// The port of a bus that some job uses.
    pub(super) fn port(&self, bus: BusIndex) -> &Arc<Port> {
        self.ports[bus.0].as_ref().expect("the ports of all buses that a job uses were opened")
    }

    pub(super) fn used_ports(&self) -> impl Iterator<Item = (BusIndex, &Arc<Port>)> {
        self.ports.iter().enumerate().filter_map(|(bus, port)| Some((BusIndex(bus), port.as_ref()?)))
    }
}

impl JobCounts {
    /// Without `deleted` and latencies, which are stored elsewhere.
    fn read(&self) -> RouteCounters {
        let of = |disposition: Disposition| self.dispositions[disposition.place()].value();
        let drops = Drops {
            full: of(Disposition::Full),
            expired: of(Disposition::Expired),
            down: of(Disposition::Down),
            too_large: of(Disposition::TooLarge),
            other: of(Disposition::Other),
        };
        RouteCounters {
            handled: of(Disposition::Sent),
            dropped: drops.total(),
            drops,
            matched: Some(self.matched.value()),
            handled_bytes: Some(self.sent_bytes.value()),
            ..RouteCounters::default()
        }
    }
}

impl JobLatencies {
    fn read(&self) -> Latencies {
        let classes = self.classes.each_ref().map(Count::value);
        Latencies { classes, sum: Duration::from_nanos(self.sum_ns.value()) }
    }
}
