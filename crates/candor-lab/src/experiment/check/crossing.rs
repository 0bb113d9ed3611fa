//! From levels to cells.

use crate::experiment::check::default_frame;
use crate::experiment::check::levels::{Factor, Level, Terms};
use crate::experiment::load::Load;
use crate::experiment::parse::{Levels, Spec};
use crate::experiment::traffic::Traffic;
use crate::experiment::{Cell, Place, Topology, code};
use candor_core::diagnostic::{Diagnostic, Findings};

/// Nobody waits for more.
const MOST_CELLS: usize = 100_000;

impl Terms<'_> {
    /// Every cell that the plan asks for.
    pub(super) fn cells(&self, spec: &Spec, repeats: u32, findings: &mut Findings) -> Option<Vec<Cell>> {
        if !spec.factors.iter().any(|levels| levels.factor == Factor::Gateway) {
            let span = spec.factors.first().map_or(0..0, |levels| levels.key.clone());
            findings.report(
                Diagnostic::error(code::NO_LEVEL, span, "The plan names no gateway to be measured")
                    .help("add gateway = [\"kernel\", \"read-write\"] below [factor]"),
            );
            return None;
        }
        let factors = self.understood(&spec.factors, findings);
        let excludes: Option<Vec<_>> = spec
            .excludes
            .iter()
            .map(|selection| Some((selection, self.understood(&selection.levels, findings)?)))
            .collect();
        let includes: Option<Vec<_>> = spec
            .includes
            .iter()
            .map(|selection| Some((selection, self.understood(&selection.levels, findings)?)))
            .collect();
        let (factors, excludes, includes) = (factors?, excludes?, includes?);
        let has_topology = |levels: &[Levels]| levels.iter().any(|levels| levels.factor == Factor::Topology);
        let is_free = !has_topology(&spec.factors);
        let mut cells = crossed(&first(&factors), &factors, findings, spec)?;
        cells.iter_mut().filter(|_| is_free).for_each(at_its_bench);
        for (selection, levels) in &excludes {
            let before = cells.len();
            let is_excluded = |cell: &Cell| levels.iter().all(|levels| levels.iter().any(|level| level.is_of(cell)));
            cells.retain(|cell| !is_excluded(cell));
            if cells.len() == before {
                let message = "This excludes nothing";
                findings.report(
                    Diagnostic::warning(code::EXCLUDES_NOTHING, selection.span.clone(), message)
                        .help("no cell has all of these levels; is one of them misspelt?"),
                );
            }
        }
        for (selection, levels) in &includes {
            let mut more = crossed(&first(&factors), levels, findings, spec)?;
            more.iter_mut().filter(|_| is_free && !has_topology(&selection.levels)).for_each(at_its_bench);
            let before = cells.len();
            for cell in more {
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
            if cells.len() == before {
                findings.report(
                    Diagnostic::warning(
                        code::INCLUDED_ALREADY,
                        selection.span.clone(),
                        "These cells are there already",
                    )
                    .help("a factor that is not written has its first level"),
                );
            }
        }
        if cells.is_empty() {
            let span = spec.excludes.last().map_or(0..0, |selection| selection.span.clone());
            findings.report(
                Diagnostic::error(code::NO_CELL, span, "No cell is left to be measured")
                    .help("write fewer or narrower [[exclude]]"),
            );
            return None;
        }
        impossible(&cells, spec, findings)?;
        let repeated = |cell: Cell| (1..=repeats).map(move |repeat| Cell { repeat, ..cell.clone() });
        Some(cells.into_iter().flat_map(repeated).collect())
    }
}

/// Where nobody wrote a topology, a machine has the only one that it can have.
fn at_its_bench(cell: &mut Cell) {
    if !cell.place.testbed.is_guest() {
        cell.place.topology = Topology::Bench;
    }
}

/// The cell of the first levels.
fn first(factors: &[Vec<Level>]) -> Cell {
    let mut cell = Cell {
        place: Place::DEFAULT,
        gateway: String::new(),
        rules: "all".to_owned(),
        traffic: Traffic::OneAtATime,
        load: Load::None,
        frame: default_frame(),
        repeat: 1,
    };
    factors.iter().filter_map(|levels| levels.first()).for_each(|level| level.apply(&mut cell));
    cell
}
/// Every level with every other; what is not written is as in `base`.
fn crossed(base: &Cell, factors: &[Vec<Level>], findings: &mut Findings, spec: &Spec) -> Option<Vec<Cell>> {
    let count = factors.iter().try_fold(1_usize, |count, levels| count.checked_mul(levels.len()));
    if count.is_none_or(|count| count > MOST_CELLS) {
        let span = spec.factors.first().map_or(0..0, |levels| levels.key.clone());
        let message = format!("The plan has more than {MOST_CELLS} cells");
        findings.report(
            Diagnostic::error(code::TOO_MANY_CELLS, span, message)
                .help("write fewer levels, or several plans; every level is crossed with every other"),
        );
        return None;
    }
    let mut cells = vec![base.clone()];
    for levels in factors {
        let each = |cell: Cell| {
            levels.iter().map(move |level| {
                let mut cell = cell.clone();
                level.apply(&mut cell);
                cell
            })
        };
        cells = cells.into_iter().flat_map(each).collect();
    }
    Some(cells)
}

/// Conditions that cannot be met together.
fn impossible(cells: &[Cell], spec: &Spec, findings: &mut Findings) -> Option<()> {
    let why = |cell: &Cell| -> Option<String> {
        if let Some(why) = cell.place.impossible() {
            return Some(why);
        }
        if matches!(cell.traffic, Traffic::Replay { .. }) {
            // Its frames are told by all of their bytes.
            return None;
        }
        let payload = if cell.frame.id.is_rtr() { 0 } else { cell.frame.len };
        (payload < 2).then(|| format!("the frame {} has no room for a number of two bytes", cell.frame))
    };
    let Some((cell, why)) = cells.iter().find_map(|cell| Some((cell, why(cell)?))) else { return Some(()) };
    let span = spec.factors.first().map_or(0..0, |levels| levels.key.clone());
    let message = format!("There can be no cell {cell}: {why}");
    findings
        .report(Diagnostic::error(code::IMPOSSIBLE, span, message).help("take such cells away with an [[exclude]]"));
    None
}
