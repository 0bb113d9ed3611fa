//! Why the kernel refused a job, as far as can be found out afterwards.
//!
//! can-gw answers with an errno and nothing else. So candor looks at what the errno can be about (interfaces, limits,
//! other jobs, rights) and says what it finds, the most likely cause first.

mod facts;

use std::fmt;

use candor_core::frame::FrameFormat;
use candor_netlink::cangw::{CangwError, CangwJob, JobFlags};
use candor_netlink::client::Client;

pub(crate) use facts::Facts;

/// A job that the kernel did not take.
#[derive(Debug)]
pub struct Refusal {
    error: CangwError,
    causes: Vec<Cause>,
}

/// What may be behind a refusal, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A checksum position is outside of the frame's buffer.
    ChecksumOutside {
        /// Which checksum.
        checksum: &'static str,
        /// The position.
        position: i8,
        /// Bytes of the buffer.
        buffer_bytes: usize,
    },
    /// The hop limit is above that of the module.
    HopLimit {
        /// What the job has.
        limit: u8,
        /// What the module allows; `None` if it does not say.
        max_hops: Option<u8>,
    },
    /// An interface is gone.
    InterfaceGone {
        /// `source` or `destination`.
        end: &'static str,
        /// Its number.
        index: u32,
    },
    /// The kernel has too little memory, or a control group allows too little.
    Memory,
    /// A security module says no.
    SecurityModule,
    /// The process does not have the capability.
    NoCapability,
    /// The module is not loaded.
    NoModule,
    /// An interface is something else.
    NotCan {
        /// Its name.
        interface: String,
    },
    /// The kernel does not know FD jobs (before 5.4), so it takes the positions of a checksum for those of 8 bytes.
    OldKernel,
    /// A job leads back to its own interface without being allowed to: refused by kernels of 2026.
    SameInterface {
        /// Its name.
        interface: String,
    },
    /// A job with the same uid has other ends or another filter.
    UidElsewhere {
        /// The uid.
        uid: u32,
        /// The names of its interfaces.
        from: String,
        /// The same.
        to: String,
    },
    /// Nothing that candor knows of.
    Unknown,
    /// The process is in a user namespace, where it is root over nothing that can-gw asks about.
    UserNamespace,
}

impl Refusal {
    /// Looks for the causes of a refusal.
    pub(crate) fn explain(client: &mut Client, job: &CangwJob, error: CangwError) -> Self {
        let causes = causes(&error, job, &Facts::gather(client));
        Self { error, causes }
    }

    pub(crate) const fn error(&self) -> &CangwError {
        &self.error
    }

    /// What was found, the most likely first.
    #[must_use]
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }
}

/// Which of the facts explain the refusal of a job.
pub(crate) fn causes(error: &CangwError, job: &CangwJob, facts: &Facts) -> Vec<Cause> {
    match error {
        CangwError::InvalidJob => invalid(job, facts),
        CangwError::NoSuchInterface => interfaces(job, facts),
        CangwError::NotPermitted => match facts {
            Facts { in_user_namespace: true, .. } => vec![Cause::UserNamespace, Cause::NoCapability],
            Facts { may_configure: Some(true), .. } => vec![Cause::SecurityModule],
            _ => vec![Cause::NoCapability],
        },
        CangwError::ModuleMissing => vec![Cause::NoModule],
        CangwError::OutOfMemory => vec![Cause::Memory],
        _ => Vec::new(),
    }
}

fn interfaces(job: &CangwJob, facts: &Facts) -> Vec<Cause> {
    let ends = [("source", job.source), ("destination", job.destination)];
    let found: Vec<_> = ends
        .into_iter()
        .filter_map(|(end, index)| match facts.links.iter().find(|link| link.index == index) {
            None => Some(Cause::InterfaceGone { end, index: index.number() }),
            Some(link) if link.can.is_none() => Some(Cause::NotCan { interface: link.name.clone() }),
            Some(_) => None,
        })
        .collect();
    // It may have come back in the meantime.
    if found.is_empty() { vec![Cause::Unknown] } else { found }
}

