//! The results as text.

use std::path::Path;

use candor_cli::gateway_file::plural;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::act::{self, acts};
use super::bound::Bound;
use super::report::{OfAct, OfRun, Report};
use super::stage::QUEUE_FRAMES;

pub(super) fn of(report: &Report, out: Option<&Path>) -> String {
    let mut text = head(report);
    for ((number, act), of_act) in (1..).zip(&acts()).zip(&report.acts) {
        text += &format!("\nAct {number}: {}\n\n{}\n", act.title, act.story);
        text += &format!("{}\n{}What remains: {}\n", table(of_act), bounds(of_act), act.remains);
    }
    text.push('\n');
    text += &match out {
        Some(folder) => format!("Gateway files, latency profiles and figures are in {}\n", folder.display()),
        None => files(),
    };
    text += "For your own bus, change interface and bitrate: sudo candor egress apply one-queue.toml\n\n";
    text + &verdict(report)
}

fn head(report: &Report) -> String {
    format!(
        "Latency of urgent CAN frames, from the program's call to the last bit on the bus: one frame every\n\
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

fn bounds(act: &OfAct) -> String {
    let line = |(run, bound): (&OfRun, Bound)| format!("bound {}: {}\n", run.name, parts(&bound));
    act.runs.iter().filter_map(|run| Some((run, run.bound?))).map(line).collect()
}

fn parts(bound: &Bound) -> String {
    let parts = [
        (bound.earlier_buses_ns, "first bus"),
        (bound.blocking_ns, "frame on the bus"),
        (bound.controller_ns, "frames in the controller"),
        (bound.other_nodes_ns, "other nodes"),
        (bound.own_ns, "the frame itself"),
    ];
    let parts = parts.iter().filter(|(ns, _)| *ns > 0).map(|(ns, what)| format!("{} {what}", ms(*ns)));
    parts.collect::<Vec<_>>().join(" + ")
}

/// The gateway files, to be copied from the screen.
fn files() -> String {
    act::files().map(|(name, file)| format!("── {name} ──\n{file}\n")).collect()
}

/// One line for each act, and one for each bound that does not hold.
fn verdict(report: &Report) -> String {
    let mut text = String::new();
    for (number, act) in (1..).zip(&report.acts) {
        let longest = |run: &OfRun| run.latency.map(|of| of.max_ns.unsigned_abs());
        let (Some(before), Some(after)) = (act.runs.first().and_then(longest), act.runs.last().and_then(longest))
        else {
            continue;
        };
        let (title, before, after) = (&act.title, ms(before), ms(after));
        text += &format!("Act {number}, {title}: the maximum latency went from {before} to {after} ms\n");
    }
    for (act, run) in report.acts.iter().flat_map(|act| act.runs.iter().map(move |run| (act, run))) {
        if run.holds == Some(false) {
            text += &format!("{}, {}: {}\n", act.title, run.name, reason(run));
        }
    }
    if report.acts.iter().all(OfAct::holds) {
        text.push_str("Every bound holds.\n");
    }
    text
}

fn reason(run: &OfRun) -> String {
    let missing = run.refused + run.lost;
    match (missing, run.bound, run.latency) {
        (1.., ..) => format!("{missing} urgent frames were not transmitted"),
        (_, Some(bound), Some(of)) => {
            let took = ms(of.max_ns.unsigned_abs());
            format!("the bound is MISSED: a frame took {took} ms, with a bound of {} ms", ms(bound.total_ns))
        }
        _ => "there is no bound: other nodes overload the bus".to_owned(),
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
    fn missed_bound_is_reported_with_its_act() {
        let before = run(&[500_000, 29_000_000], 0, None);
        let act = |title: &str, after| OfAct { title: title.to_owned(), runs: vec![before.clone(), after] };
        let acts = vec![
            act("one queue", run(&[460_000, 1_296_000], 0, Some(1_876_000))),
            act("two nodes", run(&[460_000, 2_000_000], 0, Some(1_876_000))),
            act("gateway", run(&[460_000], 2, Some(1_876_000))),
        ];
        let report = Report { kernel_release: "6.1".to_owned(), every_ns: 10_000_000, depth_frames: 2, acts };
        insta::assert_snapshot!(verdict(&report), @r"
        Act 1, one queue: the maximum latency went from 29.000 to 1.296 ms
        Act 2, two nodes: the maximum latency went from 29.000 to 2.000 ms
        Act 3, gateway: the maximum latency went from 29.000 to 0.460 ms
        two nodes, a run: the bound is MISSED: a frame took 2.000 ms, with a bound of 1.876 ms
        gateway, a run: 2 urgent frames were not transmitted
        ");
        insta::assert_snapshot!(format!("{}\n{}", table(&report.acts[1]), bounds(&report.acts[1])), @r"
        ┌─────────────────────────────────────────────────────────────────────────────────────┐
        │ ms      frames   refused   lost     min   median      p90      max   bound          │
        ╞═════════════════════════════════════════════════════════════════════════════════════╡
        │ a run        3         0      0   0.500    0.500   29.000   29.000       –          │
        │ a run        3         0      0   0.460    0.460    2.000    2.000   1.876   MISSED │
        └─────────────────────────────────────────────────────────────────────────────────────┘
        bound a run: 0.469 frame on the bus + 0.938 frames in the controller + 0.469 the frame itself
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
