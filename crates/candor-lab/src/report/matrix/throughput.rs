//! The highest rates without loss that a plan has searched.

use crate::stats::throughput::{Found, Throughput};
use maud::{Markup, html};

use super::axes::Axes;
use super::{Cell, Measured};
use crate::plot::grouped;
use crate::report::parts::columns;
use crate::throughput::{Searched, Tried};

impl Measured {
    /// `None` if the rate was given.
    pub fn found(&self) -> Option<Found> {
        self.header.throughput.as_ref().and_then(Searched::found)
    }
}

/// A row for each cell with a search; `None` without any.
pub(super) fn table(axes: &Axes, cells: &[Cell]) -> Option<Markup> {
    let found: Vec<(usize, &Cell, Found)> =
        cells.iter().enumerate().filter_map(|(index, cell)| Some((index, cell, cell.valid()?.found()?))).collect();
    (!found.is_empty()).then(|| {
        html! {
            div.scroll { table.compare {
                (columns(1, &["cell", "frames/s without loss", "frames/s with at most 0.5 % lost"]))
                tbody { @for (index, cell, Found { ndr, pdr }) in &found { tr {
                    th scope="row" { a href=(format!("#c{index}")) { (axes.words(cell)) } }
                    td.n { (rate(ndr)) } td.n { (rate(pdr)) }
                } } }
            } }
        }
    })
}

/// Without the unit, which is in the heading.
pub(super) fn rate(throughput: &Throughput) -> String {
    let frames_per_s = grouped(&throughput.tried().frames_per_second().to_string());
    match throughput {
        Throughput::AtLeast(_) => format!("at least {frames_per_s}"),
        Throughput::Below(_) => format!("below {frames_per_s}"),
        Throughput::Between { .. } => frames_per_s,
    }
}

/// All trials of a search, collapsed.
pub(super) fn trials(searched: &Searched) -> Markup {
    let mut trials: Vec<&Tried> = searched.trials.iter().collect();
    trials.sort_by_key(|trial| trial.frames_per_s);
    html! {
        details {
            summary { "The search for the rate: " (trials.len()) " trials" }
            div.scroll { table.compare {
                (columns(0, &["frames/s", "frames sent", "lost or not sent in time"]))
                tbody { @for trial in &trials { tr {
                    td.n { (grouped(&trial.frames_per_s.to_string())) } td.n { (grouped(&trial.sent.to_string())) }
                    td.n { (grouped(&trial.lost.to_string())) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::stats::throughput::Trial;
    use candor_egress::policy::FrameRate;

    use super::super::tests::{crossed, measure};
    use super::*;
    use crate::throughput::search;

    /// The search for a gateway that passes this many frames/s, of at most 10 000.
    pub(in crate::report::matrix) fn searched(capacity: u32) -> Searched {
        let trial = |rate: FrameRate| {
            let lost = if rate.frames_per_second() > capacity { 1000 } else { 0 };
            Ok(Trial { sent: 1000, lost })
        };
        search(FrameRate::new(10_000).unwrap(), trial).unwrap().0
    }

    #[test]
    fn results_are_in_a_table_and_trials_with_their_cell() {
        let mut cells = crossed(&[("gateway", &["kernel", "user", "none"]), ("traffic", &["throughput"])]);
        for (cell, capacity) in cells.iter_mut().zip([20_000, 5000, 10]) {
            measure(cell, &[Some(100); 4]);
            cell.measured.as_mut().unwrap().header.throughput = Some(searched(capacity));
        }
        let page = table(&Axes::of(&cells), &cells).unwrap().into_string();
        for wanted in ["at least 10\u{202f}000", "below 625", "#c1"] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        let found = cells[1].measured.as_ref().unwrap().found().unwrap();
        assert!((4975..=5000).contains(&found.ndr.tried().frames_per_second()), "{found:?}");
        assert!(trials(&searched(5000)).into_string().contains("trials"));
        cells.iter_mut().for_each(|cell| cell.measured.as_mut().unwrap().header.throughput = None);
        assert!(table(&Axes::of(&cells), &cells).is_none());
    }
}
