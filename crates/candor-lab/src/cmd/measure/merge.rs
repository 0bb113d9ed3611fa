//! `candor-lab merge`: combines parts of one plan that were measured on several machines.

use candor_cli::{Exit, Outcome, render};

use super::results::Results;
use super::status_table;
use crate::cli::MergeArgs;

pub(crate) fn run(args: &MergeArgs) -> Outcome {
    let parts = args.parts.iter().map(|part| Results::existing(part)).collect::<Result<Vec<_>, _>>()?;
    let Some((_, bytes)) = parts.first() else { return Ok(Exit::CouldNotRun) };
    let (first, plan) = status_table::open(&args.parts[0])?;
    let logs = first.logs(&plan.replays())?;
    for (other, other_bytes) in &parts {
        let differs = if other_bytes != bytes {
            Some("plan".to_owned())
        } else {
            let others = other.logs(&plan.replays())?;
            others.into_iter().find(|(file, bytes)| logs.get(file) != Some(bytes)).map(|(file, _)| file)
        };
        if let Some(what) = differs {
            let (one, other) = (args.parts[0].display(), other.folder().display());
            return Err(format!("{other} contains results of another {what} than {one}").into());
        }
    }
    let results = Results::open(&args.out, bytes, &plan.logs)?;
    let mut missing = 0;
    for block in plan.blocks() {
        let mut is_there = results.has(&block.name);
        for (part, _) in &parts {
            is_there = is_there || results.copy_from(part, &block.name)?;
        }
        missing += if is_there { 0 } else { block.cells.len() };
    }
    let (cells, out) = (plan.cells().len(), args.out.display());
    render::out(&format!("{} of {cells} cells are in {out}\n", cells - missing))?;
    if missing == 0 {
        return Ok(Exit::Fine);
    }
    let remedy = format!("candor-lab measure {out}/plan.toml --out {out} measures them");
    render::err(&format!("candor-lab: {missing} cells are missing; {remedy}\n"));
    Ok(Exit::No)
}
