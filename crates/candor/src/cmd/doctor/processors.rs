//! CPUs of the forwarding threads: clock, sleep states, isolation and throttling.

use candor_core::realtime::{Cpu, CpuList};
use candor_io::machine::Machine;

use super::check::{self, Check};
use super::needs::Needs;

/// Below this, the wake-up is small compared with the rest of the latency.
const QUICK_US: i64 = 20;

pub(super) fn checks(machine: &Machine, needs: &Needs) -> Vec<Check> {
    let online = machine.online_cpus();
    let usable = needs.cpus(&online);
    let mut checks = vec![cpus(&online, needs), governor(machine, &usable), sleep(machine, &usable, needs)];
    checks.push(siblings(machine, &usable, needs));
    checks.push(isolation(machine, &usable, needs));
    checks.push(throttling(machine, &online, needs));
    checks
}

fn cpus(online: &[Cpu], needs: &Needs) -> Check {
    let wanted = &needs.realtime.cpus;
    let lacking: Vec<_> = wanted.iter().copied().filter(|cpu| !online.contains(cpu)).collect();
    let run = format!("{} online ({})", online.len(), CpuList(online));
    if needs.engine.is_some() && !lacking.is_empty() {
        return check::CPUS.missing(
            format!("no CPU {}; {run}", CpuList(&lacking)),
            "set `cpus` in [realtime] to CPUs that are online",
        );
    }
    if needs.engine.is_some() && !wanted.is_empty() {
        return check::CPUS.ok(format!("threads run on {}; {run}", CpuList(wanted)));
    }
    check::CPUS.ok(run)
}

fn governor(machine: &Machine, cpus: &[Cpu]) -> Check {
    let of = |cpu: &Cpu| machine.text(&format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu.0));
    let mut slow: Vec<(String, Vec<Cpu>)> = Vec::new();
    let mut governed = 0;
    for (cpu, governor) in cpus.iter().filter_map(|cpu| Some((*cpu, of(cpu)?))) {
        governed += 1;
        if governor != "performance" {
            match slow.iter_mut().find(|(name, _)| *name == governor) {
                Some((_, cpus)) => cpus.push(cpu),
                None => slow.push((governor, vec![cpu])),
            }
        }
    }
    if governed == 0 {
        return check::GOVERNOR.ok("none: the kernel does not control the clock");
    }
    if slow.is_empty() {
        return check::GOVERNOR.ok("performance");
    }
    let found: Vec<_> = slow.iter().map(|(name, cpus)| format!("{name} on {}", CpuList(cpus))).collect();
    check::GOVERNOR.weak(
        format!("{}: after a pause the clock is low", found.join(", ")),
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )
}

fn sleep(machine: &Machine, cpus: &[Cpu], needs: &Needs) -> Check {
    let deepest = cpus.iter().filter_map(|cpu| {
        let folder = format!("/sys/devices/system/cpu/cpu{}/cpuidle", cpu.0);
        let states = machine.names(&folder);
        let enabled = states.iter().filter(|state| machine.number(&format!("{folder}/{state}/disable")) != Some(1));
        enabled.filter_map(|state| machine.number(&format!("{folder}/{state}/latency"))).max()
    });
    let Some(deepest) = deepest.max() else {
        return check::SLEEP.ok("none known to the kernel");
    };
    let limit = needs.realtime.cpu_dma_latency.and_then(|limit| i64::try_from(limit.as_micros()).ok());
    match limit {
        Some(limit) => check::SLEEP.ok(format!("up to {deepest} us to wake up, {limit} us while candor runs")),
        None if deepest <= QUICK_US => check::SLEEP.ok(format!("{deepest} us to wake up at most")),
        None => check::SLEEP.weak(
            format!("a CPU may take {deepest} us to wake up"),
            "set cpu-dma-latency = \"0us\" in [realtime] (costs power)",
        ),
    }
}

