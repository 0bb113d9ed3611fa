//! `candor merge`: parts of one plan, measured on several machines.

use candor_core::experiment::{self, Available};

use super::results::Results;
use crate::cli::MergeArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;

pub(crate) fn run(args: &MergeArgs) -> Outcome {
    let parts = args.parts.iter().map(|part| Results::existing(part)).collect::<Result<Vec<_>, _>>()?;
    let Some((_, bytes)) = parts.first() else { return Ok(Exit::CouldNotRun) };
    if let Some((other, _)) = parts.iter().find(|(_, plan)| plan != bytes) {
        return Err(format!(
            "{} holds results of another plan than {}",
            other.folder().display(),
            args.parts[0].display()
        )
        .into());
    }
    let plan = experiment::load(bytes, Available::default())
        .map_err(|_findings| format!("{}: plan.toml is no plan of this candor", args.parts[0].display()))?
        .plan;
    let results = Results::open(&args.out, bytes)?;
    let blocks = plan.blocks();
    let mut missing = 0;
    for block in &blocks {
        if results.has(&block.name) {
            continue;
        }
        let mut is_there = false;
        for (part, _) in &parts {
            is_there = is_there || results.take_over(part, &block.name)?;
        }
        missing += if is_there { 0 } else { block.cells.len() };
    }
    let cells = plan.cells().len();
    render::out(&format!("{} of {cells} cells are in {}\n", cells - missing, args.out.display()))?;
    if missing == 0 {
        return Ok(Exit::Fine);
    }
    render::err(&format!(
        "candor: {missing} cells are missing; candor measure {}/plan.toml --out {} measures them\n",
        args.out.display(),
        args.out.display()
    ));
    Ok(Exit::No)
}
