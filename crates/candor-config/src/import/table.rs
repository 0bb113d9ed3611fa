//! The kernel's list of jobs while a script runs: newest first.
//!
//! # Source
//! Linux 6.1:
//! [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071),
//! [`cgw_remove_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1196),
//! [`cgw_remove_all_jobs()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1182).

use std::collections::{HashSet, VecDeque};
use std::num::NonZeroU32;

use super::code;
use super::entry::Entry;
use candor_core::diagnostic::{Diagnostic, Findings};

#[derive(Debug, Default)]
pub(super) struct Table {
    /// In order of delivery.
    entries: VecDeque<Entry>,
    /// The uids of the entries; unique.
    uids: HashSet<NonZeroU32>,
}

impl Table {
    /// In order of delivery.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries.into()
    }

    /// A line of a listing, which is already in the order of delivery.
    pub(super) fn append(&mut self, entry: Entry) {
        self.entries.push_back(entry);
    }

    /// `cangw -A`: adds at the head, or updates the job with the same uid.
    pub(super) fn add(&mut self, entry: Entry, findings: &mut Findings) {
        let is_new = entry.uid().is_none_or(|uid| self.uids.insert(uid));
        let existing = if is_new { None } else { self.entries.iter_mut().find(|other| other.uid() == entry.uid()) };
        let Some(existing) = existing else {
            self.entries.push_front(entry);
            return;
        };
        let first = existing.span.clone();
        let report = |diagnostic: Diagnostic| diagnostic.also(first, "the job with this uid");
        if !existing.has_ends_of(&entry) {
            let message = "The kernel rejects this: another job has this uid, with other interfaces or another filter";
            return findings.report(
                report(Diagnostic::error(code::KERNEL, entry.span, message)).help("give each job its own uid"),
            );
        }
        if existing.format() != entry.format() {
            let message = "This gives a job of one frame format modifications for the other";
            let diagnostic = report(Diagnostic::error(code::NOT_EXPRESSIBLE, entry.span, message));
            return findings.report(diagnostic.help("give the classic and the CAN FD job different uids"));
        }
        if !existing.has_flags_of(&entry) {
            let message = "This replaces only the modifications of the job with this uid; flags and hop limit stay";
            findings.report(
                report(Diagnostic::warning(code::IGNORED, entry.span.clone(), message))
                    .help("to change these as well, delete the job and add it again"),
            );
        }
        existing.update(entry);
    }

    /// `cangw -D`: deletes the newest equal job; with a uid, modifications are not compared.
    pub(super) fn delete(&mut self, wanted: &Entry, findings: &mut Findings) {
        let is_same = |entry: &Entry| {
            let has_uid = entry.uid().is_some() || wanted.uid().is_some();
            let is_changed_alike = if has_uid { entry.uid() == wanted.uid() } else { entry.has_changes_of(wanted) };
            is_changed_alike && entry.has_flags_of(wanted) && entry.has_ends_of(wanted)
        };
        match self.entries.iter().position(is_same) {
            Some(found) => {
                let uid = self.entries.remove(found).and_then(|entry| entry.uid());
                uid.map(|uid| self.uids.remove(&uid));
            }
            None => findings.report(
                Diagnostic::warning(code::NOTHING_DELETED, wanted.span.clone(), "No job matches this delete command")
                    .help("can-gw deletes a job with the same interfaces, flags, hop limit, filter and modifications"),
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
