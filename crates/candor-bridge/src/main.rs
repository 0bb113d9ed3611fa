//! `candor-bridge`: CAN buses on Zenoh and MQTT.
#![forbid(unsafe_code)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use candor_bridge::bridge::Bridge;
use candor_bridge::bus::{Bus, Interface};
use candor_bridge::settings;
use candor_cli::render::{self, Source};
use candor_cli::{Exit, Outcome};
use candor_io::signal::EndingSignals;
use clap::Parser;

/// Puts CAN buses on Zenoh and MQTT: frames and signals outwards, frames of an allow-list back.
#[derive(Debug, Parser)]
#[command(name = "candor-bridge", version)]
struct Cli {
    /// File of the bridge, see docs/bridge.md.
    file: PathBuf,
    /// Check the file and end.
    #[arg(long)]
    check: bool,
    /// Print the counters as a line of JSON at the end.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
struct CannotError {
    what: String,
    source: io::Error,
}

fn main() -> ExitCode {
    candor_cli::finish("candor-bridge", run(&Cli::parse()))
}

fn run(args: &Cli) -> Outcome {
    let name = args.file.display().to_string();
    let cannot = |what: String| move |source| CannotError { what, source };
    let bytes = std::fs::read(&args.file).map_err(cannot(format!("read {name}")))?;
    let folder = args.file.parent().unwrap_or_else(|| Path::new(""));
    let loaded = settings::load(&bytes, &|path| std::fs::read(folder.join(path)));
    let source = Source::new(name, &bytes);
    let (settings, warnings) = match loaded {
        Ok(loaded) => loaded,
        Err(findings) => {
            render::err(&render::text(&source, &findings, render::wants_colour()));
            return Ok(Exit::No);
        }
    };
    render::err(&render::text(&source, &warnings, render::wants_colour()));
    if args.check {
        return Ok(Exit::Fine);
    }
    // Zenoh tells there why a connection fails.
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    // Before the first thread.
    let signals = EndingSignals::block()?;
    let open = |bus: &settings::Bus| -> Result<Arc<dyn Bus>, CannotError> {
        let interface = Interface::new(&bus.interface);
        Ok(Arc::new(interface.map_err(cannot(format!("open the CAN interface {}", bus.interface)))?))
    };
    let buses = settings.buses.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let bridge = Bridge::start(&settings, &buses, |text| render::err(&format!("{text}\n")));
    let mut told = bridge.counts();
    while signals.wait(Duration::from_secs(1))?.is_none() {
        let counts = bridge.counts();
        if counts != told {
            render::err(&format!("{}\n", counts.text()));
            told = counts;
        }
    }
    let counts = bridge.stop();
    render::err(&format!("{}\n", counts.text()));
    if args.json {
        return render::answer(&render::line(&counts), Exit::Fine);
    }
    Ok(Exit::Fine)
}
