//! Arguments of `candor check`.

use std::path::PathBuf;

use candor_cli::assumed::AssumedArgs;
use candor_config::{config, import};
use candor_egress::{lint, text};
use clap::Args;

use super::VerifyArgs;

/// `--deny warnings`.
pub(crate) const WARNINGS: &str = "warnings";

/// Check a gateway file and report every finding in it.
///
/// Reads only the file and, for queue = "arbitration", whether this kernel has queues in BPF. candor doctor checks the
/// machine.
///
/// Exit status: 0 the file is valid, 1 it is not valid or has denied findings, 2 it could not be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor check car.toml
  candor check --deny warnings car.toml     exit with 1 on any warning, for CI
  candor check --allow W0601 car.toml       suppress one kind of warning
  candor check --explain W0601              explain a code
  candor check --json - < car.toml          findings as JSON
  candor check --bounds --latency 200us car.toml")]
pub(crate) struct CheckArgs {
    /// Gateway file; - reads standard input.
    #[arg(required_unless_present = "explain")]
    pub(crate) file: Option<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    /// Exit with 1 if there are findings of this code, or any warnings (repeatable).
    #[arg(long, value_name = "CODE|warnings", value_parser = denied)]
    pub(crate) deny: Vec<&'static str>,
    /// Suppress warnings or notes of this code (repeatable).
    #[arg(long, value_name = "CODE", value_parser = allowed)]
    pub(crate) allow: Vec<&'static str>,
    /// Exit with 1 if a message of the file can miss its deadline, as candor bounds computes it.
    #[arg(long)]
    pub(crate) bounds: bool,
    #[command(flatten)]
    pub(crate) assumed: AssumedArgs,
    /// Explain a code, such as W0601, and how to resolve its findings.
    #[arg(long, value_name = "CODE", value_parser = explained, conflicts_with_all = ["file", "json", "deny", "allow", "bounds"])]
    pub(crate) explain: Option<&'static str>,
}

/// A code that any command reports.
fn explained(code: &str) -> Result<&'static str, String> {
    known(code, &[config::code::ALL, import::code::ALL, text::code::ALL, lint::code::ALL])
}

/// The code of a warning or note that `candor check` reports.
fn allowed(code: &str) -> Result<&'static str, String> {
    match checked(code)? {
        code if code.starts_with('E') => Err("errors cannot be allowed: a file with an error is not valid".to_owned()),
        code => Ok(code),
    }
}

fn denied(code: &str) -> Result<&'static str, String> {
    if code == WARNINGS { Ok(WARNINGS) } else { checked(code).map_err(|why| format!("{why}; or: warnings")) }
}

/// A code that `candor check` reports.
fn checked(code: &str) -> Result<&'static str, String> {
    known(code, &[config::code::ALL, text::code::ALL, lint::code::ALL])
}

fn known(code: &str, codes: &[&[&'static str]]) -> Result<&'static str, String> {
    let known = codes.iter().copied().flatten().find(|known| known.eq_ignore_ascii_case(code)).copied();
    known.ok_or_else(|| "no such code; findings show their code in brackets: warning[W0601]".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_codes() {
        assert_eq!(denied("W0601"), Ok("W0601"));
        assert_eq!(allowed("w0601"), Ok("W0601"));
        assert_eq!(denied("warnings"), Ok(WARNINGS));
        assert!(denied("warning").is_err() && checked("W9999").is_err());
        assert!(explained("E0901").is_ok() && denied("E0901").is_err());
        assert!(allowed("E0101").unwrap_err().contains("cannot be allowed"));
    }
}
