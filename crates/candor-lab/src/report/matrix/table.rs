//! Figures of the cells as a table of two factors: in Markdown, and as curves.

use crate::plot::grouped;
use crate::report::{Curve, Curves};

use super::axes::{Axes, Axis, Group, factors};
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
    parts: Vec<Group<'m>>,
    /// p50 of each cell as a multiple of those of `kernel` and of the baseline.
    ratios: [Vec<Option<f64>>; 2],
    unit: &'static str,
}

impl<'m> Table<'m> {
    /// Fails if the plan has no such factor. `figures` are some of [`TABLE_FIGURES`].
    pub fn of(matrix: &'m Matrix, rows: &str, columns: &str, figures: &'m [String]) -> Result<Self, String> {
        let cells = &matrix.cells;
        let all = factors(cells);
        let axis = |name: &str| {
            let names = || all.iter().map(|axis| axis.factor.as_str()).collect::<Vec<_>>().join(", ");
            let found = all.iter().find(|axis| axis.factor == name).cloned();
            found.ok_or_else(|| format!("the plan has no factor {name}; it has {}", names()))
        };
        let (rows, columns) = (axis(rows)?, axis(columns)?);
        if rows == columns {
            return Err("rows and columns are the same factor".to_owned());
        }
        let mut measured = cells.iter().filter_map(|cell| cell.measured.as_ref());
        let is_counted = measured.all(|one| one.header.instruction_ns.is_some());
        let parts = Axes::of(cells).grouped_without(&[&rows.factor, &columns.factor], cells);
        let ratios = [ratios::to_kernel(cells), ratios::to_baseline(cells)];
        Ok(Self { rows, columns, figures, parts, ratios, unit: if is_counted { "instructions" } else { "µs" } })
    }

    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if !part.levels.is_empty() {
                text += &format!("{}:\n\n", escaped(&heading(part)));
            }
            let columns = part.levels_of(&self.columns);
            let columns: Vec<_> =
                columns.iter().flat_map(|level| self.figures.iter().map(move |of| (*level, of))).collect();
            let name = |&(level, figure): &(&str, &String)| match self.figures.len() {
                1 => escaped(level),
                _ => format!("{} {}", escaped(level), title(figure)),
            };
            let mut line = |first: &str, cells: Vec<String>| text += &format!("| {first} | {} |\n", cells.join(" | "));
            line(&escaped(&self.rows.factor), columns.iter().map(name).collect());
            line("---", vec!["--:".to_owned(); columns.len()]);
            for row in part.levels_of(&self.rows) {
                let cell = |&(column, figure): &(&str, &String)| match self.at(part, row, column) {
                    Some((index, cell)) => self.text(index, cell, figure),
                    None => "·".to_owned(),
                };
                line(&escaped(row), columns.iter().map(cell).collect());
            }
            text.push('\n');
        }
        let figures: Vec<String> = self.figures.iter().map(|figure| self.label(figure)).collect();
        text + &format!("{}\n", figures.join(", "))
    }

    /// A curve for each column over the number with which the name of a row begins. Rows that differ in the rest of
    /// their name are separate curves.
    pub fn to_svg(&self) -> Result<String, String> {
        let ([part], [figure]) = (&self.parts[..], self.figures) else {
            return Err("curves show one figure of a table with one part".to_owned());
        };
        let mut curves: Vec<Curve> = Vec::new();
        for row in &self.rows.levels {
            let (number, rest) = row.split_at(row.find(|of: char| !of.is_ascii_digit()).unwrap_or(row.len()));
            let x: f64 = number
                .parse()
                .map_err(|_not_one| format!("curves need rows that begin with a number, and {row} does not"))?;
            for column in &self.columns.levels {
                let Some((index, cell)) = self.at(part, row, column) else { continue };
                let name = format!("{column}{rest}");
                let point = (x, cell.valid().and_then(|_| self.value(index, cell, figure)));
                match curves.iter_mut().find(|curve| curve.name == name) {
                    Some(curve) => curve.points.push(point),
                    None => curves.push(Curve { name, points: vec![point] }),
                }
            }
        }
        curves.iter_mut().for_each(|curve| curve.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let (of, along) = (self.label(figure), &self.rows.factor[..]);
        Ok(Curves { title: &format!("{of} over {along}"), along, of: &of, names: &[], curves: &curves }.to_svg())
    }

    /// With the unit of a latency.
    fn label(&self, figure: &str) -> String {
        let title = title(figure);
        if is_latency(figure) { format!("{title} in {}", self.unit) } else { title.to_owned() }
    }

    fn at(&self, part: &Group<'m>, row: &str, column: &str) -> Option<(usize, &'m Cell)> {
        let is_at = |cell: &Cell| cell.level(&self.rows.factor) == row && cell.level(&self.columns.factor) == column;
        part.cells.iter().find(|(_, cell)| is_at(cell)).copied()
    }

    fn text(&self, index: usize, cell: &Cell, figure: &str) -> String {
        let sign = Mark::of(cell.state.as_ref()).sign;
        if cell.measured.is_none() {
            return sign.to_owned();
        }
        let value = match self.value(index, cell, figure) {
            None => "–".to_owned(),
            Some(value) if figure == "lost" || (is_latency(figure) && self.unit == "instructions") => {
                grouped(&value.to_string()).replace('\u{202f}', " ")
            }
            Some(value) => format!("{value:.3}"),
        };
        format!("{sign} {value}").trim_start().to_owned()
    }

    fn value(&self, index: usize, cell: &Cell, figure: &str) -> Option<f64> {
        let measured = cell.measured.as_ref()?;
        match figure {
            "lost" => Some(measured.lost() as f64),
            "kernel" => self.ratios[0][index],
            "baseline" => self.ratios[1][index],
            _ => {
                let latency = measured.figures?.named(figure)?;
                let ns = measured.header.instruction_ns.filter(|_| self.unit == "instructions");
                let counted = |ns: u32| (latency.0 / i64::from(ns.max(1))) as f64;
                Some(ns.map_or_else(|| latency.microseconds(), counted))
            }
        }
    }
}

