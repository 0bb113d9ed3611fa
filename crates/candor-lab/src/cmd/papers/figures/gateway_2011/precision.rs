//! What the tester is worth: figures 4 and 5.

use super::super::{Figure, Paper, Rows};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;

/// The precision study.
macro_rules! own {
    ($load:literal, $of:literal, $figure:literal) => {
        &["own", concat!("load=", $load), $of, $figure]
    };
}

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2011-4",
        paper: Paper::Gateway2011,
        number: "Figure 4",
        title: "The tester beside an independent witness",
        setup: "Total latencies through can-gw on software buses with true bit times, by the tester's stamps and by the bus's own log, which knows \
                when each frame ended on the wire. The paper had a CANalyzer.",
        sheet: Sheet::Precision2011,
        claims: &[Claim {
            says: "Both differ by less than 10 us in all but a few frames",
            published: "more than 10 us in less than 0.01 % of the frames",
            ours: Ours::Said(&["witnessed", "beyond_10us"]),
            unit: Unit::Frames,
            holds: (0.0, 1.0),
            otherwise: Differs,
            because: "On 6.12 the emulated USB host gives the same frame to two adapters one after the other, tens of microseconds apart, which \
                      is in the stamps and not on the wire. On 6.1 it is some frames of ten thousand.",
        }],
        pictures: &[],
        rows: Rows::Said(
            "ns (instructions)",
            &[
                ("by stamps, p50", &["witnessed", "by_stamps", "p50_ns"]),
                ("by the wire, p50", &["witnessed", "by_witness", "p50_ns"]),
                ("difference, p50", &["witnessed", "difference", "p50_ns"]),
                ("difference, p99", &["witnessed", "difference", "p99_ns"]),
                ("difference, max", &["witnessed", "difference", "max_ns"]),
            ],
        ),
    },
    Figure {
        id: "2011-4-stamps",
        paper: Paper::Gateway2011,
        number: "Figure 4",
        title: "The witness beside stamps of the adapter",
        setup: "Total latencies through can-gw on software buses with true bit times, by stamps that the tester's adapter takes on the wire, and by the \
                bus's own log. Both buses are heard by channels of one adapter. The paper's kernel knew no such stamps, only its own.",
        sheet: Sheet::Stamps2011,
        claims: &[Claim {
            says: "Both differ by less than 10 us in all but a few frames",
            published: "more than 10 us in less than 0.01 % of the frames",
            ours: Ours::Said(&["witnessed", "beyond_10us"]),
            unit: Unit::Frames,
            holds: (0.0, 1.0),
            otherwise: Differs,
            because: "The adapter stamps a frame when it ends on the wire, in microseconds; neither USB nor interrupts are in it.",
        }],
        pictures: &[],
        rows: Rows::Said(
            "ns (instructions)",
            &[
                ("by stamps, p50", &["witnessed", "by_stamps", "p50_ns"]),
                ("by the wire, p50", &["witnessed", "by_witness", "p50_ns"]),
                ("difference, p50", &["witnessed", "difference", "p50_ns"]),
                ("difference, p99", &["witnessed", "difference", "p99_ns"]),
                ("difference, max", &["witnessed", "difference", "max_ns"]),
            ],
        ),
    },
    Figure {
        id: "2011-5",
        paper: Paper::Gateway2011,
        number: "Figure 5",
        title: "What the tester takes itself",
        setup: "Without a gateway: from the tester's call to the stamp of its own monitor, less the time of the frame on the wire, with nothing else \
                to do and with datagrams of 60000 bytes.",
        sheet: Sheet::Precision2011,
        claims: &[
            Claim {
                says: "Sending and receiving takes the tester some tens of microseconds itself",
                published: "31 us",
                ours: Ours::Said(own!("none", "sending", "p50_ns")),
                unit: Unit::Nanoseconds,
                holds: (5_000.0, 100_000.0),
                otherwise: Differs,
                because: "System call, USB adapter and interrupt, at a nanosecond for each instruction.",
            },
            Claim {
                says: "Making Ethernet load itself costs the tester precision",
                published: "30 us more, in a few frames 200 us",
                ours: Ours::SaidRatio(own!("ethernet 60000", "sending", "p99_ns"), own!("none", "sending", "p99_ns")),
                unit: Unit::Times,
                holds: (1.02, MANY),
                otherwise: Differs,
                because: "A datagram that is being sent is not interrupted by a softirq.",
            },
        ],
        pictures: &[],
        rows: Rows::Said(
            "ns (instructions)",
            &[
                ("no load, p50", own!("none", "sending", "p50_ns")),
                ("no load, max", own!("none", "sending", "max_ns")),
                ("Ethernet load, p50", own!("ethernet 60000", "sending", "p50_ns")),
                ("Ethernet load, p99", own!("ethernet 60000", "sending", "p99_ns")),
                ("Ethernet load, max", own!("ethernet 60000", "sending", "max_ns")),
                ("second tap after the first, max", own!("none", "taps", "max_ns")),
            ],
        ),
    },
];
