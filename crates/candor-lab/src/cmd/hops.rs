//! `candor-lab hops`: the cost of each further pass through the CAN layer and can-gw.

use std::error::Error;
use std::fs;

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_config::placement::MAX_MAX_HOPS;
use candor_io::machine::Machine;
use candor_lab::device::Gateway;
use candor_lab::hops::{between, gateway_file, line};
use candor_lab::record::Sample;
use candor_lab::stats::{LatencyNs, Line, Quantile, Series};
use candor_lab::tester::{Interfaces, Names, Origin, Pattern};
use serde::Serialize;

use super::method::{self, Distribution};
use super::tester::{self, DeviceUnderTest};
use crate::cli::LabHopsArgs;

struct Chain {
    routes: u8,
    /// `None` if no frame arrived.
    latencies: Option<Series>,
    lost: usize,
}

pub(crate) fn run(args: &LabHopsArgs) -> Outcome {
    let pattern = tester::pattern(&args.traffic, None, Origin::Call)?;
    check_max_hops(args.routes)?;
    let names = args.interfaces.names();
    // Errors of these interfaces are reported before others are created.
    drop(Interfaces::open(names, &pattern)?);
    let hops: Vec<_> = between(args.routes).collect();
    let created = method::create(hops.iter())?;
    let chains = (1..=args.routes)
        .map(|routes| chain(args, names, &pattern, routes))
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    drop(created);
    render::out(&if args.json { render::line(&View::of(args, &chains)) } else { text(&chains) })?;
    if chains.iter().all(|chain| chain.latencies.is_some()) {
        return Ok(Exit::Fine);
    }
    render::err(&format!(
        "candor-lab: a chain forwarded no frame to {}; if {} is a virtual interface, add --echo\n",
        names.receive, args.to
    ));
    Ok(Exit::No)
}

/// Checks the limit of can-gw, which only reloading changes. That would remove the gateways of others.
fn check_max_hops(routes: u8) -> Result<(), Box<dyn Error>> {
    let max_hops = Machine::here().number("/sys/module/can_gw/parameters/max_hops");
    let max_hops = max_hops.and_then(|number| u8::try_from(number).ok()).unwrap_or(MAX_MAX_HOPS);
    if routes > max_hops {
        return Err(format!(
            "can-gw was loaded with max_hops={max_hops}, and the longest chain has {routes} routes. In a guest of the laboratory: \
             candor-lab run --module-parameter can_gw.max_hops={routes} …; on a machine (this removes all jobs of can-gw): \
             sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={routes}; or measure shorter chains: --routes {max_hops}"
        )
        .into());
    }
    Ok(())
}

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
    let samples = method::through(&device, names, pattern)?;
    let latencies: Vec<_> = samples.iter().filter_map(Sample::latency).collect();
    Ok(Chain { routes, lost: samples.len() - latencies.len(), latencies: Series::new(latencies) })
}

fn medians(chains: &[Chain]) -> Vec<(u8, LatencyNs)> {
    let median = |chain: &Chain| Some((chain.routes, chain.latencies.as_ref()?.quantile(Quantile::P50)));
    chains.iter().filter_map(median).collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View {
    kernel_release: String,
    frames: u32,
    chains: Vec<ChainView>,
    /// Line through the medians: of each further route; `null` for a single chain.
    pass_ns: Option<f64>,
    /// Without a route.
    rest_ns: Option<f64>,
    r_squared: Option<f64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChainView {
    routes: u8,
    /// `null` if no frame arrived.
    latency: Option<Distribution>,
    lost: usize,
}

impl View {
    fn of(args: &LabHopsArgs, chains: &[Chain]) -> Self {
        let line = line(&medians(chains));
        let chain = |Chain { routes, latencies, lost }: &Chain| ChainView {
            routes: *routes,
            latency: latencies.as_ref().map(Distribution::of),
            lost: *lost,
        };
        Self {
            kernel_release: tester::kernel_release(),
            frames: args.traffic.frames,
            chains: chains.iter().map(chain).collect(),
            pass_ns: line.map(|line| line.slope),
            rest_ns: line.map(|line| line.intercept),
            r_squared: line.map(|line| line.determination),
        }
    }
}

fn text(chains: &[Chain]) -> String {
    let row = |Chain { routes, latencies, lost }: &Chain| {
        let count = latencies.as_ref().map_or(0, Series::count);
        let mut row = vec![plural((*routes).into(), "route"), count.to_string(), lost.to_string()];
        row.extend(latencies.iter().flat_map(method::order_statistics).map(|ns| ns.to_string()));
        row
    };
    let header = ["", "frames", "lost"].into_iter().chain(method::STATISTICS);
    let mut text = format!("In ns of this machine\n\n{}", method::table(header, chains.iter().map(row)));
    if let Some(Line { slope, intercept, determination }) = line(&medians(chains)) {
        text += &format!(
            "\nA pass takes {slope:.0} ns, the rest {intercept:.0} ns (line through the medians, R² {determination:.6})\n"
        );
    }
    text
}
