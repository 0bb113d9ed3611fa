//! The page.

use std::collections::BTreeSet;

use maud::{PreEscaped, html};

use super::axes::Axes;
use super::map::{Map, Mark};
use super::{Matrix, details, kernels, ratios, sweep, throughput, trust};
use crate::plot::grouped;
use crate::report::parts::{page, time_unit};

const STYLE: &str = include_str!("matrix.css");
const SCRIPT: &str = include_str!("matrix.js");

/// A page without external references.
pub fn matrix_html(matrix: &Matrix) -> String {
    let axes = Axes::of(&matrix.cells);
    let ratios = ratios::to_kernel(&matrix.cells);
    let map = Map::new(matrix, &axes, &ratios);
    let unit = time_unit(matrix.cells.iter().filter_map(|cell| Some(cell.measured.as_ref()?.header.instruction_ns)));
    let optional = [
        (
            "Gateways relative to the kernel's",
            "p50 as a multiple of that of gateway kernel, in pairs of cells that are equal in everything else. Both include interrupts \
             and drivers, which bring the multiple down.",
            ratios::of_gateways(&matrix.cells, &ratios),
        ),
        (
            "Throughput",
            "The highest rates that passed, searched with trials of as many frames as each cell has. The majority of two or three \
             trials decides about a rate; a frame that was sent only when the next one was due counts as lost. The latencies of \
             these cells are those at the rate without loss.",
            throughput::table(&axes, &matrix.cells),
        ),
        (
            "Rate sweeps",
            "p50 (with rings) and p99 (thin) of the response time over the rate at which frames were due; below them the share of \
             lost frames. Dashed vertical lines are rates without loss that were searched.",
            sweep::html(&axes, &matrix.cells),
        ),
        ("Kernels", "", kernels::html(&axes, &matrix.cells)),
        ("Failures", "", trust::failures(matrix, &axes)),
    ];
    let main = html! {
        header {
            p.eyebrow { "candor · report of a plan" }
            h1 { (matrix.name) }
            p.lead { (counts(matrix)) }
            p.lead { (lead(matrix)) }
        }
        section.heat {
            h2 { "All cells" }
            p.note { "Latencies are of those frames that arrived, in " (unit) "." }
            (map.html(&matrix.cells))
        }
        @for (heading, note, part) in optional { @if let Some(part) = part {
            section { h2 { (heading) } @if !note.is_empty() { p.note { (note) } } (part) }
        } }
        section { h2 { "Validity" } (trust::html(matrix, &axes)) }
        section {
            h2 { "Cell by cell" }
            p.note {
                "Service is the time from the first bus to the second, response that from the time at which the frame was due; both "
                "without the frame time on the second bus. The figures show how many frames took at least this long."
            }
            (details::html(&axes, &matrix.cells, &ratios))
        }
    };
    page(&format!("candor: {}", matrix.name), STYLE, "wide", &main, &html! { script { (PreEscaped(SCRIPT)) } })
}

/// `39 of 40 cells ok, 1 invalid, …`.
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
