//! `candor top`: a running gateway as a live view, or one look at it.

mod metrics;
mod model;
mod plain;
mod sample;
mod screen;
mod source;
mod view;
mod words;

use std::fmt;
use std::io::{self, IsTerminal};

use model::Model;
use source::Source;

use crate::cli::TopArgs;
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// There is nothing to draw on.
#[derive(Debug)]
struct NoTerminal;

impl std::error::Error for NoTerminal {}

impl fmt::Display for NoTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("candor top draws on a terminal, and there is none; candor top --once prints a table, --json JSON")
    }
}

pub(crate) fn run(args: &TopArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let source = match &args.metrics {
        Some(address) => Source::At(address.clone()),
        None => Source::Here(args.name.clone()),
    };
    if args.once || args.json {
        return once(args, &source);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(NoTerminal.into());
    }
    screen::run(source, args.interval, render::wants_colour())?;
    Ok(Exit::Fine)
}

/// Looks twice, because rates are between two looks.
fn once(args: &TopArgs, source: &Source) -> Outcome {
    let found = source.find()?;
    let mut model = Model::default();
    model.take(found.ask()?);
    std::thread::sleep(args.interval);
    model.take(found.ask()?);
    if args.json {
        render::out(&format!("{:#}\n", plain::json(&model, &found.title)))?;
    } else {
        render::out(&plain::text(&model, &found.title))?;
    }
    Ok(Exit::Fine)
}
