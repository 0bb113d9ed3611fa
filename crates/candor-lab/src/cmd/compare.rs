//! `candor-lab compare`: latencies of B relative to A, cell by cell.

pub(super) mod json;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use candor_cli::{Exit, Outcome, render};
use candor_lab::cells::State;
use candor_lab::record::Record;
use candor_lab::report::difference::{Difference, Held};

use super::measure::results::Results;
use super::measure::status_table::{self, Found};
use super::report::files_of;
use crate::cli::{CompareArgs, Level};

const REPEAT: &str = "repeat";

type Failed = Box<dyn std::error::Error>;

#[derive(Debug)]
struct Compared {
    levels: Vec<(String, String)>,
    difference: Difference,
}

pub(crate) fn run(args: &CompareArgs) -> Outcome {
    let second = args.second.as_ref().unwrap_or(&args.first);
    let (a, b) = (cells_of(&args.first, &args.a)?, cells_of(second, &args.b)?);
    let factors = |levels: &[Level]| levels.iter().map(|level| level.factor.clone()).collect::<BTreeSet<_>>();
    // Otherwise cells of several levels would be taken for runs of one.
    if let Some(factor) = factors(&args.a).symmetric_difference(&factors(&args.b)).next() {
        return Err(format!("Only one of --a and --b names {factor}: name a level of it in both").into());
    }
    let pairs = if args.first.is_file() && second.is_file() {
        let pair = Pair { levels: Vec::new(), a: a.iter().collect(), b: b.iter().collect() };
        Pairs { both: vec![pair], ..Pairs::default() }
    } else {
        let varied: Vec<&str> = args.a.iter().chain(&args.b).map(|level| level.factor.as_str()).collect();
        Pairs::of(&a, &b, &varied)
    };
    if pairs.both.is_empty() {
        return Err(format!(
            "No cell of {} is in {}, too: name the factors that differ, such as --a kernel=debian-6.1 --b kernel=debian-6.12",
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
        render::object(&json::View::of(args, &all, &pairs, held))
    } else {
        text::of(args, &all, &pairs, held)
    };
    render::answer(&text, exit)
}

/// `Unknown` if a cell of A is missing in B.
fn held(all: &[Compared], pairs: &Pairs<'_>, tolerance: f64) -> Held {
    let each: Vec<Held> = all.iter().map(|one| one.difference.held_to(tolerance)).collect();
    if each.contains(&Held::Worse) {
        Held::Worse
    } else if !pairs.only_a.is_empty() || each.contains(&Held::Unknown) {
        Held::Unknown
    } else {
        Held::Yes
    }
}

/// Cells of results, of records in a directory, or of one record, that have these levels.
fn cells_of(path: &Path, wanted: &[Level]) -> Result<Vec<Found>, Failed> {
    let mut cells = if Results::are_in(path) {
        let (results, plan) = status_table::open(path)?;
        status_table::find_all(&plan, &results)?
    } else {
        // Records that belong to no plan, or were copied out of one.
        let found = |file: std::path::PathBuf| -> Result<Found, Failed> {
            let levels = Record::read(&file)?.header.all_levels();
            Ok(Found { name: file.display().to_string(), levels, state: Some(State::Ok), record: Some(file) })
        };
        files_of(path)?.into_iter().map(found).collect::<Result<_, _>>()?
    };
    for Level { factor, level } in wanted {
        let mut levels: Vec<&str> = cells.iter().filter_map(|cell| level_of(cell, factor)).collect();
        if levels.contains(&level.as_str()) {
            continue;
        }
        let mut known = BTreeSet::new();
        levels.retain(|level| known.insert(*level));
        let there = match levels[..] {
            [] => "it has no such factor".to_owned(),
            _ => format!("it has {}", levels.join(", ")),
        };
        return Err(format!("{} has no cell with {factor}={level}: {there}", path.display()).into());
    }
    cells.retain(|cell| wanted.iter().all(|wanted| level_of(cell, &wanted.factor) == Some(&wanted.level)));
    Ok(cells)
}

fn level_of<'f>(cell: &'f Found, factor: &str) -> Option<&'f str> {
    cell.levels.iter().find(|(known, _)| known == factor).map(|(_, level)| level.as_str())
}

