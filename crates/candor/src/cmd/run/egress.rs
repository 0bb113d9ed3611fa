//! `[egress.BUS]` of a running gateway: installed before the first frame, supervised while it runs, and reverted at the end.

use std::mem;
use std::time::{Duration, Instant};

use candor_config::plan::Plan;
use candor_core::causes::in_full;
use candor_egress::kernel::{Applied, Event, Here, Keeper, Mend, StartError};
use candor_egress::netlink::arbitration::Statistics;
use candor_egress::tree::Tree;

use super::report::Report;
use crate::cmd::egress::{self, apply, news};

/// A poll costs a few system calls for each control group.
const INTERVAL_OF_GROUPS: Duration = Duration::from_secs(1);

/// The qdisc trees of a plan, supervised.
#[derive(Debug)]
pub(super) struct Egress<'a> {
    report: &'a Report,
    wanted: Vec<(String, Tree)>,
    /// `None` until a plan has a tree.
    keeper: Option<Keeper<Here>>,
}

impl<'a> Egress<'a> {
    /// Installs the trees of all interfaces, or none of them.
    pub(super) fn start(plan: &Plan, report: &'a Report) -> Result<Self, StartError> {
        let mut egress = Self { report, wanted: Vec::new(), keeper: None };
        egress.change(plan)?;
        Ok(egress)
    }

    /// Switches to the trees of another plan. Returns the previous ones for [`back`](Self::back).
    pub(super) fn change(&mut self, plan: &Plan) -> Result<Vec<(String, Tree)>, StartError> {
        self.change_to(egress::by_interface(egress::wanted(plan)))
    }

    /// Restores the previous trees after the rest of a plan was refused.
    pub(super) fn back(&mut self, before: Vec<(String, Tree)>) {
        if let Err(error) = self.change_to(before) {
            self.report.message(&format!("Cannot restore the previous queues: {}", in_full(&error)), true);
        }
    }

    fn change_to(&mut self, wanted: Vec<(String, Tree)>) -> Result<Vec<(String, Tree)>, StartError> {
        if wanted == self.wanted {
            return Ok(wanted);
        }
        let done = match &mut self.keeper {
            Some(keeper) => keeper.change(wanted.clone())?,
            None => {
                let (keeper, done) = Keeper::apply(Here::default(), wanted.clone())?;
                self.keeper = Some(keeper);
                done
            }
        };
        done.iter().for_each(|one| self.tell(one));
        if self.keeper.as_ref().is_some_and(Keeper::has_groups) {
            // Reports missing control groups at once.
            self.look();
        }
        Ok(mem::replace(&mut self.wanted, wanted))
    }

    /// Time until the next poll of control groups, if a tree classifies by them. There is no notification when a service restarts
    /// with a new group, and until the poll its frames are classified as unknown.
    pub(super) fn groups_due_within(&self) -> Option<Duration> {
        self.keeper.as_ref().is_some_and(Keeper::has_groups).then_some(INTERVAL_OF_GROUPS)
    }

    /// Polls the control groups; true if one has changed, so that the trees need a check.
    pub(super) fn have_groups_moved(&mut self) -> bool {
        self.keeper.as_mut().is_some_and(Keeper::have_groups_moved)
    }

    /// The statistics of a queue in the order of arbitration that this process has made.
    pub(super) fn queue(&self, interface: &str) -> Option<Statistics> {
        self.keeper.as_ref()?.machine().queue(interface)
    }

    fn tell(&self, done: &Applied) {
        if !done.steps.requests.is_empty() {
            self.report.message(&format!("{}: queues {}", done.interface, apply::text(done)), false);
        }
    }

    /// Reverts changes of other programs.
    pub(super) fn look(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        for news in keeper.look(Mend::Yes, Instant::now()) {
            let is_warning =
                !matches!(news.event, Event::AsWanted | Event::Followed(_) | Event::PutBack { is_new: true, .. });
            self.report.message(news::text(&news).trim_end(), is_warning);
        }
    }
}

/// Reverts also after an error.
impl Drop for Egress<'_> {
    fn drop(&mut self) {
        let Some(keeper) = self.keeper.take() else { return };
        if let Err(error) = keeper.stop() {
            let text = format!("Cannot restore the original queues: {}", in_full(&error));
            self.report.message(&text, true);
        }
    }
}
