//! The map of all cells: numbers on colours, a table for each combination of the factors that are neither rows nor columns.

use maud::{Markup, html};

use super::axes::{Axes, Axis, Group, words};
use super::shade::{SHADES, Scale, short};
use super::{Cell, Matrix, Measured};
use crate::cells::State;
use crate::plot;

struct Figure {
    name: &'static str,
    unit: &'static str,
    of: fn(&Measured, Option<f64>) -> Option<f64>,
    show: fn(f64) -> String,
}

/// In the order of selection; must match the style sheet.
const FIGURES: [Figure; 5] = [
    Figure { name: "p50", unit: " µs", of: |one, _| Some(one.figures?.p50.microseconds()), show: short },
    Figure { name: "p99", unit: " µs", of: |one, _| Some(one.figures?.p99.microseconds()), show: short },
    Figure { name: "max", unit: " µs", of: |one, _| Some(one.figures?.max.microseconds()), show: short },
    Figure { name: "lost frames", unit: "", of: |one, _| Some(one.lost() as f64), show: plot::number },
    Figure { name: "p50 ÷ kernel", unit: "", of: |_, ratio| ratio, show: |ratio| format!("{ratio:.2}") },
];

pub(super) struct Map<'m> {
    axes: &'m Axes,
    ratios: &'m [Option<f64>],
    scales: [Option<Scale>; FIGURES.len()],
}

/// Symbol, class and text of a cell's state.
pub(super) struct Mark {
    pub(super) sign: &'static str,
    pub(super) class: &'static str,
    pub(super) text: String,
}

impl Mark {
    pub(super) fn of(state: Option<&State>) -> Self {
        let (sign, class, text) = match state {
            Some(State::Ok) => ("", "ok", "ok".to_owned()),
            Some(State::Invalid(why)) => ("!", "invalid", format!("invalid: {why}")),
            Some(State::Failed(why)) => ("✕", "failed", format!("failed: {why}")),
            Some(State::Begun | State::Done(_)) | None => ("○", "missing", "not measured yet".to_owned()),
        };
        Self { sign, class, text }
    }
}

impl<'m> Map<'m> {
    pub(super) fn new(matrix: &'m Matrix, axes: &'m Axes, ratios: &'m [Option<f64>]) -> Self {
        let values = |figure: &Figure| {
            let value = |(cell, ratio): (&Cell, &Option<f64>)| (figure.of)(cell.valid()?, *ratio);
            Scale::around(matrix.cells.iter().zip(ratios).filter_map(value))
        };
        Self { axes, ratios, scales: FIGURES.each_ref().map(values) }
    }

    /// The style sheet alone implements the selection.
    pub(super) fn html(&self, cells: &[Cell]) -> Markup {
        html! {
            fieldset.choice {
                legend.hidden { "Figure" }
                @for (index, figure) in FIGURES.iter().enumerate() {
                    @if self.scales[index].is_some() || index < 4 {
                        input type="radio" name="figure" id=(format!("show{index}")) checked[index == 0];
                        label for=(format!("show{index}")) { (figure.name) (figure.unit) }
                    }
                }
            }
            (self.legend())
            div.maps { @for group in self.axes.groups(cells) { (self.group(&group)) } }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            div.maps.key-of-map {
                @for (index, (figure, scale)) in FIGURES.iter().zip(&self.scales).enumerate() {
                    @if let Some(scale) = scale {
                        span class=(format!("f f{index}")) {
                            (figure.name) ": " ((figure.show)(scale.least)) (figure.unit) " "
                            span.ramp aria-hidden="true" {
                                @for shade in 1..=SHADES { span class=(format!("q{shade}")) {} }
                            }
                            " " ((figure.show)(scale.most)) (figure.unit) ", logarithmic"
                        }
                    } @else {
                        span class=(format!("f f{index}")) { (figure.name) ": none" }
                    }
                }
                span.signs {
                    "! invalid, ✕ failed, ○ not measured yet, · not in the plan. Each cell links to its details."
                }
            }
        }
    }

    fn group(&self, group: &Group<'_>) -> Markup {
        let levels = |axis: Option<&'m Axis>| axis.map_or_else(|| vec![""], |axis| group.levels_of(axis));
        let (rows, columns) = (levels(self.axes.rows.as_ref()), levels(self.axes.columns.as_ref()));
        let factor = |axis: &Option<Axis>| axis.as_ref().map_or("", |axis| axis.factor.as_str()).to_owned();
        let (down, across) = (factor(&self.axes.rows), factor(&self.axes.columns));
        let is_at = |cell: &Cell, row: &str, column: &str| {
            (down.is_empty() || cell.level(&down) == row) && (across.is_empty() || cell.level(&across) == column)
        };
        html! {
            div.scroll { table.map {
                @if !group.levels.is_empty() { caption { (heading(group)) } }
                thead { tr {
                    th scope="col" { (down) @if !across.is_empty() { " \\ " (across) } }
                    @for column in &columns { th scope="col" { @if column.is_empty() { "all" } @else { (column) } } }
                } }
                tbody { @for row in &rows { tr {
                    th scope="row" { @if row.is_empty() { "all" } @else { (row) } }
                    @for column in &columns {
                        @match group.cells.iter().find(|(_, cell)| is_at(cell, row, column)) {
                            Some((index, cell)) => (self.cell(*index, cell)),
                            None => td.absent title="not in the plan" { "·" },
                        }
                    }
                } } }
            } }
        }
    }

    fn cell(&self, index: usize, cell: &Cell) -> Markup {
        let mark = Mark::of(cell.state.as_ref());
        let title = format!("{}: {}", self.axes.words(cell), mark.text);
        let values = cell.measured.as_ref().map(|measured| {
            let values = FIGURES.each_ref().map(|figure| (figure.of)(measured, self.ratios[index]));
            values.into_iter().zip(&FIGURES).zip(&self.scales).enumerate()
        });
        html! {
            td.(mark.class) {
                a href=(format!("#c{index}")) title=(title) {
                    @match values {
                        Some(values) => { @for (figure, ((value, Figure { show, .. }), scale)) in values {
                            span class=(class(figure, value, scale.filter(|_| mark.sign.is_empty()))) {
                                (mark.sign) @if !mark.sign.is_empty() { " " }
                                @match value { Some(value) => (show(value)), None => "–" }
                            }
                        } }
                        None => (mark.sign),
                    }
                }
            }
        }
    }
}

fn class(figure: usize, value: Option<f64>, scale: Option<Scale>) -> String {
    let shade = value.zip(scale).filter(|(value, _)| *value > 0.0).map(|(value, scale)| scale.shade(value));
    shade.map_or_else(|| format!("f f{figure}"), |shade| format!("f f{figure} q{shade}"))
}

/// Common levels of a map's cells.
pub(super) fn heading(group: &Group<'_>) -> String {
    let levels: Vec<String> = group.levels.iter().map(|(factor, level)| words(factor, level)).collect();
    if levels.is_empty() { "All cells".to_owned() } else { levels.join(", ") }
}
