//! `candor apply`.

use candor_cli::gateway_file::{Form, identity, plural};
use candor_cli::{Exit, Outcome, render};
use candor_engine::reconcile::{self, Applied, LineKind};
use candor_io::signal::EndingSignals;
use serde::Serialize;

use crate::cli::ApplyArgs;
use crate::cmd::audit::{self, Audit, AuditView, Cause, FileView, SignedView, Who};
use crate::cmd::run::log::write_to_journal;
use crate::cmd::{plan, read_file};
use crate::netns;

pub(crate) fn run(args: &ApplyArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
    let file = read_file(&args.file, None, &args.verify.keys_of_machine()?)?;
    let Some(loaded) = file.gateway_and_warnings(Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let mut notices: Vec<_> = plan::without_process(&loaded.plan);
    let applied = {
        // Ctrl-C must not leave the kernel half changed.
        let _held = EndingSignals::block()?;
        let signer = file.contents.first().and_then(|content| content.signer.as_ref());
        reconcile::apply(&loaded.plan, (&identity(&args.file), signer), args.foreign.into(), &mut |notice| {
            render::err(&format!("{}: {notice}\n", if notice.is_warning() { "warning" } else { "note" }));
            notices.push(notice.to_string());
        })?
    };
    let pruned = applied.difference.lines.iter().filter(|line| line.kind == LineKind::Prune).count();
    if pruned > 0 {
        let jobs = plural(pruned, "job");
        render::err(&format!("warning: {jobs} of other programs WERE REMOVED (--prune), see the list\n"));
    }
    let audit = Audit {
        cause: Cause::Apply,
        mode: None,
        who: Who::this_process(),
        signal: None,
        files: FileView::all(&file.contents),
        changes: audit::changes(&applied.difference),
        because: None,
    };
    write_to_journal(&audit);
    let name = file.source.name();
    let signed = SignedView::of_file(&file.contents);
    let text = match args.kernel.json {
        true => render::object(&View {
            plan: plan::View::of((name, signed), &applied.difference, notices),
            leftovers_jobs: applied.leftovers,
            audit: audit.view(),
        }),
        false => plan::text(&applied.difference) + &summary(&applied, name) + &plan::signed_text(name, signed),
    };
    render::answer(&text, Exit::Fine)
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    #[serde(flatten)]
    pub(super) plan: plan::View<'a>,
    pub(super) leftovers_jobs: usize,
    /// As the event of `candor run`.
    pub(super) audit: AuditView<'a>,
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
