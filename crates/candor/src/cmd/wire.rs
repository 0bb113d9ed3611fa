//! `candor wire`: CAN buses in software.

mod adapters;
mod capture;
mod log;
mod plant;
mod report;
pub(crate) mod spec;
mod witness;

use std::io;
use std::time::Duration;

use candor_bus::Order;
use candor_io::signal::EndingSignals;
use candor_wire::Settings;

use crate::cli::{WireArgs, WireOrder};
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;
use adapters::Adapters;
use plant::Plant;
use witness::Witness;

/// How often the log and the capture are written. A long story takes the processor for milliseconds from those who keep a bus busy, where there
/// is one processor only: so it is told in small pieces.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &WireArgs) -> Outcome {
    spec::check(&args.bus)?;
    let adapters =
        args.bus.iter().map(|bus| Adapters::choose(args.model, args.depth, bus)).collect::<Result<Vec<_>, _>>()?;
    let mut witness = Witness::create(args)?;
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let order = match args.order {
        WireOrder::Fifo => Order::Fifo,
        WireOrder::LowestId => Order::LowestId,
    };
    let settings = Settings { seed: args.seed, order, rates: None };
    let plant = Plant::build(&args.bus, &adapters, settings, witness.is_wanted())?;
    let told = report::ready(args, &adapters, &plant);
    let outcome = told.and_then(|()| play(&signals, &plant, &mut witness));
    let (report, rest, ready_at) = plant.dismantle()?;
    witness.write(&rest)?;
    let is_valid = report::end(args, &report, ready_at)?;
    outcome?;
    Ok(if is_valid { Exit::Fine } else { Exit::No })
}

/// Until a signal comes.
fn play(signals: &EndingSignals, plant: &Plant, witness: &mut Witness) -> io::Result<()> {
    while signals.wait(LOOK)?.is_none() && !plant.has_ended() {
        witness.write(&plant.story())?;
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
