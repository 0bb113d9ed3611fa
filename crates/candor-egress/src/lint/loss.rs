//! Whether frames are lost, and who hears of it.

use super::code::Trap;
use super::subject::Subject;
use crate::discipline::{Discipline, Sfq};
use crate::ematch::Ematch;
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, Filter};
use crate::tree::Qdisc;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

/// Of `sfq` if nobody says it: of all, of each flow, and flows.
const USUAL_FRAMES: u32 = 127;

pub(super) fn qdisc(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
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
            report(Trap::Silent { why: "fq_codel drops frames that have waited for long" });
        }
        Discipline::PfifoHeadDrop { .. } => {
            report(Trap::Silent { why: "A full pfifo_head_drop drops the oldest frame" });
        }
        _ => {}
    }
}

/// A sender hears that its own flow is full, but not that all of them are.
fn silent(sfq: &Sfq) -> Option<&'static str> {
    let usual = |frames: Option<u32>| u64::from(frames.unwrap_or(USUAL_FRAMES));
    if sfq.head_drop {
        return Some("A full flow of sfq drops its oldest frame");
    }
    let is_full_first = usual(sfq.limit_frames) < usual(sfq.depth_frames) * usual(sfq.flows);
    is_full_first.then_some("Senders that fill sfq together, and none its own part, lose frames of the longest flow")
}

/// Whether a filter has a class for every frame.
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

/// Whether an expression alone fits every frame of 11 bits, and of 29.
fn rest(expression: &Ematch) -> (bool, bool) {
    let Ematch::Canid(rules) = expression else { return (false, false) };
    let has = |format, bits| rules.iter().any(|rule| rule.id & CAN_EFF_FLAG == format && rule.mask & bits == 0);
    (has(0, CAN_SFF_MASK), has(CAN_EFF_FLAG, CAN_EFF_MASK))
}

pub(super) fn filter(subject: &Subject<'_>, filter: &Filter, report: &mut impl FnMut(Trap)) {
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
    if let Classifier::Basic(Some(expression)) = &filter.classifier {
        let is_taken = |other: &Filter, (sff, eff): (bool, bool)| match &other.classifier {
            Classifier::Basic(Some(expression)) => {
                let has = rest(expression);
                (sff && has.0) || (eff && has.1)
            }
            _ => takes_all(other),
        };
        match rest(expression) {
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