fn is_latency(figure: &str) -> bool {
    !matches!(figure, "lost" | "kernel" | "baseline")
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
        | --- | --: | --: |
        | 1 | 1 000 | 4 000 |
        | 64 | 3 000 | 12 000 |
        | 64-classic | 2 000 | · |

        p50 in instructions
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
        | --- | --: | --: | --: | --: | --: | --: |
        | kernel | ! 0 | ! – | ✕ | ✕ | 0 | 1.000 |
        | read-write | 0 | – | ○ | ○ | · | · |

        lost frames, p50 ÷ kernel
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
        assert!(text.contains("cpu 20:\n\n| rules | kernel |\n| --- | --: |\n| 64 | 3 000 |\n"), "{text}");
        assert!(table.to_svg().is_err());
        for (rows, columns) in [("rules", "kernels"), ("rules", "rules")] {
            assert!(Table::of(&plan, rows, columns, &figures).is_err());
        }
    }

    #[test]
    fn rows_that_begin_with_a_number_are_curves() {
        let (plan, figures) = (plan(), figures(&["p50"]));
        let svg = Table::of(&plan, "rules", "gateway", &figures).unwrap().to_svg().unwrap();
        for curve in ["kernel", "kernel-classic", "read-write"] {
            assert!(svg.contains(&format!("<title>{curve}</title>")), "{curve}: {svg}");
        }
        assert!(svg.contains("p50 in instructions"), "{svg}");
        let wrong = Table::of(&plan, "gateway", "rules", &figures).unwrap().to_svg();
        assert_eq!(wrong, Err("curves need rows that begin with a number, and kernel does not".to_owned()));
    }
}
