//! Raw samples on disk: one text file per measured series, format version 2, or 3 with the sender's timestamps.
//!
//! ```text
//! # candor-record 2
//! # {"device":"kernel", …}          one line of JSON: all constants, see [`Header`]
//! sequence,tag,due_ns,sent_ns,monitor_ns,far_ns,wire_ns,disposition
//! 0,0,1500000,1500312,1507001,1515661,0,ok     one line per frame; monitor_ns and far_ns are empty without a timestamp
//! ```
//!
//! Version 3 has three more columns, `queued_ns` and `handed_ns` after `sent_ns` and `read_ns` after `far_ns` ([`Inside`]), each
//! of which may be empty. It is written only if one of them is not.
//!
//! Times are nanoseconds of `CLOCK_REALTIME` after [`Header::start_realtime_ns`]; with [`ADAPTER_STAMPS`], `monitor_ns` and
//! `far_ns` have the adapter's clock, moved by a constant so that the first timestamp of the series agrees with the kernel's.
//! `wire_ns` is the frame time on the far bus, which [`Sample::latency`] subtracts. Version 1, which has neither `due_ns` nor
//! `disposition`, can be read; later versions are refused.

mod header;
mod sample;

use std::fs;
use std::path::Path;

pub use header::{ADAPTER_STAMPS, HOST, Header, KERNEL_STAMPS, baseline_of, engine_of_baseline};
pub use sample::{Disposition, Inside, Sample};

use crate::stats::Series;
use sample::COLUMNS;

/// Raised whenever an old reader would misread the new format.
pub const RECORD_VERSION: usize = COLUMNS.len();

pub const RECORD_EXTENSION: &str = "record.csv";

const MAGIC: &str = "# candor-record ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub header: Header,
    pub samples: Vec<Sample>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    #[error("Not a candor record: the first line is not \"{MAGIC}N\"")]
    NoRecord,
    #[error("Record version {found}; this candor reads version {RECORD_VERSION}")]
    Version { found: String },
    #[error("Line 2 does not hold the header of a record")]
    Header(#[source] serde_json::Error),
    #[error("Line {line} is not a sample: {text:?}")]
    Sample { line: usize, text: String },
}

impl Record {
    /// `None` if no frame has a latency.
    pub fn series(&self) -> Option<Series> {
        Series::new(self.samples.iter().filter_map(Sample::latency).collect())
    }

    pub fn to_text(&self) -> String {
        let header = serde_json::to_string(&self.header).expect("a header holds only strings and numbers");
        let version = if self.samples.iter().any(|sample| sample.inside != Inside::default()) { 3 } else { 2 };
        let columns = COLUMNS[version - 1];
        let rows: String = self
            .samples
            .iter()
            .map(|sample| {
                sample.row(columns)
                    + "
"
            })
            .collect();
        format!(
            "{MAGIC}{version}
# {header}
{columns}
{rows}"
        )
    }

    /// The record in a file. The error names the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// # Errors
    /// [`RecordError`] names the wrong line.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let mut lines = text.lines();
        let version = lines.next().and_then(|line| line.strip_prefix(MAGIC)).ok_or(RecordError::NoRecord)?;
        let columns = version.parse::<usize>().ok().and_then(|version| COLUMNS.get(version.checked_sub(1)?));
        let columns = columns.ok_or_else(|| RecordError::Version { found: version.to_owned() })?;
        let header = lines.next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let mut header: Header = serde_json::from_str(header).map_err(RecordError::Header)?;
        // Before 0.1, the baseline of an engine was called its floor.
        if let Some(engine) = header.engine.strip_prefix("floor of ") {
            header.engine = baseline_of(engine);
        }
        let wrong = |line: usize, text: &str| RecordError::Sample { line, text: text.to_owned() };
        match lines.next() {
            // Before 0.1, the last column was called fate.
            Some(head) if head.replace(",fate", ",disposition") == *columns => {}
            other => return Err(wrong(3, other.unwrap_or_default())),
        }
        let samples = lines
            .enumerate()
            .map(|(row, text)| Sample::parse(columns, text).ok_or_else(|| wrong(row + 4, text)))
            .collect::<Result<_, _>>()?;
        Ok(Self { header, samples })
    }
}

/// Method of sending a frame on the first bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// By a system call of the tester, which then sleeps.
    #[default]
    Call,
    /// By a kernel timer while the tester sleeps. The call that starts it sends a frame too, which is waited for but
    /// not measured.
    Timer,
}

