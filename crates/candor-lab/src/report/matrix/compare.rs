//! How many times as long as the kernel's gateway the others take, where everything else is equal.

use std::collections::HashMap;

use crate::stats::geomean;
use maud::{Markup, html};

use super::Cell;

pub(super) const GATEWAY: &str = "gateway";
pub(super) const KERNEL: &str = "kernel";

/// For each cell its p50 as a multiple of that of the cell with gateway `kernel`, if both can be believed and their records agree in
/// all but the gateway.
pub(super) fn to_kernel(cells: &[Cell]) -> Vec<Option<f64>> {
    let others = |cell: &Cell| -> Vec<(String, String)> {
        cell.levels.iter().filter(|(factor, _)| factor != GATEWAY).cloned().collect()
    };
    let is_kernel = |cell: &&Cell| cell.level(GATEWAY) == KERNEL;
    let bases: HashMap<_, _> = cells.iter().filter(is_kernel).map(|cell| (others(cell), cell)).collect();
    let ratio = |cell: &Cell| {
        let (one, base) = (cell.believed()?, bases.get(&others(cell))?.believed()?);
        let is_comparable = one.header.is_comparable_with(&base.header);
        one.figures?.p50.ratio_to(base.figures?.p50).filter(|_| is_comparable)
    };
    cells.iter().map(ratio).collect()
}

/// A line for each gateway that can be compared; `None` if there is none.
pub(super) fn table(cells: &[Cell], ratios: &[Option<f64>]) -> Option<Markup> {
    let mut gateways: Vec<(&str, Vec<f64>)> = Vec::new();
    for (cell, ratio) in cells.iter().zip(ratios) {
        let (gateway, Some(ratio)) = (cell.level(GATEWAY), *ratio) else { continue };
        match gateways.iter_mut().find(|(known, _)| *known == gateway) {
            _ if gateway == KERNEL => {}
            Some((_, all)) => all.push(ratio),
            None => gateways.push((gateway, vec![ratio])),
        }
    }
    if gateways.is_empty() {
        return None;
    }
    let limit = |all: &[f64], choose: fn(f64, f64) -> f64| all.iter().copied().reduce(choose);
    let shown = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
    Some(html! {
        div.scroll { table.compare {
            thead { tr {
                th scope="col" { "gateway" } th.n scope="col" { "pairs of cells" } th.n scope="col" { "least" }
                th.n scope="col" { "geometric mean" } th.n scope="col" { "most" }
            } }
            tbody { @for (gateway, all) in &gateways {
                tr {
                    th scope="row" { (gateway) }
                    td.n { (all.len()) } td.n { (shown(limit(all, f64::min))) }
                    td.n { strong { (shown(geomean(all))) } } td.n { (shown(limit(all, f64::max))) }
                }
            } }
        } }
    })
}
