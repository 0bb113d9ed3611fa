//! `candor-lab wire inject`: injects a fault into a running `candor-lab wire`.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use candor_bus::BusNs;
use candor_cli::{Exit, Outcome, render};
use serde_json::{Value, json};

use super::sockets::{self, Wire};
use crate::cli::{FaultWords, InjectArgs};

/// Plugging an adapter in takes half a second, sometimes longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The reason why no process was selected.
#[derive(Debug, thiserror::Error)]
enum NoWire {
    #[error(
        "No candor-lab wire runs in this network namespace, or only root may inject faults: sudo candor-lab wire inject …; to \
         start one: sudo candor-lab wire --bus b0:500k:can0,can1"
    )]
    NotRunning,
    #[error("No candor-lab wire has a bus or an interface {wanted}; found: {}", others.join(", "))]
    NotThere { wanted: String, others: Vec<String> },
    #[error("The processes {pids:?} all have a bus {wanted}; give buses unique names, or name an interface")]
    Several { wanted: String, pids: Vec<u32> },
    #[error("The candor-lab wire with process id {pid} does not answer")]
    Silent { pid: u32, source: io::Error },
}

pub(crate) fn run(args: &InjectArgs) -> Outcome {
    let wires = sockets::all()?;
    let wire = choose(&wires, &args.fault.words)?;
    let answer = ask(wire, &serde_json::to_value(&args.fault)?)?;
    let refused = answer["error"].as_str();
    if args.json {
        render::out(&format!("{answer}\n"))?;
    } else if let Some(error) = refused {
        render::err(&format!("candor-lab: {error}\n"));
    } else {
        let (bus, what) = (answer["bus"].as_str().unwrap_or_default(), answer["what"].as_str().unwrap_or_default());
        let at = BusNs(answer["at_ns"].as_u64().unwrap_or_default());
        let will = if answer["done"] == true { "since" } else { "planned for" };
        render::out(&format!("{bus}  {what}  {will} {at} s\n"))?;
    }
    Ok(if refused.is_some() { Exit::No } else { Exit::Fine })
}

/// The process that has the bus or the interface.
fn choose<'a>(wires: &'a [Wire], words: &FaultWords) -> Result<&'a Wire, NoWire> {
    let wanted = words.place();
    let (mut found, mut others, mut silent) = (Vec::new(), Vec::new(), None);
    for wire in wires {
        let names = match ask(wire, &json!({ "ask": "buses" })) {
            Ok(answer) => names(&answer),
            Err(error) => {
                silent.get_or_insert(error);
                continue;
            }
        };
        if names.iter().any(|name| name == wanted) {
            found.push(wire);
        }
        others.extend(names);
    }
    match (&found[..], silent) {
        ([one], _) => Ok(one),
        ([], _) if wires.is_empty() => Err(NoWire::NotRunning),
        // A process that does not answer may have it.
        ([], Some(silent)) => Err(silent),
        ([], None) => Err(NoWire::NotThere { wanted: wanted.to_owned(), others }),
        (_, _) => Err(NoWire::Several { wanted: wanted.to_owned(), pids: found.iter().map(|wire| wire.pid).collect() }),
    }
}

/// The names of buses and interfaces.
fn names(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let buses = answer["buses"].as_array().into_iter().flatten();
    let of_bus = |bus: &Value| {
        let interfaces = bus["interfaces"].as_array().into_iter().flatten().filter_map(text);
        text(&bus["bus"]).into_iter().chain(interfaces).collect::<Vec<_>>()
    };
    buses.flat_map(of_bus).collect()
}

fn ask(wire: &Wire, question: &Value) -> Result<Value, NoWire> {
    let exchange = || {
        let stream = UnixStream::connect(&wire.socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        (&stream).write_all(format!("{question}\n").as_bytes())?;
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    };
    exchange().map_err(|source| NoWire::Silent { pid: wire.pid, source })
}
