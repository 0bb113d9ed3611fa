//! `candor-lab wire`: CAN buses in software.

mod adapter;
pub(crate) mod adapters;
mod capture;
mod control;
mod faults;
mod file;
mod inject;
mod log;
mod report;
mod session;
mod sockets;
pub(crate) mod spec;
pub(crate) mod virtual_buses;
mod witness;

use std::error::Error;
use std::io;
use std::time::Duration;

use candor_bus::{Order, Timing};
use candor_io::signal::EndingSignals;
use candor_wire::Settings;

use crate::cli::{WireArgs, WireCommand, WireOrder};
use adapters::{Fleet, Kind};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;
use faults::Places;
use session::Session;
use spec::BusSpec;
use virtual_buses::VirtualBuses;
use witness::Witness;

/// How often the log and the capture are written. A long story takes the processor for milliseconds from those who keep a bus busy, where there
/// is one processor only: so it is told in small pieces.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &WireArgs) -> Outcome {
    if let Some(WireCommand::Inject(args)) = &args.command {
        return inject::run(args);
    }
    let with_file = match &args.file {
        Some(path) => match file::complete(args, path)? {
            Some(args) => Some(args),
            None => return Ok(Exit::No),
        },
        None => None,
    };
    play_buses(with_file.as_ref().unwrap_or(args))
}

fn play_buses(args: &WireArgs) -> Outcome {
    spec::check(&args.bus)?;
    let kinds = args.bus.iter().map(|bus| Kind::choose(args.model, args.depth, bus)).collect::<Result<Vec<_>, _>>()?;
    let fleet = Fleet::of(&args.bus, &kinds, &args.adapter)?;
    let places = Places::new(&args.bus, &fleet);
    for fault in &args.fault {
        places.place(&fault.words)?;
    }
    let mut witness = Witness::create(args, &places)?;
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let order = match args.order.unwrap_or_default() {
        WireOrder::Fifo => Order::Fifo,
        WireOrder::LowestId => Order::LowestId,
    };
    let forced = |bus: &BusSpec| Timing { nominal: bus.rate, data: bus.data_rate };
    let settings = |bus: &BusSpec| {
        let rates = args.force_rates.then(|| forced(bus));
        Settings { seed: args.seed.unwrap_or(1), order, rates }
    };
    let virtual_buses = VirtualBuses::build(&args.bus, &kinds, &fleet, settings, witness.is_wanted())?;
    let mut session = Session::new(virtual_buses, &places, args.json);
    let outcome = play(args, &kinds, &fleet, &signals, &mut session, &mut witness);
    let (report, rest, ready_at) = session.end().dismantle()?;
    witness.write(&rest)?;
    let is_valid = report::end(args, &report, ready_at)?;
    outcome?;
    Ok(if is_valid { Exit::Fine } else { Exit::No })
}

/// Until a signal comes.
fn play(
    args: &WireArgs,
    kinds: &[Kind],
    fleet: &Fleet,
    signals: &EndingSignals,
    session: &mut Session<'_>,
    witness: &mut Witness,
) -> Result<(), Box<dyn Error>> {
    session.begin(&args.fault)?;
    report::ready(args, kinds, fleet, session.virtual_buses(), session.control())?;
    while signals.wait(LOOK)?.is_none() && !session.virtual_buses().has_ended() {
        session.look()?;
        witness.write(&session.virtual_buses().story())?;
    }
    Ok(())
}

/// Says something that is wrong and does not end the run.
fn warn(json: bool, text: &str) -> io::Result<()> {
    if json {
        return render::out(&format!("{}\n", serde_json::json!({ "event": "warning", "text": text })));
    }
    render::err(&format!("warning: {text}\n"));
    Ok(())
}
