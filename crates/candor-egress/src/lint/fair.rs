//! Whether those who should take turns do.

use super::code::Trap;
use super::subject::Subject;
use crate::discipline::Discipline;
use crate::tree::Qdisc;

/// Quanta below this are raised.
const LEAST_QUANTUM_BYTES: u32 = 256;

pub(super) fn qdisc(subject: &Subject<'_>, qdisc: &Qdisc, report: &mut impl FnMut(Trap)) {
    let has_filters = subject.tree.filters.iter().any(|filter| filter.parent == qdisc.handle);
    let kind = match &qdisc.discipline {
        Discipline::Sfq(_) if !has_filters => return report(Trap::BlindFlows { kind: "sfq" }),
        Discipline::FqCodel(_) if !has_filters => return report(Trap::BlindFlows { kind: "fq_codel" }),
        Discipline::Sfq(_) => "sfq",
        Discipline::FqCodel(_) => "fq_codel",
        Discipline::Drr => "drr",
        // One band that is not strict has nobody to take turns with.
        Discipline::Ets(ets) if ets.bands.saturating_sub(ets.strict) > 1 => "ets",
        _ => return,
    };
    let frames = LEAST_QUANTUM_BYTES / subject.frame.classic_bytes;
    if frames > 1 {
        report(Trap::CoarseRounds { kind, frames });
    }
}
