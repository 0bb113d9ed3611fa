//! The checks for each trap.

use crate::action::{Action, Police};
use crate::discipline::{Discipline, Sfq, Tbf};
use crate::ematch::Ematch;
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, Filter};
use crate::handle::Handle;
use crate::policy::LONGEST_CLASSIC_BITS;
use crate::tree::{Class, Qdisc, Share};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

use super::code::Trap;
use super::subject::Subject;

const LEAST_QUANTUM_BYTES: u32 = 256;

pub(super) fn fair(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
    let has_filters = subject.tree.filters.iter().any(|filter| filter.parent == qdisc.handle);
    let kind = match &qdisc.discipline {
        Discipline::Sfq(_) if !has_filters => return report(Trap::BlindFlows { kind: "sfq" }),
        Discipline::FqCodel(_) if !has_filters => return report(Trap::BlindFlows { kind: "fq_codel" }),
        Discipline::Sfq(_) => "sfq",
        Discipline::FqCodel(_) => "fq_codel",
        Discipline::Drr => "drr",
        // A single band that is not strict has no round.
        Discipline::Ets(ets) if ets.bands.saturating_sub(ets.strict) > 1 => "ets",
        _ => return,
    };
    let frames = LEAST_QUANTUM_BYTES / subject.frame.classic_bytes;
    if frames > 1 {
        report(Trap::CoarseRounds { kind, frames });
    }
}

/// Default limit, depth and flows of `sfq`.
const USUAL_FRAMES: u32 = 127;

pub(super) fn loss(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
    let filters = subject.tree.filters.iter().filter(|filter| filter.parent == qdisc.handle);
    let has_filters = filters.clone().next().is_some();
    let drops_rest = || !filters.clone().any(takes_all);
    match &qdisc.discipline {
        Discipline::Drr => {
            report(Trap::Rejected);
            if drops_rest() {
                report(Trap::DropsRest { kind: "drr" });
            }
        }
        Discipline::Sfq(sfq) => {
            if has_filters && drops_rest() {
                report(Trap::DropsRest { kind: "sfq" });
            }
            if let Some(why) = silent(sfq) {
                report(Trap::Silent { why });
            }
        }
        Discipline::FqCodel(_) => {
            if has_filters && drops_rest() {
                report(Trap::DropsRest { kind: "fq_codel" });
            }
            report(Trap::Silent { why: "fq_codel drops frames that waited too long" });
        }
        Discipline::PfifoHeadDrop { .. } => {
            report(Trap::Silent { why: "A full pfifo_head_drop drops the oldest frame" });
        }
        _ => {}
    }
}

/// A sender gets an error if its own flow is full, but not if all of them are.
fn silent(sfq: &Sfq) -> Option<&'static str> {
    let usual = |frames: Option<u32>| u64::from(frames.unwrap_or(USUAL_FRAMES));
    if sfq.head_drop {
        return Some("A full flow of sfq drops its oldest frame");
    }
    let is_full_first = usual(sfq.limit_frames) < usual(sfq.depth_frames) * usual(sfq.flows);
    is_full_first.then_some("When the total limit of sfq is reached, the longest flow loses frames")
}

fn takes_all(filter: &Filter) -> bool {
    filter.protocol == ETH_P_ALL
        && match &filter.classifier {
            Classifier::Basic(None) | Classifier::Matchall => true,
            Classifier::Basic(Some(expression)) => fits_all(expression),
            Classifier::Flow(flow) => flow.hashed,
            Classifier::U32(node) => node.divisor.is_none() && node.keys.iter().all(|key| key.mask == 0),
            Classifier::ControlGroups(_) | Classifier::Fw { .. } | Classifier::Other { .. } => false,
        }
}

fn fits_all(expression: &Ematch) -> bool {
    match expression {
        Ematch::And(terms) => terms.iter().all(fits_all),
        Ematch::Or(terms) => terms.iter().any(fits_all),
        Ematch::Canid(_) => rest(expression) == (true, true),
        Ematch::U32 { mask, offset, .. } => *mask == 0 && (0..=12).contains(offset),
        _ => false,
    }
}

