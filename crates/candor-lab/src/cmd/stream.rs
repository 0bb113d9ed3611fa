//! `candor-lab stream`: what gateways make of frames with a fixed period.

use std::fmt::Write as _;
use std::time::Duration;

use candor_lab::stream::{Bench, Pattern, Saturation};
use serde_json::{Value, json};

use super::load::{self, Failed};
use crate::cli::LabStreamArgs;
use crate::cmd::tester::{self, DeviceUnderTest};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::Form;
use candor_cli::render;

/// Streams of one gateway, in the order of the periods.
type OfGateway<'a> = (&'a DeviceUnderTest, Vec<Saturation>);

pub(crate) fn run(args: &LabStreamArgs) -> Outcome {
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(Exit::No) };
    let devices = tester::devices_under_test(&files, false)?;
    load::take_down(&args.down)?;
    let (tester_ns, all) = load::as_tester(|| {
        let tester_ns = tester_ns(args)?;
        let measured =
            devices.iter().map(|device| Ok((device, load::beside(device, |_| streams(args, &args.periods))?)));
        Ok((tester_ns, measured.collect::<Result<Vec<_>, Failed>>()?))
    })?;
    let text = if args.json { format!("{}\n", to_json(args, tester_ns, &all)) } else { table(args, tester_ns, &all) };
    render::out(&text)?;
    Ok(Exit::Fine)
}

/// What the tester takes of a period: that of a stream without a gateway, and without a pause.
fn tester_ns(args: &LabStreamArgs) -> Result<i64, Failed> {
    let alone = streams(args, &[Duration::ZERO])?;
    Ok(alone.first().map_or(0, |one| one.period_ns))
}

fn streams(args: &LabStreamArgs, periods: &[Duration]) -> Result<Vec<Saturation>, Failed> {
    let mut bench = Bench::open(&args.way)?;
    let mut stream = |period: &Duration| {
        // One look, at the end: a tester that reads holds the gateway up.
        let pattern = Pattern { template: args.frame, period: *period, frames: args.frames, look: u32::MAX };
        let mut passages = Vec::with_capacity(args.frames as usize);
        let matcher = bench.pass(&pattern, |passage| passages.push(passage), |_| Ok(()))?;
        Ok(Saturation::of(args.frames, &matcher, &passages))
    };
    periods.iter().map(&mut stream).collect()
}

fn to_json(args: &LabStreamArgs, tester_ns: i64, all: &[OfGateway<'_>]) -> Value {
    let one = |(asked, of): (&Duration, &Saturation)| {
        json!({
            "asked_period_ns": u64::try_from(asked.as_nanos()).unwrap_or(u64::MAX),
            "period_ns": of.period_ns,
            "not_sent": of.not_sent,
            "lost": of.lost,
            "behind": of.behind,
            "p50_ns": of.p50.map(|p50| p50.0),
            "p90_ns": of.p90.map(|p90| p90.0),
            "max_ns": of.max.map(|max| max.0),
        })
    };
    let gateways: Vec<_> = all
        .iter()
        .map(|(device, streams)| {
            let streams: Vec<_> = args.periods.iter().zip(streams).map(one).collect();
            json!({ "device": device.name, "engine": device.engine, "streams": streams })
        })
        .collect();
    json!({
        "kernel_release": tester::kernel_release(), "instruction_ns": tester::instruction_ns(), "frames": args.frames, "tester_ns": tester_ns, "gateways": gateways,
    })
}

fn table(args: &LabStreamArgs, tester_ns: i64, all: &[OfGateway<'_>]) -> String {
    let mut text = format!(
        "{} frames each; the tester takes {:.1} us of a period\n\n{:<24}{:>10}{:>10}{:>10}{:>8}{:>8}{:>12}{:>12}\n",
        args.frames,
        micros(tester_ns),
        "gateway",
        "asked/us",
        "period/us",
        "not sent",
        "lost",
        "backlog",
        "p50/us",
        "max/us"
    );
    let us = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", micros(ns)));
    for (device, streams) in all {
        for (asked, of) in args.periods.iter().zip(streams) {
            let (p50, max) = (us(of.p50.map(|p50| p50.0)), us(of.max.map(|max| max.0)));
            writeln!(
                text,
                "{:<24}{:>10}{:>10.1}{:>10}{:>8}{:>8}{p50:>12}{max:>12}",
                device.name,
                asked.as_micros(),
                micros(of.period_ns),
                of.not_sent,
                of.lost,
                of.behind,
            )
            .expect("a String takes everything");
        }
    }
    text
}

fn micros(ns: i64) -> f64 {
    candor_lab::stats::LatencyNs(ns).microseconds()
}
