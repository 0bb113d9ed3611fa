//! `candor reload`: asks a candor that runs to read its file again.

use std::fmt;
use std::time::Duration;

use candor_engine::Running;
use serde_json::Value;

use crate::cli::ReloadArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::gateway_file::identity;
use crate::{netns, render};

/// Longer than a route may block everything that comes from its bus.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nobody, or nobody in particular, to ask.
#[derive(Debug, PartialEq, Eq)]
enum Unclear {
    Nobody,
    NoFile { pid: u32 },
    NotThisFile { file: String, others: Vec<String> },
    Several(Vec<String>),
}

impl std::error::Error for Unclear {}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let among =
            |names: &[String]| format!("there {} {}", if names.len() == 1 { "is" } else { "are" }, names.join(", "));
        match self {
            Self::Nobody => f.write_str("No candor runs in this network namespace; to start one: candor run FILE"),
            Self::NoFile { pid } => write!(
                f,
                "candor process {pid} has its gateway from standard input, which cannot be read again; start it with a file"
            ),
            Self::NotThisFile { file, others } => write!(f, "No candor runs {file}; {}", among(others)),
            Self::Several(names) => {
                write!(f, "More than one candor runs; say which by its file, candor reload FILE; {}", among(names))
            }
        }
    }
}

pub(crate) fn run(args: &ReloadArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let file = args.file.as_deref().map(identity);
    let running = Running::list()?;
    let answer = choose(&running, file.as_deref())?.reload(PATIENCE)?;
    let taken = answer["taken"] == true;
    if args.json {
        render::out(&format!("{:#}\n", without_text(answer)))?;
    } else {
        let text = answer["text"].as_str().unwrap_or_default();
        if taken { render::out(text)? } else { render::err(text) }
    }
    Ok(if taken { Exit::Fine } else { Exit::No })
}

/// The one that is meant.
fn choose<'a>(running: &'a [Running], file: Option<&str>) -> Result<&'a Running, Unclear> {
    let meant: Vec<_> = running.iter().filter(|one| file.is_none() || one.file.as_deref() == file).collect();
    match (meant.as_slice(), file) {
        ([one], _) if one.file.is_some() => Ok(one),
        ([one], _) => Err(Unclear::NoFile { pid: one.pid }),
        ([], _) if running.is_empty() => Err(Unclear::Nobody),
        ([], Some(file)) => Err(Unclear::NotThisFile { file: file.to_owned(), others: names(running) }),
        (_, _) => Err(Unclear::Several(names(running))),
    }
}

fn names(running: &[Running]) -> Vec<String> {
    let name = |one: &Running| {
        let file = one.file.as_deref().unwrap_or("standard input");
        format!("{file} (process {})", one.pid)
    };
    running.iter().map(name).collect()
}

/// People read the text, programs the rest.
fn without_text(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("text");
    }
    answer
}
