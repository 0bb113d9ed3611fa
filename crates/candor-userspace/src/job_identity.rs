//! The kernel's notion of equal jobs, and of jobs whose order matters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use candor_core::filter::ReceiveList;
use candor_core::frame::FrameFormat;
use candor_core::rule::{Checksums, Modifications};
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{CangwJob, ExactJob};

/// The bytes that the kernel compares to find the job to delete: all, or with a uid all except modifications and
/// checksums.
///
/// # Source
/// [`cgw_remove_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1196).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity<'a>(Cow<'a, [u8]>);

impl<'a> Identity<'a> {
    pub fn of(exact: &'a ExactJob) -> Self {
        let job = exact.job();
        if job.uid == 0 {
            return Self(exact.bytes().into());
        }
        let (modifications, checksums) = (Modifications::NONE, Checksums::NONE);
        Self(CangwJob { modifications, checksums, ..*job }.to_bytes().into())
    }
}

/// Multiset of jobs: the number of equal ones by identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Vec<u8>, usize>);

impl Counts {
    pub fn of(identities: &[Identity<'_>]) -> Self {
        let mut counts = BTreeMap::new();
        for identity in identities {
            *counts.entry(identity.0.to_vec()).or_default() += 1;
        }
        Self(counts)
    }

    pub fn of_jobs<'a>(jobs: impl IntoIterator<Item = &'a ExactJob>) -> Self {
        let identities: Vec<_> = jobs.into_iter().map(Identity::of).collect();
        Self::of(&identities)
    }

    /// Removes one; false if there is none.
    pub fn take(&mut self, identity: &Identity<'_>) -> bool {
        let Some(count) = self.0.get_mut(&*identity.0).filter(|count| **count > 0) else { return false };
        *count -= 1;
        true
    }

    pub fn contains(&self, identity: &Identity<'_>) -> bool {
        self.0.contains_key(&*identity.0)
    }

    pub fn add(&mut self, other: &Self) {
        for (identity, count) in &other.0 {
            *self.0.entry(identity.clone()).or_default() += count;
        }
    }

    /// Intersection of two multisets.
    pub fn at_most(&self, other: &Self) -> Self {
        self.with(other, usize::min)
    }

    /// Difference of two multisets.
    pub fn without(&self, other: &Self) -> Self {
        self.with(other, usize::saturating_sub)
    }

    fn with(&self, other: &Self, count: impl Fn(usize, usize) -> usize) -> Self {
        let of = |(identity, mine): (&Vec<u8>, &usize)| {
            let theirs = other.0.get(identity).copied().unwrap_or_default();
            (identity.clone(), count(*mine, theirs))
        };
        Self(candor_core::order::map(self.0.iter().map(of)))
    }
}

/// Jobs to which the kernel offers a frame one after the other. The order of jobs in different groups does not matter.
///
/// # Source
/// [`can_rcv_list_find()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L364),
/// [`can_rcv_filter()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L578).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    source: InterfaceIndex,
    list: ReceiveList,
    /// Only for the list of single identifiers.
    identifier: u32,
    is_fd: bool,
}

impl Group {
    pub fn of(exact: &ExactJob) -> Self {
        let job = exact.job();
        let normalised = job.filter.normalise();
        let identifier = if normalised.list == ReceiveList::Exact { normalised.id } else { 0 };
        let is_fd = job.flags.format() == FrameFormat::Fd;
        Self { source: job.source, list: normalised.list, identifier, is_fd }
    }
}
