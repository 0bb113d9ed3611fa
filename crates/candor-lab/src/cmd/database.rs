//! `candor database`.

mod json;
mod picture;
mod text;

use std::error::Error;
use std::path::Path;

use candor_cli::gateway_file::read_bytes;
use candor_cli::{Exit, Outcome, render};
use candor_signals::{Database, FindError, Message};
#[cfg(test)]
pub(super) use json::View;

use crate::cli::DatabaseArgs;

/// The largest databases of cars have a few megabytes.
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
#[error("{0} has more than {MOST_BYTES} bytes")]
struct TooLarge(String);

#[derive(Debug, thiserror::Error)]
#[error("{0} has no messages; candor-lab database {0} says why")]
struct NoMessages(String);

pub(crate) fn run(args: &DatabaseArgs) -> Outcome {
    let (name, bytes) = bytes(&args.file)?;
    let database = candor_signals::read(&bytes);
    let wanted = args.message.as_ref().map(|message| find(&database, message)).transpose()?;
    let exit = if database.messages.is_empty() { Exit::No } else { Exit::Fine };
    let shown = if args.json {
        render::object(&json::view(&name, &database, wanted.as_deref()))
    } else {
        match &wanted {
            Some(messages) => text::messages(&name, &database, messages),
            None => text::overview(&name, &database),
        }
    };
    render::answer(&shown, exit)
}

fn bytes(path: &Path) -> Result<(String, Vec<u8>), Box<dyn Error>> {
    let (name, bytes) = read_bytes(path, MOST_BYTES)?;
    if bytes.len() > MOST_BYTES { Err(TooLarge(name).into()) } else { Ok((name, bytes)) }
}

/// The database in a file.
///
/// # Errors
/// If it cannot be read, or has no messages.
pub(super) fn read(path: &Path) -> Result<Database, Box<dyn Error>> {
    let (name, bytes) = bytes(path)?;
    let database = candor_signals::read(&bytes);
    if database.messages.is_empty() { Err(NoMessages(name).into()) } else { Ok(database) }
}

/// The messages with this name or identifier: one in most files.
fn find<'a>(database: &'a Database, wanted: &str) -> Result<Vec<&'a Message>, FindError> {
    let is_wanted =
        |one: &&Message| one.name == wanted || one.id.is_some_and(|id| id.to_string().eq_ignore_ascii_case(wanted));
    let found: Vec<_> = database.messages.iter().filter(is_wanted).collect();
    if found.is_empty() { database.message(wanted).map(|one| vec![one]) } else { Ok(found) }
}

/// The signals that select a signal, and the values with which they do.
fn conditions(message: &Message, at: usize) -> Vec<(&str, &[(u64, u64)])> {
    let mut next = message.signals[at].present.as_ref();
    let mut conditions = Vec::new();
    // A circle has no end.
    while let Some(presence) = next.filter(|_presence| conditions.len() < message.signals.len()) {
        let switch = &message.signals[presence.switch];
        conditions.push((switch.name.as_str(), presence.ranges.as_slice()));
        next = switch.present.as_ref();
    }
    conditions
}