/// True, by identifier format, if an expression alone matches every frame of 11 and of 29 bits.
fn rest(expression: &Ematch) -> (bool, bool) {
    let Ematch::Canid(rules) = expression else { return (false, false) };
    let has = |format, bits| rules.iter().any(|rule| rule.id & CAN_EFF_FLAG == format && rule.mask & bits == 0);
    (has(0, CAN_SFF_MASK), has(CAN_EFF_FLAG, CAN_EFF_MASK))
}

/// True if an expression tests identifiers of 11 and of 29 bits, so that its author knows of both.
fn names_both_formats(expression: &Ematch) -> bool {
    let Ematch::Canid(rules) = expression else { return false };
    [0, CAN_EFF_FLAG].iter().all(|format| rules.iter().any(|rule| rule.id & CAN_EFF_FLAG == *format))
}

pub(super) fn loss_of_filter(subject: &Subject<'_>, filter: &Filter, report: &mut impl FnMut(Trap)) {
    let same = subject.tree.filters.iter().filter(|other| other.parent == filter.parent);
    let has_other = |protocol| {
        let mut same = same.clone();
        same.any(|other| {
            [protocol, ETH_P_ALL].contains(&other.protocol)
                && other.classifier == filter.classifier
                && other.class == filter.class
        })
    };
    if filter.protocol == ETH_P_CAN && subject.facts.has_fd == Some(true) && !has_other(ETH_P_CANFD) {
        report(Trap::OneProtocol { leaves_out_fd: true });
    }
    if filter.protocol == ETH_P_CANFD && !has_other(ETH_P_CAN) {
        report(Trap::OneProtocol { leaves_out_fd: false });
    }
    if !subject.facts.is_compiled
        && let Classifier::Basic(Some(expression)) = &filter.classifier
    {
        let is_taken = |other: &Filter, (sff, eff): (bool, bool)| match &other.classifier {
            Classifier::Basic(Some(expression)) => {
                let has = rest(expression);
                (sff && has.0) || (eff && has.1)
            }
            _ => takes_all(other),
        };
        match rest(expression) {
            _ if names_both_formats(expression) => {}
            (true, false) if !same.clone().any(|other| is_taken(other, (false, true))) => {
                report(Trap::HalfRest { leaves_out_extended: true });
            }
            (false, true) if !same.clone().any(|other| is_taken(other, (true, false))) => {
                report(Trap::HalfRest { leaves_out_extended: false });
            }
            _ => {}
        }
    }
}

/// Kernels with the lockless `pfifo_fast`, before it was fixed.
const REORDERING: std::ops::RangeInclusive<(u32, u32)> = (5, 2)..=(5, 5);

pub(super) fn queue(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
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

/// A queue without a length, or a class without a queue, for which the kernel creates one.
fn leaves_length_open(subject: &Subject<'_>, qdisc: &Qdisc) -> bool {
    let has_queue = |class: Handle| subject.tree.qdiscs.iter().any(|child| child.parent == class);
    let numbered = |bands: u8| (1..=u16::from(bands)).map(|minor| Handle::new(qdisc.handle.major(), minor));
    match &qdisc.discipline {
        Discipline::Bfifo { limit_bytes: limit }
        | Discipline::Pfifo { limit_frames: limit }
        | Discipline::PfifoHeadDrop { limit_frames: limit } => limit.is_none(),
        Discipline::Prio(_) | Discipline::Ets(_) => !numbered(qdisc.discipline.bands()).all(has_queue),
        Discipline::Drr | Discipline::Htb(_) => {
            let classes = &subject.tree.classes;
            let is_leaf = |class: Handle| !classes.iter().any(|other| other.parent == class);
            let own = classes.iter().map(|class| class.handle).filter(|class| class.qdisc() == qdisc.handle);
            own.into_iter().any(|class| is_leaf(class) && !has_queue(class))
        }
        _ => false,
    }
}

/// Checks for reordering and loss outside of the tree.
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

/// Minimum of the default quantum of `htb`.
const LEAST_CLASS_QUANTUM_BYTES: u32 = 1000;

pub(super) fn shape(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
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

/// Checks limits in bytes. Size tables do not apply before the root.
pub(super) fn burst_of_filter(subject: &Subject<'_>, filter: &Filter, report: &mut impl FnMut(Trap)) {
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
