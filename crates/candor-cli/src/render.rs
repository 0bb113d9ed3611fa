//! Standard output and standard error. Output to a closed pipe ends the command without an error.

mod diagnostics;
pub use diagnostics::{Finding, Source, digest, is_more, json, text};

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::{Exit, Outcome};

/// Writes to standard output.
///
/// Unlike `print!`, returns the error of a closed pipe; [`is_broken_pipe`] recognizes it.
pub fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(out_error)
}

/// An error of standard output as [`out`] returns it.
pub fn out_error(source: io::Error) -> io::Error {
    io::Error::new(source.kind(), OutError { source })
}

/// Text of others without control characters, which could do something to a terminal.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '\'' | '"' | '\\' => visible.push(one),
            other => visible.extend(other.escape_debug()),
        }
    }
    visible
}

/// An error of standard output, inside an [`io::Error`] of the same kind.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
struct OutError {
    source: io::Error,
}

/// A JSON object for standard output, indented and with sorted keys.
pub fn object(value: &impl Serialize) -> String {
    format!("{:#}\n", sorted(value))
}

/// A JSON object on a single line, with sorted keys.
pub fn line(value: &impl Serialize) -> String {
    format!("{}\n", sorted(value))
}

fn sorted(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("views have string keys and no fallible fields")
}

/// Writes to standard error; errors are ignored.
pub fn err(text: &str) {
    let _unread = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints an error and its causes to standard error, each on its own line.
pub fn error_chain(program: &str, error: &dyn std::error::Error) {
    let mut text = format!("{program}: {}\n", continued(error.to_string()));
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("  caused by: {error}\n"));
        cause = error.source();
    }
    err(&text);
}

/// The message in lower case, as it follows the name of the program, unless it begins with a name such as `USB/IP`.
fn continued(mut message: String) -> String {
    let word = message.split(' ').next().unwrap_or_default();
    if word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) {
        message.get_mut(..1).into_iter().for_each(str::make_ascii_lowercase);
    }
    message
}

/// True for an error of [`out`] because the reader closed the pipe; other broken pipes are failures.
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

/// Writes the answer of a command to standard output. A closed pipe does not change the exit status.
pub fn answer(text: &str, exit: Exit) -> Outcome {
    match out(text) {
        Err(error) if !is_unread(&error) => Err(error.into()),
        _ => Ok(exit),
    }
}

/// True if standard error is a terminal with colours, and `NO_COLOR` is not set.
pub fn wants_colour() -> bool {
    allows_colour(io::stderr().is_terminal())
}

/// As [`wants_colour`], for standard output.
pub fn wants_colour_out() -> bool {
    allows_colour(io::stdout().is_terminal())
}

fn allows_colour(is_terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
