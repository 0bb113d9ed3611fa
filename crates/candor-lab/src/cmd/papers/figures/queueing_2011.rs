//! "SocketCAN and queueing disciplines: Final Report", 2011, chapter 4. Its claims about order and limits are held by
//! `docs/egress-claims.md`.

use super::{Drawn, Figure, Paper, Rows, SaidLine};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Said, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;

/// The median of a configuration at a gap.
macro_rules! send {
    ($before:literal, $gap:literal) => {
        &["measured", concat!("before=", $before), "calls", concat!("gap_ns=", $gap), "can_send", "p50_ns"]
    };
}

/// The median behind so many rules: first those of standard identifiers, then those of extended ones.
macro_rules! rules {
    (standard $count:literal) => {
        rules!(concat!("before=rules-", $count))
    };
    (extended $count:literal) => {
        rules!(concat!("before=rules-", $count, "#2"))
    };
    ($step:expr) => {
        &["measured", $step, "calls", "gap_ns=1000000", "can_send", "p50_ns"]
    };
}

const ALL_SLOW: [(&str, Said); 11] = [
    ("pfifo_fast", send!("pfifo_fast", "1000000")),
    ("pfifo_fast_inc", send!("pfifo_fast_inc", "1000000")),
    ("prio1", send!("prio1", "1000000")),
    ("prio1_inc", send!("prio1_inc", "1000000")),
    ("prio128", send!("prio128", "1000000")),
    ("prio128_array", send!("prio128_array", "1000000")),
    ("htb", send!("htb", "1000000")),
    ("htb_inc", send!("htb_inc", "1000000")),
    ("prio_sfq", send!("prio_sfq", "1000000")),
    ("prio_sfq_inc", send!("prio_sfq_inc", "1000000")),
    ("the tracer itself", &["tracer", "p50_ns"]),
];

