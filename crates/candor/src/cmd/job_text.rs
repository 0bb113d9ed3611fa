//! A can-gw job as text and as JSON.

use std::fmt::Write as _;

use candor_config::placement::Side;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Operand};
use candor_netlink::cangw::{CangwJob, JobFlags};
use serde::Serialize;

const FLAGS: [(JobFlags, &str); 3] = [
    (JobFlags::ECHO, "echo"),
    (JobFlags::SOURCE_TIMESTAMP, "keeps the timestamp"),
    (JobFlags::INCOMING_INTERFACE, "back to incoming"),
];

/// One line, such as `classic 123, set id=00000456, echo`.
pub(crate) fn text(job: &CangwJob) -> String {
    let format = job_format(job);
    let mut text = match job.filter {
        Filter::ALL => format!("{format}, all"),
        filter => format!("{format} {}", filter_text(filter)),
    };
    for (operation, operand) in job.modifications.operands() {
        if !operand.is_empty() {
            let _ = write!(text, ", {}{}", operation.name(), fields(operand, job.flags.format()));
        }
    }
    if let Some(crc8) = &job.checksums.crc8 {
        let _ = write!(text, ", crc8 {}", span(crc8.span));
    }
    if let Some(xor) = &job.checksums.xor {
        let _ = write!(text, ", xor-sum {}", span(xor.span));
    }
    for (flag, word) in FLAGS {
        if job.flags.contains(flag) {
            let _ = write!(text, ", {word}");
        }
    }
    if job.hop_limit != 0 {
        let _ = write!(text, ", hop limit {}", job.hop_limit);
    }
    if job.uid != 0 {
        let _ = write!(text, ", uid {:08X}", job.uid);
    }
    text
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobView {
    format: &'static str,
    filter: String,
    flags_hex: String,
    modifies: bool,
    hop_limit_hops: Option<u8>,
    uid_hex: Option<String>,
    /// The request to the kernel; its interface indexes are those of this machine.
    job_hex: String,
    handled: Option<u32>,
    dropped: Option<u32>,
    deleted: Option<u32>,
}

impl JobView {
    pub(crate) fn of(job: &CangwJob) -> Self {
        Self {
            format: job_format(job),
            filter: job.filter.to_string(),
            flags_hex: format!("{:04X}", job.flags.0),
            modifies: !job.modifications.is_empty(),
            hop_limit_hops: (job.hop_limit != 0).then_some(job.hop_limit),
            uid_hex: (job.uid != 0).then(|| format!("{:08X}", job.uid)),
            job_hex: hex(&job.to_bytes()),
            handled: Some(job.counters.handled),
            dropped: Some(job.counters.dropped),
            deleted: Some(job.counters.deleted),
        }
    }

    /// An eBPF program counts them where only its process reads them.
    pub(crate) fn without_deleted(self) -> Self {
        Self { deleted: None, ..self }
    }

    /// The process of a user-space route counts, not the kernel.
    pub(crate) fn without_counters(self) -> Self {
        Self { handled: None, dropped: None, deleted: None, ..self }
    }
}

/// A single identifier with three or eight digits, as in the file.
fn filter_text(filter: Filter) -> String {
    let id = RawId(filter.id);
    // Inverted filters and those for remote frames have further bits.
    let is_plain = id.0 & !CAN_EFF_FLAG == id.bits();
    match is_plain && filter == Filter::exact(id) {
        true if id.is_eff() => format!("{:08X}", id.bits()),
        true => format!("{:03X}", id.bits()),
        false => filter.to_string(),
    }
}

fn fields(operand: &Operand, format: FrameFormat) -> String {
    let mut text = String::new();
    if let Some(id) = operand.id {
        let _ = write!(text, " id={id:08X}");
    }
    if let Some(len) = operand.len {
        let _ = write!(text, " len={len}");
    }
    if let Some(flags) = operand.flags {
        let _ = write!(text, " flags={flags:02X}");
    }
    if let Some(data) = &operand.data {
        let _ = write!(text, " data={}", hex(&data[..format.max_len()]));
    }
    text
}

fn span(span: ChecksumSpan) -> String {
    format!("of {} to {} into {}", span.from, span.to, span.result)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

const fn job_format(job: &CangwJob) -> &'static str {
    if job.flags.contains(JobFlags::XL) { "xl" } else { format_name(job.flags.format()) }
}

/// The value of `frames` for the frames of a job.
pub(crate) const fn frames_of(job: &Job) -> &'static str {
    if job.is_xl { "xl" } else { format_name(job.format) }
}

pub(crate) const fn format_name(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    }
}

pub(crate) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Bpf => "bpf",
        Side::Kernel => "kernel",
        Side::User => "user",
    }
}

#[cfg(test)]
mod tests {
    use candor_config::plan::{BusIndex, Echo};
    use candor_core::job::Job;
    use candor_core::rule::XorChecksum;
    use candor_io::can::InterfaceIndex;

    use super::*;

    #[test]
    fn a_job_is_one_line() {
        let mut job =
            Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id: 0x123, mask: 0xC000_07FF });
        let index = |number| InterfaceIndex::new(number).unwrap();
        let text_of = |job: &Job| text(&CangwJob::new(job, index(1), index(2)));
        assert_eq!(text_of(&job), "classic 123");
        job.modifications.set.id = Some(0x456);
        job.modifications.or.data = Some([1; 64]);
        let span = ChecksumSpan { from: 0, to: -2, result: -1 };
        job.checksums.xor = Some(XorChecksum { span, init: 0 });
        (job.echo, job.hop_limit) = (Echo::On, Some(1));
        assert_eq!(
            text_of(&job),
            "classic 123, or data=0101010101010101, set id=00000456, xor-sum of 0 to -2 into -1, echo, hop limit 1"
        );
        job.filter = Filter::ALL;
        assert!(text_of(&job).starts_with("classic, all, or data="));
    }
}
