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
        SchedError::Unknown => format!("There is no scheduling policy {}", quote(&written.value)),
        error => error.to_string(),
    };
    findings.report(Diagnostic::error(code::SCHED, written.span.clone(), message).help(
        "\"fifo:N\" (before everything of less priority), \"rr:N\" (the same, in turns with its equals) or \"other\" (as \
         everything else); N is 1 to 99, and interrupt threads have 50",
    ));
    None
}

fn cpus(written: &CpusSpec, findings: &mut Findings) -> Option<Vec<Cpu>> {
    let mut refuse = |span, message: String| {
        findings.report(
            Diagnostic::error(code::CPUS, span, message)
                .help("write the numbers of processors, such as [2, 3]; `lscpu -e` lists them, the first is 0"),
        );
        None
    };
    if written.numbers.is_empty() {
        return refuse(written.span.clone(), "A thread needs a processor to run on".into());
    }
    let mut cpus = Vec::new();
    for number in &written.numbers {
        let cpu = match u16::try_from(number.value) {
            Ok(cpu) if cpu <= Cpu::MAX => Cpu(cpu),
            _ => {
                let message = format!("Processors have numbers from 0 to {}, not {}", Cpu::MAX, number.value);
                return refuse(number.span.clone(), message);
            }
        };
        if cpus.contains(&cpu) {
            return refuse(number.span.clone(), format!("Processor {} is there twice", cpu.0));
        }
        cpus.push(cpu);
    }
    cpus.sort_unstable();
    Some(cpus)
}

fn latency(written: &Spanned<String>, findings: &mut Findings) -> Option<Duration> {
    let mut refuse = |message: String| {
        findings.report(Diagnostic::error(code::DURATION, written.span.clone(), message).help(
            "how long a processor may take to wake up, in whole microseconds and at most 1s; \"0us\" keeps it awake",
        ));
        None
    };
    match parse_duration_or_zero(&written.value) {
        Ok(latency) if latency > MAX_LATENCY => refuse("No processor takes that long to wake up".into()),
        Ok(latency) if latency.subsec_nanos() % 1000 != 0 => {
            refuse("The kernel counts this time in whole microseconds".into())
        }
        Ok(latency) => Some(latency),
        Err(error) => refuse(error.to_string()),
    }
}

/// What is asked for threads that there are not, or that keep each other from running.
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

/// Whether some route is in user space, on a kernel that can do all that can-gw can.
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
    let (names, does) = (names.join(" and "), if there.len() == 1 { "does" } else { "do" });
    let (message, help) = match plan.engine() {
        Engine::Auto => (
            format!("{names} {does} nothing as long as all routes are in the kernel"),
            "can-gw has no threads: it forwards in the interrupt that a frame came with; candor run says where each route \
             runs",
        ),
        _ => (
            format!("{names} {does} nothing for can-gw, which has no threads"),
            "it forwards in the interrupt that a frame came with; set that one's priority and processor (candor doctor \
             shows them), or take an engine of user space",
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
        Sched::RoundRobin(_) => "they take turns of 100 ms, and frames wait as long",
        _ => "the others never run, and their buses are dead",
    };
    let message = format!("{} threads spin at {sched} on {}", sources.len(), many(cpus));
    findings.report(
        Diagnostic::warning(code::SPINNERS_SHARE, place.span.clone(), message)
            .label(becomes)
            .help("name a processor for each bus that frames come from, or take a receiver that waits, such as mmap"),
    );
}

fn many(cpus: &[Cpu]) -> String {
    match cpus.len() {
        1 => format!("processor {}", CpuList(cpus)),
        _ => format!("the processors {}", CpuList(cpus)),
    }
}
