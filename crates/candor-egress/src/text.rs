//! `tc` commands ⇄ [`Tree`].
//!
//! ```text
//!  tree = '''…''' of a file ──parse─────────▶ Tree ──script──▶ shell script for tc
//!                             ◀──lines──── Tree
//!  tc script ────────────────parse_script──▶ (interface, Tree) each
//! ```
//!
//! Lines are commands of `tc`, in which `tc`, `add` and `dev X` are optional. Nothing is executed: anything that needs a
//! running shell is an error. All errors are reported at once, with their positions.
//!
//! # Source
//! The [manual pages](https://github.com/iproute2/iproute2/tree/v6.1.0/man/man8) of iproute2 6.1 and the messages of its
//! [`tc`](https://github.com/iproute2/iproute2/tree/v6.1.0/tc); `docs/egress.md` describes the language.

mod actions;
mod args;
pub mod code;
mod command;
mod disciplines;
mod ematch;
mod filters;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
mod print;
mod reader;
mod selector;
mod trees;
mod units;

pub use print::{NotSayable, Unsayable, line, lines, script, words};

use super::tree::Tree;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use reader::Reading;

/// Longer texts are rejected.
pub const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    pub tree: Tree,
    /// Notes on surprising meanings, in the order of the text.
    pub notes: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Each interface by its name in the script, which may be a variable such as `$DEV`, or empty if
    /// no line names one; and its tree.
    pub trees: Vec<(String, Tree)>,
    /// Notes on surprising meanings, in the order of the text.
    pub notes: Vec<Diagnostic>,
    /// Other commands, and `tc … show`.
    pub left_out: Vec<Span>,
}

/// Reads the tree of one interface from lines of `tc`.
///
/// # Errors
/// All errors and notes, in the order of the text. Spans are in bytes.
pub fn parse(text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    let script = read(text, Reading::Tree)?;
    let tree = script.trees.into_iter().next().map(|(_, tree)| tree).unwrap_or_default();
    Ok(Parsed { tree, notes: script.notes })
}

/// Reads a script with commands of `tc` for any number of interfaces, among other commands.
pub fn parse_script(text: &str) -> Result<Script, Vec<Diagnostic>> {
    read(text, Reading::Script)
}

fn read(text: &str, reading: Reading) -> Result<Script, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let message = format!("The text has more than {} MiB", MAX_BYTES >> 20);
        let diagnostic = Diagnostic::error(code::TOO_LARGE, 0..0, message);
        return Err(vec![diagnostic.help("pass only the tc commands")]);
    }
    let mut findings = Findings::default();
    let (trees, left_out) = reader::read(text, reading, &mut findings);
    let has_errors = findings.has_errors();
    let notes = findings.into_sorted();
    if has_errors { Err(notes) } else { Ok(Script { trees, notes, left_out }) }
}

#[cfg(test)]
mod tests;
