//! `[wire]` of a file instead of options.

use std::path::{Path, PathBuf};

use candor_config::config::{self, MAX_FILE_BYTES};
use candor_config::wire::{Wire, WireBus};

use crate::cli::{AdapterSpec, BusSpec};
use crate::cli::{TimedFault, WireArgs};
use candor_cli::gateway_file::{read_bytes, tally};
use candor_cli::render::{self, Source};

type Failure = Box<dyn std::error::Error>;

/// Completes the arguments from the file; `None` after printing findings. Fails if the file cannot be read or has no buses.
pub(super) fn complete(args: &WireArgs, path: &Path) -> Result<Option<WireArgs>, Failure> {
    let (name, bytes) = read_bytes(path, MAX_FILE_BYTES)?;
    let source = Source::new(name, &bytes);
    match config::load_wire(&bytes, str::parse::<TimedFault>) {
        Ok(Some((wire, faults))) => Ok(Some(filled(args, wire, faults))),
        Ok(None) => Err(format!(
            "{} has no [wire]: add a line [wire.bus.NAME] and below it bitrate = \"500kbit/s\" and interfaces = [\"can0\", \
             \"can1\"], or give the buses as --bus",
            source.name()
        )
        .into()),
        Err(findings) => {
            render::err(&render::text(&source, &findings, render::wants_colour()));
            render::err(&format!("{}: not valid: {}\n", source.name(), tally(&findings)));
            Ok(None)
        }
    }
}

fn filled(args: &WireArgs, wire: Wire, faults: Vec<TimedFault>) -> WireArgs {
    let args = args.clone();
    let bus = |WireBus { name, bitrate: rate, data_bitrate: data_rate, interfaces }| BusSpec {
        name,
        rate,
        data_rate,
        interfaces,
    };
    let adapter = |interfaces| AdapterSpec { interfaces };
    WireArgs {
        bus: wire.buses.into_iter().map(bus).collect(),
        adapter: if args.adapter.is_empty() { wire.adapters.into_iter().map(adapter).collect() } else { args.adapter },
        model: args.model.or(wire.model),
        depth: args.depth.or(wire.depth),
        force_rates: args.force_rates || wire.force_rates,
        order: args.order.or(wire.order),
        seed: args.seed.or(wire.seed),
        late: args.late.or(wire.late),
        log: args.log.or_else(|| wire.log.map(PathBuf::from)),
        pcapng: args.pcapng.or_else(|| wire.pcapng.map(PathBuf::from)),
        fault: faults.into_iter().chain(args.fault).collect(),
        ..args
    }
}
