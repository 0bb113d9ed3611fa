//! `candor plan`: a gateway file against the kernel, like a diff.

use candor_engine::reconcile::{self, Difference, Foreign, Line, LineKind};
use serde_json::{Value, json};

use crate::cli::{ForeignArgs, PlanArgs};
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{Form, GatewayFile, identity, plural};
use candor_cli::render;

pub(crate) fn run(args: &PlanArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let file = GatewayFile::read(&args.file)?;
    let Some(loaded) = file.gateway_and_warnings(Form::once(args.json))? else { return Ok(Exit::No) };
    let mut notices = Vec::new();
    let compared = reconcile::plan(&loaded.plan, &identity(&args.file), args.foreign.into(), &mut |notice| {
        render::err(&format!("{}: {notice}\n", if notice.is_warning() { "warning" } else { "note" }));
        notices.push(notice.to_string());
    });
    let difference = compared?;
    let name = file.source.name();
    let exit = if args.exit_code && !difference.is_none() { Exit::No } else { Exit::Fine };
    if args.json {
        let mut value = as_json(&difference);
        value["file"] = name.into();
        value["notices"] = notices.into();
        return render::answer(&format!("{value:#}\n"), exit);
    }
    let answered = render::answer(&(text(&difference) + &summary(&difference, name)), exit);
    if let Some(refusal) = &difference.refusal {
        render::err(&format!("warning: candor apply would refuse this: {refusal}\n"));
    }
    answered
}

impl From<ForeignArgs> for Foreign {
    fn from(args: ForeignArgs) -> Self {
        Self { adopt: args.adopt, prune: args.prune }
    }
}

/// A line for each job that is not simply as it should be.
pub(super) fn text(difference: &Difference) -> String {
    let others = difference.lines.iter().filter(|line| matches!(line.kind, LineKind::Other(_))).count();
    let lines = difference.lines.iter().filter_map(line);
    let mut text: String = lines.collect();
    match kept(difference) {
        0 => {}
        kept => text += &format!("  =   {} as in the file\n", plural(kept, "job")),
    }
    if others > 0 {
        text += &format!("  =   {} of other candors, left alone (candor status shows them)\n", plural(others, "job"));
    }
    text
}

pub(super) fn kept(difference: &Difference) -> usize {
    difference.lines.iter().filter(|line| line.kind == LineKind::Keep).count()
}

fn line(line: &Line) -> Option<String> {
    let (sign, remark) = match &line.kind {
        LineKind::Keep | LineKind::Other(_) => return None,
        LineKind::Add => ("+", ""),
        LineKind::Adopt => (">", " (not candor's so far; its counters go on)"),
        LineKind::Change => ("~", " (changed where it is; its counters go on)"),
        LineKind::Foreign { duplicate: false } => ("?", " (not candor's; left alone)"),
        LineKind::Foreign { duplicate: true } => {
            ("!", " (not candor's, and the same as in the file: frames are forwarded twice)")
        }
        LineKind::Move { adopted: false } => ("-/+", " (for the order; its counters begin anew)"),
        LineKind::Move { adopted: true } => ("-/+", " (not candor's so far; for the order, its counters begin anew)"),
        LineKind::Prune => ("-", " (NOT candor's)"),
        LineKind::Remove => ("-", ""),
    };
    let route = line.route.as_ref().map_or_else(String::new, |route| format!("route {route:?}: "));
    Some(format!(
        "  {sign:<3} {route}{} -> {}, {}{remark}\n",
        line.from,
        line.to,
        crate::cmd::job_text::words(&line.job)
    ))
}

/// What there is to do, in one line.
fn summary(difference: &Difference, name: &str) -> String {
    let mut parts = parts(difference, ["to add", "to change", "to adopt", "to remove", "to prune", "to re-create"]);
    let kept = kept(difference);
    if difference.is_none() {
        return format!("{name}: no difference, {} in the kernel\n", plural(kept, "job"));
    }
    parts.push(format!("{kept} unchanged"));
    format!("{name}: {}\n", parts.join(", "))
}

/// How many of what, without what there is none of.
pub(super) fn parts(difference: &Difference, words: [&str; 6]) -> Vec<String> {
    let kinds: [fn(&LineKind) -> bool; 6] = [
        |kind| *kind == LineKind::Add,
        |kind| *kind == LineKind::Change,
        |kind| *kind == LineKind::Adopt,
        |kind| *kind == LineKind::Remove,
        |kind| *kind == LineKind::Prune,
        |kind| matches!(kind, LineKind::Move { .. }),
    ];
    let count = |is: fn(&LineKind) -> bool| difference.lines.iter().filter(|line| is(&line.kind)).count();
    let counted = kinds.into_iter().map(count).zip(words);
    counted.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect()
}

pub(super) fn as_json(difference: &Difference) -> Value {
    let jobs: Vec<_> = difference.lines.iter().map(line_json).collect();
    json!({
        "equal": difference.is_none(),
        "requests": difference.steps,
        "refusal": difference.refusal,
        "jobs": jobs,
    })
}

fn line_json(line: &Line) -> Value {
    let mut value = crate::cmd::job_text::json(&line.job);
    value["change"] = match line.kind {
        LineKind::Add => "add",
        LineKind::Adopt => "adopt",
        LineKind::Change => "change",
        LineKind::Foreign { duplicate: false } => "foreign",
        LineKind::Foreign { duplicate: true } => "foreign-duplicate",
        LineKind::Keep => "keep",
        LineKind::Move { .. } => "re-create",
        LineKind::Other(_) => "other",
        LineKind::Prune => "prune",
        LineKind::Remove => "remove",
    }
    .into();
    if let LineKind::Other(owner) = &line.kind {
        value["owner"] = owner.to_string().into();
    }
    value["route"] = line.route.clone().into();
    value["from"] = line.from.clone().into();
    value["to"] = line.to.clone().into();
    value
}
