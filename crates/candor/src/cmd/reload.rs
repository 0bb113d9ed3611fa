//! `candor reload`.

use std::time::Duration;

use candor_cli::gateway_file::identity;
use candor_cli::{Exit, Outcome, render};
use candor_engine::Running;
use serde_json::Value;

use crate::cli::ReloadArgs;
use crate::cmd::running;
use crate::netns;

/// Longer than the largest `block-limit`.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &ReloadArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let file = args.file.as_deref().map(identity);
    let running = Running::list()?;
    let chosen =
        running::choose(&running, "candor reload", file.as_deref(), |one, file| one.file.as_deref() == Some(file))?;
    if chosen.file.is_none() {
        let pid = chosen.pid;
        let why = "it read its gateway from standard input; restart it with a file";
        return Err(format!("cannot reload process {pid}: {why}").into());
    }
    say(chosen.reload(TIMEOUT)?, args.kernel.json)
}

/// Prints the answer of a gateway.
pub(super) fn say(answer: Value, json: bool) -> Outcome {
    let taken = answer["taken"] == true;
    if json {
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
