//! Privileges and limits of this process.

use candor_io::machine::{Capability, Limit, Machine};

use super::check::{self, Check};
use super::needs::{Needs, Runs};

/// The result of opening `/dev/cpu_dma_latency`.
pub(super) type Awake = Result<(), std::io::ErrorKind>;

/// More than the memory of candor with its threads and rings.
const PLENTY_BYTES: u64 = 64 << 20;

pub(super) fn checks(machine: &Machine, awake: Awake, needs: &Needs) -> Vec<Check> {
    let mut checks = vec![capabilities(machine, needs)];
    // Limits matter only if there are threads.
    let threads = needs.engine.is_some();
    checks.extend(needs.realtime.sched.filter(|_| threads).map(|_| priority(machine, needs)));
    checks.extend(timeout(machine, needs));
    checks.extend((needs.realtime.lock_memory && threads).then(|| memory(machine)));
    checks.extend(needs.realtime.cpu_dma_latency.map(|_| self::awake(awake)));
    checks
}

fn has(machine: &Machine, capability: Capability) -> bool {
    machine.own().has(capability) == Some(true)
}

fn capabilities(machine: &Machine, needs: &Needs) -> Check {
    use Capability::{IpcLock, NetAdmin, NetRaw, SysNice};

    let all = [NetAdmin, NetRaw, SysNice, IpcLock];
    let names =
        |capabilities: Vec<Capability>| capabilities.into_iter().map(Capability::name).collect::<Vec<_>>().join(", ");
    let (there, not): (Vec<_>, Vec<_>) = all.into_iter().partition(|capability| has(machine, *capability));
    let found = match (there.is_empty(), not.is_empty()) {
        (_, true) => names(there),
        (true, false) => format!("none of {}", names(not)),
        (false, false) => format!("{}; not {}", names(there), names(not)),
    };
    let has_ring = needs.engine.is_some_and(|engine| engine.receiver().has_ring() || engine.sender().has_ring());
    if machine.own().is_in_user_namespace() && matches!(needs.runs, Runs::Kernel | Runs::KernelIfThere | Runs::Unknown)
    {
        let found = format!("{found}, but in a user namespace, where can-gw accepts no jobs");
        let remedy = "run candor outside of the container, or with a user-space engine";
        return check::CAPABILITIES.lacks(needs.runs == Runs::Kernel, found, remedy);
    }
    let uses_kernel = matches!(needs.runs, Runs::Kernel | Runs::KernelIfThere);
    let needed = [(NetAdmin, uses_kernel, needs.runs == Runs::Kernel), (NetRaw, has_ring, needs.is_named)];
    let lacking = needed.into_iter().filter(|(capability, is_needed, _)| *is_needed && !has(machine, *capability));
    let (required, useful): (Vec<_>, Vec<_>) = lacking.partition(|(.., is_required)| *is_required);
    let is_required = !required.is_empty();
    let lacking = if is_required { required } else { useful };
    if lacking.is_empty() {
        return check::CAPABILITIES.ok(found);
    }
    let list: Vec<_> = lacking.into_iter().map(|(capability, ..)| capability.name().to_lowercase()).collect();
    let remedy = format!("run candor as root, or: sudo setcap {}+ep $(command -v candor)", list.join(","));
    check::CAPABILITIES.lacks(is_required, found, remedy)
}

fn priority(machine: &Machine, needs: &Needs) -> Check {
    let Some(priority) = needs.priority() else { return check::PRIORITY.ok("other needs no privileges") };
    let own = machine.own();
    let is_within = own.realtime_limit().is_some_and(|limit| limit >= Limit::UpTo(priority.number().into()));
    let by_capability = has(machine, Capability::SysNice) && !own.is_in_user_namespace();
    match (by_capability, is_within, own.realtime_limit()) {
        (true, ..) => check::PRIORITY.ok("any priority, by CAP_SYS_NICE"),
        (_, true, _) => check::PRIORITY.ok(format!("priority {priority}, by RLIMIT_RTPRIO")),
        (_, _, limit) => {
            let limit = limit.map_or_else(|| "unknown".to_owned(), text);
            check::PRIORITY.missing(format!("no CAP_SYS_NICE, and RLIMIT_RTPRIO is {limit}; the file sets {priority}"),
                format!(
                    "run candor as root, or: sudo setcap cap_sys_nice+ep $(command -v candor), LimitRTPRIO={priority}, ulimit \
                     -r {priority}"
                ),
            )
        }
    }
}

/// The kernel kills a real-time thread that runs this long without blocking.
fn timeout(machine: &Machine, needs: &Needs) -> Option<Check> {
    needs.priority().filter(|_| needs.spins())?;
    Some(match machine.own().limit("Max realtime timeout") {
        Some(Limit::UpTo(microseconds)) => check::TIMEOUT.missing(
            format!("a spinning thread is killed (SIGXCPU) after {microseconds} us"),
            "LimitRTTIME=infinity in the unit, or ulimit -R unlimited, or a receiver that blocks (mmap)",
        ),
        Some(Limit::Unlimited) | None => check::TIMEOUT.ok("none"),
    })
}

