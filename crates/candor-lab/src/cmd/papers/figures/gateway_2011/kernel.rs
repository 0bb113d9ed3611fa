//! The kernel's gateway: figures 6 to 8, 10 and 11.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Figure::{Max, Min, P50, P99};
use crate::cmd::papers::claim::Verdict::{Differs, NoLongerTrue};
use crate::cmd::papers::claim::{Claim, Levels, Of, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;

const NONE: f64 = f64::NEG_INFINITY;

const SIMPLE: Levels = &[];

const FLOOD: Levels = &[("traffic", "flood")];

const CPU: Levels = &[("load", "cpu 20")];

const ETHERNET: Levels = &[("load", "ethernet 60000")];

const MODIFIED: &[Levels] = &[
    &[("rules", "id-and")],
    &[("rules", "id-or")],
    &[("rules", "id-set")],
    &[("rules", "data-and")],
    &[("rules", "data-or")],
    &[("rules", "data-xor")],
    &[("rules", "data-set")],
    &[("rules", "checksum-xor")],
    &[("rules", "checksum-crc8")],
];

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2011-6",
        paper: Paper::Gateway2011,
        number: "Figure 6",
        title: "The simple gateway",
        setup: "can-gw forwards everything, frames one at a time, nothing else to do.",
        sheet: Sheet::Gateway2011,
        claims: &[
            Claim {
                says: "The slowest frame takes about four times as long as the fastest",
                published: "35 us to 140 us: 4 times",
                ours: Ours::Ratio(Of(Max, SIMPLE), Of(Min, SIMPLE)),
                unit: Unit::Times,
                holds: (2.5, 6.0),
                otherwise: Differs,
                because: "Of the reasons for slow frames only interrupts are left: the emulated processor has no caches that may be cold.",
            },
            Claim {
                says: "A timer interrupt that comes in between costs much less than the frame itself",
                published: "20 us of 35 us: 0.57 times",
                ours: Ours::Ratio(Of(P99, SIMPLE), Of(P50, SIMPLE)),
                unit: Unit::Times,
                holds: (1.0, 1.6),
                otherwise: Differs,
                because: "Beside most frames lies nothing; what lies beside the others is the kernel's timer.",
            },
        ],
        pictures: &[Drawn::Kernels { title: "can-gw, one frame at a time", levels: SIMPLE }],
        rows: Rows::Cells(&[("can-gw", SIMPLE), ("the tester itself, without a gateway", &[("gateway", "none")])]),
    },
    Figure {
        id: "2011-7",
        paper: Paper::Gateway2011,
        number: "Figure 7",
        title: "Frames in batches",
        setup: "can-gw with frames one at a time and with flood, each frame directly behind the one before.",
        sheet: Sheet::Flood2011,
        claims: &[
            Claim {
                says: "In a flood the fastest frames are faster than any that came alone",
                published: "nearly 0 us beside 35 us",
                ours: Ours::Ratio(Of(Min, FLOOD), Of(Min, SIMPLE)),
                unit: Unit::Times,
                holds: (NONE, 0.97),
                otherwise: Differs,
                because: "Here a frame is done before the next one comes, also in a flood, because the emulated controllers give one \
                          frame to each interrupt and the processor is faster than the bus. The way on the board was as long as a frame.",
            },
            Claim {
                says: "The slowest frames of a flood are about as slow as those that came alone",
                published: "about the same",
                ours: Ours::Ratio(Of(Max, FLOOD), Of(Max, SIMPLE)),
                unit: Unit::Times,
                holds: (0.5, 2.0),
                otherwise: Differs,
                because: "No queue grows, as long as the gateway is faster than the bus.",
            },
        ],
        pictures: &[Drawn::Profiles {
            title: "can-gw: one frame at a time, and flood",
            kernel: "debian-6.1",
            lines: &[("one at a time", SIMPLE), ("flood", FLOOD)],
        }],
        rows: Rows::Cells(&[("one at a time", SIMPLE), ("flood", FLOOD)]),
    },
    Figure {
        id: "2011-8",
        paper: Paper::Gateway2011,
        number: "Figure 8",
        title: "A gateway with something else to do",
        setup: "can-gw, frames one at a time: nothing else to do; 20 pairs of processes that pass messages of 100 bytes; datagrams of \
                60000 bytes through the loopback interface.",
        sheet: Sheet::Gateway2011,
        claims: &[
            Claim {
                says: "A processor full of processes about doubles the time of the slowest frame",
                published: "250 us beside 140 us: 1.8 times",
                ours: Ours::Ratio(Of(Max, CPU), Of(Max, SIMPLE)),
                unit: Unit::Times,
                holds: (1.2, 4.0),
                otherwise: Differs,
                because: "99 of 100 frames hardly notice. A few wait for up to 0.9 ms on 6.1 and 0.35 ms on 6.12, it seems in the scheduler's \
                          queue behind 40 processes, because their softirq was left to the thread ksoftirqd (read, not traced). Real-time \
                          kernels, where the interrupt's thread does it, do not notice at all.",
            },
            Claim {
                says: "Large packets in the same receive queue hold frames up far longer than processes do",
                published: "milliseconds beside 250 us",
                ours: Ours::Ratio(Of(Max, ETHERNET), Of(Max, CPU)),
                unit: Unit::Times,
                holds: (2.0, MANY),
                otherwise: Differs,
                because: "There is no card between (not traced): through the loopback interface the sender receives in its own time slice, one \
                          datagram at a time, and a frame waits for that one.",
            },
        ],
        pictures: &[Drawn::Profiles {
            title: "can-gw under load",
            kernel: "debian-6.1",
            lines: &[("no load", SIMPLE), ("CPU load", CPU), ("Ethernet load", ETHERNET)],
        }],
        rows: Rows::Cells(&[("no load", SIMPLE), ("CPU load", CPU), ("Ethernet load", ETHERNET)]),
    },
    Figure {
        id: "2011-10",
        paper: Paper::Gateway2011,
        number: "Figure 10",
        title: "The cost of changing frames",
        setup: "can-gw with one modification or checksum, frames one at a time.",
        sheet: Sheet::Gateway2011,
        claims: &[
            Claim {
                says: "Most of the cost is the copy that is made before anything is changed",
                published: "a step from the unchanged frames to all others",
                ours: Ours::Ratio(Of(P50, MODIFIED[0]), Of(P50, SIMPLE)),
                unit: Unit::Times,
                holds: (1.01, MANY),
                otherwise: Differs,
                because: "can-gw still copies the socket buffer of a frame that is to be changed, and of no other.",
            },
            Claim {
                says: "Which modification it is makes no difference",
                published: "negligible",
                ours: Ours::Spread(P50, MODIFIED),
                unit: Unit::Times,
                holds: (1.0, 1.03),
                otherwise: Differs,
                because: "Operations on identifier and data are a few instructions each; a checksum is some tens.",
            },
        ],
        pictures: &[Drawn::Profiles {
            title: "can-gw with modifications",
            kernel: "debian-6.1",
            lines: &[
                ("unchanged", SIMPLE),
                ("AND on the identifier", MODIFIED[0]),
                ("XOR on the data", MODIFIED[5]),
                ("CRC8", MODIFIED[8]),
            ],
        }],
        rows: Rows::Cells(&[
            ("unchanged", SIMPLE),
            ("AND on the identifier", MODIFIED[0]),
            ("OR on the identifier", MODIFIED[1]),
            ("SET of the identifier", MODIFIED[2]),
            ("AND on the data", MODIFIED[3]),
            ("OR on the data", MODIFIED[4]),
            ("XOR on the data", MODIFIED[5]),
            ("SET of the data", MODIFIED[6]),
            ("XOR checksum", MODIFIED[7]),
            ("CRC8", MODIFIED[8]),
        ]),
    },
    Figure {
        id: "2011-11",
        paper: Paper::Gateway2011,
        number: "Figure 11",
        title: "Different kernels",
        setup: "can-gw, frames one at a time, on plain and real-time kernels.",
        sheet: Sheet::Gateway2011,
        claims: &[
            Claim {
                says: "Newer kernels are slower",
                published: "2.6.36: 10 us more than 2.6.33; 3.0: 2 us more than 2.6.36, of about 50 us",
                ours: Ours::Ratio(Of(P50, &[("kernel", "backports-6.12")]), Of(P50, &[("kernel", "debian-6.1")])),
                unit: Unit::Times,
                // Half of the smaller of these steps. The way of a frame differs by 1 % with less than a kernel.
                holds: (1.02, MANY),
                otherwise: NoLongerTrue,
                because: "From 6.1 to 6.12 the way of a frame has hardly changed in length; it is the real-time kernels that are slower.",
            },
            Claim {
                says: "Real-time kernels are slower than plain ones (older)",
                published: "2.6.33-rt: nearly 100 us more",
                ours: Ours::Beyond(Of(P50, &[("kernel", "debian-6.1-rt")]), Of(P50, &[("kernel", "debian-6.1")])),
                unit: Unit::Microseconds,
                holds: (1.0, MANY),
                otherwise: NoLongerTrue,
                because: "Interrupts are threads there, and have to be scheduled.",
            },
            Claim {
                says: "Real-time kernels are slower than plain ones (newer)",
                published: "3.0-rt: about 20 us more",
                ours: Ours::Beyond(
                    Of(P50, &[("kernel", "backports-6.12-rt")]),
                    Of(P50, &[("kernel", "backports-6.12")]),
                ),
                unit: Unit::Microseconds,
                holds: (1.0, MANY),
                otherwise: NoLongerTrue,
                because: "Interrupts are threads there, and have to be scheduled.",
            },
        ],
        pictures: &[Drawn::Kernels { title: "can-gw, one frame at a time", levels: SIMPLE }],
        rows: Rows::Cells(&[("can-gw", SIMPLE)]),
    },
];
