//! `candor-lab wire`: simulated CAN buses.

mod adapter;
pub(crate) mod adapters;
mod capture;
mod control;
pub(super) mod event;
mod faults;
mod file;
mod inject;
mod log;
mod recorder;
mod report;
pub(super) mod session;
mod sockets;
pub(crate) mod virtual_buses;

use std::error::Error;
use std::io;
use std::time::Duration;

use candor_bus::{Order, Timing};
use candor_cli::{Exit, Outcome, render};
use candor_config::wire::WireOrder;
use candor_io::signal::EndingSignals;
use candor_wire::Settings;

use crate::cli::{self, BusSpec, WireArgs, WireCommand};
use adapters::{Adapters, Kind};
use event::Event;
use faults::Names;
use recorder::Recorder;
use session::Session;
use virtual_buses::VirtualBuses;

/// Interval between writes of the log and the capture. A long trace occupies the processor for milliseconds; if there is
/// only one, that would delay the programs that keep a bus busy.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &WireArgs) -> Outcome {
    if let Some(WireCommand::Inject(args)) = &args.command {
        return inject::run(args);
    }
    let Some(path) = &args.file else { return simulate(args) };
    match file::complete(args, path)? {
        Some(args) => simulate(&args),
        None => Ok(Exit::No),
    }
}

fn simulate(args: &WireArgs) -> Outcome {
    cli::check_buses(&args.bus)?;
    let kinds = args.bus.iter().map(|bus| Kind::choose(args.model, args.depth, bus)).collect::<Result<Vec<_>, _>>()?;
    let adapters = Adapters::of(&args.bus, &kinds, &args.adapter)?;
    let names = Names::new(&args.bus, &adapters);
    for fault in &args.fault {
        names.resolve(&fault.words)?;
    }
    let mut recorder = Recorder::create(args, &names)?;
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let order = match args.order.unwrap_or(WireOrder::Fifo) {
        WireOrder::Fifo => Order::Fifo,
        WireOrder::LowestId => Order::LowestId,
    };
    let settings = |bus: &BusSpec| {
        let rates = args.force_rates.then_some(Timing { nominal: bus.rate, data: bus.data_rate });
        Settings { seed: args.seed.unwrap_or(1), order, rates }
    };
    let virtual_buses = VirtualBuses::build(&args.bus, &kinds, &adapters, settings, recorder.is_needed())?;
    let mut session = Session::new(virtual_buses, &names, args.json);
    let outcome = run_session(args, &kinds, &adapters, &signals, &mut session, &mut recorder);
    let ready_at = session.virtual_buses.ready_at;
    let (report, rest) = session.virtual_buses.dismantle()?;
    recorder.write(&rest)?;
    let is_valid = report::end(args, &report, ready_at)?;
    outcome?;
    Ok(if is_valid { Exit::Fine } else { Exit::No })
}

/// Runs until a signal arrives.
fn run_session(
    args: &WireArgs,
    kinds: &[Kind],
    adapters: &Adapters,
    signals: &EndingSignals,
    session: &mut Session<'_>,
    recorder: &mut Recorder<'_>,
) -> Result<(), Box<dyn Error>> {
    session.begin(&args.fault)?;
    report::ready(args, kinds, adapters, session)?;
    while signals.wait(LOOK)?.is_none() && !session.virtual_buses.running.has_ended() {
        session.look()?;
        recorder.write(&session.virtual_buses.running.trace())?;
    }
    Ok(())
}

/// Prints a warning that does not end the run.
fn warn(json: bool, text: &str) -> io::Result<()> {
    if json {
        return render::out(&render::line(&Event::Warning { text }));
    }
    render::err(&format!("warning: {text}\n"));
    Ok(())
}
