//! "Evaluation of Linux CAN system calls", technical report 2014.

use super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Figure::P50;
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Levels, Of, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

const KERNEL: Levels = &[];

/// Levels of a gateway.
macro_rules! gateway {
    ($name:literal) => {
        &[("gateway", $name)]
    };
}

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

const BLOCKING: &[Levels] =
    &[gateway!("read-write"), gateway!("mmap-write"), gateway!("mmap-mmap"), gateway!("mmsg-mmsg")];
const BUSY: &[Levels] =
    &[gateway!("readnb-write"), gateway!("mmapbusy-write"), gateway!("mmapbusy-mmap"), gateway!("readnb-mmap")];

/// What one more frame takes, by the line through all numbers of frames.
macro_rules! slope {
    ($call:literal) => {
        &["calls", concat!("call=", $call), "slope_ns_per_frame"]
    };
}

/// What so many frames take.
macro_rules! took {
    ($call:literal, $frames:literal) => {
        &["calls", concat!("call=", $call), "points", concat!("frames=", $frames), "took_ns"]
    };
}

/// A line of figure 4.1.
macro_rules! took_line {
    ($call:literal) => {
        (
            $call,
            &[
                (1.0, took!($call, "1")),
                (100.0, took!($call, "100")),
                (1000.0, took!($call, "1000")),
                (10_000.0, took!($call, "10000")),
            ],
        )
    };
}