impl Origin {
    /// Name in records.
    pub const fn traffic(self) -> &'static str {
        match self {
            Self::Call => "one-at-a-time",
            Self::Timer => "one-at-a-time from a timer",
        }
    }

    /// Frames on the bus per measured frame.
    pub(crate) const fn frames(self) -> u32 {
        match self {
            Self::Call => 1,
            Self::Timer => 2,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::header::no_load;
    use super::*;
    use crate::stats::LatencyNs;

    /// A header for tests.
    pub(crate) fn header(device: &str, engine: &str) -> Header {
        Header {
            device: device.into(),
            engine: engine.into(),
            testbed: "icount".into(),
            instruction_ns: Some(1),
            topology: Some("kvaser".into()),
            platform: BTreeMap::from([("qemu".into(), "7.2.22".into())]),
            candor_version: "0.1.0".into(),
            kernel_release: "6.1.0-56-amd64".into(),
            frame: "123#0000112233445566".into(),
            send: "can0".into(),
            monitor: "can1".into(),
            receive: "can4".into(),
            traffic: "one-at-a-time".into(),
            tester_policy: "SCHED_IDLE".into(),
            stamps: KERNEL_STAMPS.into(),
            gap_min_ns: 500_000,
            gap_max_ns: 1_500_000,
            seed: 1,
            timeout_ns: 1_000_000_000,
            warm_up_frames: 10,
            start_realtime_ns: 1_767_225_600_000_000_000,
            wire_bits_per_second: None,
            wire_data_bits_per_second: None,
            late_or_duplicate_frames: 0,
            foreign_frames: 0,
            overlapped_frames: 0,
            warnings: Vec::new(),
            load: no_load(),
            activity_per_second: BTreeMap::new(),
            throughput: None,
            levels: Vec::new(),
        }
    }

    fn record() -> Record {
        let sample = |sequence: u32, monitor_ns, far_ns| Sample {
            sequence,
            tag: u16::try_from(sequence).unwrap(),
            due_ns: 1000 * i64::from(sequence) - 10,
            sent_ns: 1000 * i64::from(sequence),
            monitor_ns,
            far_ns,
            inside: Inside::default(),
            wire_ns: 130,
            disposition: Disposition::of_stamps(monitor_ns, far_ns),
        };
        let samples = vec![
            sample(0, Some(100), Some(900)),
            sample(1, Some(1100), None),
            sample(2, None, None),
            sample(3, Some(3100), Some(3200)),
        ];
        Record { header: header("kernel", "kernel"), samples }
    }

    #[test]
    fn records_survive_a_round_trip() {
        let record = record();
        assert_eq!(Record::parse(&record.to_text()).unwrap(), record);
    }

    #[test]
    fn inner_timestamps_need_version_3() {
        let mut record = record();
        assert!(record.to_text().starts_with("# candor-record 2\n"));
        record.samples[1].inside.queued_ns = Some(1_050);
        record.samples[3].inside = Inside { queued_ns: Some(3_010), handed_ns: Some(-3), read_ns: Some(3_300) };
        let text = record.to_text();
        assert!(
            text.starts_with("# candor-record 3\n") && text.contains("\n1,1,990,1000,1050,,1100,,,130,lost\n"),
            "{text}"
        );
        assert!(text.ends_with("\n3,3,2990,3000,3010,-3,3100,3200,3300,130,ok\n"), "{text}");
        assert_eq!(Record::parse(&text).unwrap(), record);
        let mixed = text.replacen("record 3", "record 2", 1);
        assert!(Record::parse(&mixed).is_err());
    }

    #[test]
    fn latency_is_far_minus_monitor_minus_wire() {
        let latencies: Vec<_> = record().samples.iter().map(Sample::latency).collect();
        assert_eq!(latencies, [Some(LatencyNs(670)), None, None, Some(LatencyNs(-30))]);
    }

    #[test]
    fn levels_are_those_of_the_plan_or_from_the_header() {
        let mut header = header("mine", "kernel");
        let gateway = |header: &Header| {
            header.all_levels().into_iter().find(|(factor, _)| factor == "gateway").map(|(_, level)| level)
        };
        assert_eq!((gateway(&header).as_deref(), header.all_levels().len()), (Some("mine"), 7));
        header.levels = vec![("gateway".to_owned(), "cangw".to_owned())];
        assert_eq!(header.all_levels(), header.levels);
    }

    #[test]
    fn overflowing_timestamps_have_no_latency() {
        let sample = |monitor, far| Sample { monitor_ns: Some(monitor), far_ns: Some(far), ..record().samples[0] };
        assert_eq!(sample(i64::MIN, i64::MAX).latency(), None);
        assert_eq!(sample(0, i64::MIN).latency(), None);
    }

    #[test]
    fn only_equal_conditions_are_comparable() {
        let one = header("a", "kernel");
        assert!(one.is_comparable_with(&Header { start_realtime_ns: 1, ..header("b", "read-write") }));
        assert!(!one.is_comparable_with(&Header { testbed: "uml".into(), ..one.clone() }));
        assert!(!one.is_comparable_with(&Header { instruction_ns: Some(4), ..one.clone() }));
        assert!(!one.is_comparable_with(&Header { frame: "123#000000".into(), ..one.clone() }));
    }

    #[test]
    fn invalid_records_are_refused_with_the_line() {
        let text = record().to_text();
        let message = |text: &str| Record::parse(text).unwrap_err().to_string();
        assert_eq!(message(""), "Not a candor record: the first line is not \"# candor-record N\"");
        assert_eq!(message(&text.replacen("record 2", "record 4", 1)), "Record version 4; this candor reads version 3");
        assert_eq!(message("# candor-record 2\n"), "Line 2 does not hold the header of a record");
        assert_eq!(
            message(&text.replacen("1,1,990", "1,x,990", 1)),
            "Line 5 is not a sample: \"1,x,990,1000,1100,,130,lost\""
        );
        let strange = "4,4,4,4,4,4,4,eaten";
        assert_eq!(message(&format!("{text}{strange}\n")), format!("Line 8 is not a sample: {strange:?}"));
    }

    #[test]
    fn records_of_the_first_version_are_read() {
        let header = serde_json::to_string(&record().header).unwrap();
        let rows = "0,0,0,100,900,130\n1,1,1000,1100,,130\n";
        let old = Record::parse(&format!("# candor-record 1\n# {header}\n{}\n{rows}", COLUMNS[0])).unwrap();
        assert_eq!(old.samples[0], Sample { due_ns: 0, ..record().samples[0] });
        assert_eq!((old.samples[1].due_ns, old.samples[1].disposition), (1000, Disposition::Lost));
    }
}
