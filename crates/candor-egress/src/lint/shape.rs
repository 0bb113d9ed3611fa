//! Whether rates do what they are for.

use super::code::Trap;
use super::subject::Subject;
use crate::action::{Action, Police};
use crate::discipline::{Discipline, Tbf};
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::{Class, Qdisc, Share};

/// What the kernel raises a quantum of `htb` to that it has chosen itself.
const LEAST_CLASS_QUANTUM_BYTES: u32 = 1000;

pub(super) fn qdisc(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
    match &qdisc.discipline {
        Discipline::Tbf(tbf) => {
            bucket(subject, smallest(tbf), report);
            // In sfq, too, a frame is parked; but all flows are equal there, so that it overtakes nothing of worth.
            let parks = subject
                .children(qdisc)
                .find(|child| matches!(child.discipline, Discipline::Ets(_) | Discipline::Htb(_) | Discipline::Drr));
            if let Some(child) = parks {
                report(Trap::Parked { below: child.discipline.kind().to_owned() });
            }
        }
        Discipline::Htb(htb) => {
            let default = Handle::new(qdisc.handle.major(), htb.default);
            if htb.default == 0 || !subject.tree.classes.iter().any(|class| class.handle == default) {
                report(Trap::NoDefault);
            }
        }
        _ => {}
    }
}

fn smallest(tbf: &Tbf) -> u32 {
    tbf.peak.map_or(tbf.burst_bytes, |peak| peak.burst_bytes.min(tbf.burst_bytes))
}

fn bucket(subject: &Subject<'_>, burst_bytes: u32, report: &mut impl FnMut(Trap)) {
    let frame_bytes = subject.longest_bytes();
    if burst_bytes < frame_bytes {
        report(Trap::Burst { burst_bytes, frame_bytes });
    }
}

pub(super) fn class(subject: &Subject<'_>, class: &Class, report: &mut impl FnMut(Trap)) {
    let Share::Htb(htb) = &class.share else { return };
    let is_leaf = !subject.tree.classes.iter().any(|other| other.parent == class.handle);
    let has_peers = subject.tree.classes.iter().any(|other| other.parent == class.parent && other != class);
    let frames = LEAST_CLASS_QUANTUM_BYTES / subject.frame.classic_bytes;
    if htb.quantum_bytes.is_none() && is_leaf && has_peers && frames > 1 {
        report(Trap::CoarseClass { frames });
    }
}

/// Limits of bytes: those of frames have no length to be too short for. Before the root no size table counts.
pub(super) fn filter(subject: &Subject<'_>, filter: &Filter, report: &mut impl FnMut(Trap)) {
    let is_before_root = [Handle::INGRESS, Handle::EGRESS].contains(&filter.parent);
    for action in &filter.actions {
        let Action::Police(Police { bytes: Some(bytes), .. }) = action else { continue };
        let burst_bytes = bytes.burst_bytes.min(bytes.mtu_bytes);
        if !is_before_root {
            bucket(subject, burst_bytes, report);
            continue;
        }
        let frame_bytes = if subject.facts.has_fd == Some(true) { 72 } else { 16 };
        if burst_bytes < frame_bytes {
            report(Trap::Burst { burst_bytes, frame_bytes });
        }
    }
}
