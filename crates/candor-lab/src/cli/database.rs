//! Arguments of `candor-lab database`.

use std::path::PathBuf;

use clap::Args;

/// Show the messages and signals of a CAN database (DBC, KCD), and what is odd in it.
///
/// Without MESSAGE, lists the messages, their cycle times and their senders. With MESSAGE, draws where its signals are in the
/// frame, and lists their types, scaling, ranges, units and named values. Both list oddities with their line: a statement that
/// cannot be read is ignored, and a signal that has no meaning, such as one outside its frame, cannot be used; everything
/// else of the file can.
///
/// Exit status: 0 the database was shown, 1 the file has no messages, 2 it could not be read or has no such message.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab database car.dbc               all messages, and what is odd in the file
  candor-lab database car.dbc ABS1          bits and signals of a message
  candor-lab database car.dbc 123           the same by identifier: 3 or 8 hexadecimal digits
  candor-lab database --json car.dbc | jq -r '.messages[] | select(.cycle_s) | .name'")]
pub(crate) struct DatabaseArgs {
    /// DBC or KCD file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Name or identifier of a message (default: list all).
    pub(crate) message: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
