//! Ratios of latencies between cells that are equal in everything else.

use std::collections::HashMap;

use crate::record::baseline_of;
use crate::report::parts::columns;
use crate::stats::geomean;
use maud::{Markup, html};

use super::Cell;
use super::axes::{GATEWAY, KERNEL};

/// p50 of each cell as a multiple of the cell with gateway `kernel`, if both are valid and their records agree in
/// everything else.
pub(super) fn to_kernel(cells: &[Cell]) -> Vec<Option<f64>> {
    let others = |cell: &Cell| -> Vec<(String, String)> {
        cell.levels.iter().filter(|(factor, _)| factor != GATEWAY).cloned().collect()
    };
    let is_kernel = |cell: &&Cell| cell.level(GATEWAY) == KERNEL;
    let bases: HashMap<_, _> = cells.iter().filter(is_kernel).map(|cell| (others(cell), cell)).collect();
    let ratio = |cell: &Cell| {
        let (one, base) = (cell.valid()?, bases.get(&others(cell))?.valid()?);
        let is_comparable = one.header.is_comparable_with(&base.header);
        one.figures?.p50.ratio_to(base.figures?.p50).filter(|_| is_comparable)
    };
    cells.iter().map(ratio).collect()
}

/// p50 of each cell as a multiple of the cell with the baseline of its engine, likewise.
pub(super) fn to_baseline(cells: &[Cell]) -> Vec<Option<f64>> {
    let is_pair = |cell: &Cell, base: &Cell| {
        cell.levels.iter().zip(&base.levels).all(|(one, other)| one.0 == GATEWAY || one == other)
    };
    let ratio = |cell: &Cell| {
        let one = cell.valid()?;
        let engine = baseline_of(&one.header.engine);
        let mut bases = cells.iter().filter(|base| is_pair(cell, base)).filter_map(Cell::valid);
        let base = bases.find(|base| base.header.engine == engine && one.header.is_comparable_with(&base.header))?;
        one.figures?.p50.ratio_to(base.figures?.p50)
    };
    cells.iter().map(ratio).collect()
}

/// A row for each gateway; `None` without any.
pub(super) fn of_gateways(cells: &[Cell], ratios: &[Option<f64>]) -> Option<Markup> {
    let pairs = cells.iter().zip(ratios).filter_map(|(cell, ratio)| Some((cell.level(GATEWAY), (*ratio)?)));
    table(GATEWAY, pairs.filter(|(gateway, _)| *gateway != KERNEL))
}

/// Range and mean of the ratios with each name; `None` without any.
pub(super) fn table<'m>(of: &str, pairs: impl Iterator<Item = (&'m str, f64)>) -> Option<Markup> {
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for (name, ratio) in pairs {
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(ratio),
            None => rows.push((name, vec![ratio])),
        }
    }
    let limit = |all: &[f64], choose: fn(f64, f64) -> f64| all.iter().copied().reduce(choose);
    let shown = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
    (!rows.is_empty()).then(|| {
        html! {
            div.scroll { table.compare {
                (columns(1, &[of, "pairs of cells", "least", "geometric mean", "most"]))
                tbody { @for (name, all) in &rows {
                    tr {
                        th scope="row" { (name) }
                        td.n { (all.len()) } td.n { (shown(limit(all, f64::min))) }
                        td.n { strong { (shown(geomean(all))) } } td.n { (shown(limit(all, f64::max))) }
                    }
                } }
            } }
        }
    })
}
