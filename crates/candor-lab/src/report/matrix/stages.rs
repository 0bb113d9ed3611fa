//! Where the time of a frame went: until it was sent, until it was on the first bus, in the gateway, on the second bus; and more
//! parts where a plan asked for the stamps within the tester's machine.
//!
//! Quantiles of parts do not add up to those of the whole. So the parts shown are those of one frame each: of the frame that has the
//! quantile.

use crate::stats::{LatencyNs, Quantile};
use maud::{Markup, html};

use super::shade::short;
use crate::record::{Record, Sample};

/// The time of one frame from when it was due, or from when it was sent where frames wait for each other. What is not known by
/// itself is zero, and then in the part before or behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// How late the tester was. Zero where frames wait for each other.
    pub late: LatencyNs,
    /// From the tester's system call to the stamp on the first bus, where the record does not say more.
    pub first: LatencyNs,
    /// From the tester's system call to the queue of its interface.
    pub stack: LatencyNs,
    /// From there to the driver.
    pub queue: LatencyNs,
    /// From there to the stamp on the first bus.
    pub driver: LatencyNs,
    /// From there to the stamp on the second bus, without the time of the frame on it.
    pub gateway: LatencyNs,
    /// The time of the frame on the second bus.
    pub wire: LatencyNs,
    /// From the stamp on the second bus to the tester's program.
    pub receive: LatencyNs,
}

/// What the parts are called and the class of their colour, in their order.
const PARTS: [(&str, &str); 8] = [
    ("tester late", "g0"),
    ("to the first bus", "g1"),
    ("stack", "g1"),
    ("queue", "g4"),
    ("driver and first bus", "g5"),
    ("gateway", "g2"),
    ("on the second bus", "g3"),
    ("received and read", "g6"),
];

/// The frames that are shown.
pub(super) const QUANTILES: [(&str, Quantile); 3] =
    [("p50", Quantile::P50), ("p99", Quantile::P99), ("max", Quantile::MAX)];

impl Stages {
    /// Those of the frames at [`QUANTILES`] of the sum; `None` if no frame has all of its stamps, or if they are of two clocks.
    pub(in crate::report) fn of(record: &Record) -> Option<[Self; QUANTILES.len()]> {
        if record.header.has_two_clocks() {
            return None;
        }
        let has_ends = |sample: &&Sample| sample.monitor_ns.is_some() && sample.far_ns.is_some();
        let complete = || record.samples.iter().filter(has_ends);
        // Frames of a series are split alike, or a part of one would stand beside that of another.
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
        let mut stages = Self {
            late: between(sample.due_ns, sent)?,
            gateway: sample.latency()?,
            wire: LatencyNs(sample.wire_ns.into()),
            ..Self::default()
        };
        if is_split {
            let (queued, handed) = (sample.inside.queued_ns?, sample.inside.handed_ns?);
            stages.stack = between(sent, queued)?;
            stages.queue = between(queued, handed)?;
            stages.driver = between(handed, monitor)?;
        } else {
            stages.first = between(sent, monitor)?;
        }
        if is_read {
            stages.receive = between(sample.far_ns?, sample.inside.read_ns?)?;
        }
        Some(stages)
    }

    const fn parts(&self) -> [LatencyNs; PARTS.len()] {
        [self.late, self.first, self.stack, self.queue, self.driver, self.gateway, self.wire, self.receive]
    }

    fn sum(&self) -> LatencyNs {
        LatencyNs(self.parts().iter().fold(0, |sum: i64, part| sum.saturating_add(part.0)))
    }
}

/// A row for each frame: its parts as numbers, and as a bar. Parts that no frame has are left out.
pub(in crate::report) fn table(stages: &[Stages]) -> Markup {
    let shown: Vec<usize> =
        (0..PARTS.len()).filter(|&part| stages.iter().any(|one| one.parts()[part].0 != 0)).collect();
    let longest = stages.iter().map(|one| one.sum().0).max().unwrap_or_default().max(1);
    let share = |part: LatencyNs| 100.0 * part.microseconds().max(0.0) / LatencyNs(longest).microseconds();
    html! {
        div.scroll { table.stages {
            thead { tr {
                th { "µs of the frame at" }
                @for &part in &shown { th.n scope="col" { span class=(format!("chip {}", PARTS[part].1)) aria-hidden="true" {} (PARTS[part].0) } }
                th.n scope="col" { "sum" } th { span.hidden { "as a bar" } }
            } }
            tbody { @for ((name, _), one) in QUANTILES.iter().zip(stages) { tr {
                th scope="row" { (name) }
                @for &part in &shown { td.n { (short(one.parts()[part].microseconds())) } }
                td.n { (short(one.sum().microseconds())) }
                td.bar aria-hidden="true" { @for &part in &shown {
                    span class=(PARTS[part].1) style=(format!("width:{:.1}%", share(one.parts()[part]))) {}
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
    fn the_parts_are_those_of_one_frame_and_add_up() {
        let mut record = record("a", "kernel", &[Some(100), Some(900), None, Some(50)]);
        record.samples[0] = Sample { due_ns: -2000, sent_ns: -1990, wire_ns: 7, ..record.samples[0] };
        let stages = Stages::of(&record).unwrap();
        // The sums are 60, 910 and 2110; the frame that was lost has none.
        assert_eq!(stages.map(|one| one.sum().0), [910, 2110, 2110]);
        let parts = [10, 2000, 0, 0, 0, 93, 7, 0].map(LatencyNs);
        assert_eq!(stages[2].parts(), parts);
        let page = table(&stages).into_string();
        assert!(page.contains("tester late") && page.contains("width:94.8%"), "{page}");
        let [_, slow, _] =
            Stages::of(&record).unwrap().map(|one| Stages { late: LatencyNs(0), wire: LatencyNs(0), ..one });
        assert!(!table(&[slow]).into_string().contains("second bus"));
    }

    #[test]
    fn stamps_within_the_machine_split_the_parts_and_leave_the_sum() {
        let mut whole = record("a", "kernel", &[Some(100), Some(900), None]);
        let mut split = whole.clone();
        for sample in &mut split.samples {
            let (queued_ns, handed_ns) = (Some(sample.sent_ns + 3), sample.monitor_ns.map(|at| at - 4));
            sample.inside = Inside { queued_ns, handed_ns, read_ns: None };
        }
        let (of_whole, of_split) = (Stages::of(&whole).unwrap(), Stages::of(&split).unwrap());
        assert_eq!(of_whole.map(|one| one.sum()), of_split.map(|one| one.sum()));
        assert_eq!(
            (of_split[0].stack, of_split[0].driver, of_split[0].first),
            (LatencyNs(3), LatencyNs(4), LatencyNs(0))
        );
        assert_eq!(of_split[0].queue.0, of_whole[0].first.0 - 7);
        let page = table(&of_split).into_string();
        assert!(page.contains("queue") && !page.contains("to the first bus") && !page.contains("read"), "{page}");
        // One frame without a stamp, and none is split.
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
    fn frames_without_stamps_have_no_parts() {
        assert_eq!(Stages::of(&record("a", "kernel", &[None, None])), None);
    }

    #[test]
    fn there_are_no_parts_between_two_clocks() {
        let mut record = record("a", "kernel", &[Some(100), Some(900)]);
        assert!(Stages::of(&record).is_some());
        record.header.stamps = ADAPTER_STAMPS.to_owned();
        assert_eq!(Stages::of(&record), None);
    }
}
