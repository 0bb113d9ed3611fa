//! `candor status`.

use std::path::PathBuf;

use candor_cli::{Exit, Outcome, render};
use candor_config::placement::Side;
use candor_engine::Owner;
use candor_engine::reconcile::{self, End, JobState, LeftoverProgram, OwnerState, Status};
use candor_io::clock;
use serde::Serialize;

use crate::cli::StatusArgs;
use crate::cmd::audit::SignedView;
use crate::cmd::job_text::{self, JobView};
use crate::cmd::table::{cells, table};
use crate::cmd::time_text::{span, utc};
use crate::netns;

pub(crate) fn run(args: &StatusArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let status = reconcile::status(&mut |notice| render::err(&format!("warning: {notice}\n")))?;
    let now_boot_s = clock::boottime()?.0 / 1_000_000_000;
    if args.kernel.json {
        render::out(&render::object(&View::of(&status, now_boot_s)))?;
    } else {
        for path in &status.unreadable {
            render::err(&format!(
                "note: {} cannot be read, so jobs of candor are not recognized; use sudo candor status\n",
                path.display()
            ));
        }
        render::out(&text(&status, now_boot_s))?;
    }
    Ok(Exit::Fine)
}

fn text(status: &Status, now_boot_s: i64) -> String {
    let mut text = String::new();
    if !status.has_cangw {
        text += "The kernel module can-gw is not loaded: no jobs in the kernel\n";
    }
    for owner in &status.owners {
        text += &heading(owner, now_boot_s);
        text += &jobs_table(&owner.jobs);
    }
    if !status.foreign.is_empty() {
        let unknown = if status.unreadable.is_empty() { "Jobs of other programs" } else { "Jobs" };
        text += &format!("{unknown}\n{}", jobs_table(&status.foreign));
    }
    if !status.leftovers.is_empty() {
        text += "eBPF programs of a candor that died; they still forward (candor down removes them, candor run takes them over)\n";
        text += &leftovers_table(&status.leftovers);
    }
    if text.is_empty() {
        text += "No can-gw jobs, no running gateway\n";
    }
    text
}

fn heading(state: &OwnerState, now_boot_s: i64) -> String {
    let owner = match &state.owner {
        Owner::Applied { file } => format!("Applied: {file}"),
        Owner::Process { pid, engine } => format!("Process {pid}: candor run, {} engine", engine.name()),
    };
    let remark = match (state.dead, state.unfinished) {
        (true, _) => "; DEAD, its jobs are still installed (candor down removes them, candor run takes them over)",
        (_, true) => "; a change was NOT FINISHED (repeat candor apply or candor down)",
        _ => "",
    };
    let age = span(now_boot_s - state.since.boot_s);
    let signed = state.signer.as_ref().map_or_else(String::new, |signer| format!("; {}", SignedView::of(signer)));
    format!("{owner}, since {} ({age}){remark}{signed}\n", utc(state.since.unix_s))
}

fn jobs_table(jobs: &[JobState]) -> String {
    let row = |state: &JobState| {
        let counters = state.job.counters;
        let counted = match (state.side, state.present) {
            (Side::User, _) => "in user space (see candor top)".into(),
            (_, false) => "NOT in the kernel".into(),
            (Side::Bpf, true) if !state.counted => "counted with the job above".into(),
            (Side::Bpf, true) => format!("{:>10}  {:>10}  {:>10}", counters.handled, counters.dropped, "-"),
            (Side::Kernel, true) => {
                format!("{:>10}  {:>10}  {:>10}", counters.handled, counters.dropped, counters.deleted)
            }
        };
        let route = state.route.clone().unwrap_or_else(|| "-".into());
        let path = format!("{} -> {}", name(&state.from), name(&state.to));
        let place = if state.side == Side::Bpf { ", in an eBPF program" } else { "" };
        vec![String::new(), route, path, counted, job_text::text(&state.job) + place]
    };
    let counters = format!("{:>10}  {:>10}  {:>10}", "handled", "dropped", "deleted");
    let titles = cells(["", "route", "from -> to", &counters, "job"]);
    let rows: Vec<_> = [titles].into_iter().chain(jobs.iter().map(row)).collect();
    table(&rows, 0..0)
}

