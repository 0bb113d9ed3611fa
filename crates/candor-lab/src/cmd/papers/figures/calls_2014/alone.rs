//! Every gateway, one frame at a time: figure 4.2.

use super::super::{Drawn, Figure, Paper, Rows};
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

const BLOCKING: &[Levels] =
    &[gateway!("read-write"), gateway!("mmap-write"), gateway!("mmap-mmap"), gateway!("mmsg-mmsg")];

const BUSY: &[Levels] =
    &[gateway!("readnb-write"), gateway!("mmapbusy-write"), gateway!("mmapbusy-mmap"), gateway!("readnb-mmap")];

pub(super) const FIGURES: &[Figure] = &[Figure {
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
            because: "Without the report's patches SO_BUSY_POLL does nothing for CAN: readbusy-write waits like read-write. (Debian's 6.1-rt was built without it.)",
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
}];
