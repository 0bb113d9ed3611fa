//! `candor status`: what runs now.

use std::fmt::Write as _;

use candor_config::placement::Side;
use candor_engine::Owner;
use candor_engine::reconcile::{self, End, JobState, OwnerState, Status};
use candor_io::clock;
use serde_json::{Value, json};

use crate::cli::StatusArgs;
use crate::cmd::time_text::{span, utc};
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(crate) fn run(args: &StatusArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let status = reconcile::status(&mut |notice| render::err(&format!("warning: {notice}\n")))?;
    let now_boot_s = clock::boottime()?.0 / 1_000_000_000;
    if args.json {
        render::out(&format!("{:#}\n", as_json(&status, now_boot_s)))?;
    } else {
        for path in &status.unreadable {
            render::err(&format!(
                "note: {} cannot be read, so it is not known which jobs are candor's; sudo candor status tells\n",
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
        text += "The kernel module can-gw is not loaded, so there are no jobs in the kernel\n";
    }
    for owner in &status.owners {
        text += &heading(owner, now_boot_s);
        text += &table(&owner.jobs);
    }
    if !status.foreign.is_empty() {
        let unknown = if status.unreadable.is_empty() { "Jobs that candor did not make" } else { "Jobs" };
        text += &format!("{unknown}\n{}", table(&status.foreign));
    }
    if text.is_empty() {
        text += "Nothing runs: no can-gw job, and no candor in user space\n";
    }
    text
}

fn heading(state: &OwnerState, now_boot_s: i64) -> String {
    let who = match &state.owner {
        Owner::Applied { file } => format!("Applied: {file}"),
        Owner::Process { pid, engine } => format!("Process {pid}: candor run, {} engine", engine.name()),
    };
    let remark = match (state.dead, state.unfinished) {
        (true, _) => "; it DIED and left these jobs (candor down removes them, candor run adopts them)",
        (_, true) => "; a change was NOT FINISHED (candor apply or candor down does it)",
        _ => "",
    };
    let age = span(now_boot_s - state.since.boot_s);
    format!("{who}, since {} ({age}){remark}\n", utc(state.since.unix_s))
}

fn table(jobs: &[JobState]) -> String {
    let route = |job: &JobState| job.route.clone().unwrap_or_else(|| "-".into());
    let way = |job: &JobState| format!("{} -> {}", name(&job.from), name(&job.to));
    let width = |text: &dyn Fn(&JobState) -> String, title: &str| {
        jobs.iter().map(|job| text(job).chars().count()).chain([title.len()]).max().unwrap_or_default()
    };
    let (routes, ways) = (width(&route, "route"), width(&way, "from -> to"));
    let (title, from_to) = ("route", "from -> to");
    let mut text =
        format!("  {title:routes$}  {from_to:ways$}  {:>10}  {:>10}  {:>10}  job\n", "handled", "dropped", "deleted");
    for job in jobs {
        let counters = job.job.counters;
        let counted = match (job.side, job.present) {
            (Side::User, _) => format!("{:<34}", "in user space (the process counts)"),
            (_, false) => format!("{:<34}", "NOT in the kernel"),
            _ => format!("{:>10}  {:>10}  {:>10}", counters.handled, counters.dropped, counters.deleted),
        };
        let words = crate::cmd::job_text::words(&job.job);
        let _ = writeln!(text, "  {:routes$}  {:ways$}  {counted}  {words}", route(job), way(job));
    }
    text
}

fn name(end: &End) -> String {
    match (&end.name, &end.was) {
        (Some(name), None) => name.clone(),
        (Some(name), Some(was)) => format!("{name} (was {was})"),
        (None, Some(was)) => format!("{was} (gone)"),
        (None, None) => "(gone)".into(),
    }
}

fn as_json(status: &Status, now_boot_s: i64) -> Value {
    let owners: Vec<_> = status
        .owners
        .iter()
        .map(|state| {
            let mut value = match &state.owner {
                Owner::Applied { file } => json!({"kind": "applied", "file": file}),
                Owner::Process { pid, engine } => json!({"kind": "process", "pid": pid, "engine": engine.name()}),
            };
            value["dead"] = state.dead.into();
            value["unfinished"] = state.unfinished.into();
            value["since_unix_s"] = state.since.unix_s.into();
            value["since"] = utc(state.since.unix_s).into();
            value["age_s"] = (now_boot_s - state.since.boot_s).into();
            value["jobs"] = state.jobs.iter().map(job_json).collect();
            value
        })
        .collect();
    json!({
        "cangw_loaded": status.has_cangw,
        "owners": owners,
        "foreign": status.foreign.iter().map(job_json).collect::<Vec<_>>(),
        "unreadable": status.unreadable,
    })
}

fn job_json(job: &JobState) -> Value {
    let mut value = crate::cmd::job_text::json(&job.job);
    value["route"] = job.route.clone().into();
    value["from"] = job.from.name.clone().into();
    value["from_was"] = job.from.was.clone().into();
    value["to"] = job.to.name.clone().into();
    value["to_was"] = job.to.was.clone().into();
    value["in_kernel"] = (job.side == Side::Kernel).into();
    value["present"] = job.present.into();
    if job.side == Side::User {
        // The process counts for itself.
        for counter in ["handled", "dropped", "deleted"] {
            value[counter] = Value::Null;
        }
    }
    value
}