fn memory(machine: &Machine) -> Check {
    let own = machine.own();
    let remedy = "run candor as root, or: sudo setcap cap_ipc_lock+ep $(command -v candor), LimitMEMLOCK=infinity, ulimit -l \
                  unlimited";
    match own.locked_memory_limit() {
        _ if has(machine, Capability::IpcLock) && !own.is_in_user_namespace() => {
            check::MEMORY.ok("unlimited, by CAP_IPC_LOCK")
        }
        Some(Limit::UpTo(bytes)) if bytes < PLENTY_BYTES => {
            check::MEMORY.missing(format!("only {} KiB may be locked", bytes / 1024), remedy)
        }
        Some(limit) => check::MEMORY.ok(format!("up to {} bytes, by RLIMIT_MEMLOCK", text(limit))),
        None => check::MEMORY.weak("the limit of locked memory is unknown", remedy),
    }
}

fn awake(awake: Awake) -> Check {
    match awake {
        Ok(()) => check::AWAKE.ok("/dev/cpu_dma_latency can be opened"),
        Err(std::io::ErrorKind::NotFound) => check::AWAKE.missing(
            "this kernel has no /dev/cpu_dma_latency",
            "remove the key: the CPUs do not enter deep sleep states",
        ),
        Err(why) => check::AWAKE.missing(
            format!("cannot open /dev/cpu_dma_latency: {why}"),
            "run candor as root, or a udev rule: KERNEL==\"cpu_dma_latency\", GROUP=\"candor\", MODE=\"0660\"",
        ),
    }
}

fn text(limit: Limit) -> String {
    match limit {
        Limit::UpTo(limit) => limit.to_string(),
        Limit::Unlimited => "unlimited".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::super::check::Verdict;
    use super::super::test_machines::{machine, needs};
    use super::*;

    const ROOT: &str = "000001ffffffffff";
    const NO_CAPABILITY: &str = "0000000000000000";
    const RAW: &str = "0000000000002000";
    const NICE: &str = "0000000000800000";

    fn verdicts(
        capabilities: &str,
        limits: &str,
        uid_map: &str,
        awake: Awake,
        needs: &Needs,
    ) -> Vec<(&'static str, Verdict)> {
        let status = format!("CapEff:\t{capabilities}\n");
        let (_root, machine) =
            machine(&[("/proc/self/status", &status), ("/proc/self/limits", limits), ("/proc/self/uid_map", uid_map)]);
        checks(&machine, awake, needs).iter().map(|check| (check.topic.name, check.verdict)).collect()
    }

    const INITIAL: &str = "0 0 4294967295";
    const LOW: &str =
        "Max locked memory 65536 65536 bytes\nMax realtime priority 0 0\nMax realtime timeout unlimited x us\n";

    #[test]
    fn capabilities_are_compared_with_the_engine() {
        let capabilities = |has, engine| verdicts(has, LOW, INITIAL, Ok(()), &needs(engine, ""))[0].1;
        assert_eq!(capabilities(ROOT, "kernel"), Verdict::Ok);
        assert_eq!(capabilities(NO_CAPABILITY, "kernel"), Verdict::Missing);
        assert_eq!(capabilities(NO_CAPABILITY, "auto"), Verdict::Weak);
        assert_eq!(capabilities(NO_CAPABILITY, "read-write"), Verdict::Ok);
        assert_eq!(capabilities(NO_CAPABILITY, "mmap-write"), Verdict::Missing);
        assert_eq!(capabilities(RAW, "mmap-write"), Verdict::Ok);
        let contained = |engine| verdicts(ROOT, LOW, "0 1000 1", Ok(()), &needs(engine, ""))[0].1;
        assert_eq!(
            [contained("kernel"), contained("auto"), contained("read-write")],
            [Verdict::Missing, Verdict::Weak, Verdict::Ok]
        );
    }

    #[test]
    fn realtime_is_compared_with_capabilities_and_limits() {
        let all = needs("mmapbusy-write", "sched = \"fifo:40\"\nlock-memory = true\ncpu-dma-latency = \"0us\"");
        let names = ["capabilities", "sched", "time limit", "lock-memory", "cpu-dma-latency"];
        let with = |verdicts: [Verdict; 5]| names.into_iter().zip(verdicts).collect::<Vec<_>>();
        use Verdict::{Missing, Ok as Fine};
        assert_eq!(verdicts(ROOT, LOW, INITIAL, Ok(()), &all), with([Fine; 5]));
        let found = verdicts(NO_CAPABILITY, LOW, INITIAL, Err(ErrorKind::PermissionDenied), &all);
        assert_eq!(found, with([Missing, Missing, Fine, Missing, Missing]));
        let raised =
            "Max locked memory unlimited x bytes\nMax realtime priority 40 40\nMax realtime timeout 200000 x us\n";
        let found = verdicts(RAW, raised, INITIAL, Err(ErrorKind::NotFound), &all);
        assert_eq!(found, with([Fine, Fine, Missing, Fine, Missing]));
        // In a user namespace only the limit counts.
        assert_eq!(verdicts(NICE, LOW, "0 1000 1", Ok(()), &all)[1].1, Missing);
        // Without threads there is nothing to check.
        let kernel = needs("kernel", "sched = \"fifo:40\"\nlock-memory = true");
        assert_eq!(verdicts(ROOT, LOW, INITIAL, Ok(()), &kernel), [("capabilities", Fine)]);
    }
}
