//! Messages and signals by name.

use candor_core::frame::RawId;

use super::{Database, Message, Signal};
use crate::oddity::Refusal;

/// Why a name finds nothing that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// Not `Message.Signal`.
    #[error("A signal is written as Message.Signal")]
    NoDot,
    /// No message with this name; with the most similar one.
    #[error("There is no message {name}{}", hint(.similar))]
    NoMessage {
        /// As written.
        name: String,
        /// A name of the database.
        similar: Option<String>,
    },
    /// No signal with this name; with the most similar one.
    #[error("Message {message} has no signal {name}{}", hint(.similar))]
    NoSignal {
        /// The message.
        message: String,
        /// As written.
        name: String,
        /// A name of the message.
        similar: Option<String>,
    },
    /// Several messages have this name.
    #[error("{count} messages are named {name}; the first is in line {first}, the next in line {second}")]
    Ambiguous {
        /// The name.
        name: String,
        /// How many there are.
        count: usize,
        /// Line of the first.
        first: u32,
        /// Line of the second.
        second: u32,
    },
    /// The signal cannot be used.
    #[error("Signal {name} cannot be used: {reason}")]
    Refused {
        /// `Message.Signal`.
        name: String,
        /// Why.
        reason: Refusal,
    },
}

fn hint(similar: &Option<String>) -> String {
    similar.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

impl Database {
    /// The message with this name.
    ///
    /// # Errors
    /// If there is none or more than one.
    pub fn message(&self, name: &str) -> Result<&Message, FindError> {
        let mut found = self.messages.iter().filter(|one| one.name == name);
        match (found.next(), found.next()) {
            (Some(message), None) => Ok(message),
            (Some(first), Some(second)) => Err(FindError::Ambiguous {
                name: name.to_owned(),
                count: 2 + found.count(),
                first: first.line,
                second: second.line,
            }),
            (None, _) => Err(FindError::NoMessage {
                name: name.to_owned(),
                similar: similar(name, self.messages.iter().map(|one| one.name.as_str())),
            }),
        }
    }

    /// The signal `Message.Signal`, if it can be used, and its message.
    ///
    /// # Errors
    /// If there is none, if a name is not unique, or if the signal cannot be used.
    pub fn signal(&self, name: &str) -> Result<(&Message, &Signal), FindError> {
        // Names of signals may have dots in other formats; those of messages have none.
        let (of_message, of_signal) = name.split_once('.').ok_or(FindError::NoDot)?;
        let message = self.message(of_message)?;
        let Some(signal) = message.signals.iter().find(|one| one.name == of_signal) else {
            return Err(FindError::NoSignal {
                message: of_message.to_owned(),
                name: of_signal.to_owned(),
                similar: similar(of_signal, message.signals.iter().map(|one| one.name.as_str())),
            });
        };
        match &signal.refusal {
            Some(reason) => Err(FindError::Refused { name: name.to_owned(), reason: reason.clone() }),
            None => Ok((message, signal)),
        }
    }

    /// The messages with this identifier: one in most files. Other flags than EFF are ignored.
    pub fn with_id(&self, id: RawId) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |one| {
            one.id.is_some_and(|own| own.raw().is_eff() == id.is_eff() && own.raw().bits() == id.bits())
        })
    }
}

/// The name with the smallest number of changes, if these are few.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let most = name.chars().count() / 3 + 1;
    let close = names.map(|one| (changes(name, one), one)).filter(|(changes, _)| *changes <= most);
    close.min_by_key(|(changes, _)| *changes).map(|(_, one)| one.to_owned())
}

/// Letters to insert, remove or replace. Case does not count.
fn changes(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
