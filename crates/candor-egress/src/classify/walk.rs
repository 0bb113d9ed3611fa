//! The state of a frame on its way through a tree.

use super::course::{Packet, Tested, Unknown};
use crate::action::{Action, Police, Verdict};
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::Tree;

pub(super) struct Walk<'t, 'f> {
    pub(super) tree: &'t Tree,
    /// With what actions have changed.
    pub(super) packet: Packet<'f>,
    pub(super) tested: Vec<Tested>,
}

/// A class that a filter names.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    Class(Handle),
    /// One of so many from the first.
    Flow {
        first: Handle,
        count: Option<u32>,
    },
}

/// A filter with its position in the tree.
pub(super) type Numbered<'t> = (usize, &'t Filter);

impl Walk<'_, '_> {
    /// Does what a filter asks for; without anything, the frame passes.
    pub(super) fn act(&mut self, actions: &[Action]) -> Result<Verdict, Unknown> {
        let mut last = Verdict::Pass;
        for action in actions {
            last = match action {
                Action::Gact { verdict } | Action::Mirred { verdict, .. } => *verdict,
                Action::Other { .. } => return Err(Unknown::Kind),
                Action::Police(Police { exceed, conform, .. }) if exceed == conform => *conform,
                Action::Police(_) => return Err(Unknown::Traffic),
                Action::Skbedit { priority, mark, verdict } => {
                    self.packet.priority = priority.map_or(self.packet.priority, |priority| priority.0);
                    self.packet.mark = mark.unwrap_or(self.packet.mark);
                    *verdict
                }
            };
            if last != Verdict::Pipe {
                break;
            }
        }
        Ok(last)
    }
}
