//! `candor-lab precision`: what the tester takes itself, and what a witness says of its stamps.

use std::path::Path;
use std::thread;
use std::time::Duration;

use candor_lab::experiment::load::Load;
use candor_lab::load::Running;
use candor_lab::precision::{OnWire, Own, WireLog, Witnessed, has_one_frame_of_each_number, series};
use candor_lab::stats::LatencyNs;
use candor_lab::tester::{Names, Origin, Pattern, Wire};
use serde_json::{Value, json};

use super::distribution::{columns, distribution, head};
use super::load;
use crate::cli::LabPrecisionArgs;
use crate::cmd::tester;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::Form;
use candor_cli::render;

/// The log is written 200 times a second.
const UNTIL_WRITTEN: Duration = Duration::from_millis(100);
/// What the paper of 2011 found its method and a CANalyzer to differ by at most, in all but 0.01 % of the frames.
const OF_THE_PAPER_NS: u64 = 10_000;

/// All that was measured.
struct Results {
    own: Vec<(Load, Own)>,
    /// The gateway's name, and its frames.
    witnessed: Option<(String, Witnessed)>,
}

pub(crate) fn run(args: &LabPrecisionArgs) -> Outcome {
    let Some(files) = tester::read(args.gateway.as_slice(), Form::running(args.json))? else { return Ok(Exit::No) };
    let gateway = tester::devices_under_test(&files, false)?.into_iter().next();
    let wire = args.wire_bitrate.map(|nominal| Wire { nominal, data: None });
    let pattern = Pattern { stamps: args.stamps.source(), ..tester::pattern(&args.traffic, wire, Origin::Call)? };
    if !has_one_frame_of_each_number(&pattern) {
        return Err("--frames and --warm-up together may be 65536 at most: the number of a frame has 16 bits".into());
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
        say(&format!("through {}", gateway.name));
        let names = Names { send: &args.send, monitor: &args.monitor, receive };
        let samples = load::through(&gateway, names, &pattern)?;
        let [first, second] = [0, 1].map(|bus| args.buses[bus].as_str());
        witnessed = Some((gateway.name, Witnessed::of(&samples, &written(log)?, first, second)));
    }
    let results = Results { own, witnessed };
    render::out(&if args.json { json(args, &results) } else { text(&results) })?;
    Ok(if results.is_empty() { Exit::No } else { Exit::Fine })
}

impl Results {
    /// Whether some series has no frame at all.
    fn is_empty(&self) -> bool {
        self.own.iter().any(|(_, own)| own.taps.is_empty())
            || self.witnessed.as_ref().is_some_and(|(_, witnessed)| witnessed.difference.is_empty())
    }
}

/// What the tester takes of frames under this load.
fn own(
    args: &LabPrecisionArgs,
    pattern: &Pattern,
    load: Load,
    candor: &Path,
    log: Option<&mut WireLog>,
) -> Result<Own, Box<dyn std::error::Error>> {
    say(&format!("without a gateway, load {load}"));
    let loaded = Running::start(candor, load)?;
    let samples = load::one_at_a_time(Names { send: &args.send, monitor: &args.monitor, receive: &args.tap }, pattern)?;
    drop(loaded);
    let wire = log.map(written).transpose()?;
    Ok(Own::of(&samples, pattern.stamps, &args.buses[0], wire.as_deref()))
}

/// What has happened on the wires since they were read last.
fn written(log: &mut WireLog) -> Result<Vec<OnWire>, Box<dyn std::error::Error>> {
    thread::sleep(UNTIL_WRITTEN);
    Ok(log.read().map_err(|error| format!("--wire-log: {error}"))?)
}

fn say(what: &str) {
    render::err(&format!("candor-lab: frames {what}\n"));
}

fn json(args: &LabPrecisionArgs, results: &Results) -> String {
    let figures = |latencies: &[LatencyNs]| series(latencies).as_ref().map(distribution);
    let own = |(load, own): &(Load, Own)| {
        json!({
            "load": load.to_string(),
            "sending": figures(&own.sending),
            "taps": figures(&own.taps),
            "stamps": figures(&own.stamps),
            "unseen": own.unseen,
        })
    };
    let witnessed = results.witnessed.as_ref().map(|(gateway, of)| {
        json!({
            "gateway": gateway,
            "by_stamps": figures(&of.by_stamps),
            "by_witness": figures(&of.by_witness),
            "difference": figures(&of.difference),
            "beyond_10us": of.beyond(OF_THE_PAPER_NS),
            "unseen": of.unseen,
        })
    });
    let value: Value = json!({
        "kernel_release": tester::kernel_release(),
        "frames": args.traffic.frames,
        "own": results.own.iter().map(own).collect::<Vec<_>>(),
        "witnessed": witnessed,
    });
    format!("{value}\n")
}

fn text(results: &Results) -> String {
    let mut text = "In ns of this machine (instructions in the counting laboratory)\n\n".to_owned();
    let mut row = |name: &str, latencies: &[LatencyNs]| {
        let Some(series) = series(latencies) else { return };
        text += &format!("{name:<52} {:>7}{}\n", series.count(), columns(&series));
    };
    for (load, own) in &results.own {
        row(&format!("load {load}: from the call to the stamp"), &own.sending);
        row(&format!("load {load}: second tap after the first"), &own.taps);
        row(&format!("load {load}: stamp after the wire, less the shortest"), &own.stamps);
    }
    if let Some((gateway, of)) = &results.witnessed {
        row(&format!("{gateway}: total latency by stamps"), &of.by_stamps);
        row(&format!("{gateway}: total latency by the wire"), &of.by_witness);
        row(&format!("{gateway}: stamps less wire"), &of.difference);
        text +=
            &format!("\n{} of {} frames differ by more than 10 us\n", of.beyond(OF_THE_PAPER_NS), of.difference.len());
    }
    let head = format!("{:<52} {:>7}{}\n", "", "frames", head());
    let unseen: usize = results.own.iter().map(|(_, own)| own.unseen).sum::<usize>()
        + results.witnessed.as_ref().map_or(0, |(_, of)| of.unseen);
    if unseen > 0 {
        text += &format!("{unseen} frames were not seen everywhere and are in no figure\n");
    }
    text.replacen("\n\n", &format!("\n\n{head}"), 1)
}
