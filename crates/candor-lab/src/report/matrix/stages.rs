//! Stages of a frame: until it was sent, until it was on the first bus, in the gateway, on the second bus; and more where a plan
//! asked for the timestamps within the tester's machine.
//!
//! Quantiles of stages do not add up to those of the whole. So the stages shown are those of one frame each: of the frame at
//! the quantile.

use crate::stats::{LatencyNs, Quantile};
use maud::{Markup, html};

use super::shade::short;
use crate::record::{Record, Sample};

/// Stages of one frame, from its due time or, in a closed loop, its send time. An unknown stage is zero and part of its
/// neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages([LatencyNs; STAGES.len()]);

/// Names, and classes of their colours.
const STAGES: [(&str, &str); 8] = [
    // Zero in a closed loop.
    ("tester late", "g0"),
    // From the send call, if the record has no finer timestamps.
    ("to the first bus", "g1"),
    // From the send call to the queue of the interface, from there to the driver, and from there to the first bus.
    ("stack", "g1"),
    ("queue", "g4"),
    ("driver and first bus", "g5"),
    // To the second bus, without frame time.
    ("gateway", "g2"),
    // Frame time.
    ("on the second bus", "g3"),
    // From the second bus to the tester's program.
    ("received and read", "g6"),
];

const QUANTILES: [(&str, Quantile); 3] =
    [("p50 of the sum", Quantile::P50), ("p99 of the sum", Quantile::P99), ("max of the sum", Quantile::MAX)];

impl Stages {
    /// Of the frames at [`QUANTILES`] of the sum; `None` if no frame has all timestamps, or if they have two clocks.
    pub(in crate::report) fn of(record: &Record) -> Option<[Self; QUANTILES.len()]> {
        if record.header.has_two_clocks() {
            return None;
        }
        let has_ends = |sample: &&Sample| sample.monitor_ns.is_some() && sample.far_ns.is_some();
        let complete = || record.samples.iter().filter(has_ends);
        // All frames of a series have the same stages.
        let is_split = complete().all(|sample| sample.inside.queued_ns.is_some() && sample.inside.handed_ns.is_some());
        let is_read = complete().all(|sample| sample.inside.read_ns.is_some());
        let mut all: Vec<Self> = complete().filter_map(|sample| Self::of_frame(sample, is_split, is_read)).collect();
        all.sort_by_key(|stages| stages.sum());
        let last = all.len().checked_sub(1)?;
        Some(QUANTILES.map(|(_, quantile)| all[quantile.place(all.len()).min(last)]))
    }

    fn of_frame(sample: &Sample, is_split: bool, is_read: bool) -> Option<Self> {
        let between = |from: i64, to: i64| to.checked_sub(from).map(LatencyNs);
        let (sent, monitor) = (sample.sent_ns, sample.monitor_ns?);
        let mut stages = [LatencyNs(0); STAGES.len()];
        stages[0] = between(sample.due_ns, sent)?;
        if is_split {
            let (queued, handed) = (sample.inside.queued_ns?, sample.inside.handed_ns?);
            stages[2] = between(sent, queued)?;
            stages[3] = between(queued, handed)?;
            stages[4] = between(handed, monitor)?;
        } else {
            stages[1] = between(sent, monitor)?;
        }
        stages[5] = sample.latency()?;
        stages[6] = LatencyNs(sample.wire_ns.into());
        if is_read {
            stages[7] = between(sample.far_ns?, sample.inside.read_ns?)?;
        }
        Some(Self(stages))
    }

    fn sum(&self) -> LatencyNs {
        LatencyNs(self.0.iter().fold(0, |sum: i64, stage| sum.saturating_add(stage.0)))
    }
}

