//! `candor bounds`: how late each message can be.

mod view;

use std::fmt::Write as _;

use candor_bounds::{Assumptions, Judgement};
use candor_cli::gateway_file::Form;
use candor_cli::signed::Keys;
use candor_cli::table::{cells, table};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::{Model, id_text};
use candor_config::plan::Plan;
use serde::Serialize;

use crate::cli::{AssumedArgs, BoundsArgs};
use crate::cmd::read_file;
pub(super) use view::View;
use view::milliseconds;

pub(crate) fn run(args: &BoundsArgs) -> Outcome {
    let file = read_file(&args.file, None, &Keys::NONE)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    let model = Model::of(&loaded.plan, &args.assumed.question())?;
    let assumptions = assumptions(&args.assumed);
    let analysis = model.network.analyse(assumptions).map_err(|problems| model.problems(&problems))?;
    let limits = args.limits.then(|| view::Limits::of(&model, assumptions)).transpose()?;
    let exit = if analysis.holds() { Exit::Fine } else { Exit::No };
    let view = View::of(file.source.name(), &model, &analysis, args, limits);
    let text = if args.json { render::object(&view) } else { text(&view, &analysis.judgements(), &model) };
    render::answer(&text, exit)
}

fn assumptions(args: &AssumedArgs) -> Assumptions {
    Assumptions { error_frames: args.errors.unwrap_or(0), ..Assumptions::default() }
}

/// For `candor check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Deadlines {
    /// Messages on buses.
    pub(super) all: usize,
    /// Those that can miss their deadline.
    pub(super) missed: Vec<String>,
    /// What bounds do not know of frames that candor sends.
    pub(super) left_out: Vec<String>,
}

impl Deadlines {
    /// # Errors
    /// If something is not known that bounds need.
    pub(super) fn of(plan: &Plan, args: &AssumedArgs) -> Result<Self, String> {
        let model = Model::of(plan, &args.question())?;
        let analysis = model.network.analyse(assumptions(args)).map_err(|problems| model.problems(&problems))?;
        let missed = analysis.bounds().filter(|(_, bound)| !bound.holds());
        let missed = missed.map(|(message, bound)| {
            let response = bound.response.map_or_else(|| "none".to_owned(), milliseconds);
            format!("{}: bound {response}, deadline {}", model.name(message), milliseconds(bound.deadline))
        });
        Ok(Self { all: model.network.messages.len(), missed: missed.collect(), left_out: model.left_out() })
    }
}

fn text(view: &View<'_>, judgements: &[Judgement], model: &Model<'_>) -> String {
    let mut text = String::new();
    for bus in view.buses() {
        let _ = writeln!(text, "{bus}");
    }
    let mut rows = vec![cells(["bus", "identifier", "sender", "period", "frame", "bound", "deadline", "slack", ""])];
    rows.extend(view.messages().map(view::Message::row));
    let _ = write!(text, "\n{}", table(&rows, 3..8));
    for judgement in judgements {
        let _ = writeln!(text, "\n{}", sum(judgement, model));
    }
    text.push('\n');
    for line in view.remarks() {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{}", view.verdict());
    text
}

/// What cannot hold, with the sum that shows it.
fn sum(judgement: &Judgement, model: &Model<'_>) -> String {
    const MOST_TERMS: usize = 5;
    match judgement {
        Judgement::DeadlineShorterThanFrame { message, deadline, frame } => format!(
            "{}: its frame alone takes {}, its deadline is {}",
            model.name(*message),
            milliseconds(*frame),
            milliseconds(*deadline)
        ),
        Judgement::Overload { bus, load } => {
            let term = |term: &candor_bounds::Term| {
                let (frame, period) = (milliseconds(term.frame), milliseconds(term.period));
                format!("{} {frame} / {period}", id_text(model.network.messages[term.message.0].id))
            };
            let terms: Vec<_> = load.terms.iter().take(MOST_TERMS).map(term).collect();
            let others = load.terms.len().saturating_sub(MOST_TERMS);
            let others = if others > 0 { format!(" + {others} others") } else { String::new() };
            let percent = view::percent(load.ppm);
            format!(
                "bus {}: more traffic than it can carry: {percent} = {}{others}",
                model.bus(*bus),
                terms.join(" + ")
            )
        }
    }
}
