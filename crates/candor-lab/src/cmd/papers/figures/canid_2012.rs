//! The note "Em_canid ematch benchmark", 2012.

use super::{Figure, Paper, Rows};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;

/// The median of a configuration with 1 ms between frames: first those of standard identifiers, then those of extended ones.
macro_rules! canid {
    ($before:literal, "SFF") => {
        canid!(concat!("before=", $before))
    };
    ($before:literal, "EFF") => {
        canid!(concat!("before=", $before, "#2"))
    };
    ($step:expr) => {
        &["measured", $step, "calls", "gap_ns=1000000", "can_send", "p50_ns"]
    };
}

pub(super) const FIGURES: &[Figure] = &[Figure {
    id: "2012-canid",
    paper: Paper::Canid2012,
    number: "Table",
    title: "What em_canid costs",
    setup: "The time within can_send() by function_graph on a virtual interface: pfifo_fast; prio without filters; prio with ten bands \
            and one rule each (prio_1), or ten rules each (prio_2), with frames for the first or for the last of them.",
    sheet: Sheet::SendCanid,
    claims: &[
        Claim {
            says: "prio without filters costs hardly more than the default",
            published: "41.4 us beside 40.5 us: 1.02 times",
            ours: Ours::SaidRatio(canid!("prio_0", "SFF"), canid!("default_qdisc", "SFF")),
            unit: Unit::Times,
            holds: (1.0, 1.05),
            otherwise: Differs,
            because: "Today an empty pfifo_fast is passed by altogether, which made the default faster, and prio is not.",
        },
        Claim {
            says: "The first rule costs a third of can_send()",
            published: "55.7 us beside 41.4 us: 1.35 times",
            ours: Ours::SaidRatio(canid!("prio_1first", "SFF"), canid!("prio_0", "SFF")),
            unit: Unit::Times,
            holds: (1.15, 1.6),
            otherwise: Differs,
            because: "It is about 330 instructions of 3900. The board's figures are times, and it has caches.",
        },
        Claim {
            says: "The tenth band costs more than the first (SFF)",
            published: "66.7 us beside 55.7 us: 1.20 times",
            ours: Ours::SaidRatio(canid!("prio_1last", "SFF"), canid!("prio_1first", "SFF")),
            unit: Unit::Times,
            holds: (1.05, MANY),
            otherwise: Differs,
            because: "Classifiers are asked one after the other: about 170 instructions each.",
        },
        Claim {
            says: "Ten rules in each of ten classifiers are dearer still (SFF)",
            published: "90.8 us beside 65.1 us: 1.39 times",
            ours: Ours::SaidRatio(canid!("prio_2last", "SFF"), canid!("prio_2first", "SFF")),
            unit: Unit::Times,
            holds: (1.15, MANY),
            otherwise: Differs,
            because: "Each of a hundred ematches is called until one matches.",
        },
        Claim {
            says: "For extended identifiers the same is dearer than for standard ones",
            published: "130.8 us beside 90.8 us: 1.44 times",
            ours: Ours::SaidRatio(canid!("prio_2last", "EFF"), canid!("prio_2last", "SFF")),
            unit: Unit::Times,
            holds: (1.02, MANY),
            otherwise: Differs,
            because: "Extended identifiers are compared in a list, standard ones looked up in a bitmap; with one rule in each ematch there \
                      is little to compare.",
        },
    ],
    pictures: &[],
    rows: Rows::Said(
        "p50 in instructions",
        &[
            ("default_qdisc, SFF", canid!("default_qdisc", "SFF")),
            ("prio_0, SFF", canid!("prio_0", "SFF")),
            ("prio_1first, SFF", canid!("prio_1first", "SFF")),
            ("prio_1last, SFF", canid!("prio_1last", "SFF")),
            ("prio_2first, SFF", canid!("prio_2first", "SFF")),
            ("prio_2last, SFF", canid!("prio_2last", "SFF")),
            ("default_qdisc, EFF", canid!("default_qdisc", "EFF")),
            ("prio_0, EFF", canid!("prio_0", "EFF")),
            ("prio_1first, EFF", canid!("prio_1first", "EFF")),
            ("prio_1last, EFF", canid!("prio_1last", "EFF")),
            ("prio_2first, EFF", canid!("prio_2first", "EFF")),
            ("prio_2last, EFF", canid!("prio_2last", "EFF")),
            ("the tracer itself", &["tracer", "p50_ns"]),
        ],
    ),
}];