/// A row for each frame: its stages as numbers and as a bar. Stages that no frame has are omitted.
pub(in crate::report) fn table(stages: &[Stages]) -> Markup {
    let shown: Vec<usize> = (0..STAGES.len()).filter(|&part| stages.iter().any(|one| one.0[part].0 != 0)).collect();
    let longest = stages.iter().map(|one| one.sum().0).max().unwrap_or_default().max(1);
    let share = |part: LatencyNs| 100.0 * part.microseconds().max(0.0) / LatencyNs(longest).microseconds();
    html! {
        div.scroll { table.stages {
            thead { tr {
                th { "µs of the frame at" }
                @for &part in &shown { th.n scope="col" { span class=(format!("chip {}", STAGES[part].1)) aria-hidden="true" {} (STAGES[part].0) } }
                th.n scope="col" { "sum" } th { span.hidden { "as a bar" } }
            } }
            tbody { @for ((name, _), one) in QUANTILES.iter().zip(stages) { tr {
                th scope="row" { (name) }
                @for &part in &shown { td.n { (short(one.0[part].microseconds())) } }
                td.n { (short(one.sum().microseconds())) }
                td.bar aria-hidden="true" { @for &part in &shown {
                    span class=(STAGES[part].1) style=(format!("width:{:.1}%", share(one.0[part]))) {}
                } }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::record;
    use super::*;
    use crate::record::{ADAPTER_STAMPS, Inside};

    #[test]
    fn stages_are_those_of_one_frame_and_add_up() {
        let mut record = record("a", "kernel", &[Some(100), Some(900), None, Some(50)]);
        record.samples[0] = Sample { due_ns: -2000, sent_ns: -1990, wire_ns: 7, ..record.samples[0] };
        let stages = Stages::of(&record).unwrap();
        // The sums are 60, 910 and 2110; the lost frame has none.
        assert_eq!(stages.map(|one| one.sum().0), [910, 2110, 2110]);
        let parts = [10, 2000, 0, 0, 0, 93, 7, 0].map(LatencyNs);
        assert_eq!(stages[2].0, parts);
        let page = table(&stages).into_string();
        assert!(
            page.contains("max of the sum") && page.contains("tester late") && page.contains("width:94.8%"),
            "{page}"
        );
        let [_, mut slow, _] = Stages::of(&record).unwrap();
        (slow.0[0], slow.0[6]) = (LatencyNs(0), LatencyNs(0));
        assert!(!table(&[slow]).into_string().contains("second bus"));
    }

    #[test]
    fn inner_timestamps_split_stages_and_keep_the_sum() {
        let mut whole = record("a", "kernel", &[Some(100), Some(900), None]);
        let mut split = whole.clone();
        for sample in &mut split.samples {
            let (queued_ns, handed_ns) = (Some(sample.sent_ns + 3), sample.monitor_ns.map(|at| at - 4));
            sample.inside = Inside { queued_ns, handed_ns, read_ns: None };
        }
        let (of_whole, of_split) = (Stages::of(&whole).unwrap(), Stages::of(&split).unwrap());
        assert_eq!(of_whole.map(|one| one.sum()), of_split.map(|one| one.sum()));
        assert_eq!(
            of_split[0].0[1..5].iter().map(|stage| stage.0).collect::<Vec<_>>(),
            [0, 3, of_whole[0].0[1].0 - 7, 4]
        );
        let page = table(&of_split).into_string();
        assert!(page.contains("queue") && !page.contains("to the first bus") && !page.contains("read"), "{page}");
        // One missing timestamp: no frame is split.
        split.samples[0].inside.handed_ns = None;
        assert_eq!(Stages::of(&split), Some(of_whole));
        for sample in &mut whole.samples {
            sample.inside.read_ns = sample.far_ns.map(|at| at + 50);
        }
        let read = Stages::of(&whole).unwrap();
        assert_eq!(read.map(|one| one.sum().0), of_whole.map(|one| one.sum().0 + 50));
        assert!(table(&read).into_string().contains("received and read"));
    }

    #[test]
    fn frames_without_timestamps_have_no_stages() {
        assert_eq!(Stages::of(&record("a", "kernel", &[None, None])), None);
    }

    #[test]
    fn two_clocks_have_no_stages() {
        let mut record = record("a", "kernel", &[Some(100), Some(900)]);
        assert!(Stages::of(&record).is_some());
        record.header.stamps = ADAPTER_STAMPS.to_owned();
        assert_eq!(Stages::of(&record), None);
    }
}
