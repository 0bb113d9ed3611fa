//! "Timing Analysis of a Linux-Based CAN-to-CAN Gateway", RTLWS 2011.

use super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Figure::{LostPercent, Max, Min, P50, P99};
use crate::cmd::papers::claim::Verdict::{Differs, NoLongerTrue};
use crate::cmd::papers::claim::{Claim, Levels, Of, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const MANY: f64 = f64::INFINITY;
const NONE: f64 = f64::NEG_INFINITY;

const SIMPLE: Levels = &[];
const FLOOD: Levels = &[("traffic", "flood")];
const CPU: Levels = &[("load", "cpu 20")];
const ETHERNET: Levels = &[("load", "ethernet 60000")];
const USER: Levels = &[("gateway", "read-write"), ("rules", "fifo")];
const USER_FLOOD: Levels = &[("gateway", "read-write"), ("rules", "fifo"), ("traffic", "flood")];

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
                because: "A plain kernel leaves softirqs to its thread ksoftirqd as soon as that has work, and then frames wait in the \
                          scheduler's queue behind 40 processes. Real-time kernels, where the interrupt's thread does it, hardly notice.",
            },
            Claim {
                says: "Large packets in the same receive queue hold frames up far longer than processes do",
                published: "milliseconds beside 250 us",
                ours: Ours::Ratio(Of(Max, ETHERNET), Of(Max, CPU)),
                unit: Unit::Times,
                holds: (2.0, MANY),
                otherwise: Differs,
                because: "There is no card between: through the loopback interface the sender does the work of receiving in its own \
                          time slice, one datagram at a time, and a frame waits for that one.",
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
                because: "Since Linux 3.19 single extended identifiers are found by a hash table.",
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
                published: "2.6.36: 10 us more than 2.6.33; 3.0: 2 us more than 2.6.36",
                ours: Ours::Beyond(Of(P50, &[("kernel", "backports-6.12")]), Of(P50, &[("kernel", "debian-6.1")])),
                unit: Unit::Microseconds,
                holds: (0.05, MANY),
                otherwise: NoLongerTrue,
                because: "From 6.1 to 6.12 the way of a frame has become some per cent longer.",
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
                because: "What held the frames up in 2011, the authors did not find; once a second is the period of real-time throttling.",
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
