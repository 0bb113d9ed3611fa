//! What people and programs read. Output that nobody reads any more ends the command quietly.

mod diagnostics;
pub use diagnostics::{Source, digest, is_more, json, text};

use std::io::{self, IsTerminal, Write};

use crate::Outcome;
use crate::exit::Exit;

/// Writes to standard output.
///
/// Unlike `print!` this gives back the error of a closed pipe, which `main` does not take for a failure.
pub fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|source| io::Error::new(source.kind(), OutError { source }))
}

/// Standard output that takes nothing more, within an [`io::Error`] of the same kind.
#[derive(Debug)]
struct OutError {
    source: io::Error,
}

impl std::fmt::Display for OutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cannot write to standard output")
    }
}

impl std::error::Error for OutError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Writes to standard error. Where that is closed too, nobody is left to tell.
pub fn err(text: &str) {
    let _unread = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints an error and everything that caused it to standard error.
pub fn error_chain(program: &str, error: &dyn std::error::Error) {
    let mut text = format!("{program}: {error}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("  because: {error}\n"));
        cause = error.source();
    }
    err(&text);
}

/// Whether an error says that the reader of our output is gone. Other pipes break, too: those are failures.
pub fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(is_unread) {
            return true;
        }
        next = error.source();
    }
    false
}

fn is_unread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe && error.get_ref().is_some_and(|inner| inner.is::<OutError>())
}

/// Writes the answer of a command to standard output. An answer that nobody reads any more is the same answer.
pub fn answer(text: &str, exit: Exit) -> Outcome {
    match out(text) {
        Err(error) if !is_unread(&error) => Err(error.into()),
        _ => Ok(exit),
    }
}

/// Whether standard error wants colours.
pub fn wants_colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
