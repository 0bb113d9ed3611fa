//! From levels to cells.

use super::default_frame;
use super::levels::Terms;
use crate::experiment::cells::Factor;
use crate::experiment::code::{self, error, warning};
use crate::experiment::load::Load;
use crate::experiment::parse::{Levels, Spec};
use crate::experiment::traffic::Traffic;
use crate::experiment::{Cell, Conditions, Topology};
use candor_core::diagnostic::Findings;

const MOST_CELLS: usize = 100_000;

impl Terms<'_> {
    pub(super) fn cells(&self, spec: &Spec, findings: &mut Findings) -> Option<Vec<Cell>> {
        let start = spec.factors.first().map_or(0..0, |levels| levels.key.clone());
        if !spec.factors.iter().any(|levels| levels.factor == Factor::Gateway) {
            let help = "add gateway = [\"kernel\", \"read-write\"] below [factor]";
            return error(findings, code::NO_LEVEL, &start, "The plan names no gateway to be measured", help);
        }
        let mut base = Cell {
            conditions: Conditions::DEFAULT,
            gateway: String::new(),
            rules: "all".to_owned(),
            traffic: Traffic::OneAtATime,
            load: Load::None,
            frame: default_frame(),
            repeat: 1,
        };
        let selections = spec.excludes.iter().chain(&spec.includes).map(|selection| &selection.levels);
        let sound: Vec<_> =
            [&spec.factors].into_iter().chain(selections).map(|levels| self.check(levels, &base, findings)).collect();
        sound.into_iter().collect::<Option<()>>()?;
        let has_topology = |levels: &[Levels]| levels.iter().any(|levels| levels.factor == Factor::Topology);
        let is_free = !has_topology(&spec.factors);
        // The first level of each factor, also in cells that are included.
        for Levels { factor, levels, .. } in &spec.factors {
            let _valid = self.set(&mut base, *factor, &levels[0].value);
        }
        let mut cells = self.crossed(&base, &spec.factors, findings, spec)?;
        cells.iter_mut().filter(|_| is_free).for_each(at_its_bench);
        for selection in &spec.excludes {
            let before = cells.len();
            cells.retain(|cell| !selection.levels.iter().all(|levels| self.has_one_of(cell, levels)));
            if cells.len() == before {
                let help = "no cell has all of these levels; is one of them misspelt?";
                warning(findings, code::EXCLUDES_NOTHING, &selection.span, "This excludes nothing", help);
            }
        }
        for selection in &spec.includes {
            let mut more = self.crossed(&base, &selection.levels, findings, spec)?;
            more.iter_mut().filter(|_| is_free && !has_topology(&selection.levels)).for_each(at_its_bench);
            let before = cells.len();
            for cell in more {
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
            if cells.len() == before {
                let help = "a factor that is not written has its first level";
                warning(findings, code::INCLUDED_ALREADY, &selection.span, "These cells already exist", help);
            }
        }
        if cells.is_empty() {
            let span = spec.excludes.last().map_or(0..0, |selection| selection.span.clone());
            return error(findings, code::NO_CELL, &span, "No cell is left", "write fewer or narrower [[exclude]]");
        }
        if let Some((cell, why)) = cells.iter().find_map(|cell| Some((cell, impossible(cell)?))) {
            let message = format!("Cell {cell} is not possible: {why}");
            return error(findings, code::IMPOSSIBLE, &start, message, "remove such cells with an [[exclude]]");
        }
        let repeats = spec.repeats.as_ref().map_or(1, |repeats| repeats.value);
        let repeated = |cell: Cell| (1..=repeats).map(move |repeat| Cell { repeat, ..cell.clone() });
        Some(cells.into_iter().flat_map(repeated).collect())
    }

    fn has_one_of(&self, cell: &Cell, levels: &Levels) -> bool {
        levels.levels.iter().any(|level| {
            let mut same = cell.clone();
            self.set(&mut same, levels.factor, &level.value).is_ok() && same == *cell
        })
    }

    /// All combinations of levels; other factors are as in `base`.
    fn crossed(&self, base: &Cell, factors: &[Levels], findings: &mut Findings, spec: &Spec) -> Option<Vec<Cell>> {
        let count = factors.iter().try_fold(1_usize, |count, levels| count.checked_mul(levels.levels.len()));
        if count.is_none_or(|count| count > MOST_CELLS) {
            let span = spec.factors.first().map_or(0..0, |levels| levels.key.clone());
            let message = format!("The plan has more than {MOST_CELLS} cells");
            let help = "write fewer levels, or several plans; every level is combined with every other";
            return error(findings, code::TOO_MANY_CELLS, &span, message, help);
        }
        let mut cells = vec![base.clone()];
        for Levels { factor, levels, .. } in factors {
            let mut more = Vec::with_capacity(cells.len() * levels.len());
            for cell in &cells {
                for level in levels {
                    let mut cell = cell.clone();
                    let _valid = self.set(&mut cell, *factor, &level.value);
                    more.push(cell);
                }
            }
            cells = more;
        }
        Some(cells)
    }
}

/// If no topology is written, testbeds other than guests have the only possible one.
fn at_its_bench(cell: &mut Cell) {
    if !cell.conditions.testbed.is_guest() {
        cell.conditions.topology = Topology::Bench;
    }
}

/// The reason why a cell cannot be measured.
fn impossible(cell: &Cell) -> Option<String> {
    let payload = if cell.frame.id.is_rtr() { 0 } else { cell.frame.len };
    // Frames of a log are identified by all of their bytes.
    let needs_number = !matches!(cell.traffic, Traffic::Replay { .. });
    let frame = || format!("the frame {} has no room for a number of two bytes", cell.frame);
    cell.conditions.impossible().or_else(|| (needs_number && payload < 2).then(frame))
}
