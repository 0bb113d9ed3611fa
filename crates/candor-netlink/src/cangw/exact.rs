//! Jobs with their exact bytes in the kernel.

use super::{
    AF_CAN, CGW_DELETED, CGW_DROPPED, CGW_FILTER, CGW_HANDLED, CGW_TYPE_CAN_CAN, CangwJob, HEADER_BYTES, JobCounters,
};
use crate::codec::{Attributes, DecodeError, Message, MessageWriter};

/// A job with its bytes in the kernel's list.
///
/// The kernel stores bytes without meaning, such as the data of an operation on the identifier alone (`cangw -m
/// SET:I:456.0.1122334455667788`), and compares them when it searches for a job to delete. So the decoded values do not
/// always identify the job of another program; its bytes do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactJob {
    job: CangwJob,
    /// Header and attributes without counters; in this crate's encoding if that is equivalent.
    payload: Vec<u8>,
}

impl ExactJob {
    /// Decodes a job from the payload of a message.
    ///
    /// # Errors
    /// [`DecodeError`] if an attribute is missing or too short.
    pub fn decode(message: &Message<'_>) -> Result<Self, DecodeError> {
        let job = CangwJob::decode(message)?;
        let own = job.to_bytes();
        let payload = if says_the_same(&own, message.payload) { own } else { without_counters(message.payload)? };
        Ok(Self { job, payload })
    }

    /// Decodes the result of [`bytes`](Self::bytes).
    ///
    /// # Errors
    /// [`DecodeError`] if something is missing or too short.
    pub fn from_bytes(payload: &[u8]) -> Result<Self, DecodeError> {
        Self::decode(&Message { kind: 0, flags: 0, sequence: 0, payload })
    }

    /// The decoded values and counters.
    #[must_use]
    pub const fn job(&self) -> &CangwJob {
        &self.job
    }

    /// The payload without counters, which identifies the job.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.payload
    }

    /// True if the decoded values encode to the same bytes.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.payload == self.job.to_bytes()
    }

    /// Returns true if the jobs are equal, whatever their counters.
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

/// True if two payloads hold the same attributes in any order, apart from counters and from what the kernel omits.
fn says_the_same(own: &[u8], listed: &[u8]) -> bool {
    let (Some(of_own), Some(of_listed)) = (values(own), values(listed)) else { return false };
    let is_in = |(kind, value): &(u16, &[u8]), others: &[(u16, &[u8])]| {
        others.iter().any(|(other, theirs)| kind == other && value == theirs)
    };
    // The kernel omits a filter of zeros.
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
