//! Arguments of `candor-lab compare`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// Compare two sets of measurements: two commits, two kernels, two gateways.
///
/// A and B are folders that candor-lab measure has filled, record files, or folders of records. Cells that have the same level of every
/// factor are compared; with --a and --b those that differ in these factors only, also within one folder. Where instructions are
/// counted, the difference is exact. Elsewhere it is judged by runs (repeats of the plan), beside the noise floor between equal
/// runs. What so few frames or runs do not support is refused in words.
///
/// Exit status: 0 they were compared, 1 B is worse than --tolerance allows, 2 they could not be compared, or with --tolerance
/// not all of them.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// What is compared with: before the change, say.
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// What is compared: after the change, say (default: A, with --a and --b).
    #[arg(value_name = "B", required_unless_present = "b")]
    pub(crate) second: Option<PathBuf>,
    /// Of A, only cells with this level, such as gateway=kernel (repeatable).
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) a: Vec<Level>,
    /// Of B, only cells with this level (repeatable).
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) b: Vec<Level>,
    /// Exit with 1 if B takes more than this share longer at p50, p90 or p99, or loses more frames; such as "0.5 %".
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) tolerance: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A factor and one of its levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) factor: String,
    pub(crate) level: String,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((factor, level)) if !factor.is_empty() => {
                Ok(Self { factor: factor.to_owned(), level: level.to_owned() })
            }
            _ => Err("a level is written FACTOR=LEVEL, such as gateway=kernel".to_owned()),
        }
    }
}

/// Per cent as a share.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent.filter(|percent| (0.0..=1000.0).contains(percent)) {
        Some(percent) => Ok(percent / 100.0),
        None => Err("a share is written in per cent, such as \"0.5 %\"".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_shares_are_read_as_people_write_them() {
        let level = |text: &str| text.parse::<Level>().map(|level| (level.factor, level.level));
        assert_eq!(level("traffic=50 %"), Ok(("traffic".to_owned(), "50 %".to_owned())));
        assert!(level("kernel").is_err() && level("=kernel").is_err());
        assert_eq!(["0.5 %", "0%", "100 %"].map(share), [Ok(0.005), Ok(0.0), Ok(1.0)]);
        assert!(["", "0.5", "-1 %", "nan %", "2000 %"].iter().all(|wrong| share(wrong).is_err()));
    }
}
