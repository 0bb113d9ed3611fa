//! The language of `tc` ⇄ [`Tree`].
//!
//! ```text
//!  tree = '''…''' of a file ──parse─────────▶ Tree ──script──▶ shell script for tc
//!                             ◀──lines──── Tree
//!  tc script ────────────────parse_script──▶ (interface, Tree) each
//! ```
//!
//! Lines are commands of `tc`, in which `tc`, `add` and `dev X` may be left out. Nothing runs: what only a running shell could
//! know is a mistake that says so. All mistakes are told at once, each with its place.
//!
//! # Source
//! The manual pages of iproute2 6.1 and what its `tc` sends; `docs/egress.md` is the description for people.

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

/// Texts beyond this many bytes are refused: no tree needs them.
pub const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    pub tree: Tree,
    /// What the text means where one could think otherwise, in the order of the text.
    pub notes: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Each interface under the name that the script has for it, which may be a variable such as `$DEV`, or nothing where
    /// no line names one; and its tree.
    pub trees: Vec<(String, Tree)>,
    /// What the text means where one could think otherwise, in the order of the text.
    pub notes: Vec<Diagnostic>,
    /// Commands that make no tree: those of other programs, and `tc … show`.
    pub left_out: Vec<Span>,
}

/// Reads the tree of one interface: nothing but lines of `tc`.
///
/// # Errors
/// Everything that is wrong, and the notes too, in the order of the text. Spans count bytes from its start.
pub fn parse(text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    let script = read(text, Reading::Tree)?;
    let tree = script.trees.into_iter().next().map(|(_, tree)| tree).unwrap_or_default();
    Ok(Parsed { tree, notes: script.notes })
}

/// Reads a script with commands of `tc` for any number of interfaces, and with other commands between them.
pub fn parse_script(text: &str) -> Result<Script, Vec<Diagnostic>> {
    read(text, Reading::Script)
}

fn read(text: &str, reading: Reading) -> Result<Script, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let message = format!("The text has more than {} MiB", MAX_BYTES >> 20);
        let diagnostic = Diagnostic::error(code::TOO_LARGE, 0..0, message);
        return Err(vec![diagnostic.help("give only the lines that have to do with tc")]);
    }
    let mut findings = Findings::default();
    let (trees, left_out) = reader::read(text, reading, &mut findings);
    let has_errors = findings.has_errors();
    let notes = findings.into_sorted();
    if has_errors { Err(notes) } else { Ok(Script { trees, notes, left_out }) }
}

#[cfg(test)]
mod tests;