fn leftovers_table(leftovers: &[LeftoverProgram]) -> String {
    let row = |program: &LeftoverProgram| {
        let LeftoverProgram { interface, route, counters } = program;
        let counted = format!("{:>10}  {:>10}", counters.handled, counters.dropped);
        vec![String::new(), route.clone(), interface.clone(), counted]
    };
    let counters = format!("{:>10}  {:>10}", "handled", "dropped");
    let rows: Vec<_> = [cells(["", "route", "from", &counters])].into_iter().chain(leftovers.iter().map(row)).collect();
    table(&rows, 0..0)
}

fn name(end: &End) -> String {
    match (&end.name, &end.was) {
        (Some(name), None) => name.clone(),
        (Some(name), Some(was)) => format!("{name} (was {was})"),
        (None, Some(was)) => format!("{was} (gone)"),
        (None, None) => "(gone)".into(),
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    cangw_loaded: bool,
    owners: Vec<OwnerView<'a>>,
    foreign: Vec<JobStateView<'a>>,
    /// Routes in eBPF programs of dead processes.
    leftovers: Vec<LeftoverView<'a>>,
    unreadable: &'a [PathBuf],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LeftoverView<'a> {
    from: &'a str,
    route: &'a str,
    handled: u32,
    dropped: u32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnerView<'a> {
    #[serde(flatten)]
    owner: OwnerKind<'a>,
    dead: bool,
    unfinished: bool,
    since_unix_s: i64,
    since: String,
    age_s: i64,
    /// If the file needed a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<SignedView<'a>>,
    jobs: Vec<JobStateView<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum OwnerKind<'a> {
    Applied { file: &'a str },
    Process { pid: u32, engine: &'static str },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JobStateView<'a> {
    route: Option<&'a str>,
    from: Option<&'a str>,
    from_was: Option<&'a str>,
    to: Option<&'a str>,
    to_was: Option<&'a str>,
    in_kernel: bool,
    /// `kernel` for can-gw, `bpf` or `user`.
    side: &'static str,
    present: bool,
    #[serde(flatten)]
    job: JobView,
}

impl<'a> View<'a> {
    pub(super) fn of(status: &'a Status, now_boot_s: i64) -> Self {
        Self {
            cangw_loaded: status.has_cangw,
            owners: status.owners.iter().map(|state| OwnerView::of(state, now_boot_s)).collect(),
            foreign: status.foreign.iter().map(JobStateView::of).collect(),
            leftovers: status.leftovers.iter().map(LeftoverView::of).collect(),
            unreadable: &status.unreadable,
        }
    }
}

impl<'a> LeftoverView<'a> {
    fn of(LeftoverProgram { interface, route, counters }: &'a LeftoverProgram) -> Self {
        Self { from: interface, route, handled: counters.handled, dropped: counters.dropped }
    }
}

impl<'a> OwnerView<'a> {
    fn of(state: &'a OwnerState, now_boot_s: i64) -> Self {
        Self {
            owner: match &state.owner {
                Owner::Applied { file } => OwnerKind::Applied { file },
                Owner::Process { pid, engine } => OwnerKind::Process { pid: *pid, engine: engine.name() },
            },
            dead: state.dead,
            unfinished: state.unfinished,
            since_unix_s: state.since.unix_s,
            since: utc(state.since.unix_s),
            age_s: now_boot_s - state.since.boot_s,
            signed: state.signer.as_ref().map(SignedView::of),
            jobs: state.jobs.iter().map(JobStateView::of).collect(),
        }
    }
}

impl<'a> JobStateView<'a> {
    fn of(state: &'a JobState) -> Self {
        let job = JobView::of(&state.job);
        Self {
            route: state.route.as_deref(),
            from: state.from.name.as_deref(),
            from_was: state.from.was.as_deref(),
            to: state.to.name.as_deref(),
            to_was: state.to.was.as_deref(),
            in_kernel: state.side == Side::Kernel,
            side: job_text::side_name(state.side),
            present: state.present,
            job: match state.side {
                Side::Kernel => job,
                Side::Bpf if state.counted => job.without_deleted(),
                Side::Bpf | Side::User => job.without_counters(),
            },
        }
    }
}
