//! Real-time settings of the forwarding threads, and resources held while they run.
//!
//! Only forwarding threads get a policy and processors. The supervisor formats text, reads netlink dumps and waits for
//! signals: a busy-polling thread of its own priority would keep it from ever handling SIGTERM.

mod obtained;
mod refused;

pub use obtained::{Obtained, obtained, running};
pub use refused::RealtimeError;

use std::sync::mpsc::SyncSender;

use candor_config::engine::UserEngine;
use candor_core::job::Job;
use candor_core::realtime::{Cpu, Realtime, Sched};
use candor_io::dma_latency::CpuDmaLatency;
use candor_io::schedule;

use crate::notice::Notice;
use candor_io::machine::Machine;

/// Name prefix of forwarding threads; the interface follows.
pub const THREAD_PREFIX: &str = "route-";
/// Name of the thread that composes frames.
pub const FRAMES_THREAD: &str = "frames";

/// Resources held while a gateway runs.
#[derive(Debug)]
pub struct Held {
    _awake: Option<CpuDmaLatency>,
}

impl Held {
    /// Locks memory, limits idle states, and tries the thread settings on a temporary thread, so that nothing has
    /// changed if the kernel refuses. `threads`: user space will be used.
    pub fn take(wanted: &Realtime, threads: bool) -> Result<Self, RealtimeError> {
        if threads {
            if wanted.lock_memory {
                schedule::lock_memory().map_err(|source| RealtimeError::memory(source, &Machine::here()))?;
            }
            let for_threads = ForThreads::of(wanted);
            if for_threads.sched.is_some() || !for_threads.cpus.is_empty() {
                std::thread::scope(|scope| {
                    let trial = || for_threads.enter();
                    let thread = std::thread::Builder::new().name("trial".into()).spawn_scoped(scope, trial);
                    let thread = thread.map_err(|source| RealtimeError::memory(source, &Machine::here()))?;
                    thread.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
                })?;
            }
        }
        let awake = wanted.cpu_dma_latency.map(CpuDmaLatency::hold).transpose();
        Ok(Self { _awake: awake.map_err(RealtimeError::Awake)? })
    }
}

/// Settings of a forwarding thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForThreads {
    sched: Option<Sched>,
    cpus: Vec<Cpu>,
}

impl ForThreads {
    pub fn of(wanted: &Realtime) -> Self {
        Self { sched: wanted.sched, cpus: wanted.cpus.clone() }
    }

    /// Applies the settings to the calling thread, sends the result, and returns whether it succeeded.
    #[expect(clippy::needless_pass_by_value, reason = "dropping the sender shows that this thread sends nothing more")]
    pub fn enter_and_report(&self, tell: SyncSender<Result<(), RealtimeError>>) -> bool {
        let entered = self.enter();
        let went_well = entered.is_ok();
        // The receiver is gone if another thread has failed; then this one is ended by an order.
        let _ = tell.send(entered);
        went_well
    }

    fn enter(&self) -> Result<(), RealtimeError> {
        // The kernel ignores processors that are offline or outside the cpuset as long as one remains.
        let lacks = |got: &[Cpu]| self.cpus.iter().any(|cpu| !got.contains(cpu));
        if !self.cpus.is_empty() {
            let set = schedule::set_cpus(&self.cpus).and_then(|()| schedule::cpus());
            if !set.as_ref().is_ok_and(|got| !lacks(got)) {
                return Err(RealtimeError::cpus(&self.cpus, set, &Machine::here()));
            }
        }
        let Some(sched) = self.sched else { return Ok(()) };
        schedule::set_policy(sched.into()).map_err(|source| RealtimeError::sched(sched, source, &Machine::here()))
    }
}

/// A notice about busy polling with a real-time policy.
pub fn hazards(wanted: &Realtime, engine: UserEngine, jobs: &[&Job], machine: &Machine) -> Option<Notice> {
    let sched = wanted.sched.filter(|sched| sched.priority().is_some() && engine.receiver().spins())?;
    let threads = candor_core::order::set(jobs.iter().map(|job| job.from)).len();
    let online = machine.online_cpus();
    let usable = online.iter().filter(|cpu| wanted.cpus.is_empty() || wanted.cpus.contains(cpu)).count();
    let is_throttled = is_throttled(machine);
    if usable == online.len() && threads >= usable {
        let processors = usable;
        return Some(Notice::SpinsOnAll { sched, processors, is_throttled });
    }
    is_throttled.then_some(Notice::SpinsThrottled { sched })
}

