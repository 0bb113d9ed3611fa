//! Arguments about what bounds of response times assume.

use std::num::NonZeroU32;
use std::time::Duration;

use candor_config::bounds::{Assumptions, Lengths, Question};
use candor_core::units::parse_duration_or_zero;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

const LENGTHS: [(&str, Lengths); 2] = [("exact", Lengths::Exact), ("published", Lengths::Published)];

/// What bounds assume of the machine and the buses.
#[derive(Args, Debug)]
pub struct AssumedArgs {
    /// Longest time from the end of a frame on one bus to its copy in the queue of the next: a budget, unless there is a
    /// --quantile. Required for bounds of forwarded messages.
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero)]
    pub latency: Option<Duration>,
    /// --latency is this quantile of a measurement, 0 to 1: bounds do not hold for slower frames.
    #[arg(long, value_name = "Q", requires = "latency", value_parser = quantile)]
    pub quantile: Option<f64>,
    /// Frames that the controllers of this machine hold, the one on the wire included (default: 1).
    #[arg(long, value_name = "FRAMES")]
    pub controller: Option<NonZeroU32>,
    /// Number of error frames on each bus that a frame can meet (default: 0).
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=1000))]
    pub errors: Option<u32>,
    /// Bits from the last bit of a destroyed frame to the next frame (default: 31; 23 without error-passive nodes).
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(17..=31))]
    pub error_bits: Option<u32>,
    /// exact: the longest frame with each identifier. published: the longest with any, by the formulas of publications
    /// (default: exact).
    #[arg(long, value_name = "exact|published", value_parser = lengths())]
    pub lengths: Option<Lengths>,
}

impl AssumedArgs {
    #[must_use]
    pub const fn is_given(&self) -> bool {
        let Self { latency, quantile: _, controller, errors, error_bits, lengths } = self;
        latency.is_some() || controller.is_some() || errors.is_some() || error_bits.is_some() || lengths.is_some()
    }

    #[must_use]
    pub fn question(&self) -> Question {
        let usual = Assumptions::default();
        let assumptions = Assumptions {
            lengths: self.lengths.unwrap_or(usual.lengths),
            error_frames: self.errors.unwrap_or(usual.error_frames),
            error_frame_bits: self.error_bits.unwrap_or(usual.error_frame_bits),
        };
        let controller = self.controller.unwrap_or(NonZeroU32::MIN);
        Question { latency: self.latency, quantile: self.quantile, controller, assumptions }
    }
}

fn quantile(text: &str) -> Result<f64, String> {
    let quantile: f64 = text.parse().map_err(|_not| "write a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&quantile) { Ok(quantile) } else { Err("write a number from 0 to 1".to_owned()) }
}

fn lengths() -> impl clap::builder::TypedValueParser<Value = Lengths> {
    let of =
        |word: String| LENGTHS.iter().find(|(name, _)| *name == word).map_or(Lengths::Exact, |(_, lengths)| *lengths);
    PossibleValuesParser::new(LENGTHS.map(|(name, _)| name)).map(of)
}
