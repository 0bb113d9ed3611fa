//! The figures, as transferred from a guest and printed by `--json`.

use std::collections::BTreeMap;

use candor_bus::BusNs;
use candor_io::clock::MonotonicNs;
use candor_lab::stats::{LatencyNs, Quantile, Series};
use serde::{Deserialize, Serialize};

use super::bound::Bound;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Report {
    pub(super) kernel_release: String,
    pub(super) every_ns: u64,
    pub(super) depth_frames: u8,
    pub(super) acts: Vec<OfAct>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OfAct {
    pub(super) title: String,
    pub(super) runs: Vec<OfRun>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OfRun {
    pub(super) name: String,
    /// Files whose `[egress]` was applied; none in the run that shows the problem.
    pub(super) files: Vec<String>,
    pub(super) frames: u16,
    pub(super) refused: usize,
    pub(super) lost: usize,
    /// `None` if no frame was transmitted.
    pub(super) latency: Option<Figures>,
    pub(super) bound: Option<Bound>,
    /// True if every frame was transmitted within the bound; `None` without `[egress]`.
    pub(super) holds: Option<bool>,
    /// In the order of sending.
    pub(super) latencies_ns: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
        let holds = (!files.is_empty()).then(|| refused == 0 && lost == 0 && bound.as_ref().is_some_and(within));
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

/// An urgent frame of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) number: u16,
    /// Just before the system call.
    pub(super) at: MonotonicNs,
    /// The queue was full.
    pub(super) is_refused: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Latencies {
    /// From the system call to the last bit on the bus, in the order of sending.
    pub(super) latencies: Vec<LatencyNs>,
    pub(super) refused: usize,
    /// Accepted, but not transmitted.
    pub(super) lost: usize,
}

impl Latencies {
    /// Matches frames by their number. Bus time starts at `started_at`.
    pub(super) fn of(sent: &[Sent], ends: &[(u16, BusNs)], MonotonicNs(started_at): MonotonicNs) -> Self {
        let ends: BTreeMap<u16, BusNs> = ends.iter().copied().collect();
        let mut all = Self::default();
        for Sent { number, at: MonotonicNs(at), is_refused } in sent {
            match ends.get(number).and_then(|end| i64::try_from(end.0).ok()) {
                Some(end) => all.latencies.push(LatencyNs(started_at.saturating_add(end).saturating_sub(*at))),
                None if *is_refused => all.refused += 1,
                None => all.lost += 1,
            }
        }
        all
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
    fn bound_must_hold_for_all_frames() {
        assert_eq!(run(&[1, 3, 2], 0, Some(3)).holds, Some(true));
        assert_eq!(run(&[1, 4, 2], 0, Some(3)).holds, Some(false));
        assert_eq!(run(&[1, 2], 1, Some(3)).holds, Some(false), "a lost frame exceeds it");
        assert_eq!(run(&[], 0, Some(3)).holds, Some(false));
        assert_eq!(run(&[1, 4, 2], 0, None).holds, None);
    }

    #[test]
    fn latencies_are_matched_by_number() {
        let sent = |number, at, is_refused| Sent { number, at: MonotonicNs(at), is_refused };
        let sent = [sent(0, 1000, false), sent(1, 2000, false), sent(2, 3000, true), sent(3, 4000, false)];
        let of = Latencies::of(&sent, &[(1, BusNs(2500)), (0, BusNs(900))], MonotonicNs(500));
        assert_eq!(of, Latencies { latencies: vec![LatencyNs(400), LatencyNs(1000)], refused: 1, lost: 1 });
    }

    #[test]
    fn report_survives_the_transfer_from_the_guest() {
        let acts = vec![OfAct { title: "t".into(), runs: vec![run(&[5], 0, Some(8)), run(&[], 3, None)] }];
        let report = Report { kernel_release: "6.1".into(), every_ns: 10, depth_frames: 2, acts };
        candor_cli::schema::assert_valid("candor-lab demo inversion", &report);
        assert_eq!(serde_json::from_str::<Report>(&report.to_json().unwrap()).unwrap(), report);
    }
}
