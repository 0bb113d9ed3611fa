//! `candor top`: a live view of a running gateway, or one table.

mod display;
mod metrics;
mod model;
mod plain;
mod sample;
mod screen;
mod source;
mod view;

use std::io::{self, IsTerminal};

use model::Model;
#[cfg(test)]
pub(super) use plain::View;
use source::Source;

use candor_cli::{Exit, Outcome, render};

use crate::cli::TopArgs;
use crate::netns;

pub(crate) fn run(args: &TopArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let source = match &args.metrics {
        Some(address) => Source::At(address.clone()),
        None => Source::Here(args.name.clone()),
    };
    if args.once || args.kernel.json {
        return once(args, &source);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err("candor top needs a terminal; use candor top --once for a table, or --json".into());
    }
    screen::run(source, args.interval, args.signals, render::wants_colour())?;
    Ok(Exit::Fine)
}

/// Takes two samples, since rates are differences.
fn once(args: &TopArgs, source: &Source) -> Outcome {
    let found = source.find()?;
    let mut model = Model::default();
    model.take(found.sample()?);
    std::thread::sleep(args.interval);
    model.take(found.sample()?);
    let (view, text) = (plain::json(&model, &found.title), plain::text(&model, &found.title, args.signals));
    render::answer(&if args.kernel.json { render::object(&view) } else { text }, Exit::Fine)
}
