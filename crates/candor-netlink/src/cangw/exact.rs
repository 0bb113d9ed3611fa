//! Jobs with the very bytes that the kernel has them in.

use super::{
    AF_CAN, CGW_DELETED, CGW_DROPPED, CGW_FILTER, CGW_HANDLED, CGW_TYPE_CAN_CAN, CangwJob, HEADER_BYTES, JobCounters,
};
use crate::codec::{Attributes, DecodeError, Message, MessageWriter};

/// A job and its bytes as the kernel lists them.
///
/// The kernel keeps bytes that mean nothing, such as the data of an operation on the identifier alone (`cangw -m
/// SET:I:456.0.1122334455667788`), and compares them when it looks for a job to delete. So what was read is not always
/// enough to name a job that somebody else made; its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactJob {
    job: CangwJob,
    /// Header and attributes without counters; what candor would write itself if that says all.
    payload: Vec<u8>,
}

impl ExactJob {
    /// Reads a job out of a message's payload.
    ///
    /// # Errors
    /// [`DecodeError`] if something is missing or too short.
    pub fn decode(message: &Message<'_>) -> Result<Self, DecodeError> {
        let job = CangwJob::decode(message)?;
        let own = job.to_bytes();
        let payload = if says_the_same(&own, message.payload) { own } else { without_counters(message.payload)? };
        Ok(Self { job, payload })
    }

    /// Reads what [`bytes`](Self::bytes) gave.
    ///
    /// # Errors
    /// [`DecodeError`] if something is missing or too short.
    pub fn from_bytes(payload: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(&Message { kind: 0, flags: 0, sequence: 0, payload })
    }

    /// What the job does and has counted.
    #[must_use]
    pub const fn job(&self) -> &CangwJob {
        &self.job
    }

    /// The job as a payload, without counters: what it is known by.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.payload
    }

    /// Whether the job's values say all that its bytes do, so that candor could have written it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.payload == self.job.to_bytes()
    }

    /// The same job, whatever it has counted.
    #[must_use]
    pub fn is_same_job(&self, other: &Self) -> bool {
        self.payload == other.payload
    }

    pub(super) fn encode(&self, writer: &mut MessageWriter) {
        writer.header(&self.payload);
    }
}

impl From<CangwJob> for ExactJob {
    fn from(job: CangwJob) -> Self {
        Self { payload: job.to_bytes(), job: CangwJob { counters: JobCounters::default(), ..job } }
    }
}

/// Whether two payloads hold the same attributes, in any order, apart from counters and from what the kernel leaves out.
fn says_the_same(own: &[u8], listed: &[u8]) -> bool {
    let (Some(of_own), Some(of_listed)) = (values(own), values(listed)) else { return false };
    let is_in = |(kind, value): &(u16, &[u8]), others: &[(u16, &[u8])]| {
        others.iter().any(|(other, theirs)| kind == other && value == theirs)
    };
    // The kernel does not list a filter of zeros.
    let left_out = |(kind, value): &(u16, &[u8])| *kind == CGW_FILTER && *value == [0; 8];
    own[2..HEADER_BYTES] == listed[2..HEADER_BYTES]
        && of_listed.iter().all(|one| is_in(one, &of_own))
        && of_own.iter().all(|one| left_out(one) || is_in(one, &of_listed))
}

/// The attributes of a payload without counters.
fn values(payload: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let attributes = Attributes::new(payload.get(HEADER_BYTES..)?);
    let all: Result<Vec<_>, _> = attributes.map(|one| one.map(|one| (one.kind, one.value))).collect();
    Some(all.ok()?.into_iter().filter(|(kind, _)| !is_counter(*kind)).collect())
}

fn without_counters(payload: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut writer = MessageWriter::new(0, 0);
    writer.header(&[AF_CAN, CGW_TYPE_CAN_CAN, payload[2], payload[3]]);
    for attribute in Attributes::new(&payload[HEADER_BYTES..]) {
        let attribute = attribute?;
        if !is_counter(attribute.kind) {
            writer.attribute(attribute.kind, attribute.value);
        }
    }
    Ok(writer.payload().to_vec())
}

const fn is_counter(kind: u16) -> bool {
    matches!(kind, CGW_HANDLED | CGW_DROPPED | CGW_DELETED)
}
