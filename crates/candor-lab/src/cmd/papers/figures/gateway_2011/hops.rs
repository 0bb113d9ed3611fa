//! Several hops through virtual interfaces: figure 15.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

/// A figure of the chain of so many routes.
macro_rules! chain {
    ($routes:literal, $figure:literal) => {
        &["chains", concat!("routes=", $routes), "latency", $figure]
    };
}

/// A line over the number of routes.
macro_rules! over_routes {
    ($name:literal, $figure:literal) => {
        (
            $name,
            &[
                (1.0, chain!("1", $figure)),
                (2.0, chain!("2", $figure)),
                (3.0, chain!("3", $figure)),
                (4.0, chain!("4", $figure)),
                (5.0, chain!("5", $figure)),
                (6.0, chain!("6", $figure)),
            ],
        )
    };
}

pub(super) const FIGURES: &[Figure] = &[Figure {
    id: "2011-15",
    paper: Paper::Gateway2011,
    number: "Figure 15",
    title: "Several hops through virtual interfaces",
    setup: "One frame at a time through chains of one to six routes of can-gw, with a virtual interface between each two, from card to card. \
            The paper's authors had to change the gateway for that; today the module takes max_hops=6. They divide the difference of two \
            lines by two and call that 10 us the processing in the CAN layer; here a further route is not divided.",
    sheet: Sheet::Hops2011,
    claims: &[
        Claim {
            says: "Each pass through the CAN layer takes the same",
            published: "the lines of figure 15 have equal distances",
            ours: Ours::Said(&["r_squared"]),
            unit: Unit::Number,
            holds: (0.999, 1.0),
            otherwise: Differs,
            because: "R² of the line through the medians of six chains.",
        },
        Claim {
            says: "The rest of the system takes several times as long as a further route",
            published: "60 to 130 us beside lines that are 20 us apart: 3 to 6.5 times",
            ours: Ours::SaidRatio(&["rest_ns"], &["pass_ns"]),
            unit: Unit::Times,
            holds: (3.0, 6.5),
            otherwise: Differs,
            because: "The rest is interrupt, driver and softirq. Counted are instructions, and an access to a register of the card is one, \
                      which on a board takes as long as hundreds; that this is the whole difference was not measured. Threaded interrupts \
                      make the rest larger.",
        },
    ],
    pictures: &[Drawn::SaidCurves {
        title: "latency over the number of routes",
        kernel: "debian-6.1",
        along: "routes",
        of: ("thousand instructions", 1000.0),
        lines: &[over_routes!("p50", "p50_ns"), over_routes!("p99", "p99_ns")],
    }],
    rows: Rows::Said(
        "instructions",
        &[
            ("1 route, p50", chain!("1", "p50_ns")),
            ("2 routes, p50", chain!("2", "p50_ns")),
            ("3 routes, p50", chain!("3", "p50_ns")),
            ("4 routes, p50", chain!("4", "p50_ns")),
            ("5 routes, p50", chain!("5", "p50_ns")),
            ("6 routes, p50", chain!("6", "p50_ns")),
            ("a further pass", &["pass_ns"]),
            ("everything else", &["rest_ns"]),
        ],
    ),
}];
