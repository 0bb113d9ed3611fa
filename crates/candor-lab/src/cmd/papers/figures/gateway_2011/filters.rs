//! Rules that do not fire: figures 9 and 12.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Figure::{Max, P50};
use crate::cmd::papers::claim::Verdict::{Differs, NoLongerTrue};
use crate::cmd::papers::claim::{Claim, Levels, Of, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;

const SIMPLE: Levels = &[];

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2011-9",
        paper: Paper::Gateway2011,
        number: "Figure 9",
        title: "The cost of filters",
        setup: "can-gw with one rule that fires behind n - 1 that do not: rules for single identifiers, and rules with a mask.",
        sheet: Sheet::Filters2011,
        claims: &[
            Claim {
                says: "Each rule for an extended identifier makes every frame later",
                published: "a line that rises with the number of EFF filters",
                ours: Ours::Ratio(Of(P50, &[("rules", "exact-2048")]), Of(P50, SIMPLE)),
                unit: Unit::Times,
                holds: (1.2, MANY),
                otherwise: NoLongerTrue,
                because: "Since 2014 single extended identifiers are found by a hash table.",
            },
            Claim {
                says: "The list that is walked costs each frame the same for each rule in it",
                published: "linear",
                ours: Ours::Ratio(Of(P50, &[("rules", "masked-2048")]), Of(P50, &[("rules", "masked-1")])),
                unit: Unit::Times,
                holds: (1.2, MANY),
                otherwise: Differs,
                because: "Rules with a mask are still walked: 7 instructions each, classic and FD rules apart.",
            },
            Claim {
                says: "Rules for single standard identifiers cost the same, however many there are",
                published: "the same profile for all, with 2048 rules",
                ours: Ours::Ratio(
                    Of(P50, &[("rules", "exact-2048"), ("frame", "123#0000112233445566")]),
                    Of(P50, &[("rules", "exact-1"), ("frame", "123#0000112233445566")]),
                ),
                unit: Unit::Times,
                holds: (0.98, 1.02),
                otherwise: Differs,
                because: "The identifier is the index of a table.",
            },
        ],
        pictures: &[Drawn::Curves {
            title: "median latency over the number of rules",
            kernel: "debian-6.1",
            along: "rules",
            figure: P50,
            lines: &[
                (
                    "extended, with a mask",
                    &[
                        (1.0, &[("rules", "masked-1")]),
                        (16.0, &[("rules", "masked-16")]),
                        (64.0, &[("rules", "masked-64")]),
                        (256.0, &[("rules", "masked-256")]),
                        (512.0, &[("rules", "masked-512")]),
                        (1024.0, &[("rules", "masked-1024")]),
                        (2048.0, &[("rules", "masked-2048")]),
                    ],
                ),
                (
                    "extended, single",
                    &[
                        (1.0, SIMPLE),
                        (64.0, &[("rules", "exact-64")]),
                        (512.0, &[("rules", "exact-512")]),
                        (2048.0, &[("rules", "exact-2048")]),
                    ],
                ),
                (
                    "standard, single",
                    &[
                        (1.0, &[("rules", "exact-1"), ("frame", "123#0000112233445566")]),
                        (64.0, &[("rules", "exact-64"), ("frame", "123#0000112233445566")]),
                        (512.0, &[("rules", "exact-512"), ("frame", "123#0000112233445566")]),
                        (2048.0, &[("rules", "exact-2048"), ("frame", "123#0000112233445566")]),
                    ],
                ),
            ],
        }],
        rows: Rows::Cells(&[
            ("extended, single: 1", SIMPLE),
            ("extended, single: 2048", &[("rules", "exact-2048")]),
            ("extended, with a mask: 1", &[("rules", "masked-1")]),
            ("extended, with a mask: 256", &[("rules", "masked-256")]),
            ("extended, with a mask: 2048", &[("rules", "masked-2048")]),
            ("standard, single: 2048", &[("rules", "exact-2048"), ("frame", "123#0000112233445566")]),
        ]),
    },
    Figure {
        id: "2011-12",
        paper: Paper::Gateway2011,
        number: "Figure 12",
        title: "Huge latencies in real-time kernels",
        setup: "can-gw with 2048 rules that are walked, frames one at a time. The paper saw 50 ms once a second with 2048 EFF filters on \
                both real-time kernels.",
        sheet: Sheet::Filters2011,
        claims: &[
            Claim {
                says: "With 2048 filters a real-time kernel holds some frames up for tens of milliseconds (6.1-rt)",
                published: "50 ms, once a second",
                ours: Ours::Is(Of(Max, &[("kernel", "debian-6.1-rt"), ("rules", "masked-2048")])),
                unit: Unit::Microseconds,
                holds: (10_000.0, MANY),
                otherwise: NoLongerTrue,
                because: "What held the frames up in 2011, the authors did not find. Once a second for 50 ms is how the kernel stops \
                          real-time threads that take more than 95 % of a processor, and interrupts are such threads there. Seen here, too \
                          (50.2 ms and \"RT throttling activated\" on 6.1-rt), but only with frames that came faster than in this figure.",
            },
            Claim {
                says: "With 2048 filters a real-time kernel holds some frames up for tens of milliseconds (6.12-rt)",
                published: "50 ms, once a second",
                ours: Ours::Is(Of(Max, &[("kernel", "backports-6.12-rt"), ("rules", "masked-2048")])),
                unit: Unit::Microseconds,
                holds: (10_000.0, MANY),
                otherwise: NoLongerTrue,
                because: "As above.",
            },
        ],
        pictures: &[Drawn::Kernels {
            title: "can-gw with 2048 rules that are walked",
            levels: &[("rules", "masked-2048")],
        }],
        rows: Rows::Cells(&[("2048 rules with a mask", &[("rules", "masked-2048")])]),
    },
];
