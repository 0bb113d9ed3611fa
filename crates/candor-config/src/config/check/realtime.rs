//! `[realtime]`: settings of the threads in user space, and whether there are any threads.

use std::time::Duration;

use crate::config::code;
use crate::config::spec::{CpusSpec, RealtimeSpec, Spec};
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{Engine, Plan, RouteIndex};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::{Text, quote};
use candor_core::realtime::{Cpu, CpuList, Realtime, Sched, SchedError};
use candor_core::units::parse_duration_or_zero;

/// No CPU takes longer to wake up; larger values would have no effect.
const MAX_LATENCY: Duration = Duration::from_secs(1);

pub(super) fn realtime(spec: &RealtimeSpec, findings: &mut Findings) -> Realtime {
    Realtime {
        sched: spec.sched.as_ref().and_then(|written| sched(written, findings)),
        cpus: spec.cpus.as_ref().map_or_else(Vec::new, |written| cpus(written, findings)),
        lock_memory: spec.lock_memory.as_ref().is_some_and(|lock| lock.value),
        cpu_dma_latency: spec.cpu_dma_latency.as_ref().and_then(|written| latency(written, findings)),
    }
}

fn sched(written: &Text, findings: &mut Findings) -> Option<Sched> {
    let message = match written.value.parse() {
        Ok(sched) => return Some(sched),
        Err(SchedError::Unknown) => format!("Unknown scheduling policy {}", quote(&written.value)),
        Err(error) => error.to_string(),
    };
    let help = "use \"fifo:N\", \"rr:N\" (round robin among threads of equal priority) or \"other\" (no real-time policy); \
                N is 1 to 99, and interrupt threads have 50";
    findings.error(code::SCHED, &written.span, message, help);
    None
}

fn cpus(written: &CpusSpec, findings: &mut Findings) -> Vec<Cpu> {
    let mut refuse = |span, message: String| {
        findings.error(code::CPUS, span, message, "write CPU numbers, such as [2, 3]; `lscpu -e` lists them");
    };
    if written.numbers.is_empty() {
        refuse(&written.span, "The list of CPUs is empty".into());
    }
    let mut cpus = Vec::new();
    for number in &written.numbers {
        match u16::try_from(number.value) {
            Ok(cpu) if cpus.contains(&Cpu(cpu)) => refuse(&number.span, format!("CPU {cpu} is listed twice")),
            Ok(cpu) if cpu <= Cpu::MAX => cpus.push(Cpu(cpu)),
            _ => refuse(&number.span, format!("CPU numbers are 0 to {}, not {}", Cpu::MAX, number.value)),
        }
    }
    candor_core::order::sort(&mut cpus);
    cpus
}

fn latency(written: &Text, findings: &mut Findings) -> Option<Duration> {
    let latency = parse_duration_or_zero(&written.value);
    let message = match &latency {
        Ok(latency) if *latency > MAX_LATENCY => "`cpu-dma-latency` must be at most 1 second".into(),
        Ok(latency) if latency.subsec_nanos() % 1000 != 0 => {
            "`cpu-dma-latency` must be a whole number of microseconds".into()
        }
        Ok(_) => return latency.ok(),
        Err(error) => error.to_string(),
    };
    let help =
        "write the longest wake-up time of a CPU in whole microseconds, at most 1s; \"0us\" keeps it from sleeping";
    findings.error(code::DURATION, &written.span, message, help);
    None
}

/// Warns of real-time settings without effect, and of spinning threads that share a CPU.
pub(super) fn has_effect(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Some(written) = &spec.realtime else { return };
    if plan.realtime().is_for_threads() && !has_threads(plan) {
        idle(plan, written, findings);
    }
    if let Engine::User(engine) = plan.engine()
        && engine.receiver().spins()
    {
        spinners(plan, written, findings);
    }
}

/// Returns true if a frame is composed, or some route runs in user space even on a kernel with every can-gw feature.
fn has_threads(plan: &Plan) -> bool {
    if plan.composing_buses().next().is_some() {
        return true;
    }
    let placement = Placement::of(plan, KernelAbilities::NEWEST);
    let is_user =
        |placement: Placement| (0..plan.routes().len()).any(|at| placement.side(RouteIndex(at)) == Side::User);
    placement.is_ok_and(is_user)
}

fn idle(plan: &Plan, written: &RealtimeSpec, findings: &mut Findings) {
    let keys = [
        ("`sched`", written.sched.as_ref().map(|sched| &sched.span)),
        ("`cpus`", written.cpus.as_ref().map(|cpus| &cpus.span)),
        ("`lock-memory`", written.lock_memory.as_ref().filter(|lock| lock.value).map(|lock| &lock.span)),
    ];
    let (names, spans): (Vec<_>, Vec<_>) = keys.into_iter().filter_map(|(key, span)| Some((key, span?))).unzip();
    let Some(span) = spans.first() else { return };
    let (names, does) = (names.join(" and "), if spans.len() == 1 { "has" } else { "have" });
    let (message, help) = match plan.engine() {
        Engine::Auto => (
            format!("{names} {does} no effect while all routes run in the kernel"),
            "can-gw has no threads, it forwards in the softirq that received the frame; `candor run` reports where each \
             route runs",
        ),
        Engine::Bpf => (
            format!("{names} {does} no effect on eBPF programs, which have no threads"),
            "they run in the softirq that received the frame; set the priority and the CPU of the interrupt (see `candor doctor`)",
        ),
        _ => (
            format!("{names} {does} no effect on can-gw, which has no threads"),
            "it forwards in the softirq that received the frame; set the priority and the CPU of the interrupt (see \
             `candor doctor`), or use a user-space engine",
        ),
    };
    findings.report(Diagnostic::warning(code::REALTIME_IS_IDLE, (*span).clone(), message).help(help));
}

/// A thread that spins with a real-time policy never yields its CPU to another one of the same priority.
fn spinners(plan: &Plan, written: &RealtimeSpec, findings: &mut Findings) {
    let Realtime { sched, cpus, .. } = plan.realtime();
    let Some((sched, place)) = sched.filter(|sched| sched.priority().is_some()).zip(written.cpus.as_ref()) else {
        return;
    };
    let mut sources: Vec<_> = plan.routes().iter().map(|route| route.from).collect();
    candor_core::order::sort(&mut sources);
    sources.dedup();
    if sources.len() <= cpus.len() {
        return;
    }
    let effect = match sched {
        Sched::RoundRobin(_) => "they take turns of 100 ms, and frames wait that long",
        _ => "the others never run, and nothing is forwarded from their buses",
    };
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let message = format!("{} threads spin at {sched} on {noun} {}", sources.len(), CpuList(cpus));
    findings.report(
        Diagnostic::warning(code::SPINNERS_SHARE, place.span.clone(), message)
            .label(effect)
            .help("list one CPU per source bus, or use a receiver that sleeps, such as mmap"),
    );
}
