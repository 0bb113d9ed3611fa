//! What commands that send have in common: who comes first on the processor, what runs beside it, and which interfaces there are.

use std::error::Error;
use std::thread;

use candor_core::frame::CANFD_MTU;
use candor_io::schedule;
use candor_lab::device::Device;
use candor_lab::record::Sample;
use candor_lab::tester::{self as bench, Interfaces, Names, Pattern};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::cli::TesterPolicy;
use crate::cmd::tester::DeviceUnderTest;
use candor_cli::{Exit, Outcome, render};

/// What ends a measurement early.
pub(super) type Failed = Box<dyn Error + Send + Sync>;

/// Works on a thread that comes before every gateway. Its policy ends with it.
pub(super) fn as_tester<T: Send>(work: impl FnOnce() -> Result<T, Failed> + Send) -> Result<T, Box<dyn Error>> {
    let prepare_and_work = || {
        schedule::set_policy(TesterPolicy::FIFO)
            .map_err(|error| format!("The tester needs SCHED_FIFO (CAP_SYS_NICE): {error}"))?;
        schedule::lock_memory().map_err(|error| format!("The tester locks its memory (CAP_IPC_LOCK): {error}"))?;
        work()
    };
    let result = thread::scope(|scope| {
        scope.spawn(prepare_and_work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    result.map_err(|error| -> Box<dyn Error> { error })
}

/// Works while a gateway runs, which is stopped afterwards; `work` is told its process.
pub(super) fn beside<T>(device: &DeviceUnderTest, work: impl FnOnce(u32) -> Result<T, Failed>) -> Result<T, Failed> {
    let gateway = device.gateway.as_ref().ok_or("there is nothing to start")?;
    let running = Device::start(&std::env::current_exe()?, gateway)?;
    let result = work(running.id())?;
    running.stop()?;
    Ok(result)
}

/// One frame after the other, sent by such a tester.
pub(super) fn one_at_a_time(names: Names<'_>, pattern: &Pattern) -> Result<Vec<Sample>, Box<dyn Error>> {
    as_tester(|| Ok(bench::measure(&mut Interfaces::open(names, pattern)?, pattern, |_| ())?.samples))
}

/// The same through a gateway that runs meanwhile.
pub(super) fn through(
    device: &DeviceUnderTest,
    names: Names<'_>,
    pattern: &Pattern,
) -> Result<Vec<Sample>, Box<dyn Error>> {
    let samples = beside(device, |_| one_at_a_time(names, pattern).map_err(|error| error.to_string().into()));
    samples.map_err(|error| -> Box<dyn Error> { error })
}

/// Virtual interfaces that were made, and go with this.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<String>);

impl Made {
    /// They stay.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }

    fn remove(&self) -> Result<(), Box<dyn Error>> {
        let mut client = Client::open()?;
        for name in &self.0 {
            if let Some(made) = link::by_name(&mut client, name)? {
                link::delete(&mut client, made.index)?;
            }
        }
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            render::err(&format!(
                "candor-lab: some of the interfaces {} are still there: {error}\n",
                self.0.join(", ")
            ));
        }
    }
}

/// Makes those of the interfaces that are missing, as virtual ones. If that fails, none is left.
pub(super) fn create<'a>(names: impl Iterator<Item = &'a String>) -> Result<Made, Box<dyn Error>> {
    let mut client = Client::open()?;
    let mut all = Made::default();
    for name in names {
        if link::by_name(&mut client, name)?.is_some() {
            continue;
        }
        link::create_vcan(&mut client, name)?;
        all.0.push(name.clone());
        if let Some(made) = link::by_name(&mut client, name)? {
            link::set_mtu(&mut client, made.index, u32::try_from(CANFD_MTU)?)?;
            link::set_up(&mut client, made.index)?;
        }
    }
    Ok(all)
}

/// Takes interfaces down, so that nothing runs for them.
pub(super) fn take_down(names: &[String]) -> Result<(), Box<dyn Error>> {
    let mut client = Client::open()?;
    for name in names {
        let link = link::by_name(&mut client, name)?.ok_or_else(|| format!("There is no interface {name} (--down)"))?;
        link::set_down(&mut client, link.index)?;
    }
    Ok(())
}

/// `candor-lab relay`.
pub(crate) fn relay() -> Outcome {
    candor_lab::load::relay()?;
    Ok(Exit::Fine)
}
