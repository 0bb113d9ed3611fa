//! `[egress.BUS]` of a gateway that runs: there before its first frame, kept while it runs, and what was before given back
//! at the end.

use std::mem;
use std::time::{Duration, Instant};

use candor_config::plan::Plan;
use candor_core::causes::in_full;
use candor_egress::kernel::{Applied, Here, Keeper, Mend, News, StartError};
use candor_egress::tree::Tree;

use super::report::Report;
use crate::cmd::egress::{self, applied, news};

/// A look at control groups is a system call or a few for each.
const INTERVAL_OF_GROUPS: Duration = Duration::from_secs(1);

/// The trees of the interfaces of a plan.
#[derive(Debug)]
pub(super) struct Egress<'a> {
    report: &'a Report,
    wanted: Vec<(String, Tree)>,
    /// `None` while there was never anything to keep.
    keeper: Option<Keeper<Here>>,
}

impl<'a> Egress<'a> {
    /// Gives every interface what it shall have, all or none.
    pub(super) fn start(plan: &Plan, report: &'a Report) -> Result<Self, StartError> {
        let mut egress = Self { report, wanted: Vec::new(), keeper: None };
        egress.change(plan)?;
        Ok(egress)
    }

    /// Trees of another plan. Gives those that there were, for [`back`](Self::back).
    pub(super) fn change(&mut self, plan: &Plan) -> Result<Vec<(String, Tree)>, StartError> {
        self.change_to(egress::by_interface(egress::wanted(plan)))
    }

    /// The trees of before, because the rest of a plan was refused.
    pub(super) fn back(&mut self, before: Vec<(String, Tree)>) {
        if let Err(error) = self.change_to(before) {
            self.report.tell(&format!("The queues of before could not be brought back: {}", in_full(&error)), true);
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
            // Of groups that are not there somebody wants to know now.
            self.look();
        }
        Ok(mem::replace(&mut self.wanted, wanted))
    }

    /// When control groups are to be looked at again, if trees tell frames by them. Nobody tells that a service has been
    /// started again, and until it is seen its frames are taken for those of others.
    pub(super) fn groups_due_within(&self) -> Option<Duration> {
        self.keeper.as_ref().is_some_and(Keeper::has_groups).then_some(INTERVAL_OF_GROUPS)
    }

    /// Whether that was worth a look at the interfaces.
    pub(super) fn have_groups_moved(&mut self) -> bool {
        self.keeper.as_mut().is_some_and(Keeper::have_groups_moved)
    }

    fn tell(&self, done: &Applied) {
        if !done.steps.requests.is_empty() {
            self.report.tell(&format!("{}: queues {}", done.interface, applied::text(done)), false);
        }
    }

    /// Puts back what others have changed.
    pub(super) fn look(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        for news in keeper.look(Mend::Yes, Instant::now()) {
            let is_warning =
                !matches!(news, News::AsWanted { .. } | News::Followed { .. } | News::PutBack { is_new: true, .. });
            // That an interface is gone or does not answer is said by the gateway, if it has routes there.
            self.report.tell(news::text(&news).trim_end(), is_warning);
        }
    }
}

/// However it ends, also by an error.
impl Drop for Egress<'_> {
    fn drop(&mut self) {
        let Some(keeper) = self.keeper.take() else { return };
        if let Err(error) = keeper.stop() {
            let text = format!("What interfaces had before could not be given back: {}", in_full(&error));
            self.report.tell(&text, true);
        }
    }
}
