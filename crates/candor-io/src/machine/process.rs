//! Processes, from `/proc/PID`.

use candor_core::realtime::{self, Cpu};

use super::Machine;

/// Capabilities, as in `include/uapi/linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `CAP_IPC_LOCK`: lock memory.
    IpcLock = 14,
    /// `CAP_NET_ADMIN`: change can-gw, interfaces and queues.
    NetAdmin = 12,
    /// `CAP_NET_RAW`: packet sockets.
    NetRaw = 13,
    /// `CAP_SYS_NICE`: real-time policies.
    SysNice = 23,
}

impl Capability {
    /// The name in the kernel headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysNice => "CAP_SYS_NICE",
        }
    }
}

/// A soft resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    UpTo(u64),
    /// `unlimited`.
    Unlimited,
}

/// Scheduling policy: the numbers of `include/uapi/linux/sched.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// 0 other, 1 fifo, 2 rr, 3 batch, 5 idle, 6 deadline.
    pub number: u32,
    /// 1 to 99 for fifo and rr, otherwise 0.
    pub priority: u32,
}

impl Policy {
    /// True for fifo, rr and deadline.
    #[must_use]
    pub const fn is_realtime(self) -> bool {
        matches!(self.number, 1 | 2 | 6)
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            0 => f.write_str("other"),
            1 => write!(f, "fifo:{}", self.priority),
            2 => write!(f, "rr:{}", self.priority),
            3 => f.write_str("batch"),
            5 => f.write_str("idle"),
            6 => f.write_str("deadline"),
            other => write!(f, "policy {other}"),
        }
    }
}

/// A process, which may have ended: unreadable values are `None`.
#[derive(Clone, Debug)]
pub struct Process<'m> {
    machine: &'m Machine,
    folder: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub tid: u32,
    /// Name, cut to 15 bytes.
    pub name: String,
    pub policy: Policy,
    pub cpus: Vec<Cpu>,
}

impl Machine {
    #[must_use]
    pub fn own(&self) -> Process<'_> {
        Process { machine: self, folder: "/proc/self".into() }
    }

    #[must_use]
    pub fn process(&self, pid: u32) -> Process<'_> {
        Process { machine: self, folder: format!("/proc/{pid}") }
    }
}

impl Process<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.machine.text(&format!("{}/{name}", self.folder))
    }

    /// A field of `status`, such as `CapEff`.
    #[must_use]
    pub fn status(&self, key: &str) -> Option<String> {
        field(&self.text("status")?, key).map(str::to_owned)
    }

    /// True if the capability is effective.
    #[must_use]
    pub fn has(&self, capability: Capability) -> Option<bool> {
        let bits = u64::from_str_radix(&self.status("CapEff")?, 16).ok()?;
        Some(bits >> capability as u32 & 1 == 1)
    }

    /// True if it is in a user namespace, where capabilities do not apply to the whole machine.
    #[must_use]
    pub fn is_in_user_namespace(&self) -> bool {
        /// The identity map of all 2³² - 1 ids.
        const INITIAL: [&str; 3] = ["0", "0", "4294967295"];
        self.text("uid_map").is_some_and(|map| map.split_whitespace().ne(INITIAL))
    }

    /// A soft limit by its name in `limits`.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<Limit> {
        let limits = self.text("limits")?;
        let soft = limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
        if soft == "unlimited" { Some(Limit::Unlimited) } else { soft.parse().ok().map(Limit::UpTo) }
    }

    /// `RLIMIT_RTPRIO`: the highest priority without CAP_SYS_NICE.
    #[must_use]
    pub fn realtime_limit(&self) -> Option<Limit> {
        self.limit("Max realtime priority")
    }

    /// `RLIMIT_MEMLOCK`: bytes that may be locked without CAP_IPC_LOCK.
    #[must_use]
    pub fn locked_memory_limit(&self) -> Option<Limit> {
        self.limit("Max locked memory")
    }

    /// Its cgroup; with several hierarchies that of the `cpu` controller.
    #[must_use]
    pub fn control_group(&self) -> Option<String> {
        let groups = self.text("cgroup")?;
        let parts = |line: &str| line.splitn(3, ':').map(str::to_owned).collect::<Vec<_>>();
        let groups: Vec<_> = groups.lines().map(parts).filter(|parts| parts.len() == 3).collect();
        let of_cpu = groups.iter().find(|parts| parts[1].split(',').any(|controller| controller == "cpu"));
        of_cpu.or_else(|| groups.first()).map(|parts| parts[2].clone())
    }

    /// Its threads, by thread id.
    #[must_use]
    pub fn threads(&self) -> Vec<Thread> {
        let folder = format!("{}/task", self.folder);
        let mut tids: Vec<u32> = self.machine.names(&folder).iter().filter_map(|name| name.parse().ok()).collect();
        candor_core::order::sort(&mut tids);
        tids.into_iter().filter_map(|tid| self.thread(tid)).collect()
    }

    fn thread(&self, tid: u32) -> Option<Thread> {
        let stat = self.text(&format!("task/{tid}/stat"))?;
        let status = self.text(&format!("task/{tid}/status"))?;
        let (name, policy) = stat_of(&stat)?;
        let cpus = field(&status, "Cpus_allowed_list").and_then(realtime::cpu_list).unwrap_or_default();
        Some(Thread { tid, name, policy, cpus })
    }

    /// Name and policy of the main thread.
    #[must_use]
    pub fn main_thread(&self) -> Option<(String, Policy)> {
        stat_of(&self.text("stat")?)
    }

    /// True if it has the file open; `None` without permission.
    #[must_use]
    pub fn has_open(&self, path: &str) -> Option<bool> {
        let folder = self.machine.path(&format!("{}/fd", self.folder));
        let open = std::fs::read_dir(folder).ok()?.flatten();
        Some(open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|file| file.as_os_str() == path))
    }
}

