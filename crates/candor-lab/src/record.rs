//! Raw samples on disk: one text file per measured series, format version 2, or 3 where the sender's stamps were kept.
//!
//! ```text
//! # candor-record 2
//! # {"device":"kernel", …}          one line of JSON: everything that was held constant, see [`Header`]
//! sequence,tag,due_ns,sent_ns,monitor_ns,far_ns,wire_ns,disposition
//! 0,0,1500000,1500312,1507001,1515661,0,ok     one line per frame; monitor_ns and far_ns are empty when no stamp came
//! ```
//!
//! Version 3 has three columns more, `queued_ns` and `handed_ns` behind `sent_ns` and `read_ns` behind `far_ns` ([`Inside`]), of which
//! each may be empty. It is written only where one of them is not.
//!
//! Times are nanoseconds of `CLOCK_REALTIME` after [`Header::start_realtime_ns`]; with [`ADAPTER_STAMPS`] `monitor_ns` and `far_ns` are of
//! the adapter's clock, moved by one constant so that the first stamp of the series stands where the kernel's would. `wire_ns` is the time that the
//! frame takes on the far bus and that [`Sample::latency`] subtracts. `disposition` is the one end that the frame has come to
//! ([`Disposition`]). Files of version 1, which have neither `due_ns` nor `disposition`, are read, too; those of a later one are refused.

mod rows;

use std::collections::BTreeMap;

use crate::stats::{LatencyNs, Series};
use serde::{Deserialize, Serialize};

use crate::throughput::Searched;
use rows::Version;

/// Version of the record format, raised whenever a reader of the old one would misread the new one.
pub const RECORD_VERSION: u32 = 3;

/// The ending of record files.
pub const RECORD_EXTENSION: &str = "record.csv";

/// [`Header::stamps`] of records whose stamps are those of one adapter.
pub const ADAPTER_STAMPS: &str = "adapter receive stamps (SO_TIMESTAMPING, raw hardware)";

/// [`Header::stamps`] of records that have the kernel's, where frames come one at a time.
pub const KERNEL_STAMPS: &str = "kernel receive stamps (SO_TIMESTAMPNS)";

/// Before the engine's name in records of `candor-lab baseline`.
const BASELINE: &str = "baseline of ";

/// The `engine` of records of an engine's baseline loop (`candor-lab baseline`).
#[must_use]
pub fn baseline_of(engine: &str) -> String {
    format!("{BASELINE}{engine}")
}

/// The engine whose baseline loop a record is of, if it is of one.
#[must_use]
pub fn engine_of_baseline(engine: &str) -> Option<&str> {
    engine.strip_prefix(BASELINE)
}

const MAGIC: &str = "# candor-record ";

