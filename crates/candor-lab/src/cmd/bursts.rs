//! `candor-lab bursts`: the cost of a frame in a burst.

use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};
use candor_core::realtime::RtPriority;
use candor_io::schedule::{self, Policy};
use candor_lab::bursts::{self, Bench, Figures, Overhead, Pattern, Taps, median};
use candor_lab::stats::{LatencyNs, Quantile, Series};
use serde::Serialize;

use super::method::{self, Failed};
use super::tester::{self, DeviceUnderTest};
use crate::cli::LabBurstsArgs;

/// Policy of a gateway that waits for frames: it runs as soon as the tester sleeps.
const GATEWAY: Policy = Policy::Fifo(RtPriority::new(90).expect("90 is between 1 and 99"));

pub(crate) fn run(args: &LabBurstsArgs) -> Outcome {
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(Exit::No) };
    let devices = tester::devices_under_test(&files, args.baselines, false)?;
    if args.create {
        method::create(args.ways.iter().flat_map(|way| [&way.send, &way.comes_in, &way.leaves]))?.keep();
    }
    let (overhead, all) = method::as_tester(|| measure_all(args, &devices))?;
    render::out(&if args.json { render::line(&View::of(args, &overhead, &all)) } else { text(args, &overhead, &all) })?;
    Ok(if all.iter().all(Measured::is_complete) { Exit::Fine } else { Exit::No })
}

struct Measured {
    device: String,
    engine: String,
    /// Latencies of single frames, and the number of lost ones.
    single: Option<(Option<Series>, usize)>,
    /// Indexed like the sizes of bursts.
    bursts: Vec<Option<Figures>>,
}

impl Measured {
    fn is_complete(&self) -> bool {
        let complete = |figures: &Option<Figures>| figures.is_some_and(|one| one.lost == 0 && one.reordered == 0);
        self.bursts.iter().all(complete) && self.single.as_ref().is_none_or(|(_, lost)| *lost == 0)
    }
}

fn measure_all(args: &LabBurstsArgs, devices: &[DeviceUnderTest]) -> Result<(Vec<Overhead>, Vec<Measured>), Failed> {
    let overhead = overhead(args)?;
    let measured = devices.iter().map(|device| method::with_gateway(device, |id| measure(args, device, id, &overhead)));
    Ok((overhead.clone(), measured.collect::<Result<_, _>>()?))
}

fn measure(args: &LabBurstsArgs, device: &DeviceUnderTest, id: u32, overhead: &[Overhead]) -> Result<Measured, Failed> {
    if !device.spins {
        schedule::set_policy_of_process(id, GATEWAY)?;
    }
    let single = args.single.then(|| single(args)).transpose()?;
    let mut bench = Bench::open(&args.ways, Taps::Leaving)?;
    let sizes = args.sizes.iter().zip(overhead);
    let bursts =
        sizes.map(|(size, overhead)| Ok(Figures::of(&bursts::measure(&mut bench, &pattern(args, *size))?, *overhead)));
    let bursts = bursts.collect::<Result<_, Failed>>()?;
    Ok(Measured { device: device.name.clone(), engine: device.engine.clone(), single, bursts })
}

fn pattern(args: &LabBurstsArgs, size: u16) -> Pattern {
    Pattern::new(size, args.ways.len(), args.bursts, args.warm_up)
}

/// The tester's own share of a burst of each size, measured without a gateway.
fn overhead(args: &LabBurstsArgs) -> Result<Vec<Overhead>, Failed> {
    let sending = |bench: &mut Bench, size: u16| -> Result<i64, Failed> {
        Ok(median(bursts::measure(bench, &pattern(args, size))?.iter().map(|burst| burst.sending_ns)))
    };
    let largest = args.sizes.iter().copied().max().unwrap_or(1);
    let silent = sending(&mut Bench::open_at_the_end(&args.ways, Taps::None)?, largest)?;
    let tapped = sending(&mut Bench::open_at_the_end(&args.ways, Taps::Leaving)?, largest)?;
    let frames = i64::from(largest) * i64::try_from(args.ways.len())?;
    let tap_ns = (tapped - silent) / frames;
    let mut bench = Bench::open(&args.ways, Taps::Leaving)?;
    args.sizes.iter().map(|size| Ok(Overhead { sending_ns: sending(&mut bench, *size)?, tap_ns })).collect()
}

