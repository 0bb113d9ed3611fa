//! `candor egress apply`: all trees of a file, or none.

use candor_io::signal::EndingSignals;

use super::json::ApplyView;
use super::{WantedFile, applied, targets};
use crate::cli::WantedArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::Form;
use candor_cli::render;

pub(super) fn run(args: &WantedArgs) -> Outcome {
    let Some(file) = WantedFile::read(args, Form::once(args.kernel.json))? else { return Ok(Exit::No) };
    let file = file.located()?;
    let mut targets = targets(&file.wanted)?;
    let done = {
        // Whoever presses Ctrl-C waits until all is done, or all is undone.
        let _held = EndingSignals::block()?;
        candor_egress::kernel::apply(&mut targets)?
    };
    if args.kernel.json {
        let view = ApplyView { file: file.name(), interfaces: done.iter().map(Into::into).collect() };
        return render::answer(&render::object(&view), Exit::Fine);
    }
    let lines: String = done.iter().map(|one| format!("{}: {}\n", one.interface, applied::text(one))).collect();
    render::answer(&lines, Exit::Fine)
}
