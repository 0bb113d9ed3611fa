//! Changing the jobs of a running process, as [`apply`](super::apply()) does for a file.

use candor_netlink::cangw::ExactJob;
use candor_netlink::client::Client;

use super::apply::Compared;
use super::error::ReconcileError;
use super::owners::Owners;
use super::target::Target;
use super::{Action, Foreign, Standing};
use candor_userspace::run_dir::{OwnedJob, RunDir};

/// Installed and wanted jobs of a process.
#[derive(Debug)]
pub(crate) struct Mine {
    /// Jobs that are its own if they are installed.
    pub(crate) owned: Vec<ExactJob>,
    /// In the order of the file.
    pub(crate) wanted: Vec<OwnedJob>,
}

/// A change that is planned but not yet in the kernel.
pub(crate) struct Exchange {
    target: Target,
    compared: Compared,
}

impl Exchange {
    /// Compares with the kernel. Jobs of dead candors are adopted or removed.
    ///
    /// # Errors
    /// The jobs cannot be listed, or a wanted uid is in use.
    pub(crate) fn of(client: &mut Client, run_dir: &RunDir, mine: Mine) -> Result<Self, ReconcileError> {
        let present = super::list(client)?;
        let mut owners = Owners::of(Some(run_dir), run_dir.me(), &present);
        owners.owned.extend(mine.owned);
        let target = Target::of(mine.wanted);
        let compared = Compared::with(present, owners, Foreign::default(), &target);
        compared.uids_are_free(&target)?;
        Ok(Self { target, compared })
    }

    /// Executes the change; after an error the kernel is as before.
    pub(crate) fn carry_out(&mut self, client: &mut Client) -> Result<(), ReconcileError> {
        self.compared.carry_out(client, &self.target)
    }

    /// The jobs before, newest first.
    pub(crate) fn present(&self) -> &[ExactJob] {
        &self.compared.present
    }

    /// Indexed by wanted job.
    pub(crate) fn actions(&self) -> &[Action] {
        &self.compared.found.actions
    }

    /// Wanted jobs that another program has installed, too.
    pub(crate) fn doubled(&self) -> impl Iterator<Item = &OwnedJob> {
        let twin = |standing: &Standing| if let Standing::Foreign(twin) = standing { *twin } else { None };
        self.compared.found.standings.iter().filter_map(twin).map(|wanted| &self.target.jobs[wanted])
    }
}
