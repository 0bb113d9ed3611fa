//! The page.

use std::collections::BTreeSet;

use maud::{DOCTYPE, PreEscaped, html as markup};

use super::axes::Axes;
use super::map::{Map, Mark};
use super::{Matrix, compare, details, kernels, sweep, throughput, trust};
use crate::plot::grouped;
use crate::report::html::{STYLE, head, time_unit};

const MAP_STYLE: &str = include_str!("matrix.css");
const SCRIPT: &str = include_str!("matrix.js");

/// The report of a plan as HTML text. It loads nothing from anywhere.
#[must_use]
pub fn html(matrix: &Matrix) -> String {
    let axes = Axes::of(&matrix.cells);
    let ratios = compare::to_kernel(&matrix.cells);
    let map = Map::new(matrix, &axes, &ratios);
    let measured = || matrix.cells.iter().filter_map(|cell| cell.measured.as_ref());
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("candor: {}", matrix.name), &[STYLE, MAP_STYLE]))
            body {
                main.wide {
                    header {
                        p.eyebrow { "candor · report of a plan" }
                        h1 { (matrix.name) }
                        p.lead { (counts(matrix)) }
                        p.lead { (lead(matrix)) }
                    }
                    section.heat {
                        h2 { "All cells" }
                        p.note {
                            "Latencies are of those frames that arrived, in "
                            (time_unit(measured().map(|one| one.header.instruction_ns))) "."
                        }
                        (map.html(&matrix.cells))
                    }
                    @if let Some(table) = compare::table(&matrix.cells, &ratios) {
                        section {
                            h2 { "Gateways beside the kernel's" }
                            p.note {
                                "p50 as a multiple of that of gateway kernel, in pairs of cells that are equal in all else. Interrupts and "
                                "drivers are in both and bring the multiple down."
                            }
                            (table)
                        }
                    }
                    @if let Some(table) = throughput::table(&axes, &matrix.cells) {
                        section {
                            h2 { "Throughput" }
                            p.note {
                                "The highest rates that passed, searched with trials of as many frames as each cell has. A rate is judged by the majority of two or "
                                "three trials; a frame that was sent only when the next one was due counts as lost. The latencies of these cells "
                                "are those at the rate without loss."
                            }
                            (table)
                        }
                    }
                    @if let Some(sweeps) = sweep::html(&axes, &matrix.cells) {
                        section {
                            h2 { "Rate sweeps" }
                            p.note {
                                "p50 (with rings) and p99 (thin) of the response, from when each frame was due, over the rate at which frames "
                                "were due; below them the share of frames that was lost. Dashed uprights are rates without loss that were searched."
                            }
                            (sweeps)
                        }
                    }
                    @if let Some(kernels) = kernels::html(&axes, &matrix.cells) { section { h2 { "Kernels beside each other" } (kernels) } }
                    @if let Some(failures) = trust::failures(matrix, &axes) { section { h2 { "What did not work" } (failures) } }
                    section { h2 { "What to believe" } (trust::html(matrix, &axes)) }
                    section {
                        h2 { "Cell by cell" }
                        p.note {
                            "Service is the time from the first bus to the second, response that from the moment when the frame was due; "
                            "both without the time on the second wire. The figures show how many frames took at least this long."
                        }
                        (details::html(&axes, &matrix.cells, &ratios))
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// `39 of 40 cells are ok; 1 invalid`.
pub(super) fn counts(matrix: &Matrix) -> String {
    let count = |class: &str| matrix.cells.iter().filter(|cell| Mark::of(cell.state.as_ref()).class == class).count();
    let all = trust::cells(matrix.cells.len());
    let others = ["invalid", "failed", "missing"].map(|class| format!("{} {class}", count(class))).join(", ");
    format!("{} of {all} ok, {others}.", grouped(&count("ok").to_string()))
}

pub(super) fn lead(matrix: &Matrix) -> String {
    let kernels: BTreeSet<&str> =
        matrix.cells.iter().filter_map(|cell| Some(cell.measured.as_ref()?.header.kernel_release.as_str())).collect();
    let kernels: Vec<&str> = kernels.into_iter().collect();
    let linux = if kernels.is_empty() { String::new() } else { format!("Linux {}. ", kernels.join(", ")) };
    format!("{linux}{} frames in each cell, seed {}.", grouped(&matrix.frames.to_string()), matrix.seed)
}
