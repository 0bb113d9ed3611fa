//! The latency profile of an act.

use candor_lab::report::{Picture, Rule, Summary, TimeUnit};
use candor_lab::stats::LatencyNs;

use super::report::{OfAct, OfRun, Report};

pub(super) fn of(number: usize, act: &OfAct, report: &Report) -> String {
    let summary =
        |run: &OfRun| Summary::of_series(&run.name, run.frames.into(), run.refused + run.lost, run.series().as_ref());
    let summaries: Vec<Summary> = act.runs.iter().map(summary).collect();
    let rule = |(of, run): (usize, &OfRun)| {
        let at = LatencyNs(i64::try_from(run.bound?.total_ns).ok()?);
        Some(Rule { of, at, name: format!("bound {}: {:.1} ms", run.name, at.microseconds() / 1000.0) })
    };
    let rules: Vec<Rule> = act.runs.iter().enumerate().filter_map(rule).collect();
    let title = format!(
        "Act {number}, {}: how long urgent frames take (controller of {}, Linux {})",
        act.title, report.depth_frames, report.kernel_release
    );
    Picture {
        title: &title,
        of: "from the program's call to the last bit on the wire",
        unit: TimeUnit::Milliseconds,
        summaries: &summaries,
        rules: &rules,
    }
    .to_svg()
}