fn invalid(job: &CangwJob, facts: &Facts) -> Vec<Cause> {
    let mut found = Vec::new();
    if job.hop_limit != 0 && facts.max_hops.is_none_or(|max_hops| job.hop_limit > max_hops) {
        found.push(Cause::HopLimit { limit: job.hop_limit, max_hops: facts.max_hops });
    }
    let buffer_bytes = job.flags.format().max_len();
    let spans = [("CRC8", job.checksums.crc8.map(|crc8| crc8.span)), ("XOR", job.checksums.xor.map(|xor| xor.span))];
    for (checksum, span) in spans {
        let positions = span.into_iter().flat_map(|span| [span.from, span.to, span.result]);
        let limit = i16::try_from(buffer_bytes).expect("a frame has 64 bytes at most");
        let outside = positions.into_iter().find(|position| !(-limit..limit).contains(&i16::from(*position)));
        found.extend(outside.map(|position| Cause::ChecksumOutside { checksum, position, buffer_bytes }));
    }
    let same_uid = |other: &&CangwJob| job.uid != 0 && other.uid == job.uid;
    let other_ends = |other: &&CangwJob| {
        (other.source, other.destination, other.filter) != (job.source, job.destination, job.filter)
    };
    found.extend(facts.jobs.iter().filter(same_uid).find(other_ends).map(|other| Cause::UidElsewhere {
        uid: job.uid,
        from: facts.name(other.source),
        to: facts.name(other.destination),
    }));
    if job.source == job.destination && !job.flags.contains(JobFlags::INCOMING_INTERFACE) {
        found.push(Cause::SameInterface { interface: facts.name(job.source) });
    }
    if job.flags.format() == FrameFormat::Fd && facts.fd_jobs == Some(false) {
        found.push(Cause::OldKernel);
    }
    if found.is_empty() { vec![Cause::Unknown] } else { found }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match (&self.error, self.causes.as_slice()) {
            (CangwError::InvalidJob, [_, ..]) => "can-gw finds a value of it invalid (EINVAL)".to_owned(),
            (error, _) => error.to_string(),
        };
        f.write_str(&said)?;
        match self.causes.as_slice() {
            [] => Ok(()),
            [cause] => write!(f, ": {cause}"),
            causes => causes.iter().zip(1..).try_for_each(|(cause, number)| write!(f, "\n    {number}. {cause}")),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.error)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChecksumOutside { checksum, position, buffer_bytes } => write!(
                f,
                "the {checksum} has the position {position}, but the frame has {buffer_bytes} bytes (-{buffer_bytes} to \
                 {})",
                buffer_bytes - 1
            ),
            Self::HopLimit { limit, max_hops: Some(max_hops) } => write!(
                f,
                "its hop limit is {limit}, but can-gw was loaded with max_hops={max_hops}; type: sudo modprobe -r \
                 can-gw && sudo modprobe can-gw max_hops={limit}"
            ),
            Self::HopLimit { limit, max_hops: None } => write!(
                f,
                "its hop limit {limit} may be above that of the module; look at \
                 /sys/module/can_gw/parameters/max_hops"
            ),
            Self::InterfaceGone { end, index } => {
                write!(f, "its {end}, interface number {index}, is gone: it was unplugged or deleted just now")
            }
            Self::Memory => f.write_str(
                "end programs that take much, or raise the limit of the control group that candor runs in; then start \
                 again",
            ),
            Self::NoCapability => f.write_str("this process does not have it; run candor as root: sudo candor …"),
            Self::NoModule => f.write_str("type: sudo modprobe can-gw"),
            Self::NotCan { interface } => {
                write!(f, "{interface} is no CAN interface; look at: ip -details link show {interface}")
            }
            Self::OldKernel => f.write_str("this kernel has no jobs for FD frames; they came with 5.4"),
            Self::SameInterface { interface } => write!(
                f,
                "it leads from {interface} back to {interface}; write back-to-incoming = true if that is meant"
            ),
            Self::SecurityModule => f.write_str(
                "this process has the capability, so a security module (SELinux, AppArmor, a container's rules) says no; \
                 look at: sudo dmesg | tail",
            ),
            Self::UidElsewhere { uid, from, to } => write!(
                f,
                "a job from {from} to {to} has the uid {uid:08X} already, and can-gw changes that one instead of adding \
                 another, which it cannot with other ends; take another uid"
            ),
            Self::Unknown => f.write_str("candor finds no reason; the interfaces may have changed just now: try again"),
            Self::UserNamespace => f.write_str(
                "this process is in a user namespace of its own (a rootless container, unshare -U); can-gw listens to \
                 the initial one only: run candor on the host, or the container as root",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
