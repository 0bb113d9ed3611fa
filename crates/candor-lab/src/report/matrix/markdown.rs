//! The cells of a plan as a table in Markdown: for a merge request, a wiki, or a README.

use std::fmt::Write as _;

use crate::stats::{CONFIDENCE, Figures, Quantile, TooFew};

use super::axes::{Axes, factors};
use super::map::Mark;
use super::page::{counts, lead};
use super::trust;
use super::{Cell, Matrix, Measured, throughput};
use crate::report::parts::time_unit;

/// A row for each cell in any state, and threats to validity.
pub fn matrix_markdown(matrix: &Matrix) -> String {
    let axes = Axes::of(&matrix.cells);
    let unit = time_unit(matrix.cells.iter().filter_map(|cell| Some(cell.measured.as_ref()?.header.instruction_ns)));
    let mut text = format!("# {}\n\n{}\n{}\n\n", escaped(&matrix.name), counts(matrix), escaped(&lead(matrix)));
    let mut line =
        |cells: &[String]| writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a String cannot fail");
    // In the order of the plan: rows and columns are for pages.
    let all = factors(&matrix.cells);
    let factors: Vec<&str> = all.iter().filter(|axis| axis.levels.len() > 1).map(|axis| axis.factor.as_str()).collect();
    let figures = ["p50", "p90", "p99", "max"].map(|name| format!("{name} / µs"));
    let names = factors.iter().map(|factor| escaped(factor)).chain(["frames", "lost"].map(str::to_owned));
    line(&names.chain(figures).chain(["state".to_owned()]).collect::<Vec<_>>());
    let rules = factors.iter().map(|_| "---").chain(["---:"; 6]).chain(["---"]);
    line(&rules.map(str::to_owned).collect::<Vec<_>>());
    for cell in &matrix.cells {
        let levels = factors.iter().map(|factor| escaped(cell.level(factor)));
        line(&levels.chain(numbers(cell)).chain([state(cell)]).collect::<Vec<_>>());
    }
    for cell in &matrix.cells {
        let Some(found) = cell.valid().and_then(Measured::found) else { continue };
        let (ndr, pdr) = (throughput::rate(&found.ndr), throughput::rate(&found.pdr));
        let words = escaped(&axes.words(cell));
        write!(text, "\n{words}: {ndr} frames/s without loss, {pdr} with at most 0.5 % lost.\n")
            .expect("writing to a String cannot fail");
    }
    writeln!(text, "\nTimes are in {unit}, of those frames that arrived.\n").expect("writing to a String cannot fail");
    for trust::Line { is_threat, text: statement } in trust::lines(matrix, &axes) {
        let mark = if is_threat { "**!** " } else { "" };
        writeln!(text, "* {mark}{}", escaped(&statement)).expect("writing to a String cannot fail");
    }
    text
}

/// Frames, losses and figures; dashes if there are none.
fn numbers(cell: &Cell) -> Vec<String> {
    let Some(measured) = &cell.measured else { return vec!["–".to_owned(); 6] };
    let mut numbers = vec![measured.frames.to_string(), measured.lost().to_string()];
    let Some(Figures { p50, p90, p99, max, .. }) = measured.figures else {
        numbers.extend(["–"; 4].map(str::to_owned));
        return numbers;
    };
    let arrived: usize = measured.profile.points.first().map_or(0, |point| point.at_least - measured.profile.plateau);
    for (quantile, latency) in [(Quantile::P50, p50), (Quantile::P90, p90), (Quantile::P99, p99)] {
        let too_few = TooFew::for_interval(arrived, quantile, CONFIDENCE).is_some();
        numbers.push(if too_few { "n too small".to_owned() } else { format!("{:.3}", latency.microseconds()) });
    }
    numbers.push(format!("{:.3}", max.microseconds()));
    numbers
}

fn state(cell: &Cell) -> String {
    let Mark { sign, text, .. } = Mark::of(cell.state.as_ref());
    if sign.is_empty() { text } else { format!("**{sign}** {}", escaped(&text)) }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => escaped.push(' '),
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '\\' => escaped.extend(['\\', character]),
            other => escaped.push(other),
        }
    }
    escaped
}
