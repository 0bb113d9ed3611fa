//! Comparison of kernels: change of p50, and the latency profiles of equal cells in one picture.

use maud::{Markup, html};

use super::axes::{Axes, GATEWAY, Group, KERNEL, words};
use super::profile::overlay;
use super::shade::short;
use super::{Cell, Measured, ratios};
use crate::plot::class;
use crate::report::parts::columns;

/// Number of sets with an open picture.
const OPEN: usize = 2;

/// Equal cells on several kernels.
struct Set<'m> {
    title: String,
    /// Without a gateway: the tester itself.
    is_null: bool,
    cells: Vec<(usize, &'m str, &'m Measured)>,
}

/// `None` if no cells differ only in the kernel.
pub(super) fn html(axes: &Axes, cells: &[Cell]) -> Option<Markup> {
    let sets = sets(axes, cells);
    let first = sets.first()?.cells[0].1;
    Some(html! {
        p.note {
            "p50 as a multiple of that on " (first) ", in pairs of cells that are equal in everything else and have a gateway. Below: "
            "the latency profiles of equal cells on one scale."
        }
        @if let Some(table) = table(&sets, first) { (table) }
        @for set in &sets[..sets.len().min(OPEN)] { h3 { (set.title) } (one(set)) }
        @if sets.len() > OPEN {
            details.group {
                summary { "More sets of equal cells: " (sets.len() - OPEN) }
                @for set in &sets[OPEN..] { details.cell { summary { (set.title) } (one(set)) } }
            }
        }
    })
}

fn sets<'m>(axes: &Axes, cells: &'m [Cell]) -> Vec<Set<'m>> {
    let set = |Group { levels, cells }: Group<'m>| {
        let valid = cells.iter().filter_map(|(index, cell)| {
            // Where a rate was searched, each cell has its own.
            let is_of_one_rate = |measured: &&Measured| measured.header.throughput.is_none();
            let measured = cell.valid().filter(|measured| measured.figures.is_some()).filter(is_of_one_rate)?;
            Some((*index, cell.level(KERNEL), measured))
        });
        let cells: Vec<_> = valid.collect();
        let is_null = levels.contains(&(GATEWAY, "none"));
        let title: Vec<String> = levels.iter().map(|(factor, level)| words(factor, level)).collect();
        // Timestamps of different sources are not comparable.
        let is_of_one_kind = cells.iter().all(|(_, _, one)| one.header.stamps == cells[0].2.header.stamps);
        // Between virtual interfaces the tester alone takes no time.
        let is_something = cells.iter().any(|(_, _, one)| one.figures.is_some_and(|figures| figures.max.0 > 0));
        (cells.len() > 1 && is_of_one_kind && is_something).then(|| Set { title: title.join(" · "), is_null, cells })
    };
    axes.grouped_without(&[KERNEL], cells).into_iter().filter_map(set).collect()
}

fn table(sets: &[Set<'_>], first: &str) -> Option<Markup> {
    let p50 = |measured: &Measured| measured.figures.map(|figures| figures.p50);
    let mut pairs = Vec::new();
    for set in sets.iter().filter(|set| !set.is_null) {
        let Some((_, _, base)) = set.cells.iter().find(|(_, kernel, _)| *kernel == first) else { continue };
        for (_, kernel, measured) in set.cells.iter().filter(|(_, kernel, _)| *kernel != first) {
            let ratio = p50(measured).zip(p50(base)).and_then(|(one, base)| one.ratio_to(base));
            pairs.extend(ratio.map(|ratio| (*kernel, ratio)));
        }
    }
    ratios::table(KERNEL, pairs.into_iter())
}

fn one(set: &Set<'_>) -> Markup {
    let profiles: Vec<_> = set.cells.iter().map(|(index, _, measured)| (*index, *measured)).collect();
    html! {
        div.known {
            (overlay(&profiles))
            div.scroll { table {
                (columns(1, &["µs", "p50", "p99", "max", "lost"]))
                tbody { @for (series, (index, kernel, measured)) in set.cells.iter().enumerate() { tr {
                    th scope="row" {
                        span.key.(class(series)) aria-hidden="true" {} a href=(format!("#c{index}")) { (kernel) }
                    }
                    @if let Some(figures) = measured.figures {
                        @for time in [figures.p50, figures.p99, figures.max] { td.n { (short(time.microseconds())) } }
                    }
                    td.n { (measured.lost()) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{crossed, measure};
    use super::super::throughput::tests::searched;
    use super::*;
    use crate::record::Header;

    #[test]
    fn equal_cells_of_two_kernels_are_compared() {
        let mut cells = crossed(&[("kernel", &["old", "new"]), ("gateway", &["kernel", "user"])]);
        for (cell, latency) in cells.iter_mut().zip([2000, 4000, 3000, 4000]) {
            measure(cell, &[Some(latency); 400]);
        }
        let axes = Axes::of(&cells);
        let page = html(&axes, &cells).unwrap().into_string();
        for wanted in ["that on old", "<strong>1.22</strong>", ">1.50<", ">1.00<", "href=\"#p2\"", "<h3>user</h3>"] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        let before = cells[2].measured.as_ref().unwrap().header.clone();
        cells[2].measured.as_mut().unwrap().header.throughput = Some(searched(5000));
        assert!(!html(&axes, &cells).unwrap().into_string().contains(">1.50<"), "each has its own rate");
        cells[2].measured.as_mut().unwrap().header = Header { stamps: "others".to_owned(), ..before };
        assert!(!html(&axes, &cells).unwrap().into_string().contains(">1.50<"));
        cells.retain(|cell| cell.level("kernel") == "old");
        assert!(html(&Axes::of(&cells), &cells).is_none());
    }
}
