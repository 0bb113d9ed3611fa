//! What one call takes: figure 4.1.

use super::super::{Drawn, Figure, Paper, Rows};
use crate::cmd::papers::claim::Verdict::Differs;
use crate::cmd::papers::claim::{Claim, Ours, Unit};
use crate::cmd::papers::sheet::Sheet;

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

pub(super) const FIGURES: &[Figure] = &[Figure {
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
        of: ("thousand instructions", 1000.0),
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
}];
