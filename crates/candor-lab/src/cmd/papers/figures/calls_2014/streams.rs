//! Every gateway in streams of frames: figures 4.3 and 4.4.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

/// Lost frames of a stream with this period.
macro_rules! lost {
    ($name:literal, $ns:literal) => {
        &["gateways", concat!("engine=", $name), "streams", concat!("asked_period_ns=", $ns), "lost"]
    };
}

/// The median latency of a stream with this period.
macro_rules! p50 {
    ($name:literal, $ns:literal) => {
        &["gateways", concat!("engine=", $name), "streams", concat!("asked_period_ns=", $ns), "p50_ns"]
    };
}

/// A line of figure 4.4.
macro_rules! sweep {
    ($of:ident, $name:literal) => {
        (
            $name,
            &[
                (64.0, $of!($name, "64000")),
                (69.0, $of!($name, "69000")),
                (74.0, $of!($name, "74000")),
                (79.0, $of!($name, "79000")),
                (84.0, $of!($name, "84000")),
                (89.0, $of!($name, "89000")),
                (94.0, $of!($name, "94000")),
                (99.0, $of!($name, "99000")),
                (109.0, $of!($name, "109000")),
                (119.0, $of!($name, "119000")),
                (129.0, $of!($name, "129000")),
                (144.0, $of!($name, "144000")),
            ],
        )
    };
}

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2014-4.3",
        paper: Paper::Calls2014,
        number: "Figure 4.3",
        title: "Every gateway, frames faster than read-write can bear",
        setup: "Streams of 3200 frames between two buses of emulated cards, on a processor with 250 million instructions a second of which the \
                tester takes a part. The report's board was too slow for read-write at 120 us; here it is at 84 us.",
        sheet: Sheet::Streams2014,
        claims: &[
            Claim {
                says: "Gateways that read and write each frame by a call lose frames",
                published: "up to a third of 3200",
                ours: Ours::Said(lost!("read-write", "84000")),
                unit: Unit::Frames,
                holds: (32.0, 3200.0),
                otherwise: Differs,
                because: "The queue of the socket runs over.",
            },
            Claim {
                says: "With rings on both sides nothing is lost",
                published: "0",
                ours: Ours::Said(lost!("mmap-mmap", "84000")),
                unit: Unit::Frames,
                holds: (0.0, 0.0),
                otherwise: Differs,
                because: "The driver echoes each frame that a ring sends, whatever one asks for, and has an interrupt for each: what is saved \
                          by sending several at once is spent again. The board's driver (mscan) did the same, but reading cost it far more.",
            },
            Claim {
                says: "With several frames for each call nothing is lost",
                published: "0",
                ours: Ours::Said(lost!("mmsg-mmsg", "84000")),
                unit: Unit::Frames,
                holds: (0.0, 0.0),
                otherwise: Differs,
                because: "recvmmsg() and sendmmsg() save entries into the kernel and nothing of what it does for each frame, and entering it is a \
                          small part of that here.",
            },
            Claim {
                says: "The kernel's gateway loses nothing",
                published: "0",
                ours: Ours::Said(lost!("kernel", "84000")),
                unit: Unit::Frames,
                holds: (0.0, 0.0),
                otherwise: Differs,
                because: "It is done within the interrupt that brought the frame.",
            },
        ],
        pictures: &[],
        rows: Rows::Said(
            "lost of 3200, a frame every 84 us",
            &[
                ("kernel", lost!("kernel", "84000")),
                ("read-write", lost!("read-write", "84000")),
                ("readnb-write", lost!("readnb-write", "84000")),
                ("mmap-write", lost!("mmap-write", "84000")),
                ("mmapbusy-write", lost!("mmapbusy-write", "84000")),
                ("readnb-mmap", lost!("readnb-mmap", "84000")),
                ("mmsg-mmsg", lost!("mmsg-mmsg", "84000")),
                ("mmap-mmap", lost!("mmap-mmap", "84000")),
                ("mmapbusy-mmap", lost!("mmapbusy-mmap", "84000")),
                ("mmap-adaptive", lost!("mmap-adaptive", "84000")),
            ],
        ),
    },
    Figure {
        id: "2014-4.4",
        paper: Paper::Calls2014,
        number: "Figure 4.4",
        title: "Latency and loss over the period of frames",
        setup: "The same streams with periods from 144 us down to 64 us. The report swept 500 us to 120 us. docs/engines.md has the same for two \
                speeds of the processor.",
        sheet: Sheet::Streams2014,
        claims: &[
            Claim {
                says: "A gateway that reads each frame by a call saturates before one with a ring does",
                published: "150 to 155 us beside 127 us: at 130 us it loses and the other does not",
                ours: Ours::SaidBeyond(lost!("read-write", "89000"), lost!("mmap-write", "89000")),
                unit: Unit::Frames,
                holds: (1.0, 3200.0),
                otherwise: Differs,
                because: "A ring saves the call for each frame that comes in.",
            },
            Claim {
                says: "The kernel's gateway bears more than any in user space",
                published: "below 120 us",
                ours: Ours::SaidBeyond(lost!("mmap-mmap", "79000"), lost!("kernel", "79000")),
                unit: Unit::Frames,
                holds: (1.0, 3200.0),
                otherwise: Differs,
                because: "It needs neither a process nor a call. Where both lose nothing the queues were long enough for these streams.",
            },
            Claim {
                says: "Sending several frames at once bears more than sending each by a call",
                published: "120 us beside 127 us",
                ours: Ours::SaidBeyond(lost!("mmap-write", "84000"), lost!("mmap-mmap", "84000")),
                unit: Unit::Frames,
                holds: (1.0, 3200.0),
                otherwise: Differs,
                because: "The driver has an interrupt for each frame, however many were handed over at once, and echoes what a ring sends.",
            },
        ],
        pictures: &[
            Drawn::SaidCurves {
                title: "lost of 3200 frames over the period",
                kernel: "debian-6.1",
                along: "period in us",
                of: ("lost frames", 1.0),
                lines: &[
                    sweep!(lost, "kernel"),
                    sweep!(lost, "read-write"),
                    sweep!(lost, "readnb-write"),
                    sweep!(lost, "mmap-write"),
                    sweep!(lost, "mmap-mmap"),
                    sweep!(lost, "mmsg-mmsg"),
                ],
            },
            Drawn::SaidCurves {
                title: "median latency over the period",
                kernel: "debian-6.1",
                along: "period in us",
                of: ("µs", 1000.0),
                lines: &[
                    sweep!(p50, "kernel"),
                    sweep!(p50, "read-write"),
                    sweep!(p50, "readnb-write"),
                    sweep!(p50, "mmap-write"),
                    sweep!(p50, "mmap-mmap"),
                    sweep!(p50, "mmsg-mmsg"),
                ],
            },
        ],
        rows: Rows::Said(
            "median latency in ns",
            &[
                ("kernel, 99 us", p50!("kernel", "99000")),
                ("read-write, 99 us", p50!("read-write", "99000")),
                ("mmap-write, 99 us", p50!("mmap-write", "99000")),
                ("mmap-mmap, 99 us", p50!("mmap-mmap", "99000")),
                ("kernel, 84 us", p50!("kernel", "84000")),
                ("read-write, 84 us", p50!("read-write", "84000")),
                ("mmap-write, 84 us", p50!("mmap-write", "84000")),
                ("mmap-mmap, 84 us", p50!("mmap-mmap", "84000")),
            ],
        ),
    },
];
