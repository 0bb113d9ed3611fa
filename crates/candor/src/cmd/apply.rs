//! `candor apply`.

use candor_cli::gateway_file::{Form, identity, plural};
use candor_cli::{Exit, Outcome, render};
use candor_engine::reconcile::{self, Applied, Difference, LineKind};
use candor_io::signal::EndingSignals;
use serde::Serialize;

use crate::cli::ApplyArgs;
use crate::cmd::{plan, read_file};
use crate::netns;

pub(crate) fn run(args: &ApplyArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let file = read_file(&args.file, None)?;
    let Some(loaded) = file.gateway_and_warnings(Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let mut notices = Vec::new();
    let applied = {
        // Ctrl-C must not leave the kernel half changed.
        let _held = EndingSignals::block()?;
        reconcile::apply(&loaded.plan, &identity(&args.file), args.foreign.into(), &mut |notice| {
            render::err(&format!("{}: {notice}\n", if notice.is_warning() { "warning" } else { "note" }));
            notices.push(notice.to_string());
        })?
    };
    let pruned = applied.difference.lines.iter().filter(|line| line.kind == LineKind::Prune).count();
    if pruned > 0 {
        let jobs = plural(pruned, "job");
        render::err(&format!("warning: {jobs} of other programs WERE REMOVED (--prune), see the list\n"));
    }
    let name = file.source.name();
    let text = match args.kernel.json {
        true => render::object(&View::of(name, &applied.difference, notices, applied.leftovers)),
        false => plan::text(&applied.difference) + &summary(&applied, name),
    };
    render::answer(&text, Exit::Fine)
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    #[serde(flatten)]
    plan: plan::View<'a>,
    leftovers_jobs: usize,
}

impl<'a> View<'a> {
    pub(super) fn of(file: &'a str, difference: &Difference, notices: Vec<String>, leftovers_jobs: usize) -> Self {
        Self { plan: plan::View::of(file, difference, notices), leftovers_jobs }
    }
}

fn summary(applied: &Applied, name: &str) -> String {
    let Applied { difference, leftovers } = applied;
    let kept = plan::kept(difference);
    let died = match leftovers {
        0 => String::new(),
        jobs => format!("; {} of dead candor processes taken over or removed", plural(*jobs, "job")),
    };
    if difference.is_none() {
        return format!("{name}: already applied, {} in the kernel{died}\n", plural(kept, "job"));
    }
    let mut parts = plan::parts(difference, ["added", "changed", "adopted", "removed", "pruned", "re-created"]);
    parts.push(format!("{kept} unchanged"));
    format!("{name}: applied: {}{died}; remove it with candor down {name}\n", parts.join(", "))
}
