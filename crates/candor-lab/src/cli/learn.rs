//! Arguments of `candor-lab learn`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::Identifier;

/// Learn checksums, counters and rules from recorded traffic.
#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    Checksum(LearnChecksumArgs),
    Allow(LearnAllowArgs),
    Detect(LearnDetectArgs),
    Traffic(LearnTrafficArgs),
}

/// Find the checksum and the counter of an identifier in a log, and print them as keys of a gateway file.
///
/// LOG is a log of candump (`candump -L`) or of `candor dump --log`. CRCs of any polynomial, XOR, sums, Data-IDs chosen by a
/// counter and the profiles of AUTOSAR E2E are tried. Prints the lines `check` and `protect` for a route, how many frames they
/// explain, the first that they do not explain, and what the log cannot decide. Without --id, prints one line for each
/// identifier.
///
/// Exit status: 0 a scheme was found, 1 none, 2 the log could not be read or has no such frames.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab learn checksum drive.log --id 229        one identifier: 3 or 8 hexadecimal digits
  candor-lab learn checksum drive.log                 all identifiers, one line each
  zcat drive.log.gz | candor-lab learn checksum -     a compressed log
  candor-lab learn checksum --json drive.log | jq -r '.identifiers[] | select(.protect) | .protect'")]
pub(crate) struct LearnChecksumArgs {
    /// Log of candump; - reads standard input.
    pub(crate) log: PathBuf,
    /// Only frames with this identifier: 3 hexadecimal digits, or 8 for an extended one.
    #[arg(long)]
    pub(crate) id: Option<Identifier>,
    /// Only frames of this interface, if the log has several.
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Only payloads of this length in bytes (default: the most frequent length).
    #[arg(long, value_name = "BYTES")]
    pub(crate) len: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write an allow-list of the identifiers in logs as a gateway file, or compare a later log with them.
///
/// Each identifier becomes a route with a guard: lengths, bits that never changed, rate, shortest gap and longest silence; with
/// --database, ranges of signals. Comments say what was seen. The guards only count violations, until on-violation is
/// changed to "drop". Then the logs are judged by the list, and comments say what would be dropped, by identifier and key.
///
/// With --compare, prints what a later log has that the logs had not (new and missing identifiers, other lengths, bits that
/// changed, other periods), and what the list would drop of it.
///
/// Exit status: 0 the list was written and its logs satisfy it, or the later log has no difference; 1 there is a violation or a
/// difference; 2 a log could not be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab learn allow monday.log tuesday.log > allow.toml
  candor-lab learn allow monday.log --from body --to powertrain > allow.toml
  candor-lab learn allow monday.log --database car.dbc > allow.toml
  candor-lab learn allow monday.log --compare friday.log")]
pub(crate) struct LearnAllowArgs {
    /// Logs of candump; - reads standard input.
    #[arg(required = true)]
    pub(crate) logs: Vec<PathBuf>,
    /// Only these identifiers: 3 hexadecimal digits, or 8 for an extended one.
    #[arg(long)]
    pub(crate) id: Vec<Identifier>,
    /// Only frames of this interface, if a log has several.
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Name of the bus that frames come from (default: the interface of the first log).
    #[arg(long, value_name = "BUS", value_parser = bus)]
    pub(crate) from: Option<String>,
    /// Name of the bus that they go to (default: can1, or can0).
    #[arg(long, value_name = "BUS", value_parser = bus)]
    pub(crate) to: Option<String>,
    /// DBC or KCD file: the list also has the ranges of signals.
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    /// Print the differences of this later log instead of the list.
    #[arg(long, value_name = "LATER")]
    pub(crate) compare: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure which attacks learned rules detect, how fast, and how often they are wrong.
///
/// Guards and checks are learned from traffic without attacks, and judge traffic with attacks whose truth is known. Without
/// --road, the traffic is that of a car that does not exist, and the attacks are floods, injection, suspension, replay and
/// masquerade. With --road, it is the data set ROAD: rules are learned from DIR/ambient, and judge each capture of DIR/attacks
/// that DIR/attacks/capture_metadata.json labels.
///
/// Exit status: 0 the table was printed, 2 the data set could not be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab learn detect
  candor-lab learn detect --road ~/road")]
pub(crate) struct LearnDetectArgs {
    /// Directory of the data set ROAD, with ambient and attacks.
    #[arg(long, value_name = "DIR")]
    pub(crate) road: Option<PathBuf>,
    /// Seconds of generated traffic that rules are learned from.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(10..=36_000))]
    pub(crate) seconds: u64,
    /// Runs of each attack on generated traffic.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write the messages of logs as traffic tables of a gateway file, for candor bounds.
///
/// Each identifier becomes a table [[traffic]] with its longest payload, and its period and jitter, or its shortest gap. All frames
/// of the logs keep to them. Comments say what was seen, and what a log does not show.
///
/// The bus of a log is that after =. Without it, each interface of the log is a bus: with --gateway the one that has this interface
/// there, otherwise one with the name of the interface. With --gateway, messages that FILE already has in [[traffic]] are left out,
/// and those that FILE forwards or composes.
///
/// The ending of a log names its format (candor-lab convert --help); other files, and standard input, are logs of candump.
///
/// Exit status: 0 there is at least one table, 1 none, or FILE is not valid, 2 a log could not be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab learn traffic drive.log=powertrain >> car.toml
  candor-lab learn traffic engine.pcapng=powertrain doors.log=body --gateway car.toml >> car.toml
  (cat car.toml; candor-lab learn traffic both.log --gateway car.toml) | candor bounds - --latency 200us")]
pub(crate) struct LearnTrafficArgs {
    /// Recordings, each with the name of its bus; - reads standard input.
    #[arg(required = true, value_name = "LOG[=BUS]")]
    pub(crate) logs: Vec<BusLog>,
    /// Only frames of this interface, if a log has several.
    #[arg(long, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Gateway file whose buses these are.
    #[arg(long, value_name = "FILE")]
    pub(crate) gateway: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn bus(name: &str) -> Result<String, String> {
    match name.split_once('=') {
        Some((name, _)) => Err(format!("it takes a name of the printed file, without an interface; write {name}")),
        None => Ok(name.to_owned()),
    }
}

/// `LOG` or `LOG=BUS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BusLog {
    pub(crate) path: PathBuf,
    pub(crate) bus: Option<String>,
}

impl FromStr for BusLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.rsplit_once('=') {
            Some(("", _) | (_, "")) => Err("write LOG=BUS, such as drive.log=powertrain".to_owned()),
            Some((path, bus)) => Ok(Self { path: path.into(), bus: Some(bus.to_owned()) }),
            None => Ok(Self { path: text.into(), bus: None }),
        }
    }
}
