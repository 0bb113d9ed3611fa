//! The figures of one record.

use crate::record::{Record, baseline_of};
use crate::stats::{Figures, Profile, Series};

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Name of the device under test.
    pub device: String,
    pub engine: String,
    pub frames: usize,
    /// Frames that did not arrive in time.
    pub lost: usize,
    /// `None` when no frame has a latency.
    pub figures: Option<Figures>,
    pub profile: Profile,
    /// p50 as a multiple of the kernel gateway's, if both were measured under the same conditions.
    pub kernel_ratio: Option<f64>,
    /// p50 as a multiple of the baseline's, likewise.
    pub baseline_ratio: Option<f64>,
}

impl Summary {
    pub fn of_all(records: &[Record]) -> Vec<Self> {
        let mut all: Vec<Self> = records.iter().map(Self::of).collect();
        for index in 0..all.len() {
            let header = &records[index].header;
            let median_of = |engine: &str| {
                let is_base = |other: &Record| other.header.engine == engine && other.header.is_comparable_with(header);
                let base = records.iter().position(is_base).filter(|&base| base != index)?;
                Some(all[base].figures?.p50)
            };
            let ratio = |engine: &str| all[index].figures?.p50.ratio_to(median_of(engine)?);
            let (kernel, baseline) = (ratio("kernel"), ratio(&baseline_of(&header.engine)));
            (all[index].kernel_ratio, all[index].baseline_ratio) = (kernel, baseline);
        }
        all
    }

    pub(super) fn of(record: &Record) -> Self {
        let lost = record.samples.iter().filter(|sample| sample.is_missing()).count();
        let of_series = Self::of_series(&record.header.device, record.samples.len(), lost, record.series().as_ref());
        Self { engine: record.header.engine.clone(), ..of_series }
    }

    /// For measurements without a record.
    pub fn of_series(name: &str, frames: usize, lost: usize, series: Option<&Series>) -> Self {
        Self {
            device: name.to_owned(),
            engine: String::new(),
            frames,
            lost,
            figures: series.map(Figures::of),
            profile: Profile::of(series, lost),
            kernel_ratio: None,
            baseline_ratio: None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{Disposition, Inside, Sample, tests::header};
    use crate::stats::Interval;

    /// A record with these latencies; `None` is a lost frame.
    pub(in crate::report) fn record(device: &str, engine: &str, latencies: &[Option<i64>]) -> Record {
        let samples = latencies.iter().zip(0u32..).map(|(latency, sequence)| Sample {
            sequence,
            tag: u16::try_from(sequence % 65_536).unwrap(),
            due_ns: 0,
            sent_ns: 0,
            monitor_ns: Some(10),
            far_ns: latency.map(|latency| 10 + latency),
            inside: Inside::default(),
            wire_ns: 0,
            disposition: Disposition::of_stamps(Some(10), *latency),
        });
        Record { header: header(device, engine), samples: samples.collect() }
    }

    #[test]
    fn lost_frames_are_counted_and_left_out_of_the_figures() {
        let summary = Summary::of(&record("a", "kernel", &[Some(30), None, Some(10)]));
        assert_eq!((summary.frames, summary.lost), (3, 1));
        let figures = summary.figures.unwrap();
        assert_eq!((figures.min.0, figures.p50.0, figures.max.0), (10, 10, 30));
        let nothing = Summary::of(&record("a", "kernel", &[None, None]));
        assert_eq!((nothing.lost, nothing.figures), (2, None));
    }

    #[test]
    fn quantiles_have_the_bounds_that_the_frames_allow() {
        let latencies: Vec<_> = (1..=36).map(Some).collect();
        let intervals = Summary::of(&record("a", "kernel", &latencies)).figures.unwrap().intervals();
        let ends = |interval: Interval| (interval.lower.map(|ns| ns.0), interval.upper.map(|ns| ns.0));
        let wanted = [(Some(12), Some(25)), (Some(29), Some(36)), (Some(34), None)];
        assert_eq!(intervals.into_iter().flatten().map(ends).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn ratio_is_that_of_medians_under_the_same_conditions() {
        let all = [record("user", "read-write", &[Some(300)]), record("kernel", "kernel", &[Some(200)])];
        let ratios =
            |records: &[Record]| Summary::of_all(records).iter().map(|one| one.kernel_ratio).collect::<Vec<_>>();
        assert_eq!(ratios(&all), [Some(1.5), None]);
        assert_eq!(ratios(&all[..1]), [None]);
        let mut elsewhere = all.clone();
        elsewhere[1].header.testbed = "uml".into();
        assert_eq!(ratios(&elsewhere), [None, None]);
    }

    #[test]
    fn engine_is_compared_with_its_own_baseline() {
        let all = [
            record("a", "read-write", &[Some(309)]),
            record("a-baseline", "baseline of read-write", &[Some(300)]),
            record("b", "mmap-write", &[Some(200)]),
        ];
        let ratios: Vec<_> = Summary::of_all(&all).iter().map(|one| one.baseline_ratio).collect();
        assert_eq!(ratios, [Some(1.03), None, None]);
    }
}