/// Everything that was the same for all samples of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name of the device under test: the stem of the gateway file.
    pub device: String,
    /// Engine that ran the gateway, as reported by it; `baseline of ENGINE` for its baseline loop; or `external`.
    pub engine: String,
    /// Where it ran: `icount`, `uml`, `host` or `ssh`. Tells what a nanosecond is worth.
    pub testbed: String,
    /// Nanoseconds that one instruction takes on the testbed's clock; `null` where time is not counted in instructions.
    pub instruction_ns: Option<u32>,
    /// Interfaces of the guest by name, `None` outside of laboratories.
    pub topology: Option<String>,
    /// `uname -r` of the kernel under test.
    pub kernel_release: String,
    /// Versions of what the testbed is made of: kernel package and QEMU, not on a host; and the kernel's command line without files.
    /// Of a board its name, its architecture, and the kernel of the tester.
    pub platform: BTreeMap<String, String>,
    /// Version of the candor that measured.
    pub candor_version: String,
    /// Frame template in can-utils notation; the first two payload bytes carry the tag.
    pub frame: String,
    /// Interface that sent.
    pub send: String,
    /// Interface that watched the first bus.
    pub monitor: String,
    /// Interface that received on the second bus.
    pub receive: String,
    /// Traffic pattern: [`Origin::traffic`].
    pub traffic: String,
    /// Scheduling policy of the tester; the gateway has the normal one.
    pub tester_policy: String,
    /// Where the stamps came from.
    pub stamps: String,
    /// Shortest pause between a reception and the next frame.
    pub gap_min_ns: u64,
    /// Longest pause between a reception and the next frame.
    pub gap_max_ns: u64,
    /// Seed of the random pauses.
    pub seed: u64,
    /// A frame that has not arrived after this time is lost.
    pub timeout_ns: u64,
    /// Frames sent before the first sample and not recorded.
    pub warm_up_frames: u32,
    /// `CLOCK_REALTIME` at the start; the rows count from here.
    pub start_realtime_ns: i64,
    /// Bit rate of the far bus whose frame time is subtracted; `null` where the wire takes no time.
    pub wire_bits_per_second: Option<u32>,
    /// Data-phase bit rate of the far bus.
    pub wire_data_bits_per_second: Option<u32>,
    /// Frames that reached the far side again or after their time was up.
    pub late_or_duplicate_frames: u32,
    /// Frames on the far side that the tester never sent.
    pub foreign_frames: u32,
    /// Frames that were sent when the one that goes ahead of a timer was still under way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlapped_frames: u32,
    /// What the tester could not set up as it should.
    pub warnings: Vec<String>,
    /// What else the gateway's machine had to do, as in a plan.
    #[serde(default = "no_load")]
    pub load: String,
    /// What the machine did meanwhile, by name and in numbers per second: the strength of the load.
    #[serde(default)]
    pub activity_per_second: BTreeMap<String, u64>,
    /// The search that found the rate of the frames, where they have the highest one without loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Searched>,
    /// Factors and levels of the plan's cell; empty where there was no plan.
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
    /// Factors and levels: those of the plan's cell, or without a plan those that the record itself tells.
    #[must_use]
    pub fn told_levels(&self) -> Vec<(String, String)> {
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

    /// Whether each frame waits for the last one.
    #[must_use]
    pub fn is_closed_loop(&self) -> bool {
        [Origin::Call, Origin::Timer].iter().any(|origin| origin.traffic() == self.traffic)
    }

    /// Whether receive stamps have another clock than moments of sending, so that their difference means nothing: there is neither a
    /// response nor a part of the time of a frame that begins or ends within the tester's machine.
    #[must_use]
    pub fn has_two_clocks(&self) -> bool {
        self.stamps == ADAPTER_STAMPS
    }

    /// Whether figures of the two may be compared: everything but the device under test is the same. Where a rate was searched,
    /// latencies are those of each device's own rate.
    #[must_use]
    pub fn is_comparable_with(&self, other: &Self) -> bool {
        self.throughput.is_none() && other.throughput.is_none() && self.conditions() == other.conditions()
    }

    /// The header without what belongs to the device under test, and without what only came out of the measurement.
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

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Position in the series.
    pub sequence: u32,
    /// The number in its first two bytes.
    pub tag: u16,
    /// When it was to be sent, relative to the start. Where the next frame waits for the last one, when it was sent.
    pub due_ns: i64,
    /// Before the system call that sent it, relative to the start.
    pub sent_ns: i64,
    /// Receive stamp on the first bus.
    pub monitor_ns: Option<i64>,
    /// Receive stamp on the second bus.
    pub far_ns: Option<i64>,
    /// Stamps within the tester's machine.
    pub inside: Inside,
    /// Time on the far wire that belongs to the bus and not to the gateway.
    pub wire_ns: u32,
    /// Where it ended.
    pub disposition: Disposition,
}

/// When a frame was where within the tester's machine, relative to the start. All empty where it was not asked for
/// ([`Plan::stages`](crate::experiment::Plan::stages)), and where there is no such stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// It was about to enter the queue of the sending interface.
    pub queued_ns: Option<i64>,
    /// The driver of the sending interface had it.
    pub handed_ns: Option<i64>,
    /// The tester's program had it, from the second bus.
    pub read_ns: Option<i64>,
}

/// Where a frame that was to be sent has ended: each in exactly one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// It arrived in time, in its order, and as it was to be.
    Ok,
    /// It arrived after its time was up.
    Late,
    /// A frame that was sent later arrived before it.
    Reordered,
    /// It arrived otherwise than the gateway's rules say.
    Altered,
    /// The sending interface had no room for it.
    Refused,
    /// It was sent, and neither the monitor nor the far side saw it.
    Unseen,
    /// The monitor saw it, and the far side did not.
    Lost,
    /// The monitor saw it, and the gateway's rules kept it back, as they should.
    Filtered,
}

impl Disposition {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 8] =
        [Self::Ok, Self::Late, Self::Reordered, Self::Altered, Self::Refused, Self::Unseen, Self::Lost, Self::Filtered];

    /// As it stands in records.
    #[must_use]
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

    /// Whether it did not come through the gateway in its time, whoever is to blame.
    #[must_use]
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Refused | Self::Unseen | Self::Lost | Self::Late)
    }

    /// What stamps alone tell.
    #[must_use]
    pub const fn of_stamps(monitor_ns: Option<i64>, far_ns: Option<i64>) -> Self {
        match (monitor_ns, far_ns) {
            (_, Some(_)) => Self::Ok,
            (Some(_), None) => Self::Lost,
            (None, None) => Self::Unseen,
        }
    }
}

