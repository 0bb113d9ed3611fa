//! Buses that are played, and whoever commands them.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use candor_bus::BusNs;
use candor_wire::fault::{Effect, FaultId, FaultOrder};
use candor_wire::host::Reply;
use serde_json::{Value, json};

use super::control::{Asked, Control};
use super::faults::Places;
use super::virtual_buses::VirtualBuses;
use super::warn;
use crate::cli::TimedFault;
use candor_cli::render;

/// The thread of the buses has a higher priority than anybody; it answers at once, or never.
const PATIENCE: Duration = Duration::from_secs(5);

/// The virtual buses and their orders.
#[derive(Debug)]
pub(super) struct Session<'a> {
    virtual_buses: VirtualBuses,
    places: &'a Places,
    control: Option<Control>,
    json: bool,
    next_order: u64,
}

/// An order that was carried out or will be.
struct Arranged {
    bus: String,
    what: String,
    at: BusNs,
    is_done: bool,
}

/// Why it was not.
type Because = String;

impl<'a> Session<'a> {
    pub(super) const fn new(virtual_buses: VirtualBuses, places: &'a Places, json: bool) -> Self {
        Self { virtual_buses, places, control: None, json, next_order: 0 }
    }

    /// Gives the first orders, and takes others from now on.
    pub(super) fn begin(&mut self, faults: &[TimedFault]) -> Result<(), Box<dyn Error>> {
        for fault in faults {
            if let Err(because) = self.order(fault)? {
                let ready = self.virtual_buses.ready_at();
                let text =
                    format!("--fault is refused: {because} (the interfaces were there at {ready} s of bus time)");
                return Err(text.into());
            }
        }
        match super::sockets::own().and_then(|path| Control::open(&path)) {
            Ok(control) => self.control = Some(control),
            Err(error) => warn(self.json, &format!("candor-lab wire inject will not find this one: {error}"))?,
        }
        Ok(())
    }

    pub(super) const fn virtual_buses(&self) -> &VirtualBuses {
        &self.virtual_buses
    }

    pub(super) const fn control(&self) -> Option<&Control> {
        self.control.as_ref()
    }

    /// Nobody commands any more.
    pub(super) fn end(self) -> VirtualBuses {
        self.virtual_buses
    }

    /// Does what was asked, and tells what has happened.
    pub(super) fn look(&mut self) -> Result<(), Box<dyn Error>> {
        let asked: Vec<Asked> = self.control.iter().flat_map(Control::asked).collect();
        for asked in asked {
            let answer = self.answer(&asked.line)?;
            asked.answer(answer);
        }
        for reply in self.virtual_buses.replies(Duration::ZERO)? {
            self.follow(&reply)?;
        }
        Ok(())
    }

    fn answer(&mut self, line: &str) -> Result<Value, Box<dyn Error>> {
        let question: Value = match serde_json::from_str(line) {
            Ok(question) => question,
            Err(error) => return Ok(refused(&format!("This is no JSON: {error}"))),
        };
        if question["ask"] == "buses" {
            return Ok(self.buses()?);
        }
        let fault: TimedFault = match serde_json::from_value(question) {
            Ok(fault) => fault,
            Err(error) => return Ok(refused(&format!("This is no fault: {error}"))),
        };
        Ok(match self.order(&fault)? {
            Ok(Arranged { bus, what, at, is_done }) => {
                json!({ "bus": bus, "at_ns": at.0, "what": what, "done": is_done })
            }
            Err(because) => refused(&because),
        })
    }

    fn buses(&self) -> io::Result<Value> {
        let bus = |bus: &super::spec::BusSpec| json!({ "bus": bus.name, "interfaces": bus.interfaces });
        let buses: Vec<Value> = self.places.buses().map(bus).collect();
        Ok(json!({ "buses": buses, "now_ns": self.virtual_buses.now()?.0 }))
    }

    /// Gives an order and waits until it is carried out, planned or refused.
    fn order(&mut self, fault: &TimedFault) -> Result<Result<Arranged, Because>, Box<dyn Error>> {
        let placed = match self.places.place(&fault.words) {
            Ok(placed) => placed,
            Err(because) => return Ok(Err(because)),
        };
        let id = FaultId(self.next_order);
        self.next_order += 1;
        let (at, lasts_ns) = (fault.at.map(|at| BusNs(at.0)), fault.words.lasts().map(|lasts| lasts.0));
        self.virtual_buses.order(placed.bus, FaultOrder { id, at, lasts_ns, fault: placed.fault })?;
        let what = self.places.describe(placed.bus, &placed.fault);
        let bus = self.places.bus_name(placed.bus).to_owned();
        let outcome = self.outcome(id)?;
        Ok(outcome.map(|(at, is_done)| Arranged { bus, what, at, is_done }))
    }

    /// Waits for what becomes of an order: when, and whether that has been.
    fn outcome(&mut self, id: FaultId) -> Result<Result<(BusNs, bool), Because>, Box<dyn Error>> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && !self.virtual_buses.has_ended() {
            let mut outcome = None;
            for reply in self.virtual_buses.replies(PATIENCE)? {
                let failed = self.follow(&reply)?;
                outcome = outcome.or_else(|| of_order(id, &reply, failed));
            }
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
        Err("The thread that plays the buses does not answer".into())
    }

    /// Tells of an effect and does the kernel's part of it. Gives why that failed, if it did.
    fn follow(&mut self, reply: &Reply) -> Result<Option<Because>, Box<dyn Error>> {
        let Reply::Effect { bus, effect } = reply else { return Ok(None) };
        let failed = self.virtual_buses.follow(effect).err().map(|error| error.to_string());
        let (name, what) = (self.places.bus_name(*bus), self.places.describe(*bus, &effect.fault));
        let why_not = effect.refused.as_ref().map(ToString::to_string).or_else(|| failed.clone());
        match why_not {
            None if self.json => {
                let line = json!({ "event": "fault", "bus": name, "at_ns": effect.at.0, "what": what });
                render::out(&format!("{line}\n"))?;
            }
            None => render::out(&format!("{name}  {what}  since {} s\n", effect.at))?,
            Some(why_not) => warn(self.json, &format!("{name}: {what} did not happen: {why_not}"))?,
        }
        Ok(failed)
    }
}

fn refused(because: &str) -> Value {
    json!({ "error": because })
}

/// What a reply says of an order.
fn of_order(id: FaultId, reply: &Reply, failed: Option<Because>) -> Option<Result<(BusNs, bool), Because>> {
    match *reply {
        Reply::Effect { effect: Effect { at, order, refused, .. }, .. } if order == id => {
            let because = refused.map(|refusal| refusal.to_string()).or(failed);
            Some(because.map_or(Ok((at, true)), Err))
        }
        Reply::Planned { order, at } if order == id => Some(Ok((at, false))),
        Reply::Effect { .. } | Reply::Planned { .. } => None,
    }
}
