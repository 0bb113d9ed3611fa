//! A black-box test of any gateway between two interfaces: what of all that CAN can carry arrives as it was sent.
//!
//! ```text
//!  frames of one check ──▶ from ──▶ gateway under test ──▶ to ──▶ volley: which copies of which frame came,
//!                            ▲                                            where, in which order
//!                            └── what comes back                          │
//!                                                         checks ◀────────┘ one verdict for each property
//! ```
//!
//! The gateway is expected to carry everything and to change nothing. Each property has its own frames, and what is
//! wrong with one of them must not spoil the verdict on another: a frame that is lost now and then is sent again when
//! lengths are checked, and counts where losses are. Nothing here waits without a bound: a check ends when everything
//! has arrived, when nothing has come for a while, or when far too much has.

mod checks;
mod command;
mod frames;
mod interfaces;
mod volley;

pub use command::{Command, CommandError, Started};
pub use interfaces::{Interfaces, InterfacesError};

use std::io;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_io::clock::RealtimeNs;

use frames::Random;
use volley::Volleys;

/// One of the two interfaces between which the gateway stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where frames are sent.
    From,
    /// Where they are expected.
    To,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// What the checks need of the world. The real one is [`Interfaces`].
pub trait Bench {
    /// Sends on one side, at once or as soon as the interface takes it.
    ///
    /// # Errors
    /// What the interface says.
    fn send(&mut self, side: Side, frame: &Frame) -> io::Result<()>;

    /// The next frame that somebody else has sent on either side, waiting for it at most this long.
    ///
    /// # Errors
    /// What the interface says.
    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Heard>>;

    /// Waits.
    fn pause(&mut self, duration: Duration);

    /// Sends a frame on the first side and gives the kernel's stamps: of the frame there, and of the next one that
    /// arrives on the other side, waiting for it at most this long.
    ///
    /// # Errors
    /// What the interfaces say.
    fn stamps(&mut self, frame: &Frame, timeout: Duration) -> io::Result<Option<(RealtimeNs, RealtimeNs)>>;

    /// Frames that the test itself was too slow to take.
    ///
    /// # Errors
    /// What the interfaces say.
    fn missed(&mut self) -> io::Result<u32>;
}

/// A frame that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Where.
    pub side: Side,
    /// What.
    pub frame: Frame,
}

/// Whether something is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It is.
    Yes,
    /// It is not, for this reason.
    No(String),
}

/// What is checked, and how long to wait.
#[derive(Clone, Debug)]
pub struct Options {
    /// CAN FD.
    pub fd: Wanted,
    /// Error frames: only virtual interfaces can be given some.
    pub error_frames: Wanted,
    /// The way back; if `None`, it is checked if anything passes it.
    pub both_ways: Option<Wanted>,
    /// How long the first frame may take, since the gateway may still be starting.
    pub wait: Duration,
    /// Without any frame for so long, those that have not arrived are lost.
    pub lost_after: Duration,
    /// Seed of the random identifiers and payloads.
    pub seed: u64,
}

/// The answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It does that right.
    Ok,
    /// It does not.
    No,
    /// There was nothing to judge.
    NotApplicable,
}

impl Verdict {
    /// The word for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::No => "no",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its name for programs.
    pub name: &'static str,
    /// What a gateway should do, in words.
    pub property: &'static str,
    /// Whether it does.
    pub verdict: Verdict,
    /// What was seen.
    pub detail: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How long the first frame took, from the first that was sent; `None` if none arrived, and then nothing else was
    /// checked.
    pub first_frame_after: Option<Duration>,
    /// Frames that were sent.
    pub sent: u64,
    /// One for each property.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether no verdict is [`Verdict::No`].
    #[must_use]
    pub fn all_right(&self) -> bool {
        self.lines.iter().all(|line| line.verdict != Verdict::No)
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// An interface failed.
    #[error("Cannot send and receive frames")]
    Io(#[from] io::Error),
    /// The test missed frames, so nothing can be said of the gateway.
    #[error("This machine was too slow: the test itself has missed {frames} frames")]
    Missed {
        /// How many.
        frames: u32,
    },
    /// Whoever was told of the progress wanted no more.
    #[error("Stopped before the end")]
    Stopped,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Go on.
    Yes,
    /// Stop.
    No,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// No frame has crossed yet.
    Waiting,
    /// A check begins.
    Check {
        /// Checks that are done.
        done: usize,
        /// Checks in all.
        of: usize,
        /// What this one is about.
        property: &'static str,
    },
}

/// Checks a gateway that has been started. `progress` is told before every check, and while the first frame is awaited.
///
/// # Errors
/// [`ConformanceError`]; a gateway that does everything wrong is none.
pub fn run(
    bench: &mut impl Bench,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> Continue,
) -> Result<Report, ConformanceError> {
    let mut volleys = Volleys::new(bench, options.lost_after);
    let report = checks::run(&mut volleys, options, progress)?;
    match volleys.missed()? {
        0 => Ok(report),
        // Nobody could take frames that come without end, and the report says that they do.
        _ if volleys.total.flooded => Ok(report),
        frames => Err(ConformanceError::Missed { frames }),
    }
}

/// Whether frames cross now.
///
/// # Errors
/// What the interfaces say.
pub fn crosses(bench: &mut impl Bench, options: &Options) -> io::Result<bool> {
    Volleys::new(bench, options.lost_after).any_crosses(Side::From, &mut Random::new(options.seed))
}

#[cfg(test)]
mod tests;
