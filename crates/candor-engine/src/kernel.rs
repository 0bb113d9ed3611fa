//! The kernel engine: the plan's jobs in can-gw, installed whole or not at all, and taken out again.
//!
//! can-gw has no owners, so candor keeps a list of its own ([`crate::run_dir`]): written before the first job is added, locked
//! while the process lives, removed after the last job is gone. What a dead candor left is adopted or removed.

mod installed;
mod takeover;
mod version;

use std::collections::BTreeMap;
use std::path::Path;

use candor_core::job::Job;
use candor_core::placement::Side;
use candor_core::plan::{Engine, Plan, RouteIndex};
use candor_core::rule::ChecksumSpan;
use candor_netlink::cangw::{self, CangwError, JobCounters};
use candor_netlink::client::Client;

use crate::counters::{Followed, RouteCounters};
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::run_dir::{OwnedJob, RunDir};
use installed::Installed;
use takeover::Takeover;
use version::RunningKernel;

/// Is there while can-gw is, as a module or built in.
const MODULE: &str = "/sys/module/can_gw";
/// Where can-gw says how many hops it allows.
const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// Jobs in the kernel that go away with this value.
#[derive(Debug)]
pub(crate) struct KernelGateway {
    installed: Installed,
    routes: Vec<RouteIndex>,
    followed: Vec<Followed>,
}

impl KernelGateway {
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[Job],
        interfaces: &Interfaces,
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Self, GatewayError> {
        let mut client = Client::open().map_err(GatewayError::Links)?;
        may_configure(&mut client, jobs, interfaces)?;
        hop_limits_fit(plan)?;
        checksums_are_safe(plan, jobs)?;
        let wanted = interfaces.kernel_jobs(jobs);
        let routes: Vec<_> = jobs.iter().map(|job| job.route).collect();
        let name = |position: usize| plan.route(routes[position]).name.clone();

        let mut run_dir = RunDir::open(tell)?;
        let owned = OwnedJob::list(plan, interfaces, jobs, |_job| Side::Kernel);
        run_dir.refuse_twins(&owned, None)?;
        if let Some((route, other)) = run_dir.first_circle(&owned, None) {
            tell(Notice::MayCircle { route, other });
        }
        let present = cangw::dump(&mut client).map_err(GatewayError::ListJobs)?;
        let takeover = Takeover::of(&wanted, run_dir.dead(), &present);
        let entry = run_dir.announce(Engine::Kernel, owned)?;

        let mut installed = Installed::new(client, entry);
        installed.take_over(&wanted[wanted.len() - takeover.adopted..]);
        for (job, _pid) in &takeover.leftovers {
            installed.remove_leftover(job).map_err(GatewayError::ListJobs)?;
        }
        for position in (0..wanted.len() - takeover.adopted).rev() {
            let refused = |source| GatewayError::Install { route: name(position), source };
            installed.add(&wanted[position]).map_err(refused)?;
        }
        run_dir.forget_dead()?;

        let new = std::iter::repeat_n(JobCounters::default(), wanted.len() - takeover.adopted);
        let followed = new.chain(takeover.adopted_counters()).map(Followed::since).collect();
        notices(&takeover, name).into_iter().for_each(tell);
        Ok(Self { installed, routes, followed })
    }

    pub(crate) fn check(&mut self, plan: &Plan) -> Result<(), GatewayError> {
        match self.refresh() {
            Ok(None) => Ok(()),
            Ok(Some(_)) | Err(CangwError::ModuleMissing) if !Path::new(MODULE).exists() => Err(GatewayError::CangwGone),
            Ok(Some(position)) => Err(GatewayError::JobsGone { route: self.route(plan, position) }),
            Err(error) => Err(GatewayError::ListJobs(error)),
        }
    }

