//! A run of `candor-lab wire`: buses and the faults injected into them.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use candor_bus::BusNs;
use candor_wire::fault::{Effect, FaultId, FaultOrder};
use candor_wire::host::Reply;
use serde::Serialize;
use serde_json::{Value, json};

use super::control::{Control, Request};
use super::event::Event;
use super::faults::Names;
use super::virtual_buses::VirtualBuses;
use super::warn;
use crate::cli::{BusSpec, TimedFault};
use candor_cli::render;

/// Time for the bus thread to answer. It has the highest priority.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) virtual_buses: VirtualBuses,
    names: &'a Names,
    pub(super) control: Option<Control>,
    json: bool,
    next_order: u64,
}

/// An order that was carried out or is scheduled.
struct Accepted {
    bus: String,
    what: String,
    at: BusNs,
    is_done: bool,
}

/// The answer to `candor-lab wire inject`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(in crate::cmd) enum Answer {
    /// `done`: it was carried out; otherwise it is scheduled.
    Accepted {
        bus: String,
        at_ns: u64,
        what: String,
        done: bool,
    },
    Refused {
        error: String,
    },
}

impl<'a> Session<'a> {
    pub(super) const fn new(virtual_buses: VirtualBuses, names: &'a Names, json: bool) -> Self {
        Self { virtual_buses, names, control: None, json, next_order: 0 }
    }

    /// Injects the faults of the command line and opens the control socket.
    pub(super) fn begin(&mut self, faults: &[TimedFault]) -> Result<(), Box<dyn Error>> {
        for fault in faults {
            if let Err(reason) = self.order(fault)? {
                let ready = self.virtual_buses.ready_at;
                return Err(format!("--fault is refused: {reason} (interfaces are up since {ready} s)").into());
            }
        }
        match super::sockets::own().and_then(|path| Control::open(&path)) {
            Ok(control) => self.control = Some(control),
            Err(error) => warn(self.json, &format!("candor-lab wire inject is not available: {error}"))?,
        }
        Ok(())
    }

    /// Answers requests and reports the outcome of orders.
    pub(super) fn look(&mut self) -> Result<(), Box<dyn Error>> {
        let requests: Vec<Request> = self.control.iter().flat_map(Control::requests).collect();
        for request in requests {
            let answer = self.answer(&request.line)?;
            request.answer(answer);
        }
        for reply in self.virtual_buses.running.replies(Duration::ZERO)? {
            self.follow(&reply)?;
        }
        Ok(())
    }

    fn answer(&mut self, line: &str) -> Result<Value, Box<dyn Error>> {
        let question: Value = match serde_json::from_str(line) {
            Ok(question) => question,
            Err(error) => return Ok(refused(&format!("Not JSON: {error}"))),
        };
        if question["ask"] == "buses" {
            return Ok(self.buses()?);
        }
        let fault: TimedFault = match serde_json::from_value(question) {
            Ok(fault) => fault,
            Err(error) => return Ok(refused(&format!("Not a fault: {error}"))),
        };
        Ok(match self.order(&fault)? {
            Ok(Accepted { bus, what, at, is_done }) => {
                json!(Answer::Accepted { bus, at_ns: at.0, what, done: is_done })
            }
            Err(reason) => refused(&reason),
        })
    }

    fn buses(&self) -> io::Result<Value> {
        let bus = |bus: &BusSpec| json!({ "bus": bus.name, "interfaces": bus.interfaces });
        let buses: Vec<Value> = self.names.buses().map(bus).collect();
        Ok(json!({ "buses": buses, "now_ns": self.virtual_buses.running.now()?.0 }))
    }

    /// Sends an order and waits until it is carried out, scheduled or refused.
    fn order(&mut self, fault: &TimedFault) -> Result<Result<Accepted, String>, Box<dyn Error>> {
        let ordered = match self.names.resolve(&fault.words) {
            Ok(fault) => fault,
            Err(reason) => return Ok(Err(reason)),
        };
        let id = FaultId(self.next_order);
        self.next_order += 1;
        let (at, lasts_ns) = (fault.at.map(|at| BusNs(at.0)), fault.words.lasts().map(|lasts| lasts.0));
        self.virtual_buses.running.order(ordered.bus, FaultOrder { id, at, lasts_ns, fault: ordered.fault })?;
        let what = self.names.describe(ordered.bus, &ordered.fault);
        let bus = self.names.bus_name(ordered.bus).to_owned();
        let outcome = self.outcome(id)?;
        Ok(outcome.map(|(at, is_done)| Accepted { bus, what, at, is_done }))
    }

    /// Waits for the outcome of an order: its time, and whether it was carried out.
    fn outcome(&mut self, id: FaultId) -> Result<Result<(BusNs, bool), String>, Box<dyn Error>> {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline && !self.virtual_buses.running.has_ended() {
            let mut outcome = None;
            for reply in self.virtual_buses.running.replies(TIMEOUT)? {
                let failed = self.follow(&reply)?;
                outcome = outcome.or_else(|| of_order(id, &reply, failed));
            }
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
        Err("The bus thread does not answer".into())
    }

    /// Does the kernel's part of an effect and reports it. Returns the reason if that failed.
    fn follow(&mut self, reply: &Reply) -> Result<Option<String>, Box<dyn Error>> {
        let Reply::Effect { bus, effect } = reply else { return Ok(None) };
        let failed = self.virtual_buses.follow(effect).err().map(|error| error.to_string());
        let (name, what) = (self.names.bus_name(*bus), self.names.describe(*bus, &effect.fault));
        let why_not = effect.refused.as_ref().map(ToString::to_string).or_else(|| failed.clone());
        match why_not {
            None if self.json => {
                render::out(&render::line(&Event::Fault { bus: name, at_ns: effect.at.0, what: &what }))?;
            }
            None => render::out(&format!("{name}  {what}  since {} s\n", effect.at))?,
            Some(why_not) => warn(self.json, &format!("{name}: {what} did not happen: {why_not}"))?,
        }
        Ok(failed)
    }
}

fn refused(reason: &str) -> Value {
    json!(Answer::Refused { error: reason.to_owned() })
}

/// The outcome of an order, if this is the reply to it.
fn of_order(id: FaultId, reply: &Reply, failed: Option<String>) -> Option<Result<(BusNs, bool), String>> {
    match *reply {
        Reply::Effect { effect: Effect { at, order, refused, .. }, .. } if order == id => {
            let reason = refused.map(|refusal| refusal.to_string()).or(failed);
            Some(reason.map_or(Ok((at, true)), Err))
        }
        Reply::Planned { order, at } if order == id => Some(Ok((at, false))),
        Reply::Effect { .. } | Reply::Planned { .. } | Reply::Playing { .. } => None,
    }
}
