//! Causes and remedies when the kernel refuses a setting of `[realtime]`.

use std::io;

use candor_core::realtime::{Cpu, CpuList, Sched};
use candor_io::dma_latency::CPU_DMA_LATENCY;
use candor_io::errno::{EACCES, EAGAIN, ENOENT, ENOMEM, EPERM};
use candor_io::machine::{Capability, Limit, Machine};

/// A setting of `[realtime]` that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealtimeError {
    /// `cpu-dma-latency`.
    #[error("cannot set `cpu-dma-latency`: {}", awake(.0))]
    Awake(#[source] io::Error),
    /// `cpus` that do not exist.
    #[error(
        "CPU {} of `cpus` is not online; online: {}; use these, or enable it (echo 1 | sudo tee \
         /sys/devices/system/cpu/cpuN/online)",
        CpuList(missing),
        CpuList(online)
    )]
    NoSuchCpu {
        /// Processors of the file that are not online.
        missing: Vec<Cpu>,
        online: Vec<Cpu>,
    },
    /// `cpus` outside the cpuset of the process.
    #[error(
        "the cpuset excludes CPU {} of `cpus`: control group {group} has {}; add AllowedCPUs={} to the systemd unit or \
         slice, or start candor in another group",
        CpuList(missing), if allowed.is_empty() { "none of them".to_owned() } else { format!("{} only", CpuList(allowed)) },
        CpuList(wanted)
    )]
    Cpuset {
        /// Processors of the file outside the cpuset.
        missing: Vec<Cpu>,
        wanted: Vec<Cpu>,
        allowed: Vec<Cpu>,
        group: String,
    },
    /// `sched_setaffinity()` failed for another reason.
    #[error("cannot set `cpus`")]
    Cpus(#[source] io::Error),
    /// `lock-memory`.
    #[error("cannot lock memory (`lock-memory`): {}", memory(*errno, *limit, *is_privileged))]
    Memory {
        /// The errno of `mlockall()`.
        errno: Option<i32>,
        limit: Option<Limit>,
        /// The process has CAP_IPC_LOCK.
        is_privileged: bool,
    },
    /// `sched`: the control group has no real-time budget.
    #[error(
        "cannot set `sched` = \"{sched}\": control group {group} has no real-time budget (the kernel has \
         CONFIG_RT_GROUP_SCHED); assign one: echo 950000 | sudo tee /sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us, or \
         start candor in the root group"
    )]
    NoBudget { sched: Sched, group: String },
    /// `sched`: neither a capability nor a limit allows it.
    #[error("cannot set `sched` = \"{sched}\": {}", not_permitted(*sched, *limit, *in_container))]
    NotPermitted {
        sched: Sched,
        limit: Option<Limit>,
        /// The process is in a user namespace of its own.
        in_container: bool,
    },
    /// `sched`, for another reason.
    #[error("cannot set `sched` = \"{sched}\"")]
    Sched { sched: Sched, source: io::Error },
}

impl RealtimeError {
    /// The cause of an error of `sched_setscheduler()`.
    pub(super) fn sched(sched: Sched, source: io::Error, machine: &Machine) -> Self {
        let own = machine.own();
        let (limit, in_container) = (own.realtime_limit(), own.is_in_user_namespace());
        let priority = sched.priority().map_or(0, |priority| u64::from(priority.number()));
        let is_within = limit.is_some_and(|limit| limit >= Limit::UpTo(priority));
        let may = is_within || (own.has(Capability::SysNice) == Some(true) && !in_container);
        match source.raw_os_error() {
            Some(EPERM) if !may => Self::NotPermitted { sched, limit, in_container },
            // A process with the permission gets EPERM only for a missing budget.
            Some(EPERM) => match own.control_group() {
                Some(group) if group != "/" => Self::NoBudget { sched, group },
                _ => Self::Sched { sched, source },
            },
            _ => Self::Sched { sched, source },
        }
    }

