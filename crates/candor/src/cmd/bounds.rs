//! `candor bounds`: how late each message can be.

mod propose;
mod view;

use std::fmt::Write as _;

use candor_bounds::{Judgement, Problem};
use candor_cli::assumed::AssumedArgs;
use candor_cli::gateway_file::Form;
use candor_cli::render::Source;
use candor_cli::signed::Keys;
use candor_cli::table::{cells, table};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::{Model, NoBounds, id_text, milliseconds};
use candor_config::plan::Plan;
use serde::Serialize;

use crate::cli::BoundsArgs;
use crate::cmd::read_file;
use propose::Proposals;
pub(super) use view::View;

pub(crate) fn run(args: &BoundsArgs) -> Outcome {
    let file = read_file(&args.file, None, &Keys::NONE)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    let name = file.source.name();
    let question = args.assumed.question();
    let placed = |why: NoBounds| why.in_file(name, file.source.text(), &loaded.plan);
    let model = Model::of(&loaded.plan, &question).map_err(placed)?;
    let problems = |problems: Vec<Problem>| placed(model.problems(&problems));
    let analysis = model.network.analyse(question.assumptions).map_err(problems)?;
    let limits = args.limits.then(|| view::Limits::of(&model, question.assumptions)).transpose().map_err(problems)?;
    let proposals = args.propose.then(|| Proposals::of(&model, &analysis)).transpose().map_err(problems)?;
    let misses = args.faults.map(|rate| model.network.miss_probabilities(question.assumptions, rate));
    let misses = misses.transpose().map_err(problems)?;
    let exit = if analysis.holds() { Exit::Fine } else { Exit::No };
    let answers = view::Answers { limits, proposals, misses };
    let view = View::of(name, &model, &analysis, args, answers);
    let text = if args.json { render::object(&view) } else { text(&view, &analysis.judgements(), &model) };
    render::answer(&text, exit)
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
    pub(super) fn of(plan: &Plan, file: &Source, args: &AssumedArgs) -> Result<Self, String> {
        let question = args.question();
        let placed = |why: NoBounds| why.in_file(file.name(), file.text(), plan);
        let model = Model::of(plan, &question).map_err(placed)?;
        let analysis = model.network.analyse(question.assumptions);
        let analysis = analysis.map_err(|problems| placed(model.problems(&problems)))?;
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
    let mut rows =
        vec![cells(["bus", "identifier", "sender", "period", "frame", "bound", "deadline", "slack", "missed", ""])];
    rows.extend(view.messages().map(view::Message::row));
    if view.has_misses() {
        let _ = write!(text, "\n{}", table(&rows, 3..9));
    } else {
        rows.iter_mut().for_each(|row| drop(row.remove(8)));
        let _ = write!(text, "\n{}", table(&rows, 3..8));
    }
    for judgement in judgements {
        let _ = writeln!(text, "\n{}", model.sum(judgement));
    }
    text.push('\n');
    text += &view.proposed();
    for line in view.remarks() {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{}", view.verdict());
    text
}
