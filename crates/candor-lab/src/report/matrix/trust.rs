//! Validity: accuracy of the tester, common conditions, threats, and failures.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::axes::Axes;
use super::map::Mark;
use super::shade::short;
use super::{Matrix, Measured};
use crate::cells::State;
use crate::plot::grouped;

/// Further threats are only listed with their cells.
const MOST_THREATS: usize = 10;

/// Further links of a reason are only counted.
const MOST_LINKS: usize = 20;

/// A statement on validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Line {
    /// It reduces the validity.
    pub(in crate::report) is_threat: bool,
    pub(in crate::report) text: String,
}

pub(super) fn html(matrix: &Matrix, axes: &Axes) -> Markup {
    html! { ul.trust { @for Line { is_threat, text } in lines(matrix, axes) { li.threat[is_threat] { (text) } } } }
}

/// Accuracy of the tester, conditions, then threats.
pub(in crate::report) fn lines(matrix: &Matrix, axes: &Axes) -> Vec<Line> {
    let measured = || matrix.cells.iter().filter_map(|cell| cell.measured.as_ref());
    let distinct = |of: fn(&Measured) -> String| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        measured().for_each(|one| *counts.entry(of(one)).or_default() += 1);
        counts.remove("");
        counts
    };
    let mut lines = Vec::new();
    let mut say = |is_threat: bool, text: String| lines.push(Line { is_threat, text });
    let nulls = nulls(matrix);
    for (place, [p50, max]) in &nulls {
        let (p50, max) = (short(*p50), short(*max));
        say(
            false,
            format!(
                "Without a gateway ({place}) the tester itself measures a p50 of at most {p50} µs and a max of at most {max} µs: \
                 other figures may contain up to this much overhead of the tester."
            ),
        );
    }
    if nulls.is_empty() {
        let unknown =
            "No cell is without a gateway, so the accuracy of the tester is unknown: add gateway \"none\" to the plan.";
        say(true, unknown.to_owned());
    }
    for (ns, _) in distinct(|one| one.header.instruction_ns.map_or_else(String::new, |ns| ns.to_string())) {
        say(
            false,
            format!(
                "Where instructions are counted, one takes {ns} ns. There are no caches and no second core: compare the figures with \
                 each other, but not with real time."
            ),
        );
    }
    for (stamps, count) in distinct(|one| one.header.stamps.clone()) {
        say(false, format!("{}: {stamps}.", cells(count)));
    }
    let (frames, warm_up) = (grouped(&matrix.frames.to_string()), grouped(&matrix.warm_up.to_string()));
    say(false, format!("{frames} frames of each cell count, after {warm_up} that warm it up; seed {}.", matrix.seed));
    if !axes.constant.is_empty() {
        let constant: Vec<String> = axes.constant.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        say(false, format!("The same in all cells: {}.", constant.join(", ")));
    }
    for (versions, count) in distinct(versions) {
        say(false, format!("{}: {versions}.", cells(count)));
    }
    let mut threats: BTreeMap<String, usize> = BTreeMap::new();
    measured().flat_map(|one| &one.threats).for_each(|threat| *threats.entry(threat.to_string()).or_default() += 1);
    let mut threats: Vec<_> = threats.into_iter().collect();
    threats.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (threat, count) in threats.iter().take(MOST_THREATS) {
        say(true, format!("{}: {threat}.", cells(*count)));
    }
    if threats.len() > MOST_THREATS {
        say(true, format!("And {} more, which are listed with their cells.", threats.len() - MOST_THREATS));
    }
    lines
}

/// Each reason with the cells that have no valid figures because of it; `None` without any. Missing cells are counted
/// above the map.
pub(super) fn failures(matrix: &Matrix, axes: &Axes) -> Option<Markup> {
    let mut reasons: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (index, cell) in matrix.cells.iter().enumerate() {
        let mark = Mark::of(cell.state.as_ref());
        if matches!(cell.state, Some(State::Failed(_) | State::Invalid(_))) {
            reasons.entry((mark.sign, mark.text)).or_default().push(index);
        }
    }
    (!reasons.is_empty()).then(|| {
        html! {
            ul.trust { @for ((sign, text), places) in &reasons {
                li {
                    span.threat { (sign) " " (text) } " — " (cells(places.len())) ": "
                    @for (position, &index) in places.iter().take(MOST_LINKS).enumerate() {
                        @if position > 0 { "; " }
                        a href=(format!("#c{index}")) { (axes.words(&matrix.cells[index])) }
                    }
                    @if places.len() > MOST_LINKS { "; and " (places.len() - MOST_LINKS) " more" }
                }
            } }
        }
    })
}

/// Largest p50 and max in µs of cells without a gateway, by place.
fn nulls(matrix: &Matrix) -> BTreeMap<String, [f64; 2]> {
    let mut places: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for cell in matrix.cells.iter().filter(|cell| cell.level("gateway") == "none") {
        let Some(figures) = cell.valid().and_then(|one| one.figures) else { continue };
        let place = ["testbed", "kernel", "topology", "shift"].map(|factor| cell.level(factor));
        let arch = Some(cell.level("arch")).filter(|arch| !["", "default"].contains(arch));
        let arch = arch.map(|arch| format!(", {arch}")).unwrap_or_default();
        let place = format!("{}{arch}, kernel {}, {}, shift {}", place[0], place[1], place[2], place[3]);
        let [p50, max] = places.entry(place).or_insert([f64::MIN; 2]);
        *p50 = p50.max(figures.p50.microseconds());
        *max = max.max(figures.max.microseconds());
    }
    places
}

fn versions(measured: &Measured) -> String {
    let header = &measured.header;
    let platform = header.platform.iter().map(|(what, version)| format!("{} {version}", what.replace('_', " ")));
    let own = [format!("Linux {}", header.kernel_release), format!("candor {}", header.candor_version)];
    own.into_iter().chain(platform).collect::<Vec<_>>().join(", ")
}

pub(super) fn cells(count: usize) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{} cells", grouped(&count.to_string())) }
}
