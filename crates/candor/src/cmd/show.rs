//! `candor show`.

mod dot;
mod frames;
mod json;
mod labels;
mod realtime;
mod tree;

pub(crate) use frames::timing;
#[cfg(test)]
pub(super) use json::View;
pub(crate) use labels::{matches, payloads};
pub(crate) use realtime::{ObtainedView, obtained_text};

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::text;

use crate::cli::{ShowArgs, ShowForm};
use crate::cmd::in_mode;

pub(crate) fn run(args: &ShowArgs) -> Outcome {
    let file = GatewayFile::read(&args.file)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else {
        return Ok(Exit::No);
    };
    let plan = &in_mode(loaded.plan.clone(), args.mode.as_deref())?;
    let shown = if args.json {
        render::object(&json::plan(plan))
    } else if args.dot {
        dot::plan(plan)
    } else {
        match args.form {
            Some(ShowForm::Cangw) => text::script(plan),
            Some(ShowForm::Tree) | None => tree::plan(plan, &realtime::text(plan)),
        }
    };
    render::out(&shown)?;
    Ok(Exit::Fine)
}
