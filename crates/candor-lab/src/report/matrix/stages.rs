//! Where the time of a frame went: until it was sent, until it was on the first bus, in the gateway, on the second bus.
//!
//! Quantiles of parts do not add up to those of the whole. So the parts shown are those of one frame each: of the frame that has the
//! quantile.

use candor_core::stats::{LatencyNs, Quantile};
use maud::{Markup, html};

use super::shade::short;
use crate::record::{Record, Sample};

/// The time of one frame from when it was due, or from when it was sent where frames wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// How late the tester was. Zero where frames wait for each other.
    pub late: LatencyNs,
    /// From the tester's system call to the stamp on the first bus.
    pub first: LatencyNs,
    /// From there to the stamp on the second bus, without the time of the frame on it.
    pub gateway: LatencyNs,
    /// The time of the frame on the second bus.
    pub wire: LatencyNs,
}

/// What the parts are called, in their order.
const NAMES: [&str; 4] = ["tester late", "to the first bus", "gateway", "on the second bus"];

/// The frames that are shown.
pub(super) const QUANTILES: [(&str, Quantile); 3] =
    [("p50", Quantile::P50), ("p99", Quantile::P99), ("max", Quantile::MAX)];

impl Stages {
    /// Those of the frames at [`QUANTILES`] of the sum; `None` if no frame has all of its stamps.
    pub(in crate::report) fn of(record: &Record) -> Option<[Self; QUANTILES.len()]> {
        let mut all: Vec<Self> = record.samples.iter().filter_map(Self::of_frame).collect();
        all.sort_by_key(|stages| stages.sum());
        let last = all.len().checked_sub(1)?;
        Some(QUANTILES.map(|(_, quantile)| all[quantile.place(all.len()).min(last)]))
    }

    fn of_frame(sample: &Sample) -> Option<Self> {
        let between = |from: i64, to: i64| to.checked_sub(from).map(LatencyNs);
        Some(Self {
            late: between(sample.due_ns, sample.sent_ns)?,
            first: between(sample.sent_ns, sample.monitor_ns?)?,
            gateway: sample.latency()?,
            wire: LatencyNs(sample.wire_ns.into()),
        })
    }

    const fn parts(&self) -> [LatencyNs; 4] {
        [self.late, self.first, self.gateway, self.wire]
    }

    fn sum(&self) -> LatencyNs {
        LatencyNs(self.parts().iter().fold(0, |sum: i64, part| sum.saturating_add(part.0)))
    }
}

/// A row for each frame: its parts as numbers, and as a bar. Parts that no frame has are left out.
pub(in crate::report) fn table(stages: &[Stages]) -> Markup {
    let shown: Vec<usize> =
        (0..NAMES.len()).filter(|&part| stages.iter().any(|one| one.parts()[part].0 != 0)).collect();
    let longest = stages.iter().map(|one| one.sum().0).max().unwrap_or_default().max(1);
    let share = |part: LatencyNs| 100.0 * part.microseconds().max(0.0) / LatencyNs(longest).microseconds();
    html! {
        div.scroll { table.stages {
            thead { tr {
                th { "µs of the frame at" }
                @for &part in &shown { th.n scope="col" { span class=(format!("chip g{part}")) aria-hidden="true" {} (NAMES[part]) } }
                th.n scope="col" { "sum" } th { span.hidden { "as a bar" } }
            } }
            tbody { @for ((name, _), one) in QUANTILES.iter().zip(stages) { tr {
                th scope="row" { (name) }
                @for &part in &shown { td.n { (short(one.parts()[part].microseconds())) } }
                td.n { (short(one.sum().microseconds())) }
                td.bar aria-hidden="true" { @for &part in &shown {
                    span class=(format!("g{part}")) style=(format!("width:{:.1}%", share(one.parts()[part]))) {}
                } }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::record;
    use super::*;

    #[test]
    fn the_parts_are_those_of_one_frame_and_add_up() {
        let mut record = record("a", "kernel", &[Some(100), Some(900), None, Some(50)]);
        record.samples[0] = Sample { due_ns: -2000, sent_ns: -1990, wire_ns: 7, ..record.samples[0] };
        let stages = Stages::of(&record).unwrap();
        // The sums are 60, 910 and 2110; the frame that was lost has none.
        assert_eq!(stages.map(|one| one.sum().0), [910, 2110, 2110]);
        let parts = [10, 2000, 93, 7].map(LatencyNs);
        assert_eq!(stages[2].parts(), parts);
        let page = table(&stages).into_string();
        assert!(page.contains("tester late") && page.contains("width:94.8%"), "{page}");
        let [_, slow, _] =
            Stages::of(&record).unwrap().map(|one| Stages { late: LatencyNs(0), wire: LatencyNs(0), ..one });
        assert!(!table(&[slow]).into_string().contains("second bus"));
    }

    #[test]
    fn frames_without_stamps_have_no_parts() {
        assert_eq!(Stages::of(&record("a", "kernel", &[None, None])), None);
    }
}
