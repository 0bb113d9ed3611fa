//! The kernel's list of jobs while a script runs: newest first.
//!
//! # Source
//! `cgw_create_job()`, `cgw_remove_job()` and `cgw_remove_all_jobs()` in `net/can/gw.c`.

use std::collections::{HashSet, VecDeque};
use std::num::NonZeroU32;

use super::code;
use super::entry::Entry;
use candor_core::diagnostic::{Diagnostic, Findings};

#[derive(Debug, Default)]
pub(super) struct Table {
    /// In the order in which can-gw delivers.
    entries: VecDeque<Entry>,
    /// Those of the entries; each is there once.
    uids: HashSet<NonZeroU32>,
}

impl Table {
    /// What is left at the end, in the order of delivery.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries.into()
    }

    /// A line of a listing, which is already in the order of delivery.
    pub(super) fn append(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// `cangw -A`: at the head, or into the job with the same uid.
    pub(super) fn add(&mut self, entry: Entry, findings: &mut Findings) {
        let is_new = entry.uid.is_none_or(|uid| self.uids.insert(uid));
        let existing = if is_new { None } else { self.entries.iter_mut().find(|other| other.uid == entry.uid) };
        let Some(existing) = existing else {
            self.entries.push_front(entry);
            return;
        };
        let first = existing.span.clone();
        let report = |diagnostic: Diagnostic| diagnostic.also(first, "the job with this uid");
        if existing.ends != entry.ends {
            let message = "The kernel refuses this: another job has the uid, with other interfaces or another filter";
            findings.report(
                report(Diagnostic::error(code::KERNEL, entry.span, message)).help("give each job a uid of its own"),
            );
            return;
        }
        if existing.handling.format != entry.handling.format {
            let message = "This gives a job for one frame format the modifications of the other";
            findings.report(
                report(Diagnostic::error(code::NOT_EXPRESSIBLE, entry.span, message))
                    .help("give the classic and the CAN FD job a uid each"),
            );
            return;
        }
        if existing.handling != entry.handling {
            let message = "This exchanges the modifications of the job with this uid; flags and hop limit stay";
            findings.report(
                report(Diagnostic::warning(code::IGNORED, entry.span.clone(), message))
                    .help("to change them too, delete the job and add it anew"),
            );
        }
        existing.changes = entry.changes;
        existing.span = entry.span;
    }

    /// `cangw -D`: the newest job that is the same; with a uid the modifications do not matter.
    pub(super) fn delete(&mut self, wanted: &Entry, findings: &mut Findings) {
        let is_same = |entry: &Entry| {
            let changes = if entry.uid.is_some() || wanted.uid.is_some() {
                entry.uid == wanted.uid
            } else {
                entry.changes == wanted.changes
            };
            entry.handling == wanted.handling && changes && entry.ends == wanted.ends
        };
        match self.entries.iter().position(is_same) {
            Some(found) => {
                let uid = self.entries.remove(found).and_then(|entry| entry.uid);
                uid.map(|uid| self.uids.remove(&uid));
            }
            None => findings.report(
                Diagnostic::warning(code::NOTHING_DELETED, wanted.span.clone(), "This deletes nothing").help(
                    "can-gw deletes a job that has the same interfaces, flags, hop limit, filter and modifications",
                ),
            ),
        }
    }

    /// `cangw -F`
    pub(super) fn flush(&mut self) {
        self.entries.clear();
        self.uids.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
