//! `[realtime]`: the settings of the file, and those in effect in running gateways.

use candor_config::plan::Plan;
use candor_core::realtime::{Cpu, CpuList, Realtime};
use candor_engine::realtime::{self as engine, Obtained};
use candor_io::machine::{Machine, Thread};
use serde::Serialize;

/// The line below the engine; empty without `[realtime]`.
pub(super) fn text(plan: &Plan) -> String {
    if plan.realtime().is_empty() {
        return String::new();
    }
    let machine = Machine::here();
    let mut text = format!("real time: {}\n", configured(plan.realtime()));
    for pid in running(plan) {
        let obtained = engine::obtained(&machine, pid);
        text += &format!("           process {pid} has {}\n", obtained_text(plan.realtime(), &obtained));
    }
    text
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RealtimeView {
    sched: Option<String>,
    cpus: Vec<u16>,
    lock_memory: bool,
    cpu_dma_latency_us: Option<u128>,
    obtained: Vec<ProcessView>,
}

/// A gateway that runs this file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProcessView {
    pid: u32,
    #[serde(flatten)]
    obtained: ObtainedView,
}

/// Settings in effect.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObtainedView {
    threads: Vec<ThreadView>,
    locked_kib: u64,
    cpu_dma_latency_held: Option<bool>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ThreadView {
    thread: String,
    tid: u32,
    sched: String,
    cpus: Vec<u16>,
}

/// `None` without `[realtime]`.
pub(super) fn view(plan: &Plan) -> Option<RealtimeView> {
    let Realtime { sched, cpus, lock_memory, cpu_dma_latency } = plan.realtime();
    let machine = Machine::here();
    let process = |pid| ProcessView { pid, obtained: engine::obtained(&machine, pid).into() };
    (!plan.realtime().is_empty()).then(|| RealtimeView {
        sched: sched.map(|sched| sched.to_string()),
        cpus: numbers(cpus),
        lock_memory: *lock_memory,
        cpu_dma_latency_us: cpu_dma_latency.map(|latency| latency.as_micros()),
        obtained: running(plan).into_iter().map(process).collect(),
    })
}

impl From<Obtained> for ObtainedView {
    fn from(obtained: Obtained) -> Self {
        let thread = |thread: Thread| ThreadView {
            thread: thread.name,
            tid: thread.tid,
            sched: thread.policy.to_string(),
            cpus: numbers(&thread.cpus),
        };
        Self {
            threads: obtained.threads.into_iter().map(thread).collect(),
            locked_kib: obtained.locked_kib,
            cpu_dma_latency_held: obtained.keeps_awake,
        }
    }
}

fn numbers(cpus: &[Cpu]) -> Vec<u16> {
    cpus.iter().map(|cpu| cpu.0).collect()
}

/// PIDs of the gateways that run this file; none if they cannot be listed.
fn running(plan: &Plan) -> Vec<u32> {
    engine::running(plan).unwrap_or_default()
}

fn configured(wanted: &Realtime) -> String {
    let sched = wanted.sched.map(|sched| format!("threads {sched}"));
    let cpus = (!wanted.cpus.is_empty()).then(|| format!("on {}", cpus(&CpuList(&wanted.cpus).to_string())));
    let threads = match (sched, cpus) {
        (Some(sched), Some(cpus)) => Some(format!("{sched} {cpus}")),
        (None, Some(cpus)) => Some(format!("threads {cpus}")),
        (sched, None) => sched,
    };
    let memory = wanted.lock_memory.then(|| "memory locked".to_owned());
    let awake = wanted
        .cpu_dma_latency
        .map(|latency| format!("CPUs awake within {} us (/dev/cpu_dma_latency)", latency.as_micros()));
    let parts: Vec<_> = [threads, memory, awake].into_iter().flatten().collect();
    if parts.is_empty() { "settings of the calling process".into() } else { parts.join(", ") }
}

/// The settings in effect.
pub(crate) fn obtained_text(wanted: &Realtime, obtained: &Obtained) -> String {
    let mut parts: Vec<_> = obtained
        .threads
        .iter()
        .map(|thread| format!("{} {} on {}", thread.name, thread.policy, cpus(&CpuList(&thread.cpus).to_string())))
        .collect();
    if wanted.lock_memory || obtained.locked_kib > 0 {
        parts.push(format!("{} KiB locked", obtained.locked_kib));
    }
    if wanted.cpu_dma_latency.is_some() {
        parts.push(match obtained.keeps_awake {
            Some(true) => "/dev/cpu_dma_latency open".into(),
            Some(false) => "/dev/cpu_dma_latency NOT open".into(),
            None => "/dev/cpu_dma_latency: unknown without root".into(),
        });
    }
    parts.join(", ")
}

fn cpus(list: &str) -> String {
    let is_one = list.bytes().all(|byte| byte.is_ascii_digit());
    if is_one { format!("CPU {list}") } else { format!("CPUs {list}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use candor_io::machine::Policy;

    use super::*;

    #[test]
    fn settings_of_the_file_and_in_effect() {
        let wanted = Realtime {
            sched: Some("fifo:80".parse().unwrap()),
            cpus: vec![Cpu(2), Cpu(3)],
            lock_memory: true,
            cpu_dma_latency: Some(Duration::ZERO),
        };
        let thread = Thread {
            tid: 12,
            name: "route-can0".into(),
            policy: Policy { number: 1, priority: 80 },
            cpus: vec![Cpu(2)],
        };
        let obtained = Obtained { threads: vec![thread], locked_kib: 5120, keeps_awake: Some(true) };
        assert_eq!(
            configured(&wanted),
            "threads fifo:80 on CPUs 2-3, memory locked, CPUs awake within 0 us (/dev/cpu_dma_latency)"
        );
        assert_eq!(
            obtained_text(&wanted, &obtained),
            "route-can0 fifo:80 on CPU 2, 5120 KiB locked, /dev/cpu_dma_latency open"
        );
        let only_cpus = Realtime { cpus: vec![Cpu(1)], ..Realtime::default() };
        assert_eq!(configured(&only_cpus), "threads on CPU 1");
    }
}