    /// The cause of an affinity other than `wanted`.
    pub(super) fn cpus(wanted: &[Cpu], given: io::Result<Vec<Cpu>>, machine: &Machine) -> Self {
        let online = machine.online_cpus();
        let without = |there: &[Cpu]| wanted.iter().copied().filter(|cpu| !there.contains(cpu)).collect::<Vec<_>>();
        let not_online = without(&online);
        if !online.is_empty() && !not_online.is_empty() {
            return Self::NoSuchCpu { missing: not_online, online };
        }
        let group = machine.own().control_group().unwrap_or_else(|| "/".into());
        let all = || wanted.to_vec();
        match given {
            Ok(allowed) => Self::Cpuset { missing: without(&allowed), wanted: all(), allowed, group },
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Self::Cpuset { missing: all(), wanted: all(), allowed: Vec::new(), group }
            }
            Err(error) => Self::Cpus(error),
        }
    }

    /// The cause of an error of `mlockall()`, or of starting a thread whose stack is to be locked.
    #[expect(clippy::needless_pass_by_value, reason = "for use with map_err")]
    pub(super) fn memory(source: io::Error, machine: &Machine) -> Self {
        let own = machine.own();
        Self::Memory {
            errno: source.raw_os_error(),
            limit: own.locked_memory_limit(),
            is_privileged: own.has(Capability::IpcLock) == Some(true) && !own.is_in_user_namespace(),
        }
    }
}

fn awake(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(ENOENT) => format!(
            "this kernel has no {CPU_DMA_LATENCY} (CONFIG_CPU_IDLE), so its CPUs do not enter deep idle states; remove the key"
        ),
        Some(EACCES | EPERM) => format!(
            "{CPU_DMA_LATENCY} is writable by root only; run candor as root, or grant it to a group with a udev rule: \
             KERNEL==\"cpu_dma_latency\", GROUP=\"candor\", MODE=\"0660\""
        ),
        _ => format!("writing to {CPU_DMA_LATENCY} failed"),
    }
}

fn memory(errno: Option<i32>, limit: Option<Limit>, is_privileged: bool) -> String {
    match (errno, limit) {
        (Some(EPERM | EAGAIN | ENOMEM), Some(Limit::UpTo(bytes))) if !is_privileged => format!(
            "without CAP_IPC_LOCK this process may lock {} KiB (RLIMIT_MEMLOCK) and needs more; run it as root, or: sudo \
             setcap cap_ipc_lock+ep $(command -v candor), or LimitMEMLOCK=infinity in its systemd unit, or in a shell: \
             ulimit -l unlimited",
            bytes / 1024
        ),
        (Some(EAGAIN | ENOMEM), _) => "the machine has too little memory".into(),
        (Some(errno), _) => io::Error::from_raw_os_error(errno).to_string(),
        (None, _) => "the kernel refused".into(),
    }
}

fn not_permitted(sched: Sched, limit: Option<Limit>, in_container: bool) -> String {
    let priority = sched.priority().map_or(0, |priority| priority.number());
    let limit = match limit {
        Some(Limit::UpTo(limit)) => format!("RLIMIT_RTPRIO is {limit}"),
        Some(Limit::Unlimited) | None => "RLIMIT_RTPRIO does not limit it".into(),
    };
    if in_container {
        return format!(
            "this process is in its own user namespace, where CAP_SYS_NICE has no effect, and {limit}; start the \
             container with that limit raised (--ulimit rtprio={priority})"
        );
    }
    format!(
        "this process has no CAP_SYS_NICE, and {limit}; run it as root, or: sudo setcap cap_sys_nice+ep $(command -v \
         candor), or LimitRTPRIO={priority} in its systemd unit, or in a shell: ulimit -r {priority}"
    )
}

#[cfg(test)]
mod tests {
    use candor_core::realtime::RtPriority;

    use super::*;

    const FIFO: Sched = Sched::Fifo(match RtPriority::new(80) {
        Some(priority) => priority,
        None => panic!("80 is a priority"),
    });

