//! `candor-lab hops`: what each further pass through the CAN layer and can-gw takes.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use candor_config::placement::MAX_MAX_HOPS;
use candor_io::machine::Machine;
use candor_lab::device::Gateway;
use candor_lab::hops::{between, gateway_file, line};
use candor_lab::record::Sample;
use candor_lab::stats::{LatencyNs, Line, Quantile, Series};
use candor_lab::tester::{Interfaces, Names, Origin, Pattern};
use serde_json::json;

use super::distribution::{columns, distribution, head};
use super::load;
use crate::cli::LabHopsArgs;
use crate::cmd::tester;
use crate::cmd::tester::DeviceUnderTest;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::plural;
use candor_cli::render;

/// A chain and what frames took through it.
struct Chain {
    routes: u8,
    /// Of the frames that arrived; `None` if none did.
    latencies: Option<Series>,
    lost: usize,
}

pub(crate) fn run(args: &LabHopsArgs) -> Outcome {
    let pattern = tester::pattern(&args.traffic, None, Origin::Call)?;
    is_allowed(args.routes)?;
    let names = Names { send: &args.send, monitor: &args.monitor, receive: &args.receive };
    // Whatever is wrong with the interfaces should be said before others are made.
    drop(Interfaces::open(names, &pattern)?);
    let hops: Vec<_> = between(args.routes).collect();
    let made = load::create(hops.iter())?;
    let chains = (1..=args.routes)
        .map(|routes| chain(args, names, &pattern, routes))
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    drop(made);
    render::out(&if args.json { json(args, &chains) } else { text(&chains) })?;
    if chains.iter().all(|chain| chain.latencies.is_some()) {
        return Ok(Exit::Fine);
    }
    render::err(&format!(
        "candor-lab: A chain let no frame through to {}; if {} is a virtual interface, add --echo\n",
        args.receive, args.to
    ));
    Ok(Exit::No)
}

/// Whether can-gw lets frames through so many routes. Loading it anew would end the gateways of others, so nobody does it here.
fn is_allowed(routes: u8) -> Result<(), Box<dyn Error>> {
    let max_hops = Machine::here().number("/sys/module/can_gw/parameters/max_hops");
    let max_hops = max_hops.and_then(|number| u8::try_from(number).ok()).unwrap_or(MAX_MAX_HOPS);
    if routes > max_hops {
        return Err(format!(
            "can-gw was loaded with max_hops={max_hops}, and a chain is to have {routes} routes. In a guest of the laboratory: \
             candor-lab run --module-parameter can_gw.max_hops={routes} …; on a machine (this removes all jobs of can-gw): \
             sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={routes}; or take shorter chains: --routes {max_hops}"
        )
        .into());
    }
    Ok(())
}

/// Frames through a chain of so many routes.
fn chain(args: &LabHopsArgs, names: Names<'_>, pattern: &Pattern, routes: u8) -> Result<Chain, Box<dyn Error>> {
    render::err(&format!("candor-lab: frames through {}\n", plural(routes.into(), "route")));
    let file = tempfile::Builder::new().prefix("candor-hops-").suffix(".toml").tempfile()?;
    fs::write(file.path(), gateway_file(routes, (&args.from, &args.to), args.traffic.frame.format, args.echo))?;
    let device = DeviceUnderTest {
        name: format!("hops-{routes}"),
        engine: "kernel".to_owned(),
        spins: false,
        gateway: Some(Gateway::of_file(file.path())),
    };
    let samples = load::through(&device, names, pattern)?;
    let latencies: Vec<_> = samples.iter().filter_map(Sample::latency).collect();
    Ok(Chain { routes, lost: samples.len() - latencies.len(), latencies: Series::new(latencies) })
}

fn medians(chains: &[Chain]) -> Vec<(u8, LatencyNs)> {
    let median = |chain: &Chain| Some((chain.routes, chain.latencies.as_ref()?.quantile(Quantile::P50)));
    chains.iter().filter_map(median).collect()
}

fn json(args: &LabHopsArgs, chains: &[Chain]) -> String {
    let line = line(&medians(chains));
    let chain = |chain: &Chain| {
        json!({
            "routes": chain.routes,
            "latency": chain.latencies.as_ref().map(distribution),
            "lost": chain.lost,
        })
    };
    let value = json!({
        "kernel_release": tester::kernel_release(),
        "frames": args.traffic.frames,
        "chains": chains.iter().map(chain).collect::<Vec<_>>(),
        "pass_ns": line.map(|line| line.slope),
        "rest_ns": line.map(|line| line.intercept),
        "r_squared": line.map(|line| line.determination),
    });
    format!("{value}\n")
}

fn text(chains: &[Chain]) -> String {
    let mut text = format!("In ns of this machine\n\n{:<10} {:>7} {:>6}{}\n", "", "frames", "lost", head());
    for Chain { routes, latencies, lost } in chains {
        let name = plural((*routes).into(), "route");
        let count = latencies.as_ref().map_or(0, Series::count);
        let figures = latencies.as_ref().map(columns).unwrap_or_default();
        writeln!(text, "{name:<10} {count:>7} {lost:>6}{figures}").expect("a String takes everything");
    }
    if let Some(Line { slope, intercept, determination }) = line(&medians(chains)) {
        writeln!(
            text,
            "\nA pass takes {slope:.0} ns, everything else {intercept:.0} ns (line through the medians, R² {determination:.6})"
        )
        .expect("a String takes everything");
    }
    text
}
