//! The interrupt of a controller: its CPU, and its thread if it has one.

use candor_core::realtime::{Cpu, CpuList};
use candor_io::machine::{Machine, Policy};
use candor_netlink::link::Link;

use super::super::check::{self, Check};
use super::super::needs::Needs;

/// A kernel thread for interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct InterruptThread {
    pid: u32,
    name: String,
    pub(super) policy: Policy,
}

impl InterruptThread {
    /// NUMBER of `irq/NUMBER-NAME`.
    fn number(&self) -> Option<u32> {
        self.name.strip_prefix("irq/")?.split_once('-')?.0.parse().ok()
    }

    /// True for `napi/INTERFACE-NUMBER`; the kernel truncates names to 15 bytes.
    pub(super) fn empties(&self, interface: &str) -> bool {
        const MOST_BYTES: usize = 15;
        let begins = format!("napi/{interface}-");
        self.name.starts_with(begins.get(..MOST_BYTES).unwrap_or(&begins))
    }
}

/// All interrupt threads. Kernels with `threadirqs` or PREEMPT_RT have one for nearly every interrupt.
pub(in super::super) fn interrupt_threads(machine: &Machine) -> Vec<InterruptThread> {
    let pids = machine.names("/proc");
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let (name, policy) = machine.process(pid).main_thread()?;
        let is_one = name.starts_with("irq/") || name.starts_with("napi/");
        is_one.then_some(InterruptThread { pid, name, policy })
    })
    .collect()
}

/// `None` for interfaces without hardware.
pub(super) fn check(machine: &Machine, threads: &[InterruptThread], needs: &Needs, link: &Link) -> Option<Check> {
    let folder = format!("/sys/class/net/{}/device", link.name);
    let numbers = numbers(machine, link);
    let Some(number) = numbers.first().copied() else {
        if !machine.has(&folder) {
            return None;
        }
        let is_usb = machine.link(&format!("{folder}/subsystem")).as_deref() == Some("usb");
        let found = if is_usb { "of the USB host controller" } else { "not found under this name" };
        return Some(check::INTERRUPT.ok(found));
    };
    let at = cpus(machine, number);
    let place = if at.is_empty() { String::new() } else { format!(" on {}", CpuList(&at)) };
    let Some(thread) = threads.iter().find(|thread| thread.number() == Some(number)) else {
        return Some(check::INTERRUPT.ok(format!("{number}{place}, not in a thread")));
    };
    let InterruptThread { name, pid, policy } = thread;
    let found = format!("{name} {policy}{place}");
    if !policy.is_realtime() {
        return Some(
            check::INTERRUPT
                .weak(format!("{found}: any other thread may delay it"), format!("sudo chrt -f -p 50 {pid}")),
        );
    }
    let shares = needs.cpus(&machine.online_cpus()).iter().any(|cpu| at.contains(cpu));
    match needs.priority().filter(|_| needs.spins() && shares) {
        Some(priority) if u32::from(priority.number()) >= policy.priority => Some(check::INTERRUPT.weak(
            format!("{found}: a thread that spins at priority {priority} on the same CPU blocks it"),
            format!("sudo chrt -f -p {} {pid}, or separate them with `cpus`", (priority.number() + 1).min(99)),
        )),
        _ => Some(check::INTERRUPT.ok(found)),
    }
}

/// The interrupts named after the interface, otherwise those of its device.
fn numbers(machine: &Machine, link: &Link) -> Vec<u32> {
    let table = machine.text("/proc/interrupts").unwrap_or_default();
    let has_name = |rest: &str| rest.split([' ', ',', '\t']).any(|word| word == link.name);
    let by_name: Vec<_> = table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, rest)| has_name(rest))
        .filter_map(|(number, _)| number.trim().parse().ok())
        .collect();
    if !by_name.is_empty() {
        return by_name;
    }
    let folder = format!("/sys/class/net/{}/device", link.name);
    let messages: Vec<_> =
        machine.names(&format!("{folder}/msi_irqs")).iter().filter_map(|name| name.parse().ok()).collect();
    if !messages.is_empty() {
        return messages;
    }
    machine
        .number(&format!("{folder}/irq"))
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0)
        .into_iter()
        .collect()
}

fn cpus(machine: &Machine, number: u32) -> Vec<Cpu> {
    let effective = machine.cpus(&format!("/proc/irq/{number}/effective_affinity_list"));
    if effective.is_empty() { machine.cpus(&format!("/proc/irq/{number}/smp_affinity_list")) } else { effective }
}
