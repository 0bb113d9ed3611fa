//! Jobs of a gateway file on this machine.

use candor_config::placement::{Because, KernelAbilities, Missing, NoPrograms, Placement, Side};
use candor_config::plan::{Engine, Plan, RouteIndex};
use candor_core::job::Job;
use candor_netlink::cangw::ExactJob;
use candor_netlink::client::Client;

use super::error::{InUserSpace, ReconcileError};
use crate::abilities;
use crate::bpf;
use crate::placement::{self, PlacementError};
use candor_userspace::notice::Notice;
use candor_userspace::preflight::{self, Interfaces};
use candor_userspace::run_dir::OwnedJob;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Apply,
    /// Compare it with the kernel, without privileges.
    Compare,
}

/// can-gw jobs with the interfaces of this machine.
#[derive(Debug)]
pub(super) struct Target {
    /// In file order.
    pub(super) jobs: Vec<OwnedJob>,
    /// The same in the form of can-gw.
    pub(super) wanted: Vec<ExactJob>,
}

/// The jobs of a plan.
#[derive(Debug)]
pub(super) struct FileTarget {
    /// In file order.
    pub(super) all: Vec<OwnedJob>,
    pub(super) cangw: Target,
    /// Those in eBPF programs.
    pub(super) programs: Vec<Job>,
    /// Those of them that leave the frame to can-gw as well.
    pub(super) copying: Vec<OwnedJob>,
    pub(super) interfaces: Interfaces,
}

impl Target {
    pub(super) fn of(jobs: Vec<OwnedJob>) -> Self {
        let wanted = jobs.iter().map(|owned| owned.job.clone()).collect();
        Self { jobs, wanted }
    }
}

impl FileTarget {
    /// Resolves interfaces and jobs; notices go to `notify`.
    ///
    /// # Errors
    /// An interface is missing, a route needs user space, or a privilege is missing.
    pub(super) fn of(
        client: &mut Client,
        plan: &Plan,
        intent: Intent,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ReconcileError> {
        preflight::can_is_there()?;
        let (interfaces, notices) = Interfaces::find(client, plan)?;
        notices.into_iter().for_each(notify);
        let mut jobs = candor_config::lower(plan);
        let found = match plan.engine() {
            Engine::Bpf => KernelAbilities::NEWEST,
            _ => abilities::find(client, &jobs, &interfaces).map_err(PlacementError::from)?,
        };
        let kernel = match (found.missing, intent) {
            (None, _) => found,
            (Some(Missing::Module), _) => return Err(ReconcileError::CangwMissing),
            (Some(Missing::Privilege), Intent::Apply) => return Err(ReconcileError::NotPermitted),
            // Without privileges the trial is impossible; assume that it succeeds.
            (Some(Missing::Privilege), Intent::Compare) => {
                KernelAbilities { missing: None, relative_crc8: true, ..KernelAbilities::EVERY }
            }
        };
        let no_programs = match plan.engine() {
            Engine::Kernel | Engine::User(_) => kernel.no_programs,
            Engine::Auto | Engine::Bpf => bpf::no_programs()
                .map_err(PlacementError::from)?
                .filter(|why| intent == Intent::Apply || *why != NoPrograms::Privilege),
        };
        let kernel = KernelAbilities { no_programs, ..kernel };
        let placement = in_kernel(plan, kernel)?;
        if plan.engine() == Engine::Auto && kernel.max_hops > 1 {
            placement::one_hop(&mut jobs, &placement);
        }
        uids_differ(plan, &jobs)?;
        let all = OwnedJob::list(plan, &interfaces, &jobs, |job| placement.side(job.route));
        let cangw = Target::of(all.iter().filter(|owned| owned.side == Side::Kernel).cloned().collect());
        let of_job = jobs.iter().zip(&all).filter(|(_, owned)| owned.is_bpf());
        let copying = of_job.filter(|(job, _)| !plan.route(job.route).is_exclusive).map(|(_, owned)| owned.clone());
        let copying = copying.collect();
        let programs = jobs.into_iter().filter(|job| placement.side(job.route) == Side::Bpf).collect();
        Ok(Self { all, cangw, programs, copying, interfaces })
    }
}

/// Requires that the kernel runs all routes: `candor apply` leaves no process behind.
fn in_kernel(plan: &Plan, kernel: KernelAbilities) -> Result<Placement, ReconcileError> {
    let reason = |route, because: Because| {
        let because = because.in_words(plan);
        InUserSpace { route: plan.route(route).name.clone(), because }
    };
    let placement = Placement::of(plan, kernel).or_else(|refused| match refused.kernel {
        // These have a remedy on this machine.
        Because::Bpf(_) | Because::FdJobs | Because::HopLimit { .. } | Because::Missing(_) | Because::RelativeCrc8 => {
            Err(placement::refusal(plan, refused, kernel)?.into())
        }
        because => Err(ReconcileError::InUserSpace(vec![reason(refused.route, because)])),
    })?;
    let routes = (0..plan.routes().len()).map(RouteIndex);
    let of_routes = routes.filter_map(|route| Some(reason(route, placement.because(route)?)));
    let of_frames = plan
        .frames()
        .iter()
        .map(|frame| InUserSpace { route: frame.name.clone(), because: "candor composes its frames".to_owned() });
    let user: Vec<_> = of_routes.chain(of_frames).collect();
    if user.is_empty() { Ok(placement) } else { Err(ReconcileError::InUserSpace(user)) }
}

/// can-gw identifies jobs by uid, so a second job with the same uid would replace the first.
fn uids_differ(plan: &Plan, jobs: &[Job]) -> Result<(), ReconcileError> {
    for (at, job) in jobs.iter().enumerate() {
        let Some(uid) = job.uid else { continue };
        if let Some(first) = jobs[..at].iter().find(|other| other.uid == Some(uid)) {
            let name = |job: &Job| plan.route(job.route).name.clone();
            return Err(ReconcileError::UidTwice { uid, first: name(first), second: name(job) });
        }
    }
    Ok(())
}
