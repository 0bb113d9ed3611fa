//! Kernel and user space: figures 13 and 14.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Figure::{LostPercent, Max, P50};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Levels, Of, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const SIMPLE: Levels = &[];

const FLOOD: Levels = &[("traffic", "flood")];

const USER: Levels = &[("gateway", "read-write"), ("rules", "fifo")];

const USER_FLOOD: Levels = &[("gateway", "read-write"), ("rules", "fifo"), ("traffic", "flood")];

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2011-13",
        paper: Paper::Gateway2011,
        number: "Figure 13",
        title: "Kernel and user space",
        setup: "can-gw, and candor's engine read-write with SCHED_FIFO 90, frames one at a time, between emulated cards.",
        sheet: Sheet::Gateway2011,
        claims: &[Claim {
            says: "A gateway in user space takes about three times as long (with cards)",
            published: "about 3 times",
            ours: Ours::Ratio(Of(P50, USER), Of(P50, SIMPLE)),
            unit: Unit::Times,
            holds: (2.4, 3.6),
            otherwise: Differs,
            because: "Interrupts and driver of the emulated cards are in both and are a larger part of the way than they were on the board. \
                      Without cards it is three times: the next page.",
        }],
        pictures: &[Drawn::Profiles {
            title: "can-gw and user space, with cards",
            kernel: "debian-6.1",
            lines: &[("can-gw", SIMPLE), ("read-write, SCHED_FIFO 90", USER)],
        }],
        rows: Rows::Cells(&[("can-gw", SIMPLE), ("read-write, SCHED_FIFO 90", USER)]),
    },
    Figure {
        id: "2011-13-vcan",
        paper: Paper::Gateway2011,
        number: "Figure 13",
        title: "Kernel and user space, without cards",
        setup: "The same between virtual interfaces, which have neither interrupts nor a driver. Times are of a processor with 1000 \
                million instructions a second.",
        sheet: Sheet::Vcan2011,
        claims: &[Claim {
            says: "A gateway in user space takes about three times as long (without cards)",
            published: "about 3 times",
            ours: Ours::Ratio(Of(P50, USER), Of(P50, SIMPLE)),
            unit: Unit::Times,
            holds: (2.4, 3.6),
            otherwise: Differs,
            because: "What is left without cards is the CAN layer, sockets and the scheduler. On real-time kernels a frame of can-gw needs no \
                      thread between virtual interfaces, one of user space needs two.",
        }],
        pictures: &[Drawn::Profiles {
            title: "can-gw and user space, without cards",
            kernel: "debian-6.1",
            lines: &[("can-gw", SIMPLE), ("read-write, SCHED_FIFO 90", USER)],
        }],
        rows: Rows::Cells(&[("can-gw", SIMPLE), ("read-write, SCHED_FIFO 90", USER)]),
    },
    Figure {
        id: "2011-14",
        paper: Paper::Gateway2011,
        number: "Figure 14",
        title: "Kernel and user space under a flood",
        setup: "can-gw, and candor's engine read-write with SCHED_FIFO 90, with each frame directly behind the one before.",
        sheet: Sheet::Flood2011,
        claims: &[
            Claim {
                says: "On a plain kernel user space loses frames",
                published: "a gap at the top of the profile",
                ours: Ours::Is(Of(
                    LostPercent,
                    &[("kernel", "debian-6.1"), USER_FLOOD[0], USER_FLOOD[1], USER_FLOOD[2]],
                )),
                unit: Unit::Percent,
                holds: (0.01, 100.0),
                otherwise: Differs,
                because: "The processor is fast enough for both: the interrupts of a full bus do not take all of it.",
            },
            Claim {
                says: "On a real-time kernel it keeps up with the bus",
                published: "2 ms at most, nothing lost",
                ours: Ours::Is(Of(Max, &[("kernel", "debian-6.1-rt"), USER_FLOOD[0], USER_FLOOD[1], USER_FLOOD[2]])),
                unit: Unit::Microseconds,
                holds: (0.0, 2_000.0),
                otherwise: Differs,
                because: "Its priority is above that of the interrupts' threads.",
            },
        ],
        pictures: &[
            Drawn::Profiles {
                title: "flood, plain kernel",
                kernel: "debian-6.1",
                lines: &[("can-gw", FLOOD), ("read-write, SCHED_FIFO 90", USER_FLOOD)],
            },
            Drawn::Profiles {
                title: "flood, real-time kernel",
                kernel: "debian-6.1-rt",
                lines: &[("can-gw", FLOOD), ("read-write, SCHED_FIFO 90", USER_FLOOD)],
            },
        ],
        rows: Rows::Cells(&[("can-gw", FLOOD), ("read-write, SCHED_FIFO 90", USER_FLOOD)]),
    },
];