/// Cells of A and B that differ only in the compared factors.
#[derive(Debug, Default)]
struct Pairs<'s> {
    both: Vec<Pair<'s>>,
    only_a: Vec<&'s Found>,
    only_b: Vec<&'s Found>,
}

/// A cell of A and of B, with all repeats.
#[derive(Debug, Default)]
struct Pair<'s> {
    levels: Vec<(String, String)>,
    a: Vec<&'s Found>,
    b: Vec<&'s Found>,
}

impl<'s> Pairs<'s> {
    fn of(a: &'s [Found], b: &'s [Found], varied: &[&str]) -> Self {
        let mut pairs: Vec<Pair<'s>> = Vec::new();
        for (cell, is_a) in a.iter().map(|cell| (cell, true)).chain(b.iter().map(|cell| (cell, false))) {
            let is_common = |factor: &str| factor != REPEAT && !varied.contains(&factor);
            let levels: Vec<_> = cell.levels.iter().filter(|(factor, _)| is_common(factor)).cloned().collect();
            let at = pairs.iter().position(|pair| pair.levels == levels).unwrap_or_else(|| {
                pairs.push(Pair { levels, ..Pair::default() });
                pairs.len() - 1
            });
            if is_a { pairs[at].a.push(cell) } else { pairs[at].b.push(cell) }
        }
        let (both, one): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|pair| !pair.a.is_empty() && !pair.b.is_empty());
        let only_a = one.iter().flat_map(|pair| pair.a.iter().copied()).collect();
        Self { both, only_a, only_b: one.iter().flat_map(|pair| pair.b.iter().copied()).collect() }
    }
}

impl Pair<'_> {
    /// One comparison of all runs; where instructions are counted, one for each repeat, because each is exact.
    fn compare(&self) -> Result<Vec<Compared>, Failed> {
        let one = |difference| vec![Compared { levels: self.levels.clone(), difference }];
        if let Some(why) = unusable("A", &self.a).or_else(|| unusable("B", &self.b)) {
            return Ok(one(Difference::Refused(why)));
        }
        let runs = |cells: &[&Found]| -> Result<Vec<Record>, Failed> {
            cells.iter().filter_map(|cell| cell.record.as_deref()).map(|path| Ok(Record::read(path)?)).collect()
        };
        let (a, b) = (runs(&self.a)?, runs(&self.b)?);
        let counts = |runs: &[Record]| runs.iter().all(|run| run.header.instruction_ns.is_some());
        if a.len() < 2 || !(counts(&a) && counts(&b)) {
            return Ok(one(Difference::of(&a, &b)));
        }
        let repeat = |(cell, record): (&&Found, &Record)| {
            let repeat = level_of(cell, REPEAT);
            let other = self.b.iter().position(|other| level_of(other, REPEAT) == repeat).and_then(|at| b.get(at));
            let difference = other.map_or_else(
                || Difference::Refused("B has no such repeat".to_owned()),
                |other| Difference::of(std::slice::from_ref(record), std::slice::from_ref(other)),
            );
            let repeat = repeat.map(|repeat| (REPEAT.to_owned(), repeat.to_owned()));
            Compared { levels: self.levels.iter().cloned().chain(repeat).collect(), difference }
        };
        Ok(self.a.iter().zip(&a).map(repeat).collect())
    }
}

/// The reason why the runs of a side cannot be used.
fn unusable(side: &str, cells: &[&Found]) -> Option<String> {
    cells.iter().find_map(|cell| match &cell.state {
        Some(State::Ok) => None,
        Some(State::Invalid(why)) => Some(format!("{side} is invalid: {why}")),
        Some(State::Failed(why)) => Some(format!("{side} failed: {why}")),
        Some(State::Begun | State::Done(_)) | None => Some(format!("{side} has not been measured")),
    })
}
