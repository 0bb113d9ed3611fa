//! The acts for people.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::act::{ACTS, Act, File};
use super::bound::Bound;
use super::report::{OfAct, OfRun, Report};
use super::stage::QUEUE_FRAMES;
use candor_cli::gateway_file::plural;

pub(super) fn of(report: &Report, out: Option<&Path>) -> String {
    let mut text = head(report);
    for ((number, act), of_act) in (1..).zip(&ACTS).zip(&report.acts) {
        write!(text, "\nAct {number}: {}\n\n{}\n", act.title, act.story).expect(INFALLIBLE);
        write!(text, "{}\n{}", table(of_act), bounds(of_act)).expect(INFALLIBLE);
        writeln!(text, "What remains: {}", act.remains).expect(INFALLIBLE);
    }
    text.push('\n');
    match out {
        Some(folder) => {
            writeln!(text, "Gateway files, latency profiles and figures are in {}", folder.display())
                .expect(INFALLIBLE);
        }
        None => text.push_str(&files()),
    }
    text.push_str("For a bus of your own, change interface and bitrate: sudo candor egress apply one-queue.toml\n\n");
    text.push_str(&verdict(report));
    text
}

const INFALLIBLE: &str = "writing to a String cannot fail";

fn head(report: &Report) -> String {
    format!(
        "How long urgent CAN frames wait, from their program's call to their last bit on the wire: one each\n\
         {} ms, controllers that hold {}, queues of {QUEUE_FRAMES}, Linux {}.\n",
        ms(report.every_ns),
        plural(report.depth_frames.into(), "frame"),
        report.kernel_release
    )
}

fn table(act: &OfAct) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["ms", "frames", "refused", "lost", "min", "median", "p90", "max", "bound", ""]);
    for run in &act.runs {
        table.add_row(row(run));
    }
    for column in table.column_iter_mut().skip(1).take(8) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(run: &OfRun) -> Vec<String> {
    let mut cells = vec![run.name.clone()];
    cells.extend([run.frames.to_string(), run.refused.to_string(), run.lost.to_string()]);
    match run.latency {
        Some(of) => cells.extend([of.min_ns, of.p50_ns, of.p90_ns, of.max_ns].map(|ns| ms(ns.unsigned_abs()))),
        None => cells.extend(["–"; 4].map(str::to_owned)),
    }
    cells.push(run.bound.map_or_else(|| "–".to_owned(), |bound| ms(bound.total_ns)));
    cells.push(match run.holds {
        None => String::new(),
        Some(true) => "holds".to_owned(),
        Some(false) => "MISSED".to_owned(),
    });
    cells
}

/// What each bound is made of.
fn bounds(act: &OfAct) -> String {
    let line = |(run, bound): (&OfRun, Bound)| format!("bound {}: {}\n", run.name, made_of(&bound));
    act.runs.iter().filter_map(|run| Some((run, run.bound?))).map(line).collect()
}

fn made_of(bound: &Bound) -> String {
    let parts = [
        (bound.earlier_buses_ns, "its first bus"),
        (bound.blocking_ns, "the frame on the wire"),
        (bound.controller_ns, "what the controller holds"),
        (bound.other_nodes_ns, "other nodes"),
        (bound.own_ns, "itself"),
    ];
    let parts = parts.iter().filter(|(ns, _)| *ns > 0).map(|(ns, what)| format!("{} {what}", ms(*ns)));
    parts.collect::<Vec<_>>().join(" + ")
}

/// The files whole, to be copied from the screen.
fn files() -> String {
    let mut text = String::new();
    for File { name, text: file } in ACTS.iter().flat_map(|act: &Act| act.runs).flat_map(|run| run.files) {
        // Of two runs with the same file it is told once.
        let title = format!("── {name} ──\n");
        if !text.contains(&title) {
            writeln!(text, "{title}{file}").expect(INFALLIBLE);
        }
    }
    text
}