fn single(args: &LabBurstsArgs) -> Result<(Option<Series>, usize), Failed> {
    let latencies = bursts::measure_single(&mut Bench::open(&args.ways[..1], Taps::Both)?, &pattern(args, 1))?;
    let lost = latencies.iter().filter(|latency| latency.is_none()).count();
    Ok((Series::new(latencies.into_iter().flatten().collect()), lost))
}

fn quantiles(series: &Series) -> (LatencyNs, LatencyNs) {
    (series.quantile(Quantile::P50), series.quantile(Quantile::P99))
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    kernel_release: String,
    ways: usize,
    /// Of each size.
    bursts: u32,
    tester: Vec<OverheadView>,
    gateways: Vec<GatewayView<'a>>,
}

/// The overhead of the tester, which was subtracted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OverheadView {
    frames: u16,
    #[serde(flatten)]
    overhead: Overhead,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GatewayView<'a> {
    device: &'a str,
    engine: &'a str,
    single: Option<SingleView>,
    bursts: Vec<BurstView>,
}

/// Frames sent one at a time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SingleView {
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    lost: usize,
}

/// `null` if no burst arrived complete.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BurstView {
    frames: u16,
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    lost: Option<u32>,
    reordered: Option<u32>,
}

impl<'a> View<'a> {
    fn of(args: &LabBurstsArgs, overhead: &[Overhead], all: &'a [Measured]) -> Self {
        let tester = |(&frames, &overhead): (&u16, &Overhead)| OverheadView { frames, overhead };
        let single = |(series, lost): &(Option<Series>, usize)| {
            let (p50, p99) = series.as_ref().map(quantiles).unzip();
            SingleView { p50_ns: p50.map(|p50| p50.0), p99_ns: p99.map(|p99| p99.0), lost: *lost }
        };
        let burst = |(frames, figures): (&u16, &Option<Figures>)| BurstView {
            frames: *frames,
            p50_ns: figures.map(|one| one.p50.0),
            p99_ns: figures.map(|one| one.p99.0),
            lost: figures.map(|one| one.lost),
            reordered: figures.map(|one| one.reordered),
        };
        let gateway = |one: &'a Measured| GatewayView {
            device: &one.device,
            engine: &one.engine,
            single: one.single.as_ref().map(single),
            bursts: args.sizes.iter().zip(&one.bursts).map(burst).collect(),
        };
        Self {
            kernel_release: tester::kernel_release(),
            ways: args.ways.len(),
            bursts: args.bursts,
            tester: args.sizes.iter().zip(overhead).map(tester).collect(),
            gateways: all.iter().map(gateway).collect(),
        }
    }
}

fn text(args: &LabBurstsArgs, overhead: &[Overhead], all: &[Measured]) -> String {
    let mut header = vec!["burst size".to_owned()];
    header.extend(args.single.then(|| "from a timer".to_owned()));
    header.extend(args.sizes.iter().map(u16::to_string));
    let rows = all.iter().map(|one| {
        let single = one.single.iter().map(|(series, lost)| cell(series.as_ref().map(quantiles), *lost));
        let bursts = one
            .bursts
            .iter()
            .map(|figures| cell(figures.map(|one| (one.p50, one.p99)), figures.map_or(0, |one| one.lost as usize)));
        [one.device.clone()].into_iter().chain(single).chain(bursts).collect()
    });
    let sending: Vec<_> = overhead.iter().map(|one| one.sending_ns.to_string()).collect();
    let tap = overhead.first().map_or(0, |one| one.tap_ns);
    format!(
        "Time per frame in ns of this machine (instructions, if it counts them): p50/p99\n\n{}\nSubtracted: {} for sending a burst, \
         {tap} per frame for the tap\n",
        method::table(header, rows),
        sending.join(", ")
    )
}

fn cell(quantiles: Option<(LatencyNs, LatencyNs)>, lost: usize) -> String {
    match quantiles {
        None => "lost".to_owned(),
        Some((p50, p99)) if lost == 0 => format!("{}/{}", p50.0, p99.0),
        Some((p50, p99)) => format!("{}/{} ({lost} lost)", p50.0, p99.0),
    }
}
