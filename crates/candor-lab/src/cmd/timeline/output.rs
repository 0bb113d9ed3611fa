//! The timeline as text, JSON, Markdown and curves.

use std::fs;
use std::path::Path;

use candor_lab::plot::grouped;
use candor_lab::report::{Curve, Curves};
use serde::Serialize;

use super::lines::{Line, Slower};
use crate::cli::TimelineArgs;
use crate::cmd::method::table;
use crate::cmd::papers::series;

const MARKDOWN: &str = "README.md";

pub(super) fn text(names: &[&str], lines: &[Line], slower: Option<&[Slower<'_>]>, args: &TimelineArgs) -> String {
    let mut text = String::new();
    for line in lines {
        text += &format!("Median in instructions, and as a multiple of that on {}\n\n", first(line));
        let rows = (0..).zip(names).map(|(row, name)| cells(line, row, name, ' '));
        text += &table(head(line), rows);
        text.push('\n');
    }
    if let (Some(slower), Some(share)) = (slower, args.fail_above) {
        text += &gate(lines, slower, share);
    }
    text + &format!("Table and curves: {}\n", args.out.join(MARKDOWN).display())
}

fn gate(lines: &[Line], slower: &[Slower<'_>], share: f64) -> String {
    let mut text = String::new();
    for [last, before] in lines.iter().filter_map(Line::last) {
        let of_pair: Vec<_> = slower.iter().filter(|one| one.kernels[0] == last.kernel).collect();
        let (last, before, percent) = (series(&last.kernel), series(&before.kernel), 100.0 * share);
        if of_pair.is_empty() {
            text += &format!("{last}: nothing is more than {percent} % slower than on {before}\n\n");
            continue;
        }
        text += &format!("{last}: more than {percent} % slower than on {before}\n");
        for one in of_pair {
            let [now, then] = one.instructions.map(|count| number(count, ' '));
            text += &format!("  {}: {then} to {now} instructions ({:+.1} %)\n", one.name, 100.0 * one.by());
        }
        text.push('\n');
    }
    text
}

/// Writes a page of Markdown, and a picture for each line.
pub(super) fn write(folder: &Path, names: &[&str], lines: &[Line]) -> Result<(), String> {
    let mut page = "# Cost from kernel to kernel\n".to_owned();
    let mut files = Vec::new();
    for line in lines {
        let picture = if line.is_real_time() { "timeline-rt.svg" } else { "timeline.svg" };
        page += &format!("\n![{}]({picture})\n\n{}", title(line), markdown(names, line));
        files.push((picture, svg(names, line)));
    }
    files.push((MARKDOWN, page));
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

fn markdown(names: &[&str], line: &Line) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(head(line));
    text += &format!("|---|{}\n", "--:|".repeat(line.points.len()));
    text.extend((0..).zip(names).map(|(at, name)| row(cells(line, at, name, '\u{202f}'))));
    let versions: Vec<&str> = line.points.iter().map(|point| point.version.as_str()).collect();
    text + &format!(
        "\nMedian in instructions, and as a multiple of that on {}. Packages: {}.\n",
        first(line),
        versions.join(", ")
    )
}

fn title(line: &Line) -> &'static str {
    if line.is_real_time() { "median cost by real-time kernel" } else { "median cost by kernel" }
}

fn svg(names: &[&str], line: &Line) -> String {
    let curve = |(row, name): (usize, &&str)| Curve {
        name: (*name).to_owned(),
        points: (0_u32..).zip(0..line.points.len()).map(|(x, at)| (f64::from(x), line.ratio(row, at))).collect(),
    };
    let curves: Vec<Curve> = names.iter().enumerate().map(curve).collect();
    let kernels: Vec<String> = line.points.iter().map(|point| series(&point.kernel).to_owned()).collect();
    let of = format!("multiple of the median on {}", first(line));
    Curves { title: title(line), along: "kernel", of: &of, names: &kernels, curves: &curves }.to_svg()
}

fn first(line: &Line) -> &str {
    series(&line.points[0].kernel)
}

fn head(line: &Line) -> Vec<String> {
    let kernels = line.points.iter().map(|point| series(&point.kernel).to_owned());
    ["measurement".to_owned()].into_iter().chain(kernels).collect()
}

/// A row of the table: the ratio follows the number.
fn cells(line: &Line, row: usize, name: &str, space: char) -> Vec<String> {
    let cell = |(at, point): (usize, &super::Point)| match point.instructions[row] {
        None => "–".to_owned(),
        Some(count) if at == 0 => number(count, space),
        Some(count) => {
            let ratio = line.ratio(row, at).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
            format!("{} ({ratio})", number(count, space))
        }
    };
    [name.to_owned()].into_iter().chain(line.points.iter().enumerate().map(cell)).collect()
}

fn number(count: u64, space: char) -> String {
    grouped(&count.to_string()).replace('\u{202f}', &space.to_string())
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    /// Plain kernels, and with `--rt` the real-time ones.
    lines: Vec<LineView<'a>>,
    /// `null` without `--fail-above`.
    slower: Option<Vec<SlowerView<'a>>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LineView<'a> {
    kernels: Vec<KernelView<'a>>,
    measurements: Vec<MeasurementView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KernelView<'a> {
    name: &'a str,
    /// Of the package.
    version: &'a str,
}

/// Its values are in the order of the kernels, `null` if not measured.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MeasurementView<'a> {
    name: &'a str,
    p50_instructions: Vec<Option<u64>>,
    /// Of the first kernel.
    ratio: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SlowerView<'a> {
    name: &'a str,
    kernel: &'a str,
    /// The kernel before it.
    than: &'a str,
    p50_instructions: u64,
    than_p50_instructions: u64,
}

impl<'a> View<'a> {
    pub(super) fn of(names: &[&'a str], lines: &'a [Line], slower: Option<&[Slower<'a>]>) -> Self {
        let line = |line: &'a Line| LineView {
            kernels: line.points.iter().map(|at| KernelView { name: &at.kernel, version: &at.version }).collect(),
            measurements: (0..)
                .zip(names)
                .map(|(row, name)| MeasurementView {
                    name,
                    p50_instructions: line.points.iter().map(|point| point.instructions[row]).collect(),
                    ratio: (0..line.points.len()).map(|at| line.ratio(row, at)).collect(),
                })
                .collect(),
        };
        let one = |&Slower { name, kernels: [kernel, than], instructions }: &Slower<'a>| {
            let [p50_instructions, than_p50_instructions] = instructions;
            SlowerView { name, kernel, than, p50_instructions, than_p50_instructions }
        };
        Self { lines: lines.iter().map(line).collect(), slower: slower.map(|slower| slower.iter().map(one).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::tests::point;
    use super::*;

    fn lines() -> Vec<Line> {
        Line::all(vec![point("debian-6.1", [8700, 0]), point("debian-7.3", [10_353, 4000])])
    }

    #[test]
    fn table_has_numbers_and_ratios() {
        insta::assert_snapshot!(markdown(&["can-gw", "can_send()"], &lines()[0]));
    }

    #[test]
    fn gate_names_what_became_slower() {
        let lines = lines();
        let found = super::super::lines::slower(&["can-gw", "can_send()"], &lines, 0.02);
        insta::assert_snapshot!(gate(&lines, &found, 0.02));
        assert!(gate(&lines, &[], 0.02).starts_with("7.3: nothing is more than 2 % slower than on 6.1\n"));
    }

    #[test]
    fn curves_have_the_kernels_on_their_axis() {
        let svg = svg(&["can-gw", "can_send()"], &lines()[0]);
        for wanted in [">6.1</text>", ">7.3</text>", "<title>can-gw</title>", "multiple of the median on 6.1"] {
            assert!(svg.contains(wanted), "{wanted}: {svg}");
        }
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
