//! Likely causes of a job that can-gw refused.
//!
//! can-gw answers with an errno and no text. So candor checks what can cause that errno (interfaces, limits, other jobs,
//! capabilities) and lists what it finds, the most likely cause first.

mod facts;

use std::fmt;

use candor_core::frame::FrameFormat;
use candor_netlink::cangw::{CangwError, CangwJob, JobFlags};
use candor_netlink::client::Client;

pub(crate) use facts::Facts;

/// The error of a refused job, with likely causes.
#[derive(Debug)]
pub struct Refusal {
    error: CangwError,
    causes: Vec<Cause>,
}

/// A likely cause; its text says how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    #[error(
        "{checksum} position {position} is outside the frame of {buffer_bytes} bytes (-{buffer_bytes} to {})",
        .buffer_bytes - 1
    )]
    ChecksumOutside {
        /// `CRC8` or `XOR`.
        checksum: &'static str,
        /// The position as in the file; negative ones count from the end.
        position: i8,
        /// 8 or 64.
        buffer_bytes: usize,
    },
    #[error(
        "hop limit {limit} exceeds max_hops={max_hops} of can-gw; reload it: sudo modprobe -r can-gw && sudo modprobe can-gw \
         max_hops={limit}"
    )]
    HopLimit { limit: u8, max_hops: u8 },
    #[error("hop limit {limit} may exceed max_hops of can-gw; see /sys/module/can_gw/parameters/max_hops")]
    HopLimitUnknown { limit: u8 },
    #[error("the {end}, interface index {index}, is gone: unplugged or deleted just now")]
    InterfaceGone {
        /// `source` or `destination`.
        end: &'static str,
        index: u32,
    },
    #[error("stop programs that use much memory, or raise the limit of candor's control group; then start again")]
    Memory,
    #[error("this process lacks it; run candor as root: sudo candor …")]
    NoCapability,
    #[error("load it: sudo modprobe can-gw")]
    NoModule,
    #[error("{interface} is not a CAN interface; see: ip -details link show {interface}")]
    NotCan { interface: String },
    #[error("this kernel has no jobs for FD frames, which Linux 5.4 introduced")]
    OldKernel,
    /// Without `CGW_FLAGS_CAN_IIF_TX_OK`, which kernels since 2026 refuse.
    #[error("source and destination are both {interface}; set back-to-incoming = true if that is intended")]
    SameInterface { interface: String },
    #[error(
        "this process has the capability, so a security module (SELinux, AppArmor, a container policy) denies it; see: sudo \
         dmesg | tail"
    )]
    SecurityModule,
    #[error(
        "a job from {from} to {to} already has uid {uid:08X}; can-gw would change that job, which needs the same interfaces \
         and filter; choose another uid"
    )]
    UidElsewhere { uid: u32, from: String, to: String },
    #[error("no cause found; the interfaces may have changed meanwhile: try again")]
    Unknown,
    #[error(
        "this process is in its own user namespace (rootless container, unshare -U), and can-gw accepts only the initial one: \
         run candor on the host, or the container as root"
    )]
    UserNamespace,
}

impl Refusal {
    /// Collects facts about the machine and derives the causes.
    pub(crate) fn explain(client: &mut Client, job: &CangwJob, error: CangwError) -> Self {
        let causes = causes(&error, job, &Facts::gather(client));
        Self { error, causes }
    }

    pub(crate) const fn error(&self) -> &CangwError {
        &self.error
    }
}

/// The facts that explain the refusal of a job.
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
    match facts.max_hops {
        _ if job.hop_limit == 0 => {}
        None => found.push(Cause::HopLimitUnknown { limit: job.hop_limit }),
        Some(max_hops) if job.hop_limit > max_hops => {
            found.push(Cause::HopLimit { limit: job.hop_limit, max_hops });
        }
        Some(_) => {}
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
            (CangwError::InvalidJob, [_, ..]) => "can-gw rejects a value of the job (EINVAL)".to_owned(),
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

#[cfg(test)]
mod tests;
