//! `candor egress apply`: installs all trees of a file, or none.

use candor_egress::kernel::Applied;
use candor_egress::tree::Tree;
use candor_io::signal::EndingSignals;

use super::json::ApplyView;
use super::{WantedFile, targets};
use crate::cli::WantedArgs;
use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};

pub(super) fn run(args: &WantedArgs) -> Outcome {
    let Some(file) = WantedFile::read(args, Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let file = file.located()?;
    let mut targets = targets(&file.wanted)?;
    let done = {
        // Ctrl-C takes effect when everything is applied or rolled back.
        let _held = EndingSignals::block()?;
        candor_egress::kernel::apply(&mut targets)?
    };
    if args.kernel.json {
        let view = ApplyView { file: file.name(), interfaces: done.iter().map(Into::into).collect() };
        return render::answer(&render::object(&view), Exit::Fine);
    }
    let lines: String = done.iter().map(|one| format!("{}: {}\n", one.interface, text(one))).collect();
    render::answer(&lines, Exit::Fine)
}

/// A summary, which follows the name of the interface.
pub(in crate::cmd) fn text(applied: &Applied) -> String {
    let Applied { before, steps, .. } = applied;
    if steps.requests.is_empty() {
        return "unchanged".to_owned();
    }
    let requests = plural(steps.requests.len(), "request");
    let lost = if steps.loses_frames { "; queued frames are lost" } else { "" };
    if *before == Tree::default() {
        return format!("created, {requests}");
    }
    let kinds: Vec<_> = before.qdiscs.iter().map(|qdisc| qdisc.discipline.kind()).collect();
    format!("changed, {requests}; replaces {}{lost}", kinds.join(", "))
}
