//! The jobs from one bus, for frames of one format, as filters of traffic control.

mod change;
mod generate;
mod generator;
mod plan;
mod tables;

use candor_core::frame::FrameFormat;
use candor_core::job::{BusIndex, Job, RouteIndex};

use crate::assembler::{Program, TooFar};
pub use plan::MAX_STEPS;

/// The filters of a bus, in order, and their maps.
///
/// The first one decides which of the others run, which must not be attached without one. So the rules change between two frames if the others of the next
/// [`Generation`] are attached beside those of the last one, in front of them or behind, and the first one is then replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filters {
    pub filters: Vec<Filter>,
    pub maps: Vec<Map>,
}

/// Two generations of filters do not touch each other's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Generation {
    #[default]
    Even,
    Odd,
}

impl Generation {
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }

    /// Noted with the steps of a frame.
    const fn bit(self) -> u32 {
        match self {
            Self::Even => 0,
            Self::Odd => 1 << MAX_STEPS,
        }
    }
}

/// Frames for which the kernel has a protocol each, so their programs do not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `ETH_P_CAN`.
    Classic,
    /// `ETH_P_CANFD`.
    Fd,
    /// `ETH_P_CANXL`.
    Xl,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Classic, Self::Fd, Self::Xl];

    /// The MTU that an interface for such frames has at least, in bytes (`CAN_MTU`, `CANFD_MTU`, `CANXL_MIN_MTU`).
    ///
    /// # Source
    /// [`include/uapi/linux/can.h`](https://github.com/torvalds/linux/blob/v7.0/include/uapi/linux/can.h#L251) in Linux 7.0.
    #[must_use]
    pub const fn least_mtu(self) -> u32 {
        match self {
            Self::Classic => 16,
            Self::Fd => 72,
            Self::Xl => 76,
        }
    }

    /// Of the frames that a job matches.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        if job.is_xl { Self::Xl } else { job.format.into() }
    }
}

impl From<FrameFormat> for Kind {
    fn from(format: FrameFormat) -> Self {
        match format {
            FrameFormat::Classic => Self::Classic,
            FrameFormat::Fd => Self::Fd,
        }
    }
}

/// A filter: its program returns 1 for frames that get its action, otherwise 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    pub program: Program,
    pub action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Send {
        route: RouteIndex,
        to: BusIndex,
        how: How,
    },
    /// Nobody else gets the frame.
    End,
    /// Never: the program only restores the frame.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// A copy is sent, and the frame goes on to the next filter.
    Mirror,
    /// The frame itself is sent: nobody else gets it.
    Redirect,
}

/// A map of the kernel with its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Map {
    /// An array with one value, which programs address directly.
    Array(Vec<u8>),
    /// A hash table from the compared bits of an identifier to the steps.
    Hash(Vec<(u32, u32)>),
    /// An array with one value: a number of 64 bits for each step, the frames that it deleted.
    Deleted(usize),
    /// An array with one value of 64 bits: how many numbers of the own counter of a route were taken. All programs with frames of
    /// the route share it.
    Counter(RouteIndex),
    /// An array with one value of 64 bits: by how many nanoseconds TAI is ahead of the clock of receive timestamps.
    TaiAhead,
    /// An array with one value of numbers of 64 bits, for each step the sum of its latencies in nanoseconds, and the frames of each
    /// class.
    Latencies { steps: usize, classes: usize },
}

impl Map {
    /// Bytes of the value of a map with counters; `None` for others.
    #[must_use]
    pub const fn counter_bytes(&self) -> Option<usize> {
        match self {
            Self::Array(_) | Self::Hash(_) => None,
            Self::Deleted(steps) => Some(8 * *steps),
            Self::Counter(_) | Self::TaiAhead => Some(8),
            Self::Latencies { steps, classes } => Some(8 * *steps * (1 + *classes)),
        }
    }
}

/// Jobs that no program can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CompileError {
    #[error("frames of one bus would pass {} steps, and a program has at most {MAX_STEPS}", counted(*.steps))]
    Steps { steps: usize },
    #[error("filters have {masks} different masks, and a program compares at most {}", tables::MAX_MASKS)]
    Masks { masks: usize },
    #[error("a program cannot convert frame formats")]
    Format,
    #[error("a program cannot write this checksum or this counter")]
    Protection,
    #[error("a changed CAN FD frame cannot also reach other programs or routes")]
    Restore,
    #[error("a program forwards CAN XL frames unchanged, and does not look into them")]
    Xl,
    #[error(transparent)]
    TooFar(#[from] TooFar),
}

fn counted(steps: usize) -> String {
    if steps > plan::MOST_COUNTED { format!("more than {}", plan::MOST_COUNTED) } else { steps.to_string() }
}

/// A first filter for no frame, beside filters of any generation: before the first ones are attached, and before the last ones are
/// removed.
#[must_use]
pub fn idle() -> Filter {
    generate::idle()
}

/// A filter in front of the first one, where frames arrive that this machine has sent (vxcan): it ends frames that have passed
/// [`MOST_PASSES`] such filters. The count is in the four highest bits of the mark of a frame, which a vxcan pair keeps.
#[must_use]
pub fn guard() -> Filter {
    generate::guard()
}

/// Filters of [`guard`] that a frame passes.
pub const MOST_PASSES: u32 = 8;

/// Compiles the jobs from `from` for frames of this kind. `is_exclusive` says which routes take their frames away from
/// everybody else on this machine. Without jobs there are no filters.
///
/// `latency_bounds_ns` are the upper bounds of the classes in which latencies are counted, from the receive timestamp to the program;
/// there is one more class than bounds. Without bounds nothing is measured. Otherwise each step reads the clock for a frame with a
/// timestamp, and the programs need Linux 6.1.
///
/// # Errors
/// What the programs cannot do: [`CompileError`].
pub fn compile(
    jobs: &[Job],
    from: BusIndex,
    kind: Kind,
    generation: Generation,
    is_exclusive: impl Fn(RouteIndex) -> bool,
    latency_bounds_ns: &[u32],
) -> Result<Filters, CompileError> {
    let steps = plan::steps(jobs, from, kind, is_exclusive)?;
    generate::generate(jobs, &steps, (kind, generation), latency_bounds_ns)
}

#[cfg(test)]
mod tests;