/// One line for each act: from what to what.
fn verdict(report: &Report) -> String {
    let mut text = String::new();
    for (number, act) in (1..).zip(&report.acts) {
        let longest = |run: &OfRun| run.latency.map(|of| of.max_ns.unsigned_abs());
        let (Some(before), Some(after)) = (act.runs.first().and_then(longest), act.runs.last().and_then(longest))
        else {
            continue;
        };
        writeln!(text, "Act {number}, {}: the longest wait went from {} to {} ms", act.title, ms(before), ms(after))
            .expect(INFALLIBLE);
    }
    for (act, run) in report.acts.iter().flat_map(|act| act.runs.iter().map(move |run| (act, run))) {
        if run.holds == Some(false) {
            writeln!(text, "{}, {}: {}", act.title, run.name, why_not(run)).expect(INFALLIBLE);
        }
    }
    if report.acts.iter().all(OfAct::holds) {
        text.push_str("Every bound holds.\n");
    }
    text
}

fn why_not(run: &OfRun) -> String {
    let missing = run.refused + run.lost;
    match (missing, run.bound, run.latency) {
        (1.., ..) => format!("{missing} urgent frames never went over the wire"),
        (_, Some(bound), Some(of)) => {
            let took = ms(of.max_ns.unsigned_abs());
            format!("the bound is MISSED: a frame took {took} ms, and {} were reckoned", ms(bound.total_ns))
        }
        _ => "there is no bound: other nodes send more than the bus takes".to_owned(),
    }
}

fn ms(ns: u64) -> String {
    let us = (ns + 500) / 1000;
    format!("{}.{:03}", us / 1000, us % 1000)
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    #[test]
    fn a_bound_that_is_missed_is_told_with_its_act() {
        let before = run(&[500_000, 29_000_000], 0, None);
        let act = |title: &str, after| OfAct { title: title.to_owned(), runs: vec![before.clone(), after] };
        let acts = vec![
            act("one queue", run(&[460_000, 1_296_000], 0, Some(1_876_000))),
            act("two nodes", run(&[460_000, 2_000_000], 0, Some(1_876_000))),
            act("gateway", run(&[460_000], 2, Some(1_876_000))),
        ];
        let report = Report { kernel_release: "6.1".to_owned(), every_ns: 10_000_000, depth_frames: 2, acts };
        insta::assert_snapshot!(verdict(&report), @r"
        Act 1, one queue: the longest wait went from 29.000 to 1.296 ms
        Act 2, two nodes: the longest wait went from 29.000 to 2.000 ms
        Act 3, gateway: the longest wait went from 29.000 to 0.460 ms
        two nodes, a run: the bound is MISSED: a frame took 2.000 ms, and 1.876 were reckoned
        gateway, a run: 2 urgent frames never went over the wire
        ");
        insta::assert_snapshot!(format!("{}\n{}", table(&report.acts[1]), bounds(&report.acts[1])), @r"
        ┌─────────────────────────────────────────────────────────────────────────────────────┐
        │ ms      frames   refused   lost     min   median      p90      max   bound          │
        ╞═════════════════════════════════════════════════════════════════════════════════════╡
        │ a run        3         0      0   0.500    0.500   29.000   29.000       –          │
        │ a run        3         0      0   0.460    0.460    2.000    2.000   1.876   MISSED │
        └─────────────────────────────────────────────────────────────────────────────────────┘
        bound a run: 0.469 the frame on the wire + 0.938 what the controller holds + 0.469 itself
        ");
        let files = files();
        for name in ["one-queue.toml", "two-nodes.toml", "two-nodes-other.toml", "gateway.toml"] {
            assert_eq!(files.matches(&format!("── {name} ──")).count(), 1, "{name}");
        }
        assert!(of(&report, Some(Path::new("here"))).contains("figures are in here"));
        let cured = Report { acts: report.acts[..1].to_vec(), ..report };
        assert!(of(&cured, None).ends_with("Every bound holds.\n"));
    }
}
