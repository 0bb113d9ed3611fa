//! `[realtime]`: what the threads of user space are asked for, and whether there are any.

use std::time::Duration;

use crate::config::code;
use crate::config::spec::{CpusSpec, RealtimeSpec, Spec};
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{Engine, Plan, RouteIndex};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::realtime::{Cpu, CpuList, Realtime, Sched, SchedError};
use candor_core::units::parse_duration_or_zero;

/// No processor takes so long to wake up; larger values would ask for nothing.
const MAX_LATENCY: Duration = Duration::from_secs(1);

pub(super) fn realtime(spec: &RealtimeSpec, findings: &mut Findings) -> Option<Realtime> {
    let sched = spec.sched.as_ref().map(|written| sched(written, findings));
    let cpus = spec.cpus.as_ref().map(|written| cpus(written, findings));
    let latency = spec.cpu_dma_latency.as_ref().map(|written| latency(written, findings));
    let realtime = Realtime {
        sched: sched.map_or(Some(None), |sched| sched.map(Some))?,
        cpus: cpus.unwrap_or_else(|| Some(Vec::new()))?,
        lock_memory: spec.lock_memory.as_ref().is_some_and(|lock| lock.value),
        cpu_dma_latency: latency.map_or(Some(None), |latency| latency.map(Some))?,
    };
    (!spec.is_torn).then_some(realtime)
}

fn sched(written: &Spanned<String>, findings: &mut Findings) -> Option<Sched> {
    let error = match written.value.parse() {
        Ok(sched) => return Some(sched),
        Err(error) => error,
    };
    let message = match error {
        SchedError::Unknown => format!("Unknown scheduling policy {}", quote(&written.value)),
        error => error.to_string(),
    };
    findings.report(Diagnostic::error(code::SCHED, written.span.clone(), message).help(
        "use \"fifo:N\", \"rr:N\" (round robin among threads of equal priority) or \"other\" (no real-time policy); N is \
         1 to 99, and interrupt threads have 50",
    ));
    None
}

fn cpus(written: &CpusSpec, findings: &mut Findings) -> Option<Vec<Cpu>> {
    let mut refuse = |span, message: String| {
        findings.report(
            Diagnostic::error(code::CPUS, span, message)
                .help("write CPU numbers, such as [2, 3]; `lscpu -e` lists them"),
        );
        None
    };
    if written.numbers.is_empty() {
        return refuse(written.span.clone(), "The list of CPUs is empty".into());
    }
    let mut cpus = Vec::new();
    for number in &written.numbers {
        let cpu = match u16::try_from(number.value) {
            Ok(cpu) if cpu <= Cpu::MAX => Cpu(cpu),
            _ => {
                let message = format!("CPU numbers are 0 to {}, not {}", Cpu::MAX, number.value);
                return refuse(number.span.clone(), message);
            }
        };
        if cpus.contains(&cpu) {
            return refuse(number.span.clone(), format!("CPU {} is listed twice", cpu.0));
        }
        cpus.push(cpu);
    }
    cpus.sort_unstable();
    Some(cpus)
}

fn latency(written: &Spanned<String>, findings: &mut Findings) -> Option<Duration> {
    let mut refuse = |message: String| {
        findings.report(Diagnostic::error(code::DURATION, written.span.clone(), message).help(
            "write the longest wake-up time of a CPU in whole microseconds, at most 1s; \"0us\" keeps it from sleeping",
        ));
        None
    };
    match parse_duration_or_zero(&written.value) {
        Ok(latency) if latency > MAX_LATENCY => refuse("`cpu-dma-latency` must be at most 1 second".into()),
        Ok(latency) if latency.subsec_nanos() % 1000 != 0 => {
            refuse("`cpu-dma-latency` must be a whole number of microseconds".into())
        }
        Ok(latency) => Some(latency),
        Err(error) => refuse(error.to_string()),
    }
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

/// Returns true if some route runs in user space even on a kernel with every can-gw feature.
fn has_threads(plan: &Plan) -> bool {
    let newest = KernelAbilities { relative_crc8: true, ..KernelAbilities::EVERY };
    let placement = Placement::of(plan, newest);
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
    let there: Vec<_> = keys.into_iter().filter_map(|(key, span)| Some((key, span?))).collect();
    let Some((_, span)) = there.first() else { return };
    let names: Vec<_> = there.iter().map(|(key, _)| *key).collect();
    let (names, does) = (names.join(" and "), if there.len() == 1 { "has" } else { "have" });
    let (message, help) = match plan.engine() {
        Engine::Auto => (
            format!("{names} {does} no effect while all routes run in the kernel"),
            "can-gw has no threads, it forwards in the softirq that received the frame; `candor run` reports where each \
             route runs",
        ),
        _ => (
            format!("{names} {does} no effect on can-gw, which has no threads"),
            "it forwards in the softirq that received the frame; set the priority and the CPU of the interrupt (see \
             `candor doctor`), or use a user-space engine",
        ),
    };
    findings.report(Diagnostic::warning(code::REALTIME_IS_IDLE, (*span).clone(), message).help(help));
}

/// A thread that spins with a real-time policy never leaves its processor to another of the same priority.
fn spinners(plan: &Plan, written: &RealtimeSpec, findings: &mut Findings) {
    let Realtime { sched, cpus, .. } = plan.realtime();
    let Some((sched, place)) = sched.filter(|sched| sched.priority().is_some()).zip(written.cpus.as_ref()) else {
        return;
    };
    let mut sources: Vec<_> = plan.routes().iter().map(|route| route.from).collect();
    sources.sort_unstable();
    sources.dedup();
    if sources.len() <= cpus.len() {
        return;
    }
    let becomes = match sched {
        Sched::RoundRobin(_) => "they take turns of 100 ms, and frames wait that long",
        _ => "the others never run, and nothing is forwarded from their buses",
    };
    let message = format!("{} threads spin at {sched} on {}", sources.len(), many(cpus));
    findings.report(
        Diagnostic::warning(code::SPINNERS_SHARE, place.span.clone(), message)
            .label(becomes)
            .help("list one CPU per source bus, or use a receiver that sleeps, such as mmap"),
    );
}

fn many(cpus: &[Cpu]) -> String {
    match cpus.len() {
        1 => format!("CPU {}", CpuList(cpus)),
        _ => format!("CPUs {}", CpuList(cpus)),
    }
}
