//! Real-time configuration of the user-space engines: scheduling policy, CPUs, memory locking, wake-up latency.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A real-time priority, 1 (least) to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RtPriority(u8);

impl RtPriority {
    /// A priority from 1 to 99, or `None`.
    #[must_use]
    pub const fn new(priority: u8) -> Option<Self> {
        if priority >= 1 && priority <= 99 { Some(Self(priority)) } else { None }
    }

    /// The priority as a number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for RtPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A scheduling policy, written `fifo:80`, `rr:10` or `other`.
///
/// # Source
/// `sched(7)`; [`SCHED_FIFO` and `SCHED_RR`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/sched.h#L115) in Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sched {
    /// `SCHED_FIFO`: runs until it blocks, before all threads of lower priority.
    Fifo(RtPriority),
    /// `SCHED_OTHER`: the default policy.
    Other,
    /// `SCHED_RR`: as FIFO, but time-sliced among threads of equal priority.
    RoundRobin(RtPriority),
}

impl Sched {
    /// Returns the priority of a real-time policy.
    #[must_use]
    pub const fn priority(self) -> Option<RtPriority> {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
            Self::Other => None,
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Other => f.write_str("other"),
            Self::RoundRobin(priority) => write!(f, "rr:{priority}"),
        }
    }
}

/// An error in the text of a scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedError {
    /// The name of the policy is not known.
    #[error("Unknown scheduling policy")]
    Unknown,
    /// `fifo` or `rr` without priority.
    #[error("A real-time policy requires a priority")]
    NoPriority,
    /// A priority other than 1 to 99.
    #[error("A real-time priority must be 1 to 99")]
    Priority,
    /// `other:5`.
    #[error("The policy `other` has no priority")]
    NotWanted,
}

impl FromStr for Sched {
    type Err = SchedError;

    fn from_str(text: &str) -> Result<Self, SchedError> {
        let (policy, priority) = match text.split_once(':') {
            Some((policy, priority)) => (policy, Some(priority)),
            None => (text, None),
        };
        let policy: fn(RtPriority) -> Self = match (policy, priority) {
            ("fifo", _) => Self::Fifo,
            ("rr", _) => Self::RoundRobin,
            ("other", None) => return Ok(Self::Other),
            ("other", Some(_)) => return Err(SchedError::NotWanted),
            _ => return Err(SchedError::Unknown),
        };
        let priority = priority.ok_or(SchedError::NoPriority)?;
        // `parse` would accept a sign.
        let is_number = !priority.is_empty() && priority.bytes().all(|byte| byte.is_ascii_digit());
        let number = priority.parse().ok().filter(|_number| is_number);
        number.and_then(RtPriority::new).map(policy).ok_or(SchedError::Priority)
    }
}

/// A CPU number, as in `/proc/cpuinfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cpu(pub u16);

impl Cpu {
    /// The highest supported number, which is the limit of the C library's `cpu_set_t`.
    pub const MAX: u16 = 1023;
}

/// Prints CPUs in the notation of the kernel: `0,2-3`. They must be in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct CpuList<'a>(pub &'a [Cpu]);

impl fmt::Display for CpuList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|one, next| u32::from(one.0) + 1 == u32::from(next.0));
        for (at, run) in runs.enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match run {
                [Cpu(first), .., Cpu(last)] => write!(f, "{comma}{first}-{last}")?,
                [Cpu(only)] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// Parses CPUs in the notation of the kernel (`0,2-3`) into ascending order. The list may be empty. `None` for other
/// text.
#[must_use]
pub fn cpu_list(text: &str) -> Option<Vec<Cpu>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        cpus.extend((first..=last).map(Cpu));
    }
    crate::order::sort(&mut cpus);
    cpus.dedup();
    Some(cpus)
}

/// `[realtime]` of a gateway file. `None`, empty or false leaves a setting as it was when the process started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Realtime {
    /// `sched`, of the threads that forward frames.
    pub sched: Option<Sched>,
    /// `cpus` of these threads, in ascending order.
    pub cpus: Vec<Cpu>,
    /// `lock-memory`: locks all memory of the process (`mlockall`).
    pub lock_memory: bool,
    /// `cpu-dma-latency`: the maximum wake-up latency of a CPU, in whole microseconds.
    pub cpu_dma_latency: Option<Duration>,
}

impl Realtime {
    /// Returns true if nothing is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if a setting is for forwarding threads, which can-gw does not have.
    #[must_use]
    pub fn is_for_threads(&self) -> bool {
        self.sched.is_some() || !self.cpus.is_empty() || self.lock_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_parsed_and_printed() {
        crate::cases::check(include_str!("realtime/policies.txt"), |text| match text.parse::<Sched>() {
            Ok(policy) => policy.to_string(),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn cpu_lists_have_the_notation_of_the_kernel() {
        for text in ["0", "0-1", "0,2-3,7", "", "1022-1023"] {
            assert_eq!(CpuList(&cpu_list(text).unwrap()).to_string(), text);
        }
        assert_eq!(cpu_list("3,0-1\n").unwrap(), [Cpu(0), Cpu(1), Cpu(3)]);
        for text in ["x", "1-", "-1", "1,,2", "70000"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
    }
}
