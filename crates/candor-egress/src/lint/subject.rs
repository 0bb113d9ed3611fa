//! The tree to check, and facts about its interface.

use candor_core::frame::{CAN_MTU, CANFD_MTU};
use candor_core::units::BitRate;

use crate::discipline::SizeTable;
use crate::handle::Handle;
use crate::tree::{Qdisc, Tree};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub bitrate: Option<BitRate>,
    pub has_fd: Option<bool>,
    /// `txqueuelen`.
    pub queue_frames: Option<u32>,
    /// Frames that the driver and its controller hold.
    pub driver_frames: Option<u32>,
    /// Frames that fit into the send buffer of a socket (`SO_SNDBUF`); 279 by default.
    pub socket_frames: Option<u32>,
    /// True if the controller restarts after bus-off.
    pub restarts: Option<bool>,
    /// Major and minor version.
    pub kernel: Option<(u32, u32)>,
    /// True for a tree compiled from bands, whose author has said which frames they take.
    pub is_compiled: bool,
}

pub(super) struct Subject<'a> {
    pub(super) tree: &'a Tree,
    pub(super) facts: &'a Facts,
    pub(super) frame: Frame,
}

impl<'a> Subject<'a> {
    /// The disciplines directly below another one, or below one of its classes.
    pub(super) fn children(&self, qdisc: &Qdisc) -> impl Iterator<Item = &'a Qdisc> {
        let handle = qdisc.handle;
        let is_place = |parent: Handle| [Handle::ROOT, Handle::CLSACT].contains(&parent);
        let is_child =
            move |child: &&Qdisc| handle != Handle::NONE && !is_place(child.parent) && child.parent.qdisc() == handle;
        self.tree.qdiscs.iter().filter(is_child)
    }

    /// Accounted length of the longest frame: of CAN FD if there are such frames.
    pub(super) fn longest_bytes(&self) -> u32 {
        if self.facts.has_fd == Some(true) { self.frame.fd_bytes } else { self.frame.classic_bytes }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) classic_bytes: u32,
    pub(super) fd_bytes: u32,
}

impl Frame {
    pub(super) fn of(tree: &Tree) -> Self {
        let stab = tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT).and_then(|root| root.stab.as_ref());
        let counts_as = |bytes: usize| {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            u32::try_from(stab.map_or(bytes, |stab| counted(stab, bytes)).max(1)).unwrap_or(u32::MAX)
        };
        Self { classic_bytes: counts_as(CAN_MTU), fd_bytes: counts_as(CANFD_MTU) }
    }
}

/// # Source
/// [`__qdisc_calculate_pkt_len()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L587) in Linux 6.1.
fn counted(stab: &SizeTable, bytes: i64) -> i64 {
    let length = bytes + i64::from(stab.overhead_bytes);
    if stab.sizes.is_empty() {
        return length;
    }
    let slot =
        usize::try_from((length + i64::from(stab.cell_align)).max(0) >> stab.cell_log.min(31)).unwrap_or(usize::MAX);
    let (last, slots) = (stab.sizes.len() - 1, stab.sizes.len());
    let size = match stab.sizes.get(slot) {
        Some(size) => i64::from(*size),
        None => {
            let most = i64::from(u32::MAX);
            let rounds = i64::try_from(slot / slots).unwrap_or(most).min(most);
            i64::from(stab.sizes[last]) * rounds + i64::from(stab.sizes[slot % slots])
        }
    };
    size << stab.size_log.min(15)
}
