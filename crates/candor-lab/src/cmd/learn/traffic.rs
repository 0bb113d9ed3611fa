//! `candor learn traffic`: `[[traffic]]` of logs, for bounds of response times.

mod file;
mod logs;
mod view;

use std::time::Duration;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_learn::Arrivals;
use candor_learn::allow::{Gaps, observe};

use crate::cli::LearnTrafficArgs;
use file::Known;
use logs::{Logs, Shape};
pub(in crate::cmd) use view::View;

/// A message of the logs.
#[derive(Debug)]
struct Learned {
    bus: String,
    /// As [`candor_learn::Recorded::id`].
    id: u32,
    frames: usize,
    shape: Shape,
    arrivals: Arrivals,
    gaps: Option<Gaps>,
    /// Why there is no `[[traffic]]` for it.
    left_out: Option<String>,
}

impl Learned {
    /// Period or shortest gap, and jitter. `None` with one frame.
    fn timing(&self) -> Option<(Duration, Duration)> {
        match self.arrivals {
            Arrivals::Cyclic { period_ns, jitter_ns } => {
                Some((Duration::from_nanos(period_ns), Duration::from_nanos(jitter_ns)))
            }
            // A file has no gap of 0.
            Arrivals::Sporadic { min_gap_ns } => Some((Duration::from_nanos(min_gap_ns.max(1000)), Duration::ZERO)),
            Arrivals::Once => None,
        }
    }
}

pub(crate) fn run(args: &LearnTrafficArgs) -> Outcome {
    let file = args.gateway.as_deref().map(GatewayFile::read).transpose()?;
    let known = match &file {
        None => None,
        Some(file) => match file.gateway_or_say(Form::once(args.json))? {
            None => return Ok(Exit::No),
            Some(loaded) => Some(Known { file: file.source.name(), plan: &loaded.plan }),
        },
    };
    let mut logs = Logs::default();
    for log in &args.logs {
        logs.read(log, args.interface.as_deref(), known.as_ref())?;
    }
    let mut learned = learned(&logs);
    if let Some(known) = &known {
        known.leave_out(&mut learned);
    }
    let view = View::of(&logs, &learned);
    let exit = if learned.iter().any(|one| one.left_out.is_none()) { Exit::Fine } else { Exit::No };
    let text = if args.json { render::object(&view) } else { view.text() };
    render::answer(&text, exit)
}

/// By bus and identifier.
fn learned(logs: &Logs) -> Vec<Learned> {
    let mut all = Vec::new();
    for (name, bus) in &logs.buses {
        for seen in observe(&bus.logs) {
            let Some(shape) = bus.shapes.get(&seen.id) else { continue };
            let arrivals = Arrivals::of(&seen);
            let id = candor_learn::name(seen.id);
            let rare = || match seen.frames {
                0 => format!("{id}: only remote frames, which a table does not have"),
                _ => format!("{id} seen once: a log does not show how often it can come"),
            };
            let left_out = (arrivals == Arrivals::Once).then(rare);
            all.push(Learned {
                bus: name.clone(),
                id: seen.id,
                frames: seen.frames,
                shape: *shape,
                arrivals,
                gaps: seen.gaps,
                left_out,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests;
