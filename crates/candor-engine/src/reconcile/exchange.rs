//! Other jobs for a process that has some, with as little change as [`apply`](super::apply()) makes.

use candor_netlink::cangw::ExactJob;
use candor_netlink::client::Client;

use super::apply::Compared;
use super::error::ReconcileError;
use super::owners::Owners;
use super::target::Target;
use super::{Action, Foreign, Standing};
use crate::owner::Owner;
use crate::run_dir::{OwnedJob, RunDir};

/// What a process has and what it is to have.
#[derive(Debug)]
pub(crate) struct Mine {
    /// Jobs that are its own, if they are there.
    pub(crate) owned: Vec<ExactJob>,
    /// In the order of the file.
    pub(crate) wanted: Vec<OwnedJob>,
}

/// A change that has been thought out.
pub(crate) struct Exchange {
    target: Target,
    compared: Compared,
}

impl Exchange {
    /// Compares what is wanted with the kernel. What dead candors left is taken over or removed on the way.
    ///
    /// # Errors
    /// [`ReconcileError`] if the kernel does not tell its jobs, or a job would change somebody else's.
    pub(crate) fn of(client: &mut Client, run_dir: &RunDir, mine: Mine) -> Result<Self, ReconcileError> {
        let present = super::list(client)?;
        let this_process = |owner: &Owner| matches!(owner, Owner::Process { pid, .. } if *pid == std::process::id());
        let me = run_dir.alive().iter().map(|instance| &instance.owner).find(|owner| this_process(owner));
        let mut owners = Owners::of(Some(run_dir), me, &present);
        owners.owned.extend(mine.owned);
        let wanted = mine.wanted.iter().map(|owned| owned.job.clone()).collect();
        let target = Target { jobs: mine.wanted, wanted };
        let compared = Compared::with(present, owners, Foreign::default(), &target);
        compared.uids_are_free(&target)?;
        Ok(Self { target, compared })
    }

    /// Makes the kernel so; if that fails, it is what it was.
    pub(crate) fn carry_out(&mut self, client: &mut Client) -> Result<(), ReconcileError> {
        self.compared.carry_out(client, &self.target)
    }

    /// What the kernel had before, newest first.
    pub(crate) fn present(&self) -> &[ExactJob] {
        &self.compared.present
    }

    /// By wanted job.
    pub(crate) fn actions(&self) -> &[Action] {
        &self.compared.found.actions
    }

    /// Wanted jobs that somebody else has put into the kernel, too.
    pub(crate) fn doubled(&self) -> impl Iterator<Item = &OwnedJob> {
        let twin = |standing: &Standing| if let Standing::Foreign(twin) = standing { *twin } else { None };
        self.compared.found.standings.iter().filter_map(twin).map(|wanted| &self.target.jobs[wanted])
    }
}