fn siblings(machine: &Machine, cpus: &[Cpu], needs: &Needs) -> Check {
    if machine.number("/sys/devices/system/cpu/smt/active") != Some(1) {
        return check::SIBLINGS.ok("one CPU per core");
    }
    let of = |cpu: &Cpu| machine.cpus(&format!("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu.0));
    let is_pinned = needs.engine.is_some() && !needs.realtime.cpus.is_empty();
    let shared = cpus.iter().find_map(|cpu| {
        let others: Vec<_> = of(cpu).into_iter().filter(|other| !cpus.contains(other)).collect();
        (!others.is_empty()).then_some((*cpu, others))
    });
    match shared.filter(|_| is_pinned) {
        Some((cpu, others)) => check::SIBLINGS.weak(
            format!("CPU {} shares its core with {}, which may run other threads", cpu.0, CpuList(&others)),
            format!("echo 0 | sudo tee /sys/devices/system/cpu/cpu{}/online, or boot with nosmt", others[0].0),
        ),
        None => check::SIBLINGS.ok("two CPUs per core"),
    }
}

fn isolation(machine: &Machine, cpus: &[Cpu], needs: &Needs) -> Check {
    let isolated = machine.cpus("/sys/devices/system/cpu/isolated");
    let is_pinned = needs.engine.is_some() && !needs.realtime.cpus.is_empty();
    let lacking: Vec<_> = cpus.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    if is_pinned && !lacking.is_empty() && needs.spins() {
        return check::ISOLATION.weak(
            format!("other threads may run on {}, where candor spins", CpuList(&lacking)),
            format!("boot with isolcpus={} nohz_full={0} rcu_nocbs={0}", CpuList(cpus)),
        );
    }
    check::ISOLATION.ok(if isolated.is_empty() {
        "no CPU is isolated".into()
    } else {
        format!("{} isolated", CpuList(&isolated))
    })
}

fn throttling(machine: &Machine, online: &[Cpu], needs: &Needs) -> Check {
    let number = |name: &str| machine.number(&format!("/proc/sys/kernel/sched_rt_{name}_us"));
    let (Some(runtime), Some(period)) = (number("runtime"), number("period")) else {
        return check::THROTTLING.ok("unknown");
    };
    let is_on = runtime >= 0 && runtime < period;
    let spins_first = needs.spins() && needs.priority().is_some();
    let takes_all = needs.cpus(online).len() == online.len() && online.len() <= 1;
    let found = if is_on {
        format!("real-time threads may run {} ms of every {} ms", runtime / 1000, period / 1000)
    } else {
        "off".to_owned()
    };
    match (spins_first, takes_all, is_on) {
        (true, true, _) => check::THROTTLING.weak(
            format!("{found}; spinning threads use the only CPU, and other programs must wait"),
            "use a receiver that blocks (engine = \"mmap-adaptive\") or sched = \"other\"",
        ),
        (true, false, true) => check::THROTTLING.weak(
            format!("{found}; spinning threads are stopped for the rest"),
            "sudo sysctl kernel.sched_rt_runtime_us=-1, if no other thread needs their CPUs",
        ),
        _ => check::THROTTLING.ok(format!("{found}; irrelevant for threads that block")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{Topic, Verdict};
    use super::super::test_machines::{machine, needs};
    use super::*;

    const FOUR: (&str, &str) = ("/sys/devices/system/cpu/online", "0-3");

    fn one(files: &[(&str, &str)], needs: &Needs, topic: Topic) -> Check {
        let (_root, machine) = machine(files);
        checks(&machine, needs).into_iter().find(|check| check.topic == topic).unwrap()
    }

    #[test]
    fn cpus_of_the_file_must_be_online() {
        let verdict = |cpus: &str, engine: &str| one(&[FOUR], &needs(engine, cpus), check::CPUS).verdict;
        assert_eq!(verdict("cpus = [3]", "read-write"), Verdict::Ok);
        assert_eq!(verdict("cpus = [3, 4]", "read-write"), Verdict::Missing);
        assert_eq!(verdict("cpus = [4]", "kernel"), Verdict::Ok);
    }

    #[test]
    fn only_cpus_of_the_threads_need_a_fast_clock() {
        let governor = |cpu: u16| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        let (zero, one_, two) = (governor(0), governor(1), governor(2));
        let files = [FOUR, (zero.as_str(), "powersave"), (one_.as_str(), "powersave"), (two.as_str(), "performance")];
        let all = one(&files, &needs("read-write", ""), check::GOVERNOR);
        assert_eq!((all.verdict, all.found.starts_with("powersave on 0-1:")), (Verdict::Weak, true), "{}", all.found);
        assert_eq!(one(&files, &needs("read-write", "cpus = [2]"), check::GOVERNOR).verdict, Verdict::Ok);
        assert_eq!(one(&[FOUR], &needs("read-write", ""), check::GOVERNOR).verdict, Verdict::Ok);
    }

    #[test]
    fn deep_sleep_is_weak_without_cpu_dma_latency() {
        let state = |number: u16, file: &str| format!("/sys/devices/system/cpu/cpu0/cpuidle/state{number}/{file}");
        let (shallow, deep, disable) = (state(1, "latency"), state(2, "latency"), state(2, "disable"));
        let files = [FOUR, (shallow.as_str(), "2"), (deep.as_str(), "133"), (disable.as_str(), "0")];
        let verdict = |files: &[(&str, &str)], keys: &str| one(files, &needs("kernel", keys), check::SLEEP).verdict;
        assert_eq!(verdict(&files, ""), Verdict::Weak);
        assert_eq!(verdict(&files, "cpu-dma-latency = \"0us\""), Verdict::Ok);
        assert_eq!(verdict(&[files[0], files[1], files[2], (disable.as_str(), "1")], ""), Verdict::Ok);
        assert_eq!(verdict(&[FOUR], ""), Verdict::Ok);
    }

    #[test]
    fn a_shared_core_and_other_threads_are_weak_for_pinned_threads() {
        let sibling = |cpu: u16| format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let (one_, three) = (sibling(1), sibling(3));
        let smt = [FOUR, ("/sys/devices/system/cpu/smt/active", "1"), (one_.as_str(), "1,3"), (three.as_str(), "1,3")];
        let verdict = |files: &[(&str, &str)], engine, keys, topic| one(files, &needs(engine, keys), topic).verdict;
        assert_eq!(verdict(&smt, "read-write", "cpus = [1]", check::SIBLINGS), Verdict::Weak);
        assert_eq!(verdict(&smt, "read-write", "cpus = [1, 3]", check::SIBLINGS), Verdict::Ok);
        assert_eq!(verdict(&smt, "read-write", "", check::SIBLINGS), Verdict::Ok);
        assert_eq!(verdict(&[FOUR], "read-write", "cpus = [1]", check::SIBLINGS), Verdict::Ok);
        let isolated = [FOUR, ("/sys/devices/system/cpu/isolated", "2-3")];
        assert_eq!(verdict(&isolated, "mmapbusy-write", "cpus = [2]", check::ISOLATION), Verdict::Ok);
        assert_eq!(verdict(&isolated, "mmapbusy-write", "cpus = [1]", check::ISOLATION), Verdict::Weak);
        assert_eq!(verdict(&isolated, "mmap-write", "cpus = [1]", check::ISOLATION), Verdict::Ok);
    }

    #[test]
    fn throttling_stops_spinning_threads() {
        let throttled =
            [("/proc/sys/kernel/sched_rt_runtime_us", "950000"), ("/proc/sys/kernel/sched_rt_period_us", "1000000")];
        let with = |cpus: (&'static str, &'static str)| [cpus, throttled[0], throttled[1]];
        let verdict =
            |files: &[(&str, &str)], engine, keys| one(files, &needs(engine, keys), check::THROTTLING).verdict;
        let fifo = "sched = \"fifo:40\"";
        assert_eq!(verdict(&with(FOUR), "mmapbusy-write", fifo), Verdict::Weak);
        assert_eq!(verdict(&with(FOUR), "mmapbusy-write", ""), Verdict::Ok);
        assert_eq!(verdict(&with(FOUR), "mmap-write", fifo), Verdict::Ok);
        let off = [FOUR, ("/proc/sys/kernel/sched_rt_runtime_us", "-1"), throttled[1]];
        assert_eq!(verdict(&off, "mmapbusy-write", fifo), Verdict::Ok);
        let only = ("/sys/devices/system/cpu/online", "0");
        let found = one(&with(only), &needs("readnb-write", fifo), check::THROTTLING);
        assert!(found.verdict == Verdict::Weak && found.found.contains("the only CPU"), "{}", found.found);
    }
}
