//! The class and the actions at the end of a filter.

use super::actions::{self, starts_action};
use super::args::{Args, Wrong, unknown};
use super::names::class_handle;
use crate::action::Action;
use crate::handle::Handle;
use candor_core::diagnostic::Findings;

/// What follows the kind of every filter.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
}

impl Tail {
    /// Takes a class or actions. `None`, after saying why, if they are wrong; otherwise whether they were there.
    pub(super) fn takes(&mut self, args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<bool> {
        match args.next_text() {
            "flowid" | "classid" => {
                args.take();
                self.class = Some(args.value(findings, class)?).filter(|class| *class != Handle::NONE);
            }
            word if starts_action(word) => self.actions.extend(actions::read(args, findings)?),
            _ => return Some(false),
        }
        Some(true)
    }

    /// Takes all that is left. Words that a filter of this kind has beside them are said to be unknown.
    pub(super) fn takes_rest(
        &mut self,
        of: &str,
        own: &[&str],
        args: &mut Args<'_, '_>,
        findings: &mut Findings,
    ) -> Option<()> {
        while let Some(arg) = args.peek() {
            if !self.takes(args, findings)? {
                let known: Vec<_> = own.iter().copied().chain(["flowid", "classid", "action"]).collect();
                unknown(arg, of, &known, findings);
                args.skip_all();
                return None;
            }
        }
        Some(())
    }
}

/// A class, or the discipline itself, which of htb means to send at once; `none` is as if nothing were written.
fn class(text: &str) -> Result<Handle, Wrong> {
    let handle = super::names::handle(text).ok().filter(|_| text.contains(':') || text == "none");
    handle.map_or_else(|| class_handle(text), Ok)
}
