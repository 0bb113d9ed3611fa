//! `candor-lab wire inject`: asks a candor-lab wire that runs to let something go wrong.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use candor_bus::BusNs;
use serde_json::{Value, json};

use super::sockets::{self, Wire};
use crate::cli::{FaultWords, InjectArgs};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// Plugging an adapter in takes half a second; the kernel may need longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nobody can be asked, or nobody in particular.
#[derive(Debug)]
enum NoWire {
    Nobody,
    NotThere { wanted: String, others: Vec<String> },
    Several { wanted: String, pids: Vec<u32> },
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

/// The one that has the bus or the interface.
fn choose<'a>(wires: &'a [Wire], words: &FaultWords) -> Result<&'a Wire, NoWire> {
    let wanted = words.place();
    let (mut meant, mut others, mut silent) = (Vec::new(), Vec::new(), None);
    for wire in wires {
        let names = match ask(wire, &json!({ "ask": "buses" })) {
            Ok(answer) => names(&answer),
            Err(error) => {
                silent.get_or_insert(error);
                continue;
            }
        };
        if names.iter().any(|name| name == wanted) {
            meant.push(wire);
        }
        others.extend(names);
    }
    match meant[..] {
        [one] => Ok(one),
        [] if wires.is_empty() => Err(NoWire::Nobody),
        // Perhaps it would have been that one.
        [] if silent.is_some() => Err(silent.unwrap_or(NoWire::Nobody)),
        [] => Err(NoWire::NotThere { wanted: wanted.to_owned(), others }),
        _ => Err(NoWire::Several { wanted: wanted.to_owned(), pids: meant.iter().map(|wire| wire.pid).collect() }),
    }
}

/// Of the buses and of their interfaces.
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
    let silent = |source| NoWire::Silent { pid: wire.pid, source };
    talk(wire, question).map_err(silent)
}

fn talk(wire: &Wire, question: &Value) -> io::Result<Value> {
    let stream = UnixStream::connect(&wire.socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    (&stream).write_all(format!("{question}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

impl fmt::Display for NoWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str(
                "No candor-lab wire runs in this network namespace, or it is root's: sudo candor-lab wire inject …; to start one: \
                 sudo candor-lab wire --bus b0:500k:can0,can1",
            ),
            Self::NotThere { wanted, others } => {
                write!(f, "No candor-lab wire has a bus or an interface {wanted}; there is {}", others.join(", "))
            }
            Self::Several { wanted, pids } => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                let pids = pids.join(" and ");
                write!(f, "The processes {pids} both have a bus {wanted}; give buses names of their own, or name an interface")
            }
            Self::Silent { pid, .. } => write!(f, "The candor-lab wire with process number {pid} does not answer"),
        }
    }
}

impl Error for NoWire {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Silent { source, .. } => Some(source),
            Self::Nobody | Self::NotThere { .. } | Self::Several { .. } => None,
        }
    }
}
