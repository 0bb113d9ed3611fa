//! `candor-lab compare`: what B takes beside A, cell by cell.

mod json;
mod pairs;
mod side;
mod text;

use std::collections::BTreeSet;

use candor_lab::report::difference::{Difference, Held};

use self::pairs::Pairs;
use self::side::Side;
use crate::cli::{CompareArgs, Level};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// A cell, and what B takes there beside A.
#[derive(Debug)]
struct Compared {
    /// What tells the cell from others.
    cell: Vec<(String, String)>,
    difference: Difference,
}

pub(crate) fn run(args: &CompareArgs) -> Outcome {
    let second = args.second.as_ref().unwrap_or(&args.first);
    let (a, b) = (Side::open(&args.first, &args.a)?, Side::open(second, &args.b)?);
    let factors = |levels: &[Level]| levels.iter().map(|level| level.factor.clone()).collect::<BTreeSet<_>>();
    // Otherwise cells of several levels would be taken for runs of one.
    if let Some(factor) = factors(&args.a).symmetric_difference(&factors(&args.b)).next() {
        return Err(format!("Only one of --a and --b names {factor}: name a level of it in both").into());
    }
    let varied: Vec<&str> = args.a.iter().chain(&args.b).map(|level| level.factor.as_str()).collect();
    let pairs = Pairs::of(&a, &b, &varied);
    if pairs.both.is_empty() {
        return Err(format!(
            "No cell of {} is in {}, too: name the factors that differ, such as --a kernel=debian-6.1 --b kernel=backports-6.12",
            args.first.display(),
            second.display()
        )
        .into());
    }
    let mut all = Vec::new();
    for pair in &pairs.both {
        all.extend(pair.compare()?);
    }
    let held = args.tolerance.map(|tolerance| held(&all, &pairs, tolerance));
    let exit = match held {
        None if all.iter().all(|one| matches!(one.difference, Difference::Refused(_))) => Exit::CouldNotRun,
        None | Some(Held::Yes) => Exit::Fine,
        Some(Held::Worse) => Exit::No,
        Some(Held::Unknown) => Exit::CouldNotRun,
    };
    let text = if args.json {
        format!("{:#}\n", json::of(args, &all, &pairs, held))
    } else {
        text::of(args, &all, &pairs, held)
    };
    render::answer(&text, exit)
}

/// Whether B is within the tolerance everywhere. A cell that is in A only may be worse in B, for all that is known.
fn held(all: &[Compared], pairs: &Pairs<'_>, tolerance: f64) -> Held {
    let each: Vec<Held> = all.iter().map(|one| one.difference.held_to(tolerance)).collect();
    let is_missing = !pairs.only_a.is_empty();
    match () {
        () if each.contains(&Held::Worse) => Held::Worse,
        () if is_missing || each.contains(&Held::Unknown) => Held::Unknown,
        () => Held::Yes,
    }
}
