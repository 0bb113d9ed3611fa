//! The figures: what a guest gives to its host, and `--json` to programs.

use candor_lab::stats::{LatencyNs, Quantile, Series};
use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::latency::Latencies;

/// All acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) kernel_release: String,
    pub(super) every_ns: u64,
    pub(super) depth_frames: u8,
    pub(super) acts: Vec<OfAct>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OfAct {
    pub(super) title: String,
    pub(super) runs: Vec<OfRun>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OfRun {
    pub(super) name: String,
    /// Files whose `[egress]` was applied; without any it is the run that shows the problem.
    pub(super) files: Vec<String>,
    /// Urgent frames.
    pub(super) frames: u16,
    pub(super) refused: usize,
    pub(super) lost: usize,
    /// Order statistics; `None` if no frame went over the wire.
    pub(super) latency: Option<Figures>,
    pub(super) bound: Option<Bound>,
    /// Whether every frame went over the wire within the bound; `None` without `[egress]`.
    pub(super) holds: Option<bool>,
    /// In the order in which the frames were sent.
    pub(super) latencies_ns: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) min_ns: i64,
    pub(super) p50_ns: i64,
    pub(super) p90_ns: i64,
    pub(super) max_ns: i64,
}

impl Report {
    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }
}

impl OfAct {
    pub(super) fn holds(&self) -> bool {
        self.runs.iter().all(|run| run.holds != Some(false))
    }
}

impl OfRun {
    pub(super) fn new(name: &str, files: Vec<String>, frames: u16, measured: Latencies, bound: Option<Bound>) -> Self {
        let Latencies { latencies, refused, lost } = measured;
        let latencies_ns = latencies.iter().map(|latency| latency.0).collect();
        let series = Series::new(latencies);
        let within = |bound: &Bound| {
            let longest = series.as_ref().map(|series| series.max().0);
            longest.is_some_and(|longest| i64::try_from(bound.total_ns).is_ok_and(|bound| longest <= bound))
        };
        let is_cured = !files.is_empty();
        let holds = is_cured.then(|| refused == 0 && lost == 0 && bound.as_ref().is_some_and(within));
        let latency = series.as_ref().map(Figures::of);
        Self { name: name.to_owned(), files, frames, refused, lost, latency, bound, holds, latencies_ns }
    }

    pub(super) fn series(&self) -> Option<Series> {
        Series::new(self.latencies_ns.iter().copied().map(LatencyNs).collect())
    }
}

impl Figures {
    fn of(series: &Series) -> Self {
        let quantile = |quantile| series.quantile(quantile).0;
        Self {
            min_ns: series.min().0,
            p50_ns: quantile(Quantile::P50),
            p90_ns: quantile(Quantile::P90),
            max_ns: series.max().0,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn run(latencies: &[i64], lost: usize, bound_ns: Option<u64>) -> OfRun {
        let bound = bound_ns.map(|total_ns| Bound {
            earlier_buses_ns: 0,
            blocking_ns: total_ns / 4,
            controller_ns: total_ns / 2,
            other_nodes_ns: 0,
            own_ns: total_ns / 4,
            total_ns,
        });
        let latencies = latencies.iter().copied().map(LatencyNs).collect();
        let files = bound.iter().map(|_| "one-queue.toml".to_owned()).collect();
        OfRun::new("a run", files, 3, Latencies { latencies, refused: 0, lost }, bound)
    }

    #[test]
    fn a_bound_holds_for_all_frames_or_not() {
        assert_eq!(run(&[1, 3, 2], 0, Some(3)).holds, Some(true));
        assert_eq!(run(&[1, 4, 2], 0, Some(3)).holds, Some(false));
        assert_eq!(run(&[1, 2], 1, Some(3)).holds, Some(false), "a lost frame takes for ever");
        assert_eq!(run(&[], 0, Some(3)).holds, Some(false));
        assert_eq!(run(&[1, 4, 2], 0, None).holds, None);
    }

    #[test]
    fn what_the_guest_says_is_what_the_host_reads() {
        let acts = vec![OfAct { title: "t".into(), runs: vec![run(&[5], 0, Some(8)), run(&[], 3, None)] }];
        let report = Report { kernel_release: "6.1".into(), every_ns: 10, depth_frames: 2, acts };
        assert_eq!(serde_json::from_str::<Report>(&report.to_json().unwrap()).unwrap(), report);
    }
}
