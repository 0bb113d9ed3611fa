//! Traps of traffic control on CAN: what a [`Tree`] does that its author will not have meant.
//!
//! Each finding is one [`Trap`] in one [`Place`], with an explanation and a remedy. A tree that [`super::compile`] makes has none,
//! except that it drops the oldest frames where the policy says so. What depends on a fact that is not known is not said.
//!
//! # Source
//! `net/sched/` of Linux 6.1 and 6.12, and runs on both; SocketCAN and queueing disciplines (Sojka, Lisový, Píša, 2011).

pub mod code;

mod fair;
mod loss;
mod queue;
mod shape;

use super::discipline::SizeTable;
use super::handle::Handle;
use super::tree::{Qdisc, Tree};
use candor_core::diagnostic::Severity;
use candor_core::frame::{CAN_MTU, CANFD_MTU};
use candor_core::units::BitRate;

pub use code::Trap;

/// What is known of an interface and its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Bit rate of the bus.
    pub bitrate: Option<BitRate>,
    /// Whether there are frames of CAN FD.
    pub has_fd: Option<bool>,
    /// `txqueuelen` of the interface.
    pub queue_frames: Option<u32>,
    /// How many frames the driver and its controller hold.
    pub driver_frames: Option<u32>,
    /// How many frames fit into the send buffer of a socket (`SO_SNDBUF`); 279 by default.
    pub socket_frames: Option<u32>,
    /// Whether somebody brings the controller back that has left the bus (bus-off).
    pub restarts: Option<bool>,
    /// Major and minor number of the kernel's release.
    pub kernel: Option<(u32, u32)>,
}

/// One trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub trap: Trap,
    /// Where.
    pub place: Place,
}

impl Finding {
    /// Its stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.trap.code()
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        if self.code().starts_with('N') { Severity::Note } else { Severity::Warning }
    }
}

/// Where in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A class.
    Class(Handle),
    /// A filter, by its position in [`Tree::filters`].
    Filter(usize),
    /// A discipline.
    Qdisc(Handle),
    /// All of it.
    Tree,
}

/// Every trap in a tree.
#[must_use]
pub fn lint(tree: &Tree, facts: &Facts) -> Vec<Finding> {
    let subject = Subject { tree, facts, frame: Frame::of(tree) };
    let mut findings = Vec::new();
    for qdisc in &tree.qdiscs {
        let mut report = |trap| findings.push(Finding { trap, place: Place::Qdisc(qdisc.handle) });
        fair::qdisc(&subject, qdisc, &mut report);
        shape::qdisc(&subject, qdisc, &mut report);
        loss::qdisc(&subject, qdisc, &mut report);
        queue::qdisc(&subject, qdisc, &mut report);
    }
    for class in &tree.classes {
        shape::class(&subject, class, &mut |trap| findings.push(Finding { trap, place: Place::Class(class.handle) }));
    }
    for (at, filter) in tree.filters.iter().enumerate() {
        let mut report = |trap| findings.push(Finding { trap, place: Place::Filter(at) });
        loss::filter(&subject, filter, &mut report);
        shape::filter(&subject, filter, &mut report);
    }
    queue::tree(&subject, &mut |trap| findings.push(Finding { trap, place: Place::Tree }));
    findings
}

/// What all checks look at.
struct Subject<'a> {
    tree: &'a Tree,
    facts: &'a Facts,
    frame: Frame,
}

impl<'a> Subject<'a> {
    /// The discipline that hangs directly below another one, or below one of its classes.
    fn children(&self, qdisc: &Qdisc) -> impl Iterator<Item = &'a Qdisc> {
        let handle = qdisc.handle;
        let is_place = |parent: Handle| [Handle::ROOT, Handle::CLSACT].contains(&parent);
        let is_child =
            move |child: &&Qdisc| handle != Handle::NONE && !is_place(child.parent) && child.parent.qdisc() == handle;
        self.tree.qdiscs.iter().filter(is_child)
    }

    /// Bytes that the longest frame counts as: of CAN FD if there are some.
    fn longest_bytes(&self) -> u32 {
        if self.facts.has_fd == Some(true) { self.frame.fd_bytes } else { self.frame.classic_bytes }
    }
}

/// What frames count as.
#[derive(Clone, Copy)]
struct Frame {
    classic_bytes: u32,
    fd_bytes: u32,
}

impl Frame {
    fn of(tree: &Tree) -> Self {
        let stab = tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT).and_then(|root| root.stab.as_ref());
        let counts_as = |bytes: usize| {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            u32::try_from(stab.map_or(bytes, |stab| counted(stab, bytes)).max(1)).unwrap_or(u32::MAX)
        };
        Self { classic_bytes: counts_as(CAN_MTU), fd_bytes: counts_as(CANFD_MTU) }
    }
}

/// # Source
/// `__qdisc_calculate_pkt_len()`.
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

#[cfg(test)]
mod tests;
