//! The timeline as text, JSON, Markdown and curves.

use std::fs;
use std::path::Path;

use candor_lab::plot::grouped;
use candor_lab::report::{Curve, Curves};
use serde::Serialize;

use super::Gate;
use super::lines::{Line, NotCompared, Slower};
use crate::cli::TimelineArgs;
use crate::cmd::method::table;
use crate::cmd::papers::series;

const MARKDOWN: &str = "README.md";

pub(super) fn text(names: &[&str], lines: &[Line], gate: Option<&Gate<'_>>, args: &TimelineArgs) -> String {
    let mut text = String::new();
    for line in lines {
        text += &format!("Median in instructions, and as a multiple of that on {}\n\n", first(line));
        let rows = (0..).zip(names).map(|(row, name)| cells(line, row, name, ' '));
        text += &table(head(line), rows);
        text.push('\n');
    }
    if let (Some(gate), Some(share)) = (gate, args.fail_above) {
        text += &verdict(lines, gate, share);
    }
    text + &format!("Table and curves: {}\n", args.out.join(MARKDOWN).display())
}

fn verdict(lines: &[Line], gate: &Gate<'_>, share: f64) -> String {
    let mut text = String::new();
    for pair in lines.iter().filter_map(Line::last) {
        let of_pair: Vec<_> = gate.slower.iter().filter(|one| one.kernels[0] == pair[0].kernel).collect();
        let ([last, before], percent) = (pair.map(|point| series(&point.kernel)), 100.0 * share);
        let is_compared = |(now, then): (&Option<u64>, &Option<u64>)| now.is_some() && then.is_some();
        let mut rows = pair[0].instructions.iter().zip(&pair[1].instructions);
        text += &match (of_pair.is_empty(), rows.clone().all(is_compared), rows.any(is_compared)) {
            (false, ..) => format!("{last}: more than {percent} % slower than on {before}\n"),
            (_, true, _) => format!("{last}: nothing is more than {percent} % slower than on {before}\n"),
            (_, _, true) => {
                format!("{last}: of what was measured, nothing is more than {percent} % slower than on {before}\n")
            }
            _ => format!("{last} is not compared with {before}\n"),
        };
        for one in of_pair {
            let [now, then] = one.instructions.map(|count| number(count, ' '));
            text += &format!("  {}: {then} to {now} instructions ({:+.1} %)\n", one.name, 100.0 * one.by());
        }
        for point in pair {
            let missing = gate.not_compared.iter().filter(|one| one.kernel == point.kernel);
            let missing: Vec<&str> = missing.map(|one| one.name).collect();
            if !missing.is_empty() {
                text += &format!("  not measured on {}: {}\n", series(&point.kernel), missing.join(", "));
            }
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
    /// What was not measured on one of two kernels to compare. `null` without `--fail-above`.
    not_compared: Option<Vec<NotComparedView<'a>>>,
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

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotComparedView<'a> {
    name: &'a str,
    /// It was not measured there.
    kernel: &'a str,
}

impl<'a> View<'a> {
    pub(super) fn of(names: &[&'a str], lines: &'a [Line], gate: Option<&Gate<'a>>) -> Self {
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
        let missing = |&NotCompared { name, kernel }: &NotCompared<'a>| NotComparedView { name, kernel };
        Self {
            lines: lines.iter().map(line).collect(),
            slower: gate.map(|gate| gate.slower.iter().map(one).collect()),
            not_compared: gate.map(|gate| gate.not_compared.iter().map(missing).collect()),
        }
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
        let gate = Gate::of(&["can-gw", "can_send()"], &lines, 0.02);
        insta::assert_snapshot!(verdict(&lines, &gate, 0.02));
        let same = Line::all(["debian-6.1", "debian-7.3"].map(|kernel| point(kernel, [100, 100])).to_vec());
        let gate = Gate::of(&["can-gw", "can_send()"], &same, 0.02);
        assert_eq!(verdict(&same, &gate, 0.02), "7.3: nothing is more than 2 % slower than on 6.1\n\n");
    }

    #[test]
    fn gate_names_what_was_not_measured() {
        let names = ["can-gw", "can_send()"];
        for (last, wanted) in [
            ([0, 0], "7.3 is not compared with 6.1\n  not measured on 7.3: can-gw, can_send()\n\n"),
            (
                [100, 0],
                "7.3: of what was measured, nothing is more than 2 % slower than on 6.1\n  not measured on 7.3: can_send()\n\n",
            ),
        ] {
            let lines = Line::all(vec![point("debian-6.1", [100, 100]), point("debian-7.3", last)]);
            let gate = Gate::of(&names, &lines, 0.02);
            assert_eq!(verdict(&lines, &gate, 0.02), wanted);
            let json = serde_json::to_value(View::of(&names, &lines, Some(&gate))).unwrap();
            assert_eq!(json["slower"], serde_json::json!([]));
            let missing = json["not_compared"].as_array().unwrap();
            assert_eq!(missing.last(), Some(&serde_json::json!({ "name": "can_send()", "kernel": "debian-7.3" })));
            assert_eq!(missing.len(), last.iter().filter(|&&count| count == 0).count());
        }
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
