//! Shared by the commands that send frames: scheduling of the tester, gateways, interfaces, and tables.

use std::error::Error;
use std::thread;

use candor_cli::render;
use candor_core::frame::CANFD_MTU;
use candor_io::schedule;
use candor_lab::device::Device;
use candor_lab::record::Sample;
use candor_lab::stats::{Quantile, Series};
use candor_lab::tester::{self as bench, Interfaces, Names, Pattern};
use candor_netlink::client::Client;
use candor_netlink::link;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::cli::TesterPolicy;
use crate::cmd::tester::DeviceUnderTest;

/// An error that ends a measurement.
pub(super) type Failed = Box<dyn Error + Send + Sync>;

/// Runs `work` on a thread with a higher priority than every gateway.
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

/// Runs `work` with the process id of a gateway, which is started before and stopped afterwards.
pub(super) fn with_gateway<T>(
    device: &DeviceUnderTest,
    work: impl FnOnce(u32) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let gateway = device.gateway.as_ref().ok_or("there is no gateway to start")?;
    let running = Device::start(&std::env::current_exe()?, gateway)?;
    let result = work(running.id())?;
    running.stop()?;
    Ok(result)
}

/// Sends one frame after the other, as a tester.
pub(super) fn one_at_a_time(names: Names<'_>, pattern: &Pattern) -> Result<Vec<Sample>, Box<dyn Error>> {
    as_tester(|| Ok(bench::measure(&mut Interfaces::open(names, pattern)?, pattern, |_| ())?.samples))
}

/// The same through a gateway.
pub(super) fn through(
    device: &DeviceUnderTest,
    names: Names<'_>,
    pattern: &Pattern,
) -> Result<Vec<Sample>, Box<dyn Error>> {
    let samples = with_gateway(device, |_| one_at_a_time(names, pattern).map_err(|error| error.to_string().into()));
    samples.map_err(|error| -> Box<dyn Error> { error })
}

/// Virtual interfaces that were created; removed on drop.
#[derive(Debug, Default)]
pub(super) struct Created(Vec<String>);

impl Created {
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }

    fn remove(&self) -> Result<(), Box<dyn Error>> {
        let mut client = Client::open()?;
        for name in &self.0 {
            if let Some(created) = link::by_name(&mut client, name)? {
                link::delete(&mut client, created.index)?;
            }
        }
        Ok(())
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            let names = self.0.join(", ");
            render::err(&format!("candor-lab: some of the interfaces {names} still exist: {error}\n"));
        }
    }
}

/// Creates missing interfaces as virtual ones. On failure, none is left.
pub(super) fn create<'a>(names: impl Iterator<Item = &'a String>) -> Result<Created, Box<dyn Error>> {
    let mut client = Client::open()?;
    let mut all = Created::default();
    for name in names {
        if link::by_name(&mut client, name)?.is_some() {
            continue;
        }
        link::create_vcan(&mut client, name)?;
        all.0.push(name.clone());
        if let Some(created) = link::by_name(&mut client, name)? {
            link::set_mtu(&mut client, created.index, u32::try_from(CANFD_MTU)?)?;
            link::set_up(&mut client, created.index)?;
        }
    }
    Ok(all)
}

/// Sets the interfaces of `--down` down, to avoid their overhead.
pub(super) fn set_down(names: &[String]) -> Result<(), Box<dyn Error>> {
    let mut client = Client::open()?;
    for name in names {
        let link = link::by_name(&mut client, name)?.ok_or_else(|| format!("Interface {name} not found (--down)"))?;
        link::set_down(&mut client, link.index)?;
    }
    Ok(())
}

/// Order statistics of a series in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Distribution {
    count: usize,
    min_ns: i64,
    p50_ns: i64,
    p90_ns: i64,
    p99_ns: i64,
    max_ns: i64,
}

impl Distribution {
    pub(super) fn of(series: &Series) -> Self {
        let [min_ns, p50_ns, p90_ns, p99_ns, max_ns] = order_statistics(series);
        Self { count: series.count(), min_ns, p50_ns, p90_ns, p99_ns, max_ns }
    }
}

pub(super) const STATISTICS: [&str; 5] = ["min", "p50", "p90", "p99", "max"];

/// The [`STATISTICS`] of a series, in ns.
pub(super) fn order_statistics(series: &Series) -> [i64; 5] {
    let at = |quantile| series.quantile(quantile).0;
    [series.min().0, at(Quantile::P50), at(Quantile::P90), at(Quantile::P99), series.max().0]
}

/// A table whose columns are right-aligned, except for the first.
pub(super) fn table<C: ToString>(
    header: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.into_iter().map(|cell| cell.to_string()).collect::<Vec<_>>()).add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
