//! Whether queues are as long as somebody has wanted, and in what order they leave.

use super::code::Trap;
use super::subject::Subject;
use crate::discipline::Discipline;
use crate::handle::Handle;
use crate::policy::LONGEST_CLASSIC_BITS;
use crate::tree::Qdisc;

/// Kernels whose `pfifo_fast` has no lock, and not yet what came of the complaints.
const REORDERING: std::ops::RangeInclusive<(u32, u32)> = (5, 2)..=(5, 5);

pub(super) fn qdisc(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
    if qdisc.stab.is_some() && qdisc.parent != Handle::ROOT {
        report(Trap::InnerTable);
    }
    if leaves_length_open(subject, qdisc) {
        report(Trap::LengthByAccident { frames: subject.facts.queue_frames });
    }
    if let Discipline::PfifoFast = qdisc.discipline
        && subject.facts.kernel.is_some_and(|kernel| REORDERING.contains(&kernel))
    {
        report(Trap::Reorders);
    }
    if let (Discipline::Pfifo { limit_frames: Some(queue_frames) }, Some(socket_frames)) =
        (&qdisc.discipline, subject.facts.socket_frames)
        && *queue_frames < socket_frames
    {
        report(Trap::NeverBlocks { queue_frames: *queue_frames, socket_frames });
    }
}

/// A queue without a length, or a class without a queue, for which the kernel makes one.
fn leaves_length_open(subject: &Subject<'_>, qdisc: &Qdisc) -> bool {
    let has_queue = |class: Handle| subject.tree.qdiscs.iter().any(|child| child.parent == class);
    let numbered = |bands: u8| (1..=u16::from(bands)).map(|minor| Handle::new(qdisc.handle.major(), minor));
    match &qdisc.discipline {
        Discipline::Bfifo { limit_bytes: limit }
        | Discipline::Pfifo { limit_frames: limit }
        | Discipline::PfifoHeadDrop { limit_frames: limit } => limit.is_none(),
        Discipline::Prio(prio) => !numbered(prio.bands).all(has_queue),
        Discipline::Ets(ets) => !numbered(ets.bands).all(has_queue),
        Discipline::Drr | Discipline::Htb(_) => {
            let classes = &subject.tree.classes;
            let is_leaf = |class: Handle| !classes.iter().any(|other| other.parent == class);
            let own = classes.iter().map(|class| class.handle).filter(|class| class.qdisc() == qdisc.handle);
            own.into_iter().any(|class| is_leaf(class) && !has_queue(class))
        }
        _ => false,
    }
}

/// Who takes care of the order has to know what is ordered no more.
pub(super) fn tree(subject: &Subject<'_>, report: &mut impl FnMut(Trap)) {
    let orders = |qdisc: &Qdisc| {
        matches!(qdisc.discipline, Discipline::Prio(_) | Discipline::Ets(_) | Discipline::Skbprio { .. })
    };
    if let (Some(frames @ 2..), Some(bitrate)) = (subject.facts.driver_frames, subject.facts.bitrate)
        && subject.tree.qdiscs.iter().any(orders)
    {
        let us = u64::from(frames) * LONGEST_CLASSIC_BITS * 1_000_000 / u64::from(bitrate.bits_per_second());
        report(Trap::DeepDriver { frames, us });
    }
    if subject.facts.restarts == Some(false) && !subject.tree.qdiscs.is_empty() {
        report(Trap::StaysOff);
    }
}
