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

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::stats::{LatencyNs, Series};
use crate::tester::Origin;
use crate::throughput::Searched;

/// Raised whenever an old reader would misread the new format.
pub const RECORD_VERSION: usize = COLUMNS.len();

pub const RECORD_EXTENSION: &str = "record.csv";

/// [`Header::stamps`] if the timestamps are those of one adapter.
pub const ADAPTER_STAMPS: &str = "adapter receive stamps (SO_TIMESTAMPING, raw hardware)";

/// [`Header::stamps`] if the timestamps are the kernel's and frames are sent one at a time.
pub const KERNEL_STAMPS: &str = "kernel receive stamps (SO_TIMESTAMPNS)";

/// Before the engine's name in records of `candor-lab baseline`.
const BASELINE: &str = "baseline of ";

pub fn baseline_of(engine: &str) -> String {
    format!("{BASELINE}{engine}")
}

/// The engine of a baseline record.
pub fn engine_of_baseline(engine: &str) -> Option<&str> {
    engine.strip_prefix(BASELINE)
}

const MAGIC: &str = "# candor-record ";

/// Of each version, from 1.
const COLUMNS: [&str; 3] = [
    "sequence,tag,sent_ns,monitor_ns,far_ns,wire_ns",
    "sequence,tag,due_ns,sent_ns,monitor_ns,far_ns,wire_ns,disposition",
    "sequence,tag,due_ns,sent_ns,queued_ns,handed_ns,monitor_ns,far_ns,read_ns,wire_ns,disposition",
];

/// Constants of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Device under test: stem of the gateway file.
    pub device: String,
    /// Engine of the gateway; `baseline of ENGINE` for its baseline loop; or `external`.
    pub engine: String,
    /// `icount`, `uml`, `host` or `ssh`: decides the meaning of a nanosecond.
    pub testbed: String,
    /// ns per instruction; `None` where time is not counted in instructions.
    pub instruction_ns: Option<u32>,
    /// Interfaces of the guest; `None` outside of guests.
    pub topology: Option<String>,
    /// `uname -r` of the gateway's kernel.
    pub kernel_release: String,
    /// Kernel package, QEMU and command line of a guest; name and architecture of a board, and the tester's kernel.
    pub platform: BTreeMap<String, String>,
    pub candor_version: String,
    /// In can-utils notation; the first two payload bytes carry the tag.
    pub frame: String,
    pub send: String,
    /// Receives on the first bus.
    pub monitor: String,
    /// Receives on the second bus.
    pub receive: String,
    /// As of [`Origin::traffic`].
    pub traffic: String,
    /// Of the tester; the gateway has the normal one.
    pub tester_policy: String,
    /// Source of the timestamps.
    pub stamps: String,
    /// Shortest pause between a reception and the next frame.
    pub gap_min_ns: u64,
    pub gap_max_ns: u64,
    /// Of the random pauses.
    pub seed: u64,
    /// A frame that has not arrived by then is lost.
    pub timeout_ns: u64,
    /// Sent before the first sample and not recorded.
    pub warm_up_frames: u32,
    /// `CLOCK_REALTIME` at the start; rows are relative to it.
    pub start_realtime_ns: i64,
    /// Of the far bus, whose frame time is subtracted; `None` if frames take no time.
    pub wire_bits_per_second: Option<u32>,
    pub wire_data_bits_per_second: Option<u32>,
    /// Reached the far side twice or after the timeout.
    pub late_or_duplicate_frames: u32,
    /// Seen on the far side, but not sent by the tester.
    pub foreign_frames: u32,
    /// Sent while the frame that precedes a timer was still in flight.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlapped_frames: u32,
    /// Settings that the tester could not make.
    pub warnings: Vec<String>,
    /// Background load of the gateway's machine, as in a plan.
    #[serde(default = "no_load")]
    pub load: String,
    /// Events on the machine by name: the strength of the load.
    #[serde(default)]
    pub activity_per_second: BTreeMap<String, u64>,
    /// The search for the rate, if frames were sent at the highest rate without loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Searched>,
    /// Factors and levels of the plan's cell; empty without a plan.
    #[serde(default)]
    pub levels: Vec<(String, String)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn no_load() -> String {
    "none".to_owned()
}