    /// A fake /proc whose own process has these capabilities, this priority limit and this user map.
    fn machine(capabilities: &str, rtprio: &str, uid_map: &str) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        for (path, text) in [
            ("/proc/self/status", format!("CapEff:\t{capabilities}\n")),
            (
                "/proc/self/limits",
                format!("Max locked memory    65536   65536  bytes\nMax realtime priority   {rtprio} 0\n"),
            ),
            ("/proc/self/uid_map", uid_map.to_owned()),
            ("/proc/self/cgroup", "4:cpuset,cpu:/limited\n".to_owned()),
            ("/sys/devices/system/cpu/online", "0-3\n".to_owned()),
        ] {
            std::fs::create_dir_all(machine.path(path).parent().unwrap()).unwrap();
            std::fs::write(machine.path(path), text).unwrap();
        }
        (root, machine)
    }

    const INITIAL: &str = "0 0 4294967295";
    const NICE: &str = "0000000000800000";
    const NONE: &str = "0000000000000000";

    #[test]
    fn a_refused_policy_has_its_cause_and_remedy() {
        for (capabilities, rtprio, uid_map, words) in [
            (NONE, "0", INITIAL, ["no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0", "ulimit -r 80"]),
            (NONE, "79", INITIAL, ["RLIMIT_RTPRIO is 79", "LimitRTPRIO=80"]),
            (NICE, "0", "0 1000 1", ["user namespace", "--ulimit rtprio=80"]),
            (NICE, "0", INITIAL, ["control group /limited has no real-time budget", "cpu.rt_runtime_us"]),
            (NONE, "80", INITIAL, ["control group /limited has no real-time budget", "root group"]),
            (NONE, "unlimited", INITIAL, ["control group /limited", "cpu.rt_runtime_us"]),
        ] {
            let (_root, machine) = machine(capabilities, rtprio, uid_map);
            let text = RealtimeError::sched(FIFO, io::Error::from_raw_os_error(EPERM), &machine).to_string();
            assert!(text.starts_with("cannot set `sched` = \"fifo:80\": "), "{text}");
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn missing_processors_and_a_small_cpuset_are_told_apart() {
        let (_root, machine) = machine(NONE, "0", INITIAL);
        let text = |wanted: &[u16], given: io::Result<Vec<Cpu>>| {
            let wanted: Vec<_> = wanted.iter().copied().map(Cpu).collect();
            RealtimeError::cpus(&wanted, given, &machine).to_string()
        };
        let einval = || io::Error::from_raw_os_error(candor_io::errno::EINVAL);
        let said = text(&[2, 8], Ok(vec![Cpu(2)]));
        assert!(said.contains("CPU 8 of `cpus` is not online") && said.contains("online: 0-3"), "{said}");
        assert!(text(&[8], Err(einval())).contains("CPU 8 of `cpus` is not online"));
        let said = text(&[2, 3], Ok(vec![Cpu(2)]));
        assert!(
            said.contains("CPU 3") && said.contains("/limited has 2 only") && said.contains("AllowedCPUs=2-3"),
            "{said}"
        );
        assert!(text(&[2, 3], Err(einval())).contains("none of them"));
    }

    #[test]
    fn refused_memory_and_latency_have_their_remedy() {
        let (_root, unprivileged) = machine(NONE, "0", INITIAL);
        for errno in [EPERM, EAGAIN, ENOMEM] {
            let text = RealtimeError::memory(io::Error::from_raw_os_error(errno), &unprivileged).to_string();
            assert!(text.contains("64 KiB") && text.contains("LimitMEMLOCK=infinity"), "{text}");
        }
        let (_root, privileged) = machine("0000000000004000", "0", INITIAL);
        let text = RealtimeError::memory(io::Error::from_raw_os_error(ENOMEM), &privileged).to_string();
        assert!(text.contains("too little memory"), "{text}");
        let awake = |errno| RealtimeError::Awake(io::Error::from_raw_os_error(errno)).to_string();
        assert!(awake(ENOENT).contains("remove the key") && awake(EACCES).contains("udev"));
    }
}
