//! `candor-lab stream`: gateways under frames with a fixed period.

use std::time::Duration;

use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};
use candor_lab::stats::LatencyNs;
use candor_lab::stream::{Bench, Pattern, Saturation};
use serde::Serialize;

use super::method::{self, Failed};
use super::tester::{self, DeviceUnderTest};
use crate::cli::LabStreamArgs;

/// Streams of one gateway, in the order of the periods.
type OfGateway<'a> = (&'a DeviceUnderTest, Vec<Saturation>);

pub(crate) fn run(args: &LabStreamArgs) -> Outcome {
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(Exit::No) };
    let devices = tester::devices_under_test(&files, false, false)?;
    method::set_down(&args.down)?;
    let (tester_ns, all) = method::as_tester(|| {
        let tester_ns = tester_ns(args)?;
        let measured =
            devices.iter().map(|device| Ok((device, method::with_gateway(device, |_| streams(args, &args.periods))?)));
        Ok((tester_ns, measured.collect::<Result<Vec<_>, Failed>>()?))
    })?;
    render::out(&if args.json { render::line(&View::of(args, tester_ns, &all)) } else { text(args, tester_ns, &all) })?;
    Ok(Exit::Fine)
}

/// The tester's share of a period: the period of a stream without a gateway and without a pause.
fn tester_ns(args: &LabStreamArgs) -> Result<i64, Failed> {
    let alone = streams(args, &[Duration::ZERO])?;
    Ok(alone.first().map_or(0, |one| one.period_ns))
}

fn streams(args: &LabStreamArgs, periods: &[Duration]) -> Result<Vec<Saturation>, Failed> {
    let mut bench = Bench::open(&args.way)?;
    let mut stream = |period: &Duration| {
        // The taps are read only at the end, because reading them delays the gateway.
        let pattern = Pattern { template: args.frame, period: *period, frames: args.frames, look: u32::MAX };
        let mut passages = Vec::with_capacity(args.frames as usize);
        let matcher = bench.pass(&pattern, |passage| passages.push(passage), |_| Ok(()))?;
        Ok(Saturation::of(args.frames, &matcher, &passages))
    };
    periods.iter().map(&mut stream).collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    kernel_release: String,
    /// `null` if instructions are not counted.
    instruction_ns: Option<u32>,
    /// Of each stream.
    frames: u32,
    tester_ns: i64,
    gateways: Vec<GatewayView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GatewayView<'a> {
    device: &'a str,
    engine: &'a str,
    streams: Vec<StreamView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StreamView {
    asked_period_ns: u64,
    period_ns: i64,
    not_sent: u32,
    lost: u32,
    /// In transit when the last frame was received.
    behind: u32,
    /// `null` if no frame was sent.
    p50_ns: Option<i64>,
    p90_ns: Option<i64>,
    max_ns: Option<i64>,
}

impl<'a> View<'a> {
    fn of(args: &LabStreamArgs, tester_ns: i64, all: &[OfGateway<'a>]) -> Self {
        let stream = |(asked, of): (&Duration, &Saturation)| StreamView {
            asked_period_ns: u64::try_from(asked.as_nanos()).unwrap_or(u64::MAX),
            period_ns: of.period_ns,
            not_sent: of.not_sent,
            lost: of.lost,
            behind: of.behind,
            p50_ns: of.p50.map(|p50| p50.0),
            p90_ns: of.p90.map(|p90| p90.0),
            max_ns: of.max.map(|max| max.0),
        };
        let gateway = |(device, streams): &OfGateway<'a>| GatewayView {
            device: &device.name,
            engine: &device.engine,
            streams: args.periods.iter().zip(streams).map(stream).collect(),
        };
        Self {
            kernel_release: tester::kernel_release(),
            instruction_ns: tester::instruction_ns(),
            frames: args.frames,
            tester_ns,
            gateways: all.iter().map(gateway).collect(),
        }
    }
}

fn text(args: &LabStreamArgs, tester_ns: i64, all: &[OfGateway<'_>]) -> String {
    let us = |ns: LatencyNs| format!("{:.1}", ns.microseconds());
    let row = |(device, asked, of): (&DeviceUnderTest, &Duration, &Saturation)| {
        let mut row = vec![device.name.clone(), asked.as_micros().to_string(), us(LatencyNs(of.period_ns))];
        row.extend([of.not_sent, of.lost, of.behind].map(|count| count.to_string()));
        row.extend([of.p50, of.max].map(|latency| latency.map_or_else(|| "-".to_owned(), us)));
        row
    };
    let streams = all
        .iter()
        .flat_map(|(device, streams)| args.periods.iter().zip(streams).map(move |(asked, of)| (*device, asked, of)));
    let header = ["gateway", "asked/us", "period/us", "not sent", "lost", "backlog", "p50/us", "max/us"];
    let (frames, tester) = (plural(args.frames as usize, "frame"), us(LatencyNs(tester_ns)));
    let table = method::table(header, streams.map(row));
    format!("{frames} each; the tester needs {tester} us of a period\n\n{table}")
}
