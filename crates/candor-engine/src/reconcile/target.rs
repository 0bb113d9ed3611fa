//! What a gateway file wants of the kernel.

use candor_config::placement::{Because, KernelAbilities, Missing, Placement, Side};
use candor_config::plan::{Engine, Plan, RouteIndex};
use candor_core::job::Job;
use candor_netlink::cangw::ExactJob;
use candor_netlink::client::Client;

use super::error::{InUserSpace, ReconcileError};
use crate::abilities;
use crate::notice::Notice;
use crate::placement::{self, PlacementError};
use crate::preflight::{self, Interfaces};
use crate::run_dir::OwnedJob;

/// What is to be done with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// The kernel is to become it.
    Apply,
    /// The kernel is compared with it, for which no privilege is needed.
    Compare,
}

/// The jobs of a plan on the interfaces of this machine.
#[derive(Debug)]
pub(super) struct Target {
    /// In the order of the file.
    pub(super) jobs: Vec<OwnedJob>,
    /// The same, as the kernel gets them.
    pub(super) wanted: Vec<ExactJob>,
}

impl Target {
    /// Finds interfaces and jobs, and says what is odd about them.
    ///
    /// # Errors
    /// [`ReconcileError`] if an interface is missing, a route is not for the kernel, or this user may not do it.
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
        let found = abilities::find(client, &jobs, &interfaces).map_err(PlacementError::from)?;
        let kernel = match (found.missing, intent) {
            (None, _) => found,
            (Some(Missing::Module), _) => return Err(ReconcileError::CangwMissing),
            (Some(Missing::Privilege), Intent::Apply) => return Err(ReconcileError::NotPermitted),
            // Who may not change anything cannot find out what this kernel computes.
            (Some(Missing::Privilege), Intent::Compare) => {
                KernelAbilities { missing: None, relative_crc8: true, ..KernelAbilities::EVERY }
            }
        };
        let placement = in_kernel(plan, kernel)?;
        if plan.engine() == Engine::Auto && kernel.max_hops > 1 {
            placement::one_hop(&mut jobs, &placement);
        }
        uids_differ(plan, &jobs)?;
        let jobs = OwnedJob::list(plan, &interfaces, &jobs, |_job| Side::Kernel);
        let wanted = jobs.iter().map(|owned| owned.job.clone()).collect();
        Ok(Self { jobs, wanted })
    }
}

/// `candor apply` ends and leaves its jobs behind, so whatever a process has to do cannot be applied.
fn in_kernel(plan: &Plan, kernel: KernelAbilities) -> Result<Placement, ReconcileError> {
    let reason = |route, because: Because| {
        let because = because.in_words(plan);
        InUserSpace { route: plan.route(route).name.clone(), because }
    };
    let placement = Placement::of(plan, kernel).or_else(|refused| match refused.kernel {
        // What the machine lacks can be mended, and what is to be typed is said.
        Because::FdJobs | Because::HopLimit { .. } | Because::Missing(_) | Because::RelativeCrc8 => {
            Err(placement::refusal(plan, refused, kernel)?.into())
        }
        because => Err(ReconcileError::InUserSpace(vec![reason(refused.route, because)])),
    })?;
    let routes = (0..plan.routes().len()).map(RouteIndex);
    let user: Vec<_> = routes.filter_map(|route| Some(reason(route, placement.because(route)?))).collect();
    if user.is_empty() { Ok(placement) } else { Err(ReconcileError::InUserSpace(user)) }
}

/// can-gw finds a job by its uid, so a second one with the same would become the first.
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
