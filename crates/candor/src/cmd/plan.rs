//! `candor plan`.

use candor_cli::gateway_file::{Form, identity, plural};
use candor_cli::{Exit, Outcome, render};
use candor_config::placement::Side;
use candor_config::plan::Plan;
use candor_engine::reconcile::{self, Difference, Foreign, Line, LineKind};
use serde::Serialize;

use crate::cli::{ForeignArgs, PlanArgs};
use crate::cmd::audit::SignedView;
use crate::cmd::job_text::{self, JobView};
use crate::cmd::read_file;
use crate::netns;

pub(crate) fn run(args: &PlanArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let file = read_file(&args.file, None, &args.verify.keys()?)?;
    let Some(loaded) = file.gateway_and_warnings(Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let mut notices: Vec<_> = without_process(&loaded.plan);
    let compared = reconcile::plan(&loaded.plan, &identity(&args.file), args.foreign.into(), &mut |notice| {
        render::err(&format!("{}: {notice}\n", if notice.is_warning() { "warning" } else { "note" }));
        notices.push(notice.to_string());
    });
    let difference = compared?;
    let name = file.source.name();
    let exit = if args.exit_code && !difference.is_none() { Exit::No } else { Exit::Fine };
    let signed = SignedView::of_file(&file.contents);
    if args.kernel.json {
        return render::answer(&render::object(&View::of((name, signed), &difference, notices)), exit);
    }
    let answered =
        render::answer(&(text(&difference) + &summary(&difference, name) + &signed_text(name, signed)), exit);
    if let Some(refusal) = &difference.refusal {
        render::err(&format!("warning: candor apply would refuse this: {refusal}\n"));
    }
    answered
}

/// Warns of modes and links, which need a process.
pub(super) fn without_process(plan: &Plan) -> Vec<String> {
    let modes =
        "The modes of the file are for candor run, which can leave them; only the routes that always exist are taken";
    let links = "The links of the file are for candor run, which makes their interfaces; here these must exist";
    let known = [(modes, plan.modes().is_empty()), (links, plan.links().is_empty())];
    let warned: Vec<_> = known.into_iter().filter(|(_, is_empty)| !is_empty).map(|(text, _)| text.to_owned()).collect();
    warned.iter().for_each(|text| render::err(&format!("warning: {text}\n")));
    warned
}

/// A line about the signature of a file, if it needed one.
pub(super) fn signed_text(name: &str, signed: Option<SignedView<'_>>) -> String {
    signed.map_or_else(String::new, |signed| format!("{name}: {signed}\n"))
}

impl From<ForeignArgs> for Foreign {
    fn from(args: ForeignArgs) -> Self {
        Self { adopt: args.adopt, prune: args.prune }
    }
}

/// A line for each job that differs, and the number of the others.
pub(super) fn text(difference: &Difference) -> String {
    let others = difference.lines.iter().filter(|line| matches!(line.kind, LineKind::Other(_))).count();
    let differs = |line: &&Line| !matches!(line.kind, LineKind::Keep | LineKind::Other(_));
    let mut text: String = difference.lines.iter().filter(differs).map(line).collect();
    match kept(difference) {
        0 => {}
        kept => text += &format!("  =   {} unchanged\n", plural(kept, "job")),
    }
    if others > 0 {
        text += &format!(
            "  =   {} of other candor processes or files, left untouched (candor status lists them)\n",
            plural(others, "job")
        );
    }
    text
}

pub(super) fn kept(difference: &Difference) -> usize {
    difference.lines.iter().filter(|line| line.kind == LineKind::Keep).count()
}

/// The name of a change in JSON, its sign in the diff, and a remark.
const fn describe(kind: &LineKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        LineKind::Add => ("add", "+", ""),
        LineKind::Adopt => ("adopt", ">", " (of another program; its counters are kept)"),
        LineKind::Change => ("change", "~", " (changed in place; its counters are kept)"),
        LineKind::Foreign { duplicate: false } => ("foreign", "?", " (of another program; left untouched)"),
        LineKind::Foreign { duplicate: true } => {
            ("foreign-duplicate", "!", " (of another program, equal to one in the file: frames are forwarded twice)")
        }
        LineKind::Keep => ("keep", "=", ""),
        LineKind::Move { adopted: false } => ("re-create", "-/+", " (to restore the order; its counters restart at 0)"),
        LineKind::Move { adopted: true } => {
            ("re-create", "-/+", " (of another program; to restore the order, its counters restart at 0)")
        }
        LineKind::Other(_) => ("other", "=", ""),
        LineKind::Prune => ("prune", "-", " (of ANOTHER PROGRAM)"),
        LineKind::Remove => ("remove", "-", ""),
    }
}

fn line(line: &Line) -> String {
    let (_, sign, remark) = describe(&line.kind);
    let route = line.route.as_ref().map_or_else(String::new, |route| format!("route {route:?}: "));
    let place = if line.side == Side::Bpf { ", in an eBPF program" } else { "" };
    format!("  {sign:<3} {route}{} -> {}, {}{place}{remark}\n", line.from, line.to, job_text::text(&line.job))
}

fn summary(difference: &Difference, name: &str) -> String {
    let mut parts = parts(difference, ["to add", "to change", "to adopt", "to remove", "to prune", "to re-create"]);
    let kept = kept(difference);
    if difference.is_none() {
        return format!("{name}: no difference, {} in the kernel\n", plural(kept, "job"));
    }
    parts.push(format!("{kept} unchanged"));
    format!("{name}: {}\n", parts.join(", "))
}

/// The numbers of changes, without those that are 0.
pub(super) fn parts(difference: &Difference, labels: [&str; 6]) -> Vec<String> {
    let kinds: [fn(&LineKind) -> bool; 6] = [
        |kind| *kind == LineKind::Add,
        |kind| *kind == LineKind::Change,
        |kind| *kind == LineKind::Adopt,
        |kind| *kind == LineKind::Remove,
        |kind| *kind == LineKind::Prune,
        |kind| matches!(kind, LineKind::Move { .. }),
    ];
    let count = |is: fn(&LineKind) -> bool| difference.lines.iter().filter(|line| is(&line.kind)).count();
    let counted = kinds.into_iter().map(count).zip(labels);
    counted.filter(|(count, _)| *count > 0).map(|(count, label)| format!("{count} {label}")).collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    file: &'a str,
    /// With `--verify-key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<SignedView<'a>>,
    equal: bool,
    requests: usize,
    refusal: Option<String>,
    jobs: Vec<LineView>,
    notices: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LineView {
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    route: Option<String>,
    from: String,
    to: String,
    /// `kernel` for can-gw, or `bpf`.
    side: &'static str,
    #[serde(flatten)]
    job: JobView,
}

impl<'a> View<'a> {
    pub(super) fn of(
        (file, signed): (&'a str, Option<SignedView<'a>>),
        difference: &Difference,
        notices: Vec<String>,
    ) -> Self {
        Self {
            file,
            signed,
            equal: difference.is_none(),
            requests: difference.steps,
            refusal: difference.refusal.clone(),
            jobs: difference.lines.iter().map(LineView::of).collect(),
            notices,
        }
    }
}

impl LineView {
    fn of(line: &Line) -> Self {
        let (change, ..) = describe(&line.kind);
        let owner = if let LineKind::Other(owner) = &line.kind { Some(owner.to_string()) } else { None };
        let (route, from, to) = (line.route.clone(), line.from.clone(), line.to.clone());
        let job = JobView::of(&line.job);
        let job = if line.side == Side::Kernel { job } else { job.without_counters() };
        Self { change, owner, route, from, to, side: job_text::side_name(line.side), job }
    }
}