fn field<'t>(status: &'t str, key: &str) -> Option<&'t str> {
    status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// Fields 2, 40 and 41 of `stat`. The name is in parentheses and may contain some.
fn stat_of(stat: &str) -> Option<(String, Policy)> {
    let (start, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(start + 1..end)?.to_owned();
    let mut rest = stat.get(end + 1..)?.split_whitespace().skip(40 - 3);
    let (priority, number) = (rest.next()?.parse().ok()?, rest.next()?.parse().ok()?);
    Some((name, Policy { number, priority }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine of these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        for (path, text) in files {
            fs::create_dir_all(machine.path(path).parent().unwrap()).unwrap();
            fs::write(machine.path(path), text).unwrap();
        }
        (root, machine)
    }

    #[test]
    fn what_proc_says_is_read() {
        let (_root, machine) = machine(&[
            ("/proc/self/status", "Name:\tcandor\nCapEff:\t0000000000803000\nVmLck:\t    5120 kB\n"),
            ("/proc/self/uid_map", "         0          0 4294967295\n"),
            ("/proc/7/uid_map", "         0       1000          1\n"),
            (
                "/proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max locked memory         8388608              8388608              bytes     \n\
                 Max realtime priority     unlimited            unlimited            \n",
            ),
            ("/proc/self/cgroup", "3:cpu,cpuacct:/user.slice\n1:name=systemd:/a\n0::/b\n"),
            ("/proc/7/cgroup", "0::/system.slice/candor.service\n"),
        ]);
        let (own, other) = (machine.own(), machine.process(7));
        let has =
            [Capability::NetAdmin, Capability::NetRaw, Capability::IpcLock, Capability::SysNice].map(|it| own.has(it));
        assert_eq!(has, [Some(true), Some(true), Some(false), Some(true)]);
        assert_eq!(other.has(Capability::NetAdmin), None);
        assert_eq!((own.is_in_user_namespace(), other.is_in_user_namespace()), (false, true));
        assert_eq!(own.locked_memory_limit(), Some(Limit::UpTo(8 << 20)));
        assert_eq!(own.realtime_limit(), Some(Limit::Unlimited));
        assert_eq!(own.control_group().unwrap(), "/user.slice");
        assert_eq!(other.control_group().unwrap(), "/system.slice/candor.service");
        assert_eq!(own.status("VmLck").unwrap(), "5120 kB");
    }

    #[test]
    fn threads_are_read_whatever_their_name_is() {
        let stat = |name: &str, priority, policy| {
            let zeros = "0 ".repeat(36);
            format!("9 ({name}) S {zeros}{priority} {policy} 0 0 0 0\n")
        };
        let (_root, machine) = machine(&[
            ("/proc/9/task/9/stat", &stat("candor", 0, 0)),
            ("/proc/9/task/9/status", "Cpus_allowed_list:\t0-3\n"),
            ("/proc/9/task/10/stat", &stat("route-a) (b", 80, 1)),
            ("/proc/9/task/10/status", "Cpus_allowed_list:\t2\n"),
        ]);
        let threads = machine.process(9).threads();
        let listed: Vec<_> = threads.iter().map(|it| (it.tid, it.name.as_str(), it.policy.to_string())).collect();
        assert_eq!(listed, [(9, "candor", "other".to_owned()), (10, "route-a) (b", "fifo:80".to_owned())]);
        assert_eq!(threads[1].cpus, [Cpu(2)]);
        assert!(machine.process(8).threads().is_empty());
    }

    #[test]
    fn this_process_is_read() {
        let machine = Machine::here();
        let threads = machine.own().threads();
        assert!(
            threads.iter().any(|thread| thread.tid == std::process::id() && !thread.cpus.is_empty()),
            "{threads:?}"
        );
        assert!(machine.own().has(Capability::NetAdmin).is_some() && machine.own().locked_memory_limit().is_some());
        assert!(!machine.online_cpus().is_empty());
        assert_eq!(machine.own().has_open("/no such file"), Some(false));
    }
}
