//! Ratios of latencies between cells that are equal in everything else.

use crate::record::baseline_of;
use crate::report::parts::columns;
use crate::stats::geomean;
use maud::{Markup, html};

use super::Cell;
use super::axes::{GATEWAY, KERNEL};

/// p50 of each cell as a multiple of the cell with gateway `kernel`, if both are valid and their records agree in
/// everything else.
pub(super) fn to_kernel(cells: &[Cell]) -> Vec<Option<f64>> {
    to(cells, |_, base| base.level(GATEWAY) == KERNEL)
}

/// The same of the baseline of its engine.
pub(super) fn to_baseline(cells: &[Cell]) -> Vec<Option<f64>> {
    let engine = |cell: &Cell| cell.measured.as_ref().map(|one| one.header.engine.clone());
    to(cells, |one, base| engine(base) == engine(one).map(|engine| baseline_of(&engine)))
}

fn to(cells: &[Cell], is_base: impl Fn(&Cell, &Cell) -> bool) -> Vec<Option<f64>> {
    let is_pair =
        |cell: &Cell, base: &Cell| cell.levels.iter().zip(&base.levels).all(|(a, b)| a.0 == GATEWAY || a == b);
    let ratio = |cell: &Cell| {
        let base = cells.iter().find(|base| is_pair(cell, base) && is_base(cell, base))?;
        let (one, base) = (cell.valid()?, base.valid()?);
        let is_comparable = one.header.is_comparable_with(&base.header);
        one.figures?.p50.ratio_to(base.figures?.p50).filter(|_| is_comparable)
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
