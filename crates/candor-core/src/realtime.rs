//! Real-time configuration of the user-space engines: scheduling policy, CPUs, memory locking, CPU wake-up latency.

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

    /// The number.
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
    /// `SCHED_FIFO`: runs until it waits, before everything with less priority.
    Fifo(RtPriority),
    /// `SCHED_OTHER`: shares the processor with everything else.
    Other,
    /// `SCHED_RR`: as FIFO, but takes turns with threads of its own priority.
    RoundRobin(RtPriority),
}

impl Sched {
    /// Its priority, if it is a real-time policy.
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

/// Text that is no scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedError {
    /// No such policy.
    #[error("Unknown scheduling policy")]
    Unknown,
    /// `fifo` or `rr` alone.
    #[error("A real-time policy requires a priority")]
    NoPriority,
    /// Something else than 1 to 99.
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
        // `parse` alone would take a sign.
        let is_number = !priority.is_empty() && priority.bytes().all(|byte| byte.is_ascii_digit());
        let number = priority.parse().ok().filter(|_number| is_number);
        number.and_then(RtPriority::new).map(policy).ok_or(SchedError::Priority)
    }
}

/// The number of a processor, as in `/proc/cpuinfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cpu(pub u16);

impl Cpu {
    /// The highest number that candor knows: as many as fit into the C library's `cpu_set_t`.
    pub const MAX: u16 = 1023;
}

/// Processors as the kernel lists them: `0,2-3`. They have to be in ascending order.
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

/// Reads processors as the kernel lists them (`0,2-3`), in ascending order; `None` for anything else. An empty list is
/// one, too.
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
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// `[realtime]` of a file. What is `None`, empty or false is left as the process was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Realtime {
    /// `sched`, of the threads that forward frames.
    pub sched: Option<Sched>,
    /// `cpus` on which they run, in ascending order.
    pub cpus: Vec<Cpu>,
    /// `lock-memory`: all memory of the process stays where it is, and is there from the start.
    pub lock_memory: bool,
    /// `cpu-dma-latency`: how long a processor may take to wake up. Whole microseconds.
    pub cpu_dma_latency: Option<Duration>,
}

impl Realtime {
    /// Returns true if nothing is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the forwarding threads are configured, which can-gw does not have.
    #[must_use]
    pub fn is_for_threads(&self) -> bool {
        self.sched.is_some() || !self.cpus.is_empty() || self.lock_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_written_as_they_are_read() {
        for text in ["fifo:1", "fifo:99", "rr:50", "other"] {
            assert_eq!(text.parse::<Sched>().unwrap().to_string(), text);
        }
        for (text, error) in [
            ("fifo", SchedError::NoPriority),
            ("fifo:", SchedError::Priority),
            ("fifo:0", SchedError::Priority),
            ("fifo:100", SchedError::Priority),
            ("fifo:+8", SchedError::Priority),
            ("rr:300", SchedError::Priority),
            ("other:3", SchedError::NotWanted),
            ("deadline", SchedError::Unknown),
            ("FIFO:80", SchedError::Unknown),
        ] {
            assert_eq!(text.parse::<Sched>(), Err(error), "{text}");
        }
    }

    #[test]
    fn processors_are_listed_as_the_kernel_does() {
        for text in ["0", "0-1", "0,2-3,7", "", "1022-1023"] {
            assert_eq!(CpuList(&cpu_list(text).unwrap()).to_string(), text);
        }
        assert_eq!(cpu_list("3,0-1\n").unwrap(), [Cpu(0), Cpu(1), Cpu(3)]);
        for text in ["x", "1-", "-1", "1,,2", "70000"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
    }
}