    /// By job, in the order of the plan, as of the last check.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.followed.iter().map(Followed::total).collect()
    }

    /// The last counters by job, and how it ended.
    pub(crate) fn stop(mut self, plan: &Plan) -> Result<(Vec<RouteCounters>, Ended), GatewayError> {
        // Jobs are removed also where they cannot be counted any more.
        let _ = self.refresh();
        let (removed_jobs, missing_jobs) = self
            .installed
            .remove_all()
            .map_err(|source| GatewayError::Remove { route: self.route(plan, 0), source })?;
        Ok((self.counters(), Ended { removed_jobs, missing_jobs, ..Ended::default() }))
    }

    /// Follows the counters and gives the position of a job that is not there any more.
    fn refresh(&mut self) -> Result<Option<usize>, CangwError> {
        let now = self.installed.list()?;
        for (followed, now) in self.followed.iter_mut().zip(&now) {
            if let Some(now) = now {
                followed.follow(*now);
            }
        }
        Ok(now.iter().position(Option::is_none))
    }

    fn route(&self, plan: &Plan, position: usize) -> String {
        self.routes.get(position).map_or_else(String::new, |&route| plan.route(route).name.clone())
    }
}

fn may_configure(client: &mut Client, jobs: &[Job], interfaces: &Interfaces) -> Result<(), GatewayError> {
    let Some(job) = jobs.first() else { return Ok(()) };
    cangw::probe(client, interfaces.index(job.from)).map_err(|error| match error {
        CangwError::ModuleMissing => GatewayError::CangwMissing,
        CangwError::NotPermitted => GatewayError::NotPermitted,
        other => GatewayError::ListJobs(other),
    })
}

/// can-gw answers a hop limit above its own with a bare EINVAL.
fn hop_limits_fit(plan: &Plan) -> Result<(), GatewayError> {
    let Some(max_hops) = std::fs::read_to_string(MAX_HOPS_FILE).ok().and_then(|text| text.trim().parse().ok()) else {
        return Ok(());
    };
    let beyond = plan.routes().iter().find_map(|route| route.hop_limit.filter(|&l| l > max_hops).map(|l| (route, l)));
    match beyond {
        Some((route, limit)) => Err(GatewayError::HopLimit { route: route.name.clone(), limit, max_hops }),
        None => Ok(()),
    }
}

/// A checksum that some kernels compute outside the frame is for kernels only that are known not to.
fn checksums_are_safe(plan: &Plan, jobs: &[Job]) -> Result<(), GatewayError> {
    let from_the_end = |span: ChecksumSpan| span.from.min(span.to).min(span.result) < 0;
    let is_relative = |job: &&Job| job.checksums.crc8.as_ref().is_some_and(|crc8| from_the_end(crc8.span));
    let Some(job) = jobs.iter().find(is_relative) else { return Ok(()) };
    let running = RunningKernel::read()
        .map_err(|source| GatewayError::System { what: "Reading the kernel's version from /proc", source })?;
    if running.computes_relative_crc8() {
        return Ok(());
    }
    Err(GatewayError::RelativeCrc8 { route: plan.route(job.route).name.clone(), kernel: running.to_string() })
}

fn notices(takeover: &Takeover, name: impl Fn(usize) -> String) -> Vec<Notice> {
    let by_pid = |pids: &mut dyn Iterator<Item = u32>| {
        pids.fold(BTreeMap::<_, usize>::new(), |mut counts, pid| {
            *counts.entry(pid).or_default() += 1;
            counts
        })
    };
    let adopted = by_pid(&mut takeover.adopted_from.iter().copied());
    let removed = by_pid(&mut takeover.leftovers.iter().map(|(_, pid)| *pid));
    let adopted = adopted.into_iter().map(|(pid, jobs)| Notice::Adopted { jobs, pid });
    let removed = removed.into_iter().map(|(pid, jobs)| Notice::RemovedLeftovers { jobs, pid });
    let mut foreign: Vec<_> = takeover.foreign_twins.iter().map(|&position| name(position)).collect();
    foreign.dedup();
    adopted.chain(removed).chain(foreign.into_iter().map(|route| Notice::ForeignDuplicate { route })).collect()
}
