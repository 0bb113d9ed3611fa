//! Figures of the cells as a table of two factors: in Markdown, and as curves.

use std::fmt::Write as _;

use crate::plot::grouped;
use crate::report::{Curve, Curves};

use super::axes::{Axes, Axis, factors};
use super::map::{Mark, heading};
use super::markdown::escaped;
use super::{Cell, Matrix, ratios};

/// Names of the figures: latencies, lost frames, and p50 as a multiple of gateway `kernel` or of the engine's baseline.
pub const TABLE_FIGURES: [&str; 8] = ["min", "p50", "p90", "p99", "max", "lost", "kernel", "baseline"];

/// A row for each level of one factor, a column for each figure of each level of another; a separate part for each
/// combination of the other varying factors.
#[derive(Debug)]
pub struct Table<'m> {
    rows: Axis,
    columns: Axis,
    figures: &'m [String],
    parts: Vec<Part<'m>>,
}

#[derive(Debug)]
struct Part<'m> {
    /// Empty if there is only one.
    heading: String,
    cells: Vec<Shown<'m>>,
}

#[derive(Debug)]
struct Shown<'m> {
    cell: &'m Cell,
    /// p50 as a multiple of those of `kernel` and of the baseline.
    ratios: [Option<f64>; 2],
}

impl<'m> Table<'m> {
    /// Fails if the plan has no such factor. `figures` are some of [`TABLE_FIGURES`].
    pub fn of(matrix: &'m Matrix, rows: &str, columns: &str, figures: &'m [String]) -> Result<Self, String> {
        let all = factors(&matrix.cells);
        let axis = |name: &str| {
            let names = || all.iter().map(|axis| axis.factor.as_str()).collect::<Vec<_>>().join(", ");
            let found = all.iter().find(|axis| axis.factor == name).cloned();
            found.ok_or_else(|| format!("the plan has no factor {name}; it has {}", names()))
        };
        let (rows, columns) = (axis(rows)?, axis(columns)?);
        if rows == columns {
            return Err("rows and columns are the same factor".to_owned());
        }
        let (kernel, baseline) = (ratios::to_kernel(&matrix.cells), ratios::to_baseline(&matrix.cells));
        let axes = Axes::of(&matrix.cells);
        let groups = axes.grouped_without(&[&rows.factor, &columns.factor], &matrix.cells);
        let parts = groups.iter().map(|group| Part {
            heading: if group.levels.is_empty() { String::new() } else { heading(group) },
            cells: group.cells.iter().map(|&(at, cell)| Shown { cell, ratios: [kernel[at], baseline[at]] }).collect(),
        });
        Ok(Self { parts: parts.collect(), rows, columns, figures })
    }

    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if !part.heading.is_empty() {
                writeln!(text, "{}:\n", escaped(&part.heading)).expect("writing to a String cannot fail");
            }
            let columns = self.columns.levels.iter().flat_map(|level| self.figures.iter().map(move |of| (level, of)));
            let columns: Vec<_> = columns.filter(|(level, _)| part.has(&self.columns.factor, level)).collect();
            let name = |(level, figure): &(&String, &String)| match self.figures.len() {
                1 => escaped(level),
                _ => format!("{} {}", escaped(level), title(figure)),
            };
            let names: Vec<String> = columns.iter().map(name).collect();
            let rule = "--:|".repeat(columns.len());
            writeln!(text, "| {} | {} |\n|---|{rule}", escaped(&self.rows.factor), names.join(" | "))
                .expect("writing to a String cannot fail");
            for row in self.rows.levels.iter().filter(|row| part.has(&self.rows.factor, row)) {
                let cells = columns.iter().map(|(column, figure)| match self.at(part, row, column) {
                    Some(shown) => shown.text(figure),
                    None => "·".to_owned(),
                });
                writeln!(text, "| {} | {} |", escaped(row), cells.collect::<Vec<_>>().join(" | "))
                    .expect("writing to a String cannot fail");
            }
            text.push('\n');
        }
        let figures: Vec<&str> = self.figures.iter().map(|figure| title(figure)).collect();
        text + &format!("{}, latencies in {}\n", figures.join(", "), self.unit())
    }

    /// A curve for each column over the number with which the name of a row begins. Rows that differ in the rest of
    /// their name are separate curves.
    pub fn to_svg(&self, name: &str) -> Result<String, String> {
        let ([part], [figure]) = (&self.parts[..], self.figures) else {
            return Err("curves show one figure of a table with one part".to_owned());
        };
        let mut curves: Vec<Curve> = Vec::new();
        for row in &self.rows.levels {
            let end = row.find(|of: char| !of.is_ascii_digit() && of != '.').unwrap_or(row.len());
            let (number, rest) = row.split_at(end);
            let x: f64 = number.parse().map_err(|_not_one| format!("the row {row} does not begin with a number"))?;
            for column in &self.columns.levels {
                let Some(shown) = self.at(part, row, column) else { continue };
                let name = format!("{column}{rest}");
                let point = (x, shown.valid(figure));
                match curves.iter_mut().find(|curve| curve.name == name) {
                    Some(curve) => curve.points.push(point),
                    None => curves.push(Curve { name, points: vec![point] }),
                }
            }
        }
        curves.iter_mut().for_each(|curve| curve.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let of = match &figure[..] {
            "lost" | "kernel" | "baseline" => title(figure).to_owned(),
            _ => format!("{figure} in {}", self.unit()),
        };
        Ok(Curves { title: name, along: &self.rows.factor, of: &of, curves: &curves }.to_svg())
    }

    fn at<'t>(&self, part: &'t Part<'m>, row: &str, column: &str) -> Option<&'t Shown<'m>> {
        let is_at = |cell: &Cell| cell.level(&self.rows.factor) == row && cell.level(&self.columns.factor) == column;
        part.cells.iter().find(|shown| is_at(shown.cell))
    }

    fn unit(&self) -> &'static str {
        let mut measured =
            self.parts.iter().flat_map(|part| &part.cells).filter_map(|shown| shown.cell.measured.as_ref());
        if measured.all(|one| one.header.instruction_ns.is_some()) { "instructions" } else { "µs" }
    }
}

