//! `candor mode`.

use std::time::Duration;

use candor_cli::Outcome;
use candor_cli::gateway_file::identity;
use candor_engine::{ModeRequest, Running};

use crate::cli::ModeArgs;
use crate::cmd::{reload, running};
use crate::netns;

/// Longer than the largest `block-limit`.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &ModeArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let file = identity(&args.file);
    let running = Running::list()?;
    let chosen = running::choose(&running, "candor mode", Some(&file), |one, file| one.file.as_deref() == Some(file))?;
    let request = match &args.name {
        Some(name) => ModeRequest::Enter(name.clone()),
        None if args.leave => ModeRequest::Leave,
        None => ModeRequest::Show,
    };
    reload::say(chosen.ask_for_mode(&request, TIMEOUT)?, args.kernel.json)
}