impl Header {
    /// Factors and levels: of the plan's cell or, without a plan, from the header.
    pub fn all_levels(&self) -> Vec<(String, String)> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let levels = [
            ("testbed", self.testbed.as_str()),
            ("kernel", &self.kernel_release),
            ("topology", self.topology.as_deref().unwrap_or_default()),
            ("gateway", &self.device),
            ("traffic", &self.traffic),
            ("load", &self.load),
            ("frame", &self.frame),
        ];
        levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into()
    }

    pub fn is_closed_loop(&self) -> bool {
        [Origin::Call, Origin::Timer].iter().any(|origin| origin.traffic() == self.traffic)
    }

    /// Receive timestamps have another clock than send times: there is no response, and no stage that starts or ends in
    /// the tester.
    pub fn has_two_clocks(&self) -> bool {
        self.stamps == ADAPTER_STAMPS
    }

    /// Everything but the device under test is equal. Where a rate was searched, each device has its own.
    pub fn is_comparable_with(&self, other: &Self) -> bool {
        self.throughput.is_none() && other.throughput.is_none() && self.conditions() == other.conditions()
    }

    /// Without the device under test and without results.
    pub(crate) fn conditions(&self) -> Self {
        Self {
            device: String::new(),
            engine: String::new(),
            start_realtime_ns: 0,
            late_or_duplicate_frames: 0,
            foreign_frames: 0,
            overlapped_frames: 0,
            warnings: Vec::new(),
            activity_per_second: BTreeMap::new(),
            throughput: None,
            levels: Vec::new(),
            ..self.clone()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Position in the series.
    pub sequence: u32,
    /// The number in the first two bytes.
    pub tag: u16,
    /// Due time relative to the start; in a closed loop the send time.
    pub due_ns: i64,
    /// Before the send call, relative to the start.
    pub sent_ns: i64,
    /// Receive timestamp on the first bus.
    pub monitor_ns: Option<i64>,
    /// Receive timestamp on the second bus.
    pub far_ns: Option<i64>,
    pub inside: Inside,
    /// Frame time on the far bus, which is not part of the latency.
    pub wire_ns: u32,
    pub disposition: Disposition,
}

/// Timestamps within the tester's machine, relative to the start; `None` if unknown or not requested
/// ([`Plan::stages`](crate::experiment::Plan::stages)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Before the queue of the sending interface.
    pub queued_ns: Option<i64>,
    /// At the driver of the sending interface.
    pub handed_ns: Option<i64>,
    /// In the tester's program, from the second bus.
    pub read_ns: Option<i64>,
}

/// Outcome of a frame that was to be sent; exactly one applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// Arrived in time, in order and as expected.
    Ok,
    /// Arrived after the timeout.
    Late,
    /// Overtaken by a later frame.
    Reordered,
    /// Arrived with other content than the rules produce.
    Altered,
    /// The sending interface had no space for it.
    Refused,
    /// Sent, but seen neither by the monitor nor on the far side.
    Unseen,
    /// Seen by the monitor, but not on the far side.
    Lost,
    /// Seen by the monitor and dropped by the gateway's rules, as expected.
    Filtered,
}

