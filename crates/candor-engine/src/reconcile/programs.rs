//! eBPF programs of an applied file, which stay in the kernel without a process.

use std::collections::BTreeSet;

use candor_config::placement::Side;
use candor_config::plan::Plan;

use super::difference::{Line, LineKind, Names};
use super::error::ReconcileError;
use super::target::FileTarget;
use crate::bpf::{self, BpfError, BpfGateway, Fate};
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::run_dir::{Instance, OwnedJob, RunDir};

/// The eBPF programs of a file, compared with what is attached.
pub(super) struct Programs {
    gateway: BpfGateway,
    fates: Vec<Fate>,
    removed: Vec<OwnedJob>,
    /// Number of interfaces and formats whose programs differ.
    pub(super) changes: usize,
}

impl Programs {
    /// Fails if another owner has programs on one of the interfaces.
    pub(super) fn refuse(
        plan: &Plan,
        target: &FileTarget,
        (run_dir, owner): (&RunDir, &Owner),
    ) -> Result<(), ReconcileError> {
        let jobs: Vec<_> = target.programs.iter().collect();
        Ok(bpf::refuse_others(plan, &jobs, &target.interfaces, (run_dir, Some(owner)))?)
    }

    pub(super) fn find(
        plan: &Plan,
        target: &FileTarget,
        (run_dir, owner): (Option<&RunDir>, &Owner),
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ReconcileError> {
        let FileTarget { all, programs, interfaces, .. } = target;
        let jobs: Vec<_> = programs.iter().collect();
        let gateway = BpfGateway::adopt(plan, &jobs, (run_dir, Some(owner)), (None, None), notify)?;
        let (fates, changes) = gateway.fates(interfaces)?;
        let earlier = run_dir.into_iter().flat_map(RunDir::applied).filter(|instance| instance.owner == *owner);
        let is_wanted = |owned: &OwnedJob| {
            all.iter().any(|other| other.is_bpf() && other.route == owned.route && other.job.is_same_job(&owned.job))
        };
        let removed = earlier.flat_map(Instance::all_jobs).filter(|owned| owned.is_bpf() && !is_wanted(owned));
        let removed = removed.cloned().collect();
        Ok(Self { gateway, fates, removed, changes })
    }

    /// A line for each job of the file in a program, then those that are removed.
    pub(super) fn lines(&self, all: &[OwnedJob], names: &Names) -> Vec<Line> {
        let line = |kind, owned: &OwnedJob| names.line(kind, Some(owned.route.clone()), Side::Bpf, *owned.job.job());
        let wanted = all.iter().filter(|owned| owned.is_bpf()).zip(&self.fates);
        let wanted = wanted.map(|(owned, fate)| {
            let kind = match fate {
                Fate::Added => LineKind::Add,
                Fate::Changed => LineKind::Change,
                Fate::Kept => LineKind::Keep,
            };
            line(kind, owned)
        });
        wanted.chain(self.removed.iter().map(|owned| line(LineKind::Remove, owned))).collect()
    }

    /// What is to be said about sockets that will not receive the frames of exclusive routes.
    pub(super) fn deaf(plan: &Plan, target: &FileTarget) -> Vec<Notice> {
        let in_program: BTreeSet<_> = candor_core::order::set(target.programs.iter().map(|job| job.route));
        bpf::deaf(plan, |route| in_program.contains(&route))
    }

    /// The programs change after the can-gw jobs, by which time the kernel has accepted them.
    pub(super) fn carry_out(
        mut self,
        target: &FileTarget,
        cangw: impl FnOnce() -> Result<(), ReconcileError>,
    ) -> Result<(), ReconcileError> {
        let undone = |error: BpfError| ReconcileError::Undone { source: Box::new(error.into()), created: 0, lost: 0 };
        let change = self.gateway.prepare(&target.interfaces).map_err(undone)?;
        match cangw() {
            Ok(()) => self.gateway.commit(change).map_err(ReconcileError::ProgramsBehind),
            Err(error) => {
                self.gateway.take_back(change);
                Err(error)
            }
        }
    }
}