impl Part<'_> {
    fn has(&self, factor: &str, level: &str) -> bool {
        self.cells.iter().any(|shown| shown.cell.level(factor) == level)
    }
}

impl Shown<'_> {
    fn text(&self, figure: &str) -> String {
        let Mark { sign, .. } = Mark::of(self.cell.state.as_ref());
        if self.cell.measured.is_none() {
            return sign.to_owned();
        }
        let value = self.value(figure).map_or_else(
            || "–".to_owned(),
            |value| match figure {
                "kernel" | "baseline" => format!("{value:.3}"),
                _ if value.fract() == 0.0 => grouped(&value.to_string()).replace('\u{202f}', " "),
                _ => format!("{value:.3}"),
            },
        );
        if sign.is_empty() { value } else { format!("{sign} {value}") }
    }

    fn valid(&self, figure: &str) -> Option<f64> {
        self.cell.valid().and_then(|_| self.value(figure))
    }

    fn value(&self, figure: &str) -> Option<f64> {
        let measured = self.cell.measured.as_ref()?;
        match figure {
            "lost" => Some(measured.lost() as f64),
            "kernel" => self.ratios[0],
            "baseline" => self.ratios[1],
            _ => {
                let latency = measured.figures?.named(figure)?;
                let whole = |ns| (latency.0 / i64::from(u32::max(ns, 1))) as f64;
                Some(measured.header.instruction_ns.map_or_else(|| latency.microseconds(), whole))
            }
        }
    }
}

