//! A check and its result.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Ok,
    /// Works, with higher or less predictable latency.
    Weak,
    /// The gateway cannot run, or not as configured.
    Missing,
}

impl Verdict {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Weak => "weak",
            Self::Missing => "missing",
        }
    }
}

/// Name of a check, and the source of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
}

impl Topic {
    pub(super) fn ok(self, found: impl Into<String>) -> Check {
        Check { topic: self, verdict: Verdict::Ok, found: found.into(), remedy: None }
    }

    pub(super) fn weak(self, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { topic: self, verdict: Verdict::Weak, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn missing(self, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { verdict: Verdict::Missing, ..self.weak(found, remedy) }
    }

    /// Missing if the gateway requires it, otherwise weak.
    pub(super) fn lacks(self, is_required: bool, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        if is_required { self.missing(found, remedy) } else { self.weak(found, remedy) }
    }
}

/// Declares each topic as a constant and all of them as a list.
macro_rules! topics {
    ($($constant:ident = $name:literal, $source:literal;)+) => {
        $(pub(super) const $constant: Topic = Topic { name: $name, source: $source };)+

        #[cfg(test)]
        pub(super) const ALL: &[Topic] = &[$($constant),+];
    };
}

topics! {
    RELEASE = "release", "/proc/sys/kernel/osrelease";
    PREEMPTION = "preemption", "/proc/sys/kernel/version, /sys/kernel/realtime, /sys/kernel/debug/sched/preempt, /proc/cmdline";
    CAN = "can-raw", "socket(PF_CAN, SOCK_RAW, CAN_RAW)";
    CANGW = "can-gw", "RTM_DELROUTE of a job that does not exist, /sys/module/can_gw/parameters/max_hops";
    PROGRAMS = "ebpf", "bpf(BPF_PROG_LOAD) of a classifier, /proc/sys/kernel/osrelease";
    QUEUES = "ebpf queues", "/sys/kernel/btf/vmlinux";
    MODULES = "modules", "/sys/module, /lib/modules/RELEASE/modules.builtin, modules.dep";
    ENGINE = "engine", "sockets, packet rings and io_uring, probed as by candor engines";
    CLOCK = "clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    DEFAULT_QDISC = "default qdisc", "/proc/sys/net/core/default_qdisc, attach_one_default_qdisc() in net/sched/sch_generic.c";
    CAPABILITIES = "capabilities", "CapEff in /proc/self/status, /proc/self/uid_map";
    PRIORITY = "sched", "CAP_SYS_NICE, RLIMIT_RTPRIO in /proc/self/limits";
    TIMEOUT = "time limit", "RLIMIT_RTTIME in /proc/self/limits, watchdog() in kernel/sched/rt.c";
    MEMORY = "lock-memory", "CAP_IPC_LOCK, RLIMIT_MEMLOCK in /proc/self/limits";
    AWAKE = "cpu-dma-latency", "open() of /dev/cpu_dma_latency";
    CPUS = "cpus", "/sys/devices/system/cpu/online";
    GOVERNOR = "governor", "/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor";
    SLEEP = "sleep states", "/sys/devices/system/cpu/cpuN/cpuidle/stateM/latency, disable";
    SIBLINGS = "siblings", "/sys/devices/system/cpu/smt/active, cpuN/topology/thread_siblings_list";
    ISOLATION = "isolation", "/sys/devices/system/cpu/isolated";
    THROTTLING = "throttling", "/proc/sys/kernel/sched_rt_runtime_us, sched_rt_period_us";
    INTERFACE = "interface", "RTM_GETLINK: IFLA_IFNAME, ARPHRD_CAN, IFF_UP";
    STATE = "state", "RTM_GETLINK: IFLA_CAN_STATE";
    BIT_RATE = "bit rate", "RTM_GETLINK: IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING";
    FD = "fd", "RTM_GETLINK: IFLA_MTU";
    RESTART = "restart", "RTM_GETLINK: IFLA_CAN_RESTART_MS";
    QUEUE = "txqueuelen", "RTM_GETLINK: IFLA_TXQLEN";
    QDISC = "qdisc", "RTM_GETQDISC: TCA_KIND of the root";
    BUFFER = "send buffer", "/proc/sys/net/core/wmem_default, truesize of a frame";
    ENOBUFS = "ENOBUFS", "computed from queue, send buffer and driver";
    TRAP = "trap", "candor egress verify";
    DRIVER = "driver", "/sys/class/net/IF/device/driver; echo_skb_max of alloc_candev() in drivers/net/can";
    DEADLINES = "deadlines", "computed from `[[traffic]]`, the drivers of all buses, bands and `txqueuelen`, as by candor bounds";
    NAPI = "napi", "/sys/class/net/IF/threaded, napi/IF-… in /proc/PID/stat";
    BOOT = "boot", "/run/systemd/netif/links/IFINDEX: REQUIRED_FOR_ONLINE, ADMIN_STATE";
    INTERRUPT = "interrupt", "/proc/interrupts, /proc/irq/N/effective_affinity_list, irq/N-… in /proc/PID/stat";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) topic: Topic,
    pub(super) verdict: Verdict,
    pub(super) found: String,
    /// The command or setting that fixes it, unless the verdict is ok.
    pub(super) remedy: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) checks: Vec<Check>,
}
