//! `candor reload`.

use std::fmt;
use std::time::Duration;

use candor_engine::Running;
use serde_json::Value;

use crate::cli::ReloadArgs;
use crate::cmd::running;
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::identity;
use candor_cli::render;

/// Longer than the largest `block-limit`.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The gateway has no file to read again.
#[derive(Debug)]
struct NoFile {
    pid: u32,
}

impl std::error::Error for NoFile {}

impl fmt::Display for NoFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid } = self;
        write!(f, "cannot reload process {pid}: it read its gateway from standard input; restart it with a file")
    }
}

pub(crate) fn run(args: &ReloadArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let file = args.file.as_deref().map(identity);
    let running = Running::list()?;
    let meant =
        running::choose(&running, "candor reload", file.as_deref(), |one, file| one.file.as_deref() == Some(file))?;
    if meant.file.is_none() {
        return Err(NoFile { pid: meant.pid }.into());
    }
    let answer = meant.reload(TIMEOUT)?;
    let taken = answer["taken"] == true;
    if args.json {
        render::out(&format!("{:#}\n", without_text(answer)))?;
    } else {
        let text = answer["text"].as_str().unwrap_or_default();
        if taken { render::out(text)? } else { render::err(text) }
    }
    Ok(if taken { Exit::Fine } else { Exit::No })
}

/// `text` is for people.
fn without_text(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("text");
    }
    answer
}
