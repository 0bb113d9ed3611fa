//! The figures of one record.

use crate::stats::{Confidence, Interval, LatencyNs, Quantile, Sent, Series};

use crate::record::{Record, baseline_of};

/// What a record says in one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Name of the device under test.
    pub device: String,
    /// Its engine.
    pub engine: String,
    /// Frames that the tester sent and recorded.
    pub frames: usize,
    /// Order statistics; `None` when no frame has a latency.
    pub figures: Option<Figures>,
    /// The latencies behind the figures, and how many frames never reached the far side in their time.
    pub sent: Sent,
    /// How many times the median of the kernel gateway the median is, if a kernel gateway was measured under the same
    /// conditions and this is another one.
    pub kernel_ratio: Option<f64>,
    /// How many times the median of the same engine without rules the median is, if that was measured under the same
    /// conditions.
    pub baseline_ratio: Option<f64>,
}

/// Order statistics of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Smallest latency.
    pub min: LatencyNs,
    /// Half of the frames took at most this long.
    pub p50: LatencyNs,
    /// Nine of ten frames took at most this long.
    pub p90: LatencyNs,
    /// 99 of 100 frames took at most this long.
    pub p99: LatencyNs,
    /// Largest latency of these frames.
    pub max: LatencyNs,
    /// Between which latencies p50, p90 and p99 lie with [`CONFIDENCE`]; a bound is missing where there are too few frames.
    pub intervals: [Interval; 3],
}

/// How sure the intervals of reports are.
pub const CONFIDENCE: Confidence = Confidence::P95;

impl Figures {
    /// Of a series.
    pub(super) fn of(series: &Series) -> Self {
        Self {
            min: series.min(),
            p50: series.quantile(Quantile::P50),
            p90: series.quantile(Quantile::P90),
            p99: series.quantile(Quantile::P99),
            max: series.max(),
            intervals: [Quantile::P50, Quantile::P90, Quantile::P99].map(|of| series.interval(of, CONFIDENCE)),
        }
    }

    /// The figures in the order and with the names of a table.
    #[must_use]
    pub const fn columns(&self) -> [(&'static str, LatencyNs); 5] {
        [("min", self.min), ("p50", self.p50), ("p90", self.p90), ("p99", self.p99), ("max", self.max)]
    }

    /// The intervals of [`columns`](Self::columns), for those that have one.
    #[must_use]
    pub const fn intervals(&self) -> [Option<Interval>; 5] {
        let [p50, p90, p99] = self.intervals;
        [None, Some(p50), Some(p90), Some(p99), None]
    }
}

impl Summary {
    /// Sums each of these records up.
    #[must_use]
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
        let of_series = Self::of_series(&record.header.device, record.samples.len(), lost, record.series());
        Self { engine: record.header.engine.clone(), ..of_series }
    }

    /// Sums up what was measured without a record and without a gateway.
    #[must_use]
    pub fn of_series(name: &str, frames: usize, lost: usize, series: Option<Series>) -> Self {
        let figures = series.as_ref().map(Figures::of);
        Self {
            device: name.to_owned(),
            engine: String::new(),
            frames,
            figures,
            sent: Sent::new(series, lost),
            kernel_ratio: None,
            baseline_ratio: None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{Disposition, Sample, tests::header};

    /// A record whose latencies are these; `None` is a lost frame.
    pub(in crate::report) fn record(device: &str, engine: &str, latencies: &[Option<i64>]) -> Record {
        let samples = latencies.iter().zip(0u32..).map(|(latency, sequence)| Sample {
            sequence,
            tag: u16::try_from(sequence % 65_536).unwrap(),
            due_ns: 0,
            sent_ns: 0,
            monitor_ns: Some(10),
            far_ns: latency.map(|latency| 10 + latency),
            inside: crate::record::Inside::default(),
            wire_ns: 0,
            disposition: Disposition::of_stamps(Some(10), *latency),
        });
        Record { header: header(device, engine), samples: samples.collect() }
    }

    #[test]
    fn lost_frames_are_counted_and_left_out_of_the_figures() {
        let summary = Summary::of(&record("a", "kernel", &[Some(30), None, Some(10)]));
        assert_eq!((summary.frames, summary.sent.lost()), (3, 1));
        let figures = summary.figures.unwrap();
        assert_eq!((figures.min.0, figures.p50.0, figures.max.0), (10, 10, 30));
    }

    #[test]
    fn quantiles_are_bounded_as_far_as_the_frames_go() {
        let latencies: Vec<_> = (1..=36).map(Some).collect();
        let [p50, p90, p99] = Summary::of(&record("a", "kernel", &latencies)).figures.unwrap().intervals;
        let ends = |interval: Interval| (interval.lower.map(|ns| ns.0), interval.upper.map(|ns| ns.0));
        assert_eq!([ends(p50), ends(p90), ends(p99)], [(Some(12), Some(25)), (Some(29), Some(36)), (Some(34), None)]);
    }

    #[test]
    fn a_series_without_any_frame_has_no_figures() {
        let summary = Summary::of(&record("a", "kernel", &[None, None]));
        assert_eq!((summary.sent.lost(), summary.figures), (2, None));
    }

    #[test]
    fn the_ratio_is_that_of_the_medians() {
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
    fn an_engine_is_held_against_its_own_baseline() {
        let all = [
            record("a", "read-write", &[Some(309)]),
            record("a-baseline", "baseline of read-write", &[Some(300)]),
            record("b", "mmap-write", &[Some(200)]),
        ];
        let ratios: Vec<_> = Summary::of_all(&all).iter().map(|one| one.baseline_ratio).collect();
        assert_eq!(ratios, [Some(1.03), None, None]);
    }
}