fn title(figure: &str) -> &str {
    match figure {
        "lost" => "lost frames",
        "kernel" => "p50 ÷ kernel",
        "baseline" => "p50 ÷ baseline",
        latency => latency,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{crossed, matrix, measure};
    use super::*;
    use crate::cells::State;

    fn figures(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Two gateways with three sets of rules, of which one is not in the plan for user space.
    fn plan() -> Matrix {
        let mut cells = crossed(&[("gateway", &["kernel", "read-write"]), ("rules", &["1", "64", "64-classic"])]);
        cells.truncate(5);
        for (cell, latency) in cells.iter_mut().zip([1000, 3000, 2000, 4000, 12_000]) {
            measure(cell, &[Some(latency); 400]);
        }
        matrix(cells)
    }

    #[test]
    fn table_has_a_cell_for_each_pair_of_levels() {
        let (plan, figures) = (plan(), figures(&["p50"]));
        let text = Table::of(&plan, "rules", "gateway", &figures).unwrap().to_markdown();
        insta::assert_snapshot!(text, @r"
        | rules | kernel | read-write |
        |---|--:|--:|
        | 1 | 1 000 | 4 000 |
        | 64 | 3 000 | 12 000 |
        | 64-classic | 2 000 | · |

        p50, latencies in instructions
        ");
    }

    #[test]
    fn states_and_ratios_are_shown() {
        let (mut plan, figures) = (plan(), figures(&["lost", "kernel"]));
        plan.cells[0].state = Some(State::Invalid("late".to_owned()));
        (plan.cells[1].state, plan.cells[1].measured) = (Some(State::Failed("no".to_owned())), None);
        plan.cells[4].state = None;
        plan.cells[4].measured = None;
        let text = Table::of(&plan, "gateway", "rules", &figures).unwrap().to_markdown();
        insta::assert_snapshot!(text, @r"
        | gateway | 1 lost frames | 1 p50 ÷ kernel | 64 lost frames | 64 p50 ÷ kernel | 64-classic lost frames | 64-classic p50 ÷ kernel |
        |---|--:|--:|--:|--:|--:|--:|
        | kernel | ! 0 | ! – | ✕ | ✕ | 0 | 1.000 |
        | read-write | 0 | – | ○ | ○ | · | · |

        lost frames, p50 ÷ kernel, latencies in instructions
        ");
    }

    #[test]
    fn other_factors_are_separate_parts() {
        let (mut plan, figures) = (plan(), figures(&["p50"]));
        for (cell, load) in plan.cells.iter_mut().zip(["none", "cpu 20", "none", "none", "none"]) {
            cell.levels.push(("load".to_owned(), load.to_owned()));
        }
        let table = Table::of(&plan, "rules", "gateway", &figures).unwrap();
        let text = table.to_markdown();
        assert!(text.starts_with("load none:\n\n| rules | kernel | read-write |\n"), "{text}");
        assert!(text.contains("cpu 20:\n\n| rules | kernel |\n|---|--:|\n| 64 | 3 000 |\n"), "{text}");
        assert!(table.to_svg("t").is_err());
        for (rows, columns) in [("rules", "kernels"), ("rules", "rules")] {
            assert!(Table::of(&plan, rows, columns, &figures).is_err());
        }
    }

    #[test]
    fn rows_that_begin_with_a_number_are_curves() {
        let (plan, figures) = (plan(), figures(&["p50"]));
        let svg = Table::of(&plan, "rules", "gateway", &figures).unwrap().to_svg("rules").unwrap();
        for curve in ["kernel", "kernel-classic", "read-write"] {
            assert!(svg.contains(&format!("<title>{curve}</title>")), "{curve}: {svg}");
        }
        assert!(svg.contains("p50 in instructions"), "{svg}");
        let wrong = Table::of(&plan, "gateway", "rules", &figures).unwrap().to_svg("rules");
        assert_eq!(wrong, Err("the row kernel does not begin with a number".to_owned()));
    }
}