impl Disposition {
    /// In the order of output.
    pub const ALL: [Self; 8] =
        [Self::Ok, Self::Late, Self::Reordered, Self::Altered, Self::Refused, Self::Unseen, Self::Lost, Self::Filtered];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late => "late",
            Self::Reordered => "reordered",
            Self::Altered => "altered",
            Self::Refused => "refused",
            Self::Unseen => "unseen",
            Self::Lost => "lost",
            Self::Filtered => "filtered",
        }
    }

    /// Did not pass the gateway in time, for any reason.
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Refused | Self::Unseen | Self::Lost | Self::Late)
    }

    pub const fn of_stamps(monitor_ns: Option<i64>, far_ns: Option<i64>) -> Self {
        match (monitor_ns, far_ns) {
            (_, Some(_)) => Self::Ok,
            (Some(_), None) => Self::Lost,
            (None, None) => Self::Unseen,
        }
    }
}

impl Sample {
    /// Expected, but not arrived.
    pub fn is_missing(&self) -> bool {
        self.far_ns.is_none() && self.disposition != Disposition::Filtered
    }

    /// Latency of the gateway: far timestamp − monitor timestamp − frame time; `None` for a lost frame.
    ///
    /// # Source
    /// 2011 gateway timing paper, section 2.1, figure 2.
    pub fn latency(&self) -> Option<LatencyNs> {
        let between = self.far_ns?.checked_sub(self.monitor_ns?)?;
        Some(LatencyNs(between.checked_sub(i64::from(self.wire_ns))?))
    }

    /// Time since the due time, without frame time on the far bus; `None` for a lost frame.
    pub fn response(&self) -> Option<LatencyNs> {
        let since_due = self.far_ns?.checked_sub(self.due_ns)?;
        Some(LatencyNs(since_due.checked_sub(i64::from(self.wire_ns))?))
    }

    fn row(&self, columns: &str) -> String {
        let stamp = |stamp: Option<i64>| stamp.map_or_else(String::new, |stamp| stamp.to_string());
        let field = |column: &str| match column {
            "sequence" => self.sequence.to_string(),
            "tag" => self.tag.to_string(),
            "due_ns" => self.due_ns.to_string(),
            "sent_ns" => self.sent_ns.to_string(),
            "queued_ns" => stamp(self.inside.queued_ns),
            "handed_ns" => stamp(self.inside.handed_ns),
            "monitor_ns" => stamp(self.monitor_ns),
            "far_ns" => stamp(self.far_ns),
            "read_ns" => stamp(self.inside.read_ns),
            "wire_ns" => self.wire_ns.to_string(),
            _ => self.disposition.name().to_owned(),
        };
        columns.split(',').map(field).collect::<Vec<_>>().join(",")
    }

    /// `None` if the row does not fit the columns.
    fn parse(columns: &str, row: &str) -> Option<Self> {
        let fields: Vec<&str> = row.split(',').collect();
        let names: Vec<&str> = columns.split(',').collect();
        let field = |name: &str| names.iter().position(|known| *known == name).map(|at| fields[at]);
        let number = |name: &str| field(name)?.parse::<i64>().ok();
        let stamp = |name: &str| match field(name) {
            None | Some("") => Some(None),
            Some(text) => text.parse().ok().map(Some),
        };
        if fields.len() != names.len() {
            return None;
        }
        let (monitor_ns, far_ns) = (stamp("monitor_ns")?, stamp("far_ns")?);
        let sent_ns = number("sent_ns")?;
        Some(Self {
            sequence: field("sequence")?.parse().ok()?,
            tag: field("tag")?.parse().ok()?,
            due_ns: if names.contains(&"due_ns") { number("due_ns")? } else { sent_ns },
            sent_ns,
            monitor_ns,
            far_ns,
            inside: Inside {
                queued_ns: stamp("queued_ns")?,
                handed_ns: stamp("handed_ns")?,
                read_ns: stamp("read_ns")?,
            },
            wire_ns: field("wire_ns")?.parse().ok()?,
            disposition: match field("disposition") {
                None => Disposition::of_stamps(monitor_ns, far_ns),
                Some(name) => Disposition::ALL.into_iter().find(|known| known.name() == name)?,
            },
        })
    }
}

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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