const STANDARD: SaidLine = (
    "standard identifiers (bitmap)",
    &[
        (1.0, rules!(standard 1)),
        (16.0, rules!(standard 16)),
        (64.0, rules!(standard 64)),
        (128.0, rules!(standard 128)),
        (256.0, rules!(standard 256)),
        (512.0, rules!(standard 512)),
    ],
);
const EXTENDED: SaidLine = (
    "extended identifiers (list)",
    &[
        (1.0, rules!(extended 1)),
        (16.0, rules!(extended 16)),
        (64.0, rules!(extended 64)),
        (128.0, rules!(extended 128)),
        (256.0, rules!(extended 256)),
        (512.0, rules!(extended 512)),
    ],
);

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2011q-4.5",
        paper: Paper::Queueing2011,
        number: "Figure 4.5",
        title: "can_send() on a virtual interface",
        setup: "The time within the kernel's function can_send() by function_graph, for the configurations of Table 4.1 built by candor, \
                with em_canid for the filter. prio128_array is of extended identifiers, which em_canid keeps in a list; the tracer's own \
                part stands in the table.",
        sheet: Sheet::SendVcan,
        claims: &[
            Claim {
                says: "pfifo_fast is the cheapest; prio with four filters costs more",
                published: "pfifo_fast is really fast, the others are slower",
                ours: Ours::SaidRatio(send!("prio1", "0"), send!("pfifo_fast", "0")),
                unit: Unit::Times,
                holds: (1.02, MANY),
                otherwise: Differs,
                because: "An empty pfifo_fast is passed by, prio is not, and asks its filters.",
            },
            Claim {
                says: "No discipline costs more than twice of pfifo_fast",
                published: "typically no more than two times",
                ours: Ours::SaidRatio(send!("prio_sfq", "1000000"), send!("pfifo_fast", "1000000")),
                unit: Unit::Times,
                holds: (1.0, 2.0),
                otherwise: Differs,
                because: "prio_sfq is the dearest of them.",
            },
            Claim {
                says: "128 filters in a list cost significantly more than in a bitmap",
                published: "significant",
                ours: Ours::SaidRatio(send!("prio128_array", "1000000"), send!("prio128", "1000000")),
                unit: Unit::Times,
                holds: (1.1, MANY),
                otherwise: Differs,
                because: "A list is walked, a bitmap is looked up.",
            },
            Claim {
                says: "With pauses between frames each takes longer than in a flood",
                published: "higher with 1 ms",
                ours: Ours::SaidRatio(send!("pfifo_fast", "1000000"), send!("pfifo_fast", "0")),
                unit: Unit::Times,
                holds: (1.02, MANY),
                otherwise: Differs,
                because: "The authors blame caches that have become cold; an emulated processor that counts instructions has none.",
            },
        ],
        pictures: &[],
        rows: Rows::Said("p50 with 1 ms between frames, in instructions", &ALL_SLOW),
    },
    Figure {
        id: "2011q-4.6",
        paper: Paper::Queueing2011,
        number: "Figure 4.6",
        title: "can_send() over the number of rules",
        setup: "As figure 4.5, with prio and up to four filters of 128 rules each, of which the last rule matches.",
        sheet: Sheet::SendRules,
        claims: &[
            Claim {
                says: "The bitmap costs the same for any number of rules of one filter",
                published: "constant",
                ours: Ours::SaidRatio(rules!(standard 128), rules!(standard 1)),
                unit: Unit::Times,
                holds: (0.99, 1.01),
                otherwise: Differs,
                because: "A bit is looked up. (Each further filter of 128 rules costs 150 instructions.)",
            },
            Claim {
                says: "The array costs more with each rule",
                published: "rises with the number of rules",
                ours: Ours::SaidRatio(rules!(extended 128), rules!(extended 1)),
                unit: Unit::Times,
                holds: (1.05, MANY),
                otherwise: Differs,
                because: "Extended identifiers are still compared one by one: 7 instructions each.",
            },
            Claim {
                says: "With 20 rules the difference between both is negligible",
                published: "negligible",
                ours: Ours::SaidRatio(rules!(extended 16), rules!(standard 16)),
                unit: Unit::Times,
                holds: (0.95, 1.05),
                otherwise: Differs,
                because: "16 comparisons are 105 instructions of 3800.",
            },
        ],
        pictures: &[Drawn::SaidCurves {
            title: "median of can_send()",
            kernel: "debian-6.1",
            along: "rules",
            of: ("thousand instructions", 1000.0),
            lines: &[STANDARD, EXTENDED],
        }],
        rows: Rows::Said(
            "p50 in instructions",
            &[
                ("standard, 1", rules!(standard 1)),
                ("standard, 128", rules!(standard 128)),
                ("standard, 512", rules!(standard 512)),
                ("extended, 1", rules!(extended 1)),
                ("extended, 128", rules!(extended 128)),
                ("extended, 512", rules!(extended 512)),
            ],
        ),
    },
    Figure {
        id: "2011q-4.7",
        paper: Paper::Queueing2011,
        number: "Figure 4.7",
        title: "can_send() on a CAN card",
        setup: "As figure 4.5 on an emulated Kvaser PCI card, which takes no time for a bit: a frame is away before the next one comes, \
                unless its discipline keeps it.",
        sheet: Sheet::SendKvaser,
        claims: &[
            Claim {
                says: "With pauses the driver dominates, and the discipline hardly matters (prio)",
                published: "negligible (PC)",
                ours: Ours::SaidRatio(send!("prio1", "1000000"), send!("pfifo_fast", "1000000")),
                unit: Unit::Times,
                holds: (0.9, 1.1),
                otherwise: Differs,
                because: "Reading and writing registers of a real card takes a microsecond each; here it is an instruction.",
            },
            Claim {
                says: "The slowest is prio_sfq",
                published: "prio_sfq, and prio alone",
                ours: Ours::SaidRatio(send!("prio_sfq", "1000000"), send!("htb", "1000000")),
                unit: Unit::Times,
                holds: (1.0, MANY),
                otherwise: Differs,
                because: "It is two disciplines behind each other.",
            },
            Claim {
                says: "In a flood frames are only put into the queue, so can_send() is shorter (htb)",
                published: "enqueued only, on the PC",
                ours: Ours::SaidRatio(send!("htb", "0"), send!("htb", "1000000")),
                unit: Unit::Times,
                holds: (0.0, 0.95),
                otherwise: Differs,
                because: "Where the discipline holds frames back they wait for its clock; the card itself is never full here.",
            },
        ],
        pictures: &[],
        rows: Rows::Said("p50 with 1 ms between frames, in instructions", &ALL_SLOW),
    },
];
