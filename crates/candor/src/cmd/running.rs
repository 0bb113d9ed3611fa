//! Which of the candors that run is meant.

use std::fmt;

use candor_engine::Running;

/// Nobody, or nobody in particular.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    Nobody,
    NotThis { wanted: String, others: Vec<String> },
    Several { command: &'static str, names: Vec<String> },
}

impl std::error::Error for Unclear {}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let among =
            |names: &[String]| format!("there {} {}", if names.len() == 1 { "is" } else { "are" }, names.join(", "));
        match self {
            Self::Nobody => f.write_str("No candor runs in this network namespace; to start one: candor run FILE"),
            Self::NotThis { wanted, others } => write!(f, "No candor runs {wanted}; {}", among(others)),
            Self::Several { command, names } => {
                write!(f, "More than one candor runs; say which by its file, {command} FILE; {}", among(names))
            }
        }
    }
}

/// The one that is meant by a command: the only one that there is, or that fits what was said.
pub(crate) fn choose<'a>(
    running: &'a [Running],
    command: &'static str,
    wanted: Option<&str>,
    fits: impl Fn(&Running, &str) -> bool,
) -> Result<&'a Running, Unclear> {
    let is_meant = |one: &&Running| wanted.is_none_or(|wanted| fits(one, wanted));
    let meant: Vec<_> = running.iter().filter(is_meant).collect();
    match (meant.as_slice(), wanted) {
        ([one], _) => Ok(one),
        ([], _) if running.is_empty() => Err(Unclear::Nobody),
        ([], Some(wanted)) => Err(Unclear::NotThis { wanted: wanted.to_owned(), others: names(running) }),
        (_, _) => Err(Unclear::Several { command, names: names(running) }),
    }
}

fn names(running: &[Running]) -> Vec<String> {
    let name = |one: &Running| {
        let file = one.file.as_deref().unwrap_or("standard input");
        format!("{file} (process {})", one.pid)
    };
    running.iter().map(name).collect()
}
