//! `candor-lab precision`: the tester's own latency, and the accuracy of its stamps compared with the log of the buses.

use std::path::Path;
use std::thread;
use std::time::Duration;

use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};
use candor_lab::experiment::load::Load;
use candor_lab::load::Running;
use candor_lab::precision::{OnWire, Own, WireLog, Witnessed, has_one_frame_of_each_number, series};
use candor_lab::stats::LatencyNs;
use candor_lab::tester::{Names, Origin, Pattern, Wire};
use serde::Serialize;

use super::method::{self, Distribution};
use super::tester;
use crate::cli::LabPrecisionArgs;

/// The log is written 200 times per second.
const UNTIL_WRITTEN: Duration = Duration::from_millis(100);
/// Maximum difference between the method of the 2011 paper and a CANalyzer, for all but 0.01 % of the frames.
const OF_THE_PAPER_NS: u64 = 10_000;

struct Results {
    own: Vec<(Load, Own)>,
    /// Name and frames of the gateway.
    witnessed: Option<(String, Witnessed)>,
}

pub(crate) fn run(args: &LabPrecisionArgs) -> Outcome {
    let Some(files) = tester::read(args.gateway.as_slice(), Form::running(args.json))? else { return Ok(Exit::No) };
    let gateway = tester::devices_under_test(&files, false, false)?.into_iter().next();
    let wire = args.wire_bitrate.map(|nominal| Wire { nominal, data: None });
    let pattern = Pattern { stamps: args.stamps.source, ..tester::pattern(&args.traffic, wire, Origin::Call)? };
    if !has_one_frame_of_each_number(&pattern) {
        return Err("--frames plus --warm-up must be 65536 at most: the number of a frame has 16 bits".into());
    }
    let open = |path: &std::path::PathBuf| {
        WireLog::open(path).map_err(|error| format!("Cannot read {} (--wire-log): {error}", path.display()))
    };
    let mut log = args.wire_log.as_ref().map(open).transpose()?;
    let candor = std::env::current_exe()?;
    let own = args.loads.iter().map(|load| Ok((*load, own(args, &pattern, *load, &candor, log.as_mut())?)));
    let own = own.collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
    let mut witnessed = None;
    if let (Some(gateway), Some(receive), Some(log)) = (gateway, &args.receive, &mut log) {
        report_start(&format!("through {}", gateway.name));
        let names = Names { send: &args.send, monitor: &args.monitor, receive };
        let samples = method::through(&gateway, names, &pattern)?;
        let [first, second] = [0, 1].map(|bus| args.buses[bus].as_str());
        witnessed = Some((gateway.name, Witnessed::of(&samples, &written(log)?, first, second)));
    }
    let results = Results { own, witnessed };
    render::out(&if args.json { render::line(&View::of(args, &results)) } else { text(&results) })?;
    Ok(if results.is_incomplete() { Exit::No } else { Exit::Fine })
}

impl Results {
    /// Returns true if a series has no frames.
    fn is_incomplete(&self) -> bool {
        self.own.iter().any(|(_, own)| own.taps.is_empty())
            || self.witnessed.as_ref().is_some_and(|(_, witnessed)| witnessed.difference.is_empty())
    }
}

/// Measures the tester's own latency under a load.
fn own(
    args: &LabPrecisionArgs,
    pattern: &Pattern,
    load: Load,
    candor: &Path,
    log: Option<&mut WireLog>,
) -> Result<Own, Box<dyn std::error::Error>> {
    report_start(&format!("without a gateway, load {load}"));
    let loaded = Running::start(candor, load)?;
    let names = Names { send: &args.send, monitor: &args.monitor, receive: &args.tap };
    let samples = method::one_at_a_time(names, pattern)?;
    drop(loaded);
    let wire = log.map(written).transpose()?;
    Ok(Own::of(&samples, pattern.stamps, &args.buses[0], wire.as_deref()))
}

/// The frames on the buses since the last call.
fn written(log: &mut WireLog) -> Result<Vec<OnWire>, Box<dyn std::error::Error>> {
    thread::sleep(UNTIL_WRITTEN);
    Ok(log.read().map_err(|error| format!("--wire-log: {error}"))?)
}

fn report_start(what: &str) {
    render::err(&format!("candor-lab: frames {what}\n"));
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    kernel_release: String,
    frames: u32,
    own: Vec<OwnView>,
    /// `null` without a gateway.
    witnessed: Option<WitnessedView<'a>>,
}

/// The tester's own latencies under a load; `null` if there is no frame.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnView {
    load: String,
    sending: Option<Distribution>,
    taps: Option<Distribution>,
    stamps: Option<Distribution>,
    unseen: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WitnessedView<'a> {
    gateway: &'a str,
    by_stamps: Option<Distribution>,
    by_witness: Option<Distribution>,
    difference: Option<Distribution>,
    beyond_10us: usize,
    unseen: usize,
}

impl<'a> View<'a> {
    fn of(args: &LabPrecisionArgs, results: &'a Results) -> Self {
        let figures = |latencies: &[LatencyNs]| series(latencies).as_ref().map(Distribution::of);
        let own = |(load, own): &(Load, Own)| OwnView {
            load: load.to_string(),
            sending: figures(&own.sending),
            taps: figures(&own.taps),
            stamps: figures(&own.stamps),
            unseen: own.unseen,
        };
        let witnessed = results.witnessed.as_ref().map(|(gateway, of)| WitnessedView {
            gateway,
            by_stamps: figures(&of.by_stamps),
            by_witness: figures(&of.by_witness),
            difference: figures(&of.difference),
            beyond_10us: of.beyond(OF_THE_PAPER_NS),
            unseen: of.unseen,
        });
        let own = results.own.iter().map(own).collect();
        Self { kernel_release: tester::kernel_release(), frames: args.traffic.frames, own, witnessed }
    }
}

fn text(results: &Results) -> String {
    let mut rows = Vec::new();
    let mut row = |name: String, latencies: &[LatencyNs]| {
        let Some(series) = series(latencies) else { return };
        let figures = method::order_statistics(&series).map(|ns| ns.to_string());
        rows.push([name, series.count().to_string()].into_iter().chain(figures).collect());
    };
    for (load, own) in &results.own {
        row(format!("load {load}: from the call to the stamp"), &own.sending);
        row(format!("load {load}: second tap after the first"), &own.taps);
        row(format!("load {load}: stamp after the end of frame, minus the minimum"), &own.stamps);
    }
    let mut notes = String::new();
    let mut unseen: usize = results.own.iter().map(|(_, own)| own.unseen).sum();
    if let Some((gateway, of)) = &results.witnessed {
        row(format!("{gateway}: total latency by stamps"), &of.by_stamps);
        row(format!("{gateway}: total latency by the bus"), &of.by_witness);
        row(format!("{gateway}: stamps minus bus"), &of.difference);
        let (beyond, all) = (of.beyond(OF_THE_PAPER_NS), of.difference.len());
        notes += &format!("\n{beyond} of {all} frames differ by more than 10 us\n");
        unseen += of.unseen;
    }
    if unseen > 0 {
        notes += &format!("{} not seen everywhere and not included\n", plural(unseen, "frame"));
    }
    let header = ["", "frames"].into_iter().chain(method::STATISTICS);
    let table = method::table(header, rows);
    format!("In ns of this machine (instructions, if it counts them)\n\n{table}{notes}")
}
