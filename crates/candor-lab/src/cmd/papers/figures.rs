//! Every figure and table of the four papers that shows a measurement: what was claimed, and how it is looked at here.

mod calls_2014;
mod canid_2012;
mod gateway_2011;
mod queueing_2011;

use super::claim::{Claim, Figure as Quantity, Levels, Said};
use super::sheet::Sheet;

/// One of the four papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Paper {
    Gateway2011,
    Queueing2011,
    Canid2012,
    Calls2014,
}

/// A figure or table that is repeated.
#[derive(Debug)]
pub(super) struct Figure {
    /// As `candor-lab papers` takes it, and the stem of its page.
    pub(super) id: &'static str,
    pub(super) paper: Paper,
    /// As the paper numbers it.
    pub(super) number: &'static str,
    pub(super) title: &'static str,
    /// What is measured here, and in what it differs from the paper's experiment.
    pub(super) setup: &'static str,
    pub(super) sheet: Sheet,
    pub(super) claims: &'static [Claim],
    pub(super) pictures: &'static [Drawn],
    pub(super) rows: Rows,
}

/// What stands in the page's table, by the names that it has there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    /// Cells, with all their figures.
    Cells(&'static [(&'static str, Levels)]),
    /// Numbers in the answer of a method: their unit, and where they stand.
    Said(&'static str, &'static [(&'static str, Said)]),
}

/// A picture of a page.
#[derive(Debug)]
pub(super) enum Drawn {
    /// Latency profiles on one kernel.
    Profiles { title: &'static str, kernel: &'static str, lines: &'static [(&'static str, Levels)] },
    /// The latency profile of the same cell on each kernel.
    Kernels { title: &'static str, levels: Levels },
    /// A figure over a number, on one kernel.
    Curves {
        title: &'static str,
        kernel: &'static str,
        /// What the number is.
        along: &'static str,
        figure: Quantity,
        lines: &'static [(&'static str, &'static [(f64, Levels)])],
    },
    /// A number that a method has said over another one, on one kernel.
    SaidCurves {
        title: &'static str,
        kernel: &'static str,
        along: &'static str,
        /// What the figure is, and how many of what was said are one of it.
        of: (&'static str, f64),
        lines: &'static [SaidLine],
    },
}

/// A line of such a picture: its name, and where the figure of each number stands.
pub(super) type SaidLine = (&'static str, &'static [(f64, Said)]);

/// What a paper shows and nobody can repeat without its bench, and what stands in for it.
pub(super) struct Missing {
    pub(super) what: &'static str,
    pub(super) instead: &'static str,
}

impl Paper {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gateway2011 => "Timing Analysis of a Linux-Based CAN-to-CAN Gateway (2011)",
            Self::Queueing2011 => "SocketCAN and queueing disciplines (2011)",
            Self::Canid2012 => "The em_canid ematch benchmark (2012)",
            Self::Calls2014 => "Evaluation of Linux CAN system calls (2014)",
        }
    }
}

/// All figures, in the order of the papers and of their numbers.
pub(super) fn all() -> impl Iterator<Item = &'static Figure> {
    let others = [queueing_2011::FIGURES, canid_2012::FIGURES].into_iter().flatten();
    let mut all: Vec<_> = gateway_2011::figures().chain(others).chain(calls_2014::figures()).collect();
    all.sort_by(|one, other| one.paper.cmp(&other.paper).then(one.place().total_cmp(&other.place())));
    all.into_iter()
}

impl Figure {
    /// Its number as one: 9, 4.5.
    fn place(&self) -> f64 {
        self.number.split(' ').next_back().and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

pub(super) const MISSING: &[Missing] = &[
    Missing {
        what: "The gateway's board: MPC5200 (PowerPC, 396 MHz) with mscan controllers",
        instead: "An emulated x86-64 processor that counts its instructions, with emulated Kvaser PCI cards (SJA1000). Shares and \
                  orders are compared, never microseconds.",
    },
    Missing {
        what: "A tester that is a machine of its own (2011 and 2014)",
        instead: "The tester is in the gateway's machine and takes a part of its time, which is measured without a gateway. \
                  Frames that come faster than both can bear are not sent.",
    },
    Missing {
        what: "Kernels 2.6.33, 2.6.36, 3.0, 3.4 and 3.12, and their -rt patches",
        instead: "Debian's 6.1 and 6.12, plain and real-time.",
    },
    Missing {
        what: "RTEMS (2014, figures 4.2 and 4.3: 15 us)",
        instead: "Nothing: it needs the board. A gateway of its own can be measured as gateway = \"external\".",
    },
    Missing {
        what: "readbusynoirq-write and busy polling of CAN sockets with patched drivers (2014, section 4.3)",
        instead: "readbusy-write on kernels as they are, where the CAN layer does not honour SO_BUSY_POLL.",
    },
    Missing {
        what: "ping -f -s 60000 through an Ethernet card (2011, figure 8)",
        instead: "Datagrams of 60000 bytes through the loopback interface, whose softirq CAN frames share, too.",
    },
    Missing {
        what: "cls_can and the array form of the CAN filter (queueing disciplines 2011, em_canid note)",
        instead: "em_canid as it was merged, which has a bitmap for 11-bit identifiers.",
    },
];
