//! Arguments of `candor-lab convert`.

use std::path::PathBuf;

use candor_recording::Format;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Convert a recording to another format: candump, pcapng, Vector ASC and BLF, MDF4, PEAK TRC, MCAP, CSV, Parquet.
///
/// The formats are those of the file endings, or of --from and --to. Files are read and written as streams, so they may have any
/// size. The summary counts by kind what the format of OUT cannot hold, such as names of buses or error frames.
///
/// With --decode, CSV and Parquet also have the signals of a CAN database: for each message a group of columns, with the physical
/// and the raw value of each signal, which are empty in rows of other frames.
///
/// A recording that is cut or damaged is converted up to that place, which is then named. OUT has its name only when it is
/// complete: until then it is a file with the ending .part, which is removed if the command fails.
///
/// Exit status: 0 all of IN was converted, 1 IN is cut or damaged and OUT has what is before, 2 it could not be converted, is empty,
/// or has no frame before the damage.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab convert drive.log drive.pcapng                     a log of candump for Wireshark
  candor-lab convert drive.blf drive.mf4
  candor-lab convert drive.blf drive.parquet --decode car.dbc   signals as columns, for pandas or DuckDB
  zcat drive.log.gz | candor-lab convert --from candump - drive.pcapng
  candor-lab convert drive.pcapng --to candump - | grep ' 123#'
  candor-lab convert drive.blf drive.log --json | jq .out.left_out")]
pub(crate) struct ConvertArgs {
    /// Recording to read; - reads standard input.
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Recording to write; - writes standard output. An existing file is replaced.
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Format of IN, if its ending does not say it.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) from: Option<Format>,
    /// Format of OUT, if its ending does not say it.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) to: Option<Format>,
    /// DBC or KCD file, whose signals become columns of CSV or Parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) decode: Option<PathBuf>,
    /// Print the summary as a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::all().map(|format| {
        let endings: Vec<_> = format.endings().iter().map(|ending| format!(".{ending}")).collect();
        PossibleValue::new(format.name()).help(format!("{} ({})", format.title(), endings.join(", ")))
    });
    PossibleValuesParser::new(names)
        .try_map(|name| Format::all().find(|format| format.name() == name).ok_or("there is no such format"))
}
