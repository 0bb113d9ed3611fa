//! `[egress.BUS]` of a gateway that runs: there before its first frame, kept while it runs, and what was before given back
//! at the end.

use std::mem;
use std::time::Instant;

use candor_core::causes::in_full;
use candor_core::egress::tree::Tree;
use candor_core::plan::Plan;
use candor_tc::{Applied, Here, Keeper, Mend, News, StartError};

use super::report::Report;
use crate::cmd::egress::{self, applied, news};

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
                let (keeper, done) = Keeper::apply(Here, wanted.clone())?;
                self.keeper = Some(keeper);
                done
            }
        };
        done.iter().for_each(|one| self.tell(one));
        Ok(mem::replace(&mut self.wanted, wanted))
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
            let is_warning = !matches!(news, News::AsWanted { .. } | News::PutBack { is_new: true, .. });
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