impl Sample {
    /// Whether it was to arrive and has not.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.far_ns.is_none() && self.disposition != Disposition::Filtered
    }

    /// The latency of the gateway: far stamp minus monitor stamp minus frame time, or `None` for a lost frame.
    ///
    /// # Source
    /// 2011 gateway timing paper, section 2.1, figure 2.
    #[must_use]
    pub fn latency(&self) -> Option<LatencyNs> {
        let between = self.far_ns?.checked_sub(self.monitor_ns?)?;
        Some(LatencyNs(between.checked_sub(i64::from(self.wire_ns))?))
    }

    /// The time from when the frame was due, less its time on the far wire; `None` for a lost frame.
    #[must_use]
    pub fn response(&self) -> Option<LatencyNs> {
        let since_due = self.far_ns?.checked_sub(self.due_ns)?;
        Some(LatencyNs(since_due.checked_sub(i64::from(self.wire_ns))?))
    }
}

/// A measured series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was constant.
    pub header: Header,
    /// What was measured.
    pub samples: Vec<Sample>,
}

/// A text that is no record this version can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The first line is something else.
    #[error("Not a candor record: the first line is not \"{MAGIC}N\"")]
    NoRecord,
    /// Written by another version.
    #[error("Record version {found}; this candor reads version {RECORD_VERSION}")]
    Version {
        /// Version in the file.
        found: String,
    },
    /// The JSON line does not hold the header.
    #[error("Line 2 does not hold the header of a record")]
    Header(#[source] serde_json::Error),
    /// A line that is no sample.
    #[error("Line {line} is not a sample: {text:?}")]
    Sample {
        /// Line number, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
}

impl Record {
    /// The latencies of the frames that have one; `None` if none has.
    #[must_use]
    pub fn series(&self) -> Option<Series> {
        Series::new(self.samples.iter().filter_map(Sample::latency).collect())
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let header = serde_json::to_string(&self.header).expect("a header holds only strings and numbers");
        let version = Version::of(&self.samples);
        let mut text = format!("{MAGIC}{}\n# {header}\n{}\n", version.name(), version.columns());
        self.samples.iter().for_each(|sample| version.write(sample, &mut text));
        text
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// [`RecordError`] names the line that is wrong.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let mut lines = text.lines();
        let version = lines.next().and_then(|line| line.strip_prefix(MAGIC)).ok_or(RecordError::NoRecord)?;
        let version = Version::named(version).ok_or_else(|| RecordError::Version { found: version.to_owned() })?;
        let header = lines.next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let mut header: Header = serde_json::from_str(header).map_err(RecordError::Header)?;
        // Until 0.1 the baseline of an engine was called its floor.
        if let Some(engine) = header.engine.strip_prefix("floor of ") {
            header.engine = baseline_of(engine);
        }
        let wrong = |line: usize, text: &str| RecordError::Sample { line, text: text.to_owned() };
        match lines.next() {
            // Until 0.1 the last column was called fate.
            Some(columns) if columns.replace(",fate", ",disposition") == version.columns() => {}
            other => return Err(wrong(3, other.unwrap_or_default())),
        }
        let samples = lines
            .enumerate()
            .map(|(row, text)| version.parse(text).ok_or_else(|| wrong(row + 4, text)))
            .collect::<Result<_, _>>()?;
        Ok(Self { header, samples })
    }
}

/// How a frame is sent on the first bus.
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
    use super::*;

    /// A header for tests of everything that reads records.
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
    fn text_and_back() {
        let record = record();
        assert_eq!(Record::parse(&record.to_text()).unwrap(), record);
    }

    #[test]
    fn stamps_within_the_machine_need_another_version_and_come_back() {
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
    fn levels_are_those_of_the_plan_or_what_the_header_says() {
        let mut header = header("mine", "kernel");
        let gateway = |header: &Header| {
            header.told_levels().into_iter().find(|(factor, _)| factor == "gateway").map(|(_, level)| level)
        };
        assert_eq!((gateway(&header).as_deref(), header.told_levels().len()), (Some("mine"), 7));
        header.levels = vec![("gateway".to_owned(), "cangw".to_owned())];
        assert_eq!(header.told_levels(), header.levels);
    }

    #[test]
    fn hostile_stamps_have_no_latency() {
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
    fn what_is_no_record_is_refused_with_its_line() {
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
        let old = Record::parse(&format!("# candor-record 1\n# {header}\n{}\n{rows}", Version::One.columns())).unwrap();
        assert_eq!(old.samples[0], Sample { due_ns: 0, ..record().samples[0] });
        assert_eq!((old.samples[1].due_ns, old.samples[1].disposition), (1000, Disposition::Lost));
    }
}