pub(super) const FIGURES: &[Figure] = &[
    Figure {
        id: "2014-4.1",
        paper: Paper::Calls2014,
        number: "Figure 4.1",
        title: "One frame and many frames for each call",
        setup: "Up to 50 000 frames are sent on a virtual interface into a socket that has room for all of them, and then read, each pass timed \
                as a whole, with one call for each frame and with one for as many as there are.",
        sheet: Sheet::Calls2014,
        claims: &[
            Claim {
                says: "recvmmsg() takes less for each frame than read()",
                published: "7 % less on a PC, 19 % on the board",
                ours: Ours::SaidRatio(slope!("recvmmsg"), slope!("read")),
                unit: Unit::Times,
                holds: (0.0, 0.97),
                otherwise: Differs,
                because: "One entry into the kernel instead of many.",
            },
            Claim {
                says: "sendmmsg() takes less for each frame than write()",
                published: "12 % less on a PC, 35 % on the board",
                ours: Ours::SaidRatio(slope!("sendmmsg"), slope!("write")),
                unit: Unit::Times,
                holds: (0.0, 0.97),
                otherwise: Differs,
                because: "Counted are instructions: sendmmsg() needs a message header for each frame and spares entries into the kernel, which are few \
                          instructions and many cycles. Which of the two weighs more on a real processor was not measured.",
            },
            Claim {
                says: "A single frame is no dearer with recvmmsg()",
                published: "always slightly faster even for a single frame",
                ours: Ours::SaidRatio(took!("recvmmsg", "1"), took!("read", "1")),
                unit: Unit::Times,
                holds: (0.0, 1.0),
                otherwise: Differs,
                because: "recvmmsg() has more to do before the first frame; from a few frames on it is ahead. Instructions are counted here, not time.",
            },
            Claim {
                says: "A single frame is no dearer with sendmmsg()",
                published: "always slightly faster even for a single frame",
                ours: Ours::SaidRatio(took!("sendmmsg", "1"), took!("write", "1")),
                unit: Unit::Times,
                holds: (0.0, 1.0),
                otherwise: Differs,
                because: "sendmmsg() has more to do before the first frame. Instructions are counted here, not time.",
            },
            Claim {
                says: "The time is linear in the number of frames (write)",
                published: "almost linear",
                ours: Ours::Said(&["calls", "call=write", "r_squared"]),
                unit: Unit::Number,
                holds: (0.999, 1.0),
                otherwise: Differs,
                because: "R² of the line through all points.",
            },
            Claim {
                says: "Sending takes several times as long as receiving",
                published: "write() 40 ms, read() 15 ms: 2.7 times; 3 to 6 times elsewhere",
                ours: Ours::SaidRatio(slope!("write"), slope!("read")),
                unit: Unit::Times,
                holds: (2.0, 6.0),
                otherwise: Differs,
                because: "Sending on a virtual interface includes the whole way into the receiving socket.",
            },
        ],
        pictures: &[Drawn::SaidCurves {
            title: "frames sent and received at once",
            kernel: "debian-6.1",
            along: "frames",
            of: "ns (instructions)",
            lines: &[took_line!("write"), took_line!("sendmmsg"), took_line!("read"), took_line!("recvmmsg")],
        }],
        rows: Rows::Said(
            "instructions for each further frame",
            &[
                ("read", slope!("read")),
                ("recvmmsg", slope!("recvmmsg")),
                ("recvmmsg of 64", slope!("recvmmsg of 64")),
                ("write", slope!("write")),
                ("sendmmsg", slope!("sendmmsg")),
                ("sendmmsg of 64", slope!("sendmmsg of 64")),
            ],
        ),
    },
    Figure {
        id: "2014-4.2",
        paper: Paper::Calls2014,
        number: "Figure 4.2",
        title: "Every gateway, one frame at a time",
        setup: "Every gateway of table 3.1 as an engine of candor, at the normal policy, frames one at a time from a timer. mmap-adaptive and \
                uring-uring have come since.",
        sheet: Sheet::Engines2014,
        claims: &[
            Claim {
                says: "The kernel's gateway takes about a quarter of read-write",
                published: "49 us of 180 us: 0.27 times",
                ours: Ours::Ratio(Of(P50, KERNEL), Of(P50, gateway!("read-write"))),
                unit: Unit::Times,
                holds: (0.2, 0.4),
                otherwise: Differs,
                because: "Interrupts and driver of the emulated cards are a larger part of both ways than they were on the board; without \
                          cards it is 0.31 times (2011, figure 13).",
            },
            Claim {
                says: "All gateways that block are about as slow",
                published: "about 180 us each",
                ours: Ours::Spread(P50, BLOCKING),
                unit: Unit::Times,
                holds: (1.0, 1.15),
                otherwise: Differs,
                because: "Most of their time goes into being woken.",
            },
            Claim {
                says: "Never waiting nearly halves the latency",
                published: "100 us beside 180 us: 0.56 times",
                ours: Ours::Ratio(Of(P50, gateway!("readnb-write")), Of(P50, gateway!("read-write"))),
                unit: Unit::Times,
                holds: (0.4, 0.85),
                otherwise: Differs,
                because: "What is saved is the switch to the gateway's thread. An emulated processor does not sleep, so that nothing is saved \
                          for waking it.",
            },
            Claim {
                says: "All gateways that never wait are about as fast",
                published: "around 100 us each",
                ours: Ours::Spread(P50, BUSY),
                unit: Unit::Times,
                holds: (1.0, 1.15),
                otherwise: Differs,
                because: "A ring is looked at without a system call; readnb asks by one each time, and a frame comes in while it does.",
            },
            Claim {
                says: "Busy polling by the kernel is as fast as by the program",
                published: "about 100 us each, with patched drivers",
                ours: Ours::Ratio(Of(P50, gateway!("readbusy-write")), Of(P50, gateway!("readnb-write"))),
                unit: Unit::Times,
                holds: (0.8, 1.1),
                otherwise: Differs,
                because: "Without the report's patches SO_BUSY_POLL does nothing for CAN: readbusy-write waits like read-write.",
            },
        ],
        pictures: &[Drawn::Profiles {
            title: "one frame at a time",
            kernel: "debian-6.1",
            lines: &[
                ("kernel", KERNEL),
                ("read-write", gateway!("read-write")),
                ("readnb-write", gateway!("readnb-write")),
                ("mmap-mmap", gateway!("mmap-mmap")),
                ("mmapbusy-write", gateway!("mmapbusy-write")),
                ("mmap-adaptive", gateway!("mmap-adaptive")),
            ],
        }],
        rows: Rows::Cells(&[
            ("kernel", KERNEL),
            ("read-write", gateway!("read-write")),
            ("readnb-write", gateway!("readnb-write")),
            ("readbusy-write", gateway!("readbusy-write")),
            ("mmap-mmap", gateway!("mmap-mmap")),
            ("mmap-write", gateway!("mmap-write")),
            ("mmapbusy-mmap", gateway!("mmapbusy-mmap")),
            ("mmapbusy-write", gateway!("mmapbusy-write")),
            ("readnb-mmap", gateway!("readnb-mmap")),
            ("mmsg-mmsg", gateway!("mmsg-mmsg")),
            ("mmap-adaptive", gateway!("mmap-adaptive")),
            ("uring-uring", gateway!("uring-uring")),
        ]),
    },
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
                because: "It needs neither a process nor a call.",
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
                of: "lost frames",
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
                of: "ns",
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