/// True if real-time throttling is on.
///
/// # Source
/// [`sched_rt_handler()`](https://github.com/gregkh/linux/blob/v6.1.192/kernel/sched/rt.c#L29).
fn is_throttled(machine: &Machine) -> bool {
    let number = |name: &str| machine.number(&format!("/proc/sys/kernel/sched_rt_{name}_us"));
    match (number("runtime"), number("period")) {
        (Some(runtime), Some(period)) => runtime >= 0 && runtime < period,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use candor_config::plan::BusIndex;
    use candor_core::filter::Filter;
    use candor_core::frame::FrameFormat;
    use candor_core::realtime::RtPriority;

    use super::*;

    fn machine(cpus: &str, runtime: &str) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        for (path, text) in [
            ("/sys/devices/system/cpu/online", cpus),
            ("/proc/sys/kernel/sched_rt_runtime_us", runtime),
            ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
        ] {
            std::fs::create_dir_all(machine.path(path).parent().unwrap()).unwrap();
            std::fs::write(machine.path(path), text).unwrap();
        }
        (root, machine)
    }

    #[test]
    fn spinning_before_everything_else_is_told() {
        let job = |from| Job::plain(BusIndex(from), BusIndex(1), FrameFormat::Classic, Filter::ALL);
        let (one, two) = (job(0), job(1));
        let engine = |name| UserEngine::all().find(|engine| engine.name() == name).unwrap();
        let fifo = Sched::Fifo(RtPriority::new(80).unwrap());
        let wanted = |cpus: &[u16]| Realtime {
            sched: Some(fifo),
            cpus: cpus.iter().copied().map(Cpu).collect(),
            ..Realtime::default()
        };
        let notice = |cpus, runtime, wanted: &Realtime, name, jobs: &[&Job]| {
            let (_root, machine) = machine(cpus, runtime);
            hazards(wanted, engine(name), jobs, &machine)
        };
        let all = |is_throttled, processors| Some(Notice::SpinsOnAll { sched: fifo, processors, is_throttled });
        let busy = "mmapbusy-write";
        assert_eq!(notice("0", "950000", &wanted(&[]), busy, &[&one]), all(true, 1));
        assert_eq!(notice("0", "-1", &wanted(&[0]), busy, &[&one, &one]), all(false, 1));
        assert_eq!(notice("0-1", "-1", &wanted(&[]), busy, &[&one, &two]), all(false, 2));
        let throttled = Some(Notice::SpinsThrottled { sched: fifo });
        assert_eq!(notice("0-1", "950000", &wanted(&[]), busy, &[&one]), throttled);
        assert_eq!(notice("0-3", "950000", &wanted(&[3]), busy, &[&one]), throttled);
        assert_eq!(notice("0-3", "-1", &wanted(&[3]), busy, &[&one, &two]), None);
        assert_eq!(notice("0", "950000", &wanted(&[]), "mmap-write", &[&one]), None);
        let other = Realtime { sched: Some(Sched::Other), ..Realtime::default() };
        assert_eq!(notice("0", "950000", &other, busy, &[&one]), None);
    }

    #[test]
    fn what_needs_no_privilege_is_given() {
        let cpu = *schedule::cpus().unwrap().last().unwrap();
        let wanted = Realtime { sched: Some(Sched::Other), cpus: vec![cpu], ..Realtime::default() };
        assert!(Held::take(&wanted, true).is_ok());
        let nowhere = Realtime { cpus: vec![cpu, Cpu(Cpu::MAX)], ..Realtime::default() };
        let refused = Held::take(&nowhere, true).unwrap_err().to_string();
        assert!(refused.contains("CPU 1023 of `cpus` is not online"), "{refused}");
        assert!(Held::take(&nowhere, false).is_ok());
    }
}
