//! `candor-lab merge`: parts of one plan, measured on several machines.

use super::results::Results;
use super::status_table;
use crate::cli::MergeArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

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
    let (_, plan) = status_table::open(&args.parts[0])?;
    let logs = parts[0].0.logs(&plan.replays())?;
    for (other, _) in &parts[1..] {
        if let Some((file, _)) =
            other.logs(&plan.replays())?.iter().find(|(file, bytes)| logs.get(*file) != Some(bytes))
        {
            let (one, other) = (args.parts[0].display(), other.folder().display());
            return Err(format!("{other} holds results of another {file} than {one}").into());
        }
    }
    let results = Results::open(&args.out, bytes, &plan.logs)?;
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
        "candor-lab: {missing} cells are missing; candor-lab measure {}/plan.toml --out {} measures them\n",
        args.out.display(),
        args.out.display()
    ));
    Ok(Exit::No)
}
