//! `candor down`.

use candor_cli::gateway_file::{Form, identity, plural};
use candor_cli::{Exit, Outcome, render};
use candor_config::changes::Changes;
use candor_engine::Owner;
use candor_engine::reconcile::{self, Down, DownCount};
use candor_io::signal::EndingSignals;
use serde::Serialize;

use crate::cli::DownArgs;
use crate::cmd::audit::{Audit, AuditView, Cause, FileView, Who};
use crate::cmd::read_file;
use crate::cmd::run::log::write_to_journal;
use crate::netns;

pub(crate) fn run(args: &DownArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let keys = args.verify.keys()?;
    if args.file.is_none() && keys.are_required() {
        return Err("--verify-key verifies a file: candor down FILE --verify-key KEY".into());
    }
    let mut contents = Vec::new();
    if let Some(path) = args.file.as_deref().filter(|_| keys.are_required()) {
        let file = read_file(path, None, &keys)?;
        if file.is_not_signed() {
            file.gateway_or_say(Form::once(args.kernel.json))?;
            return Ok(Exit::No);
        }
        contents = file.contents;
    }
    let file = args.file.as_deref().map(identity);
    let down = {
        let _held = EndingSignals::block()?;
        reconcile::down(file.as_deref(), &mut |notice| render::err(&format!("warning: {notice}\n")))?
    };
    let files = match contents.is_empty() {
        false => FileView::all(&contents),
        true => down.owners.iter().filter_map(|(owner, _)| file_of(owner).map(FileView::unread)).collect(),
    };
    let removed = down.routes.clone();
    let changes = Changes { removed, ..Changes::default() };
    let (cause, who) = (Cause::Down, Who::this_process());
    let audit = Audit { cause, mode: None, who, signal: None, files, changes, because: None };
    if !down.owners.is_empty() || down.removed_filters > 0 {
        write_to_journal(&audit);
    }
    let text =
        if args.kernel.json { render::object(&View::of(&down, audit.view())) } else { text(&down, file.as_deref()) };
    let is_typo = down.owners.is_empty() && args.file.as_ref().is_some_and(|file| !file.exists());
    render::answer(&text, if is_typo { Exit::No } else { Exit::Fine })
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    owners: Vec<OwnerView<'a>>,
    /// Filters with eBPF programs of dead processes.
    removed_filters: usize,
    /// As the event of `candor run`.
    audit: AuditView<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnerView<'a> {
    file: Option<&'a str>,
    pid: Option<u32>,
    removed_jobs: usize,
    missing_jobs: usize,
    /// Filters with its eBPF programs.
    removed_filters: usize,
}

impl<'a> View<'a> {
    pub(super) fn of(down: &'a Down, audit: AuditView<'a>) -> Self {
        let owner = |(owner, count): &'a (Owner, DownCount)| OwnerView {
            file: file_of(owner),
            pid: if let Owner::Process { pid, .. } = owner { Some(*pid) } else { None },
            removed_jobs: count.removed,
            missing_jobs: count.missing,
            removed_filters: count.filters,
        };
        Self { owners: down.owners.iter().map(owner).collect(), removed_filters: down.removed_filters, audit }
    }
}

fn file_of(owner: &Owner) -> Option<&str> {
    if let Owner::Applied { file } = owner { Some(file) } else { None }
}

fn text(down: &Down, file: Option<&str>) -> String {
    let lines = down.owners.iter().map(|(owner, count)| {
        let died = if matches!(owner, Owner::Process { .. }) { ", which died" } else { "" };
        let missing = match count.missing {
            0 => String::new(),
            missing => format!("; {missing} had already been removed"),
        };
        let jobs = plural(count.removed, "can-gw job");
        let removed = match (count.removed + count.missing, count.filters) {
            (_, 0) => jobs,
            (0, filters) => plural(filters, "eBPF filter"),
            (_, filters) => format!("{jobs} and {}", plural(filters, "eBPF filter")),
        };
        format!("Removed {removed} of {owner}{died}{missing}\n")
    });
    let mut text: String = lines.collect();
    if down.removed_filters > 0 {
        text.push_str(&format!("Removed {} of dead candor processes\n", plural(down.removed_filters, "eBPF filter")));
    }
    match file {
        _ if !text.is_empty() => text,
        None => "No file is applied\n".into(),
        Some(file) if down.others.is_empty() => format!("{file} is not applied; no file is\n"),
        Some(file) => format!("{file} is not applied; applied or running: {}\n", down.others.join(", ")),
    }
}
