//! Black-box test of any gateway between two interfaces: which frames arrive as they were sent.
//!
//! ```text
//!  frames of one check ──▶ from ──▶ gateway ──▶ to ──▶ volley: which copies of which frame arrived,
//!                            ▲                                 where, and in which order
//!                            └── frames that return            │
//!                                                   checks ◀───┘ one verdict per property
//! ```
//!
//! The gateway is expected to forward everything unchanged. Properties are independent: the check of lengths repeats a
//! frame that is lost, and only the check of losses counts it. Every wait is bounded: a check ends when all frames have
//! arrived, when none has for a while, or when far too many have.

mod checks;
mod command;
mod frames;
mod interfaces;
mod volley;

pub use command::{Command, CommandError, Started};
pub use interfaces::{Interfaces, InterfacesError};

use std::io;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_core::frame::Frame;
use candor_io::clock::RealtimeNs;
use serde::Serialize;

use frames::Random;
use volley::Volleys;

/// One of the two interfaces of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    From,
    To,
}

impl Side {
    pub const fn other(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// Access to both sides. The real one is [`Interfaces`].
pub trait Bench {
    /// Sends on one side; waits if the queue is full.
    fn send(&mut self, side: Side, frame: &Frame) -> io::Result<()>;

    /// The next frame on either side that another socket sent.
    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Received>>;

    fn pause(&mut self, duration: Duration);

    /// Sends a frame on the first side. Returns the kernel's stamps of it there, and of the next frame on the other
    /// side.
    fn stamps(&mut self, frame: &Frame, timeout: Duration) -> io::Result<Option<(RealtimeNs, RealtimeNs)>>;

    /// Frames lost by the test itself.
    fn missed(&mut self) -> io::Result<u32>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub side: Side,
    pub frame: Frame,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Yes,
    No(String),
}

#[derive(Clone, Debug)]
pub struct Options {
    pub fd: Wanted,
    /// Only virtual interfaces can inject them.
    pub error_frames: Wanted,
    /// The reverse direction. `None`: check it if any frame passes.
    pub both_ways: Option<Wanted>,
    /// Limit for the first frame; the gateway may still be starting.
    pub wait: Duration,
    /// Missing frames are lost if no frame arrives for this time.
    pub lost_after: Duration,
    pub seed: u64,
}

names! {
    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum Verdict {
        Ok = "ok",
        No = "no",
        #[serde(rename = "not applicable")]
        NotApplicable = "not applicable",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    pub name: &'static str,
    pub property: &'static str,
    pub verdict: Verdict,
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// From the first frame sent; `None` if none arrived, and then nothing else was checked.
    pub first_frame_after: Option<Duration>,
    pub sent: u64,
    pub lines: Vec<Line>,
}

impl Report {
    pub fn all_right(&self) -> bool {
        self.lines.iter().all(|line| line.verdict != Verdict::No)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    #[error("Cannot send and receive frames")]
    Io(#[from] io::Error),
    #[error("This machine is too slow: the test itself missed {}", plural(*frames as usize, "frame"))]
    Missed { frames: u32 },
    #[error("Stopped before the end")]
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    Yes,
    No,
}

#[derive(Clone, Copy, Debug)]
pub enum Progress {
    Waiting,
    Check { done: usize, of: usize, property: &'static str },
}

/// Checks a running gateway. `progress` is called before each check, and while waiting for the first frame.
pub fn run(
    bench: &mut impl Bench,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> Continue,
) -> Result<Report, ConformanceError> {
    let mut volleys = Volleys::new(bench, options.lost_after);
    let report = checks::run(&mut volleys, options, progress)?;
    match volleys.missed()? {
        0 => Ok(report),
        // The test cannot keep up with endless frames; the report names them.
        _ if volleys.total.flooded => Ok(report),
        frames => Err(ConformanceError::Missed { frames }),
    }
}

pub fn crosses(bench: &mut impl Bench, options: &Options) -> io::Result<bool> {
    Volleys::new(bench, options.lost_after).any_crosses(Side::From, &mut Random::new(options.seed))
}

#[cfg(test)]
mod tests;
