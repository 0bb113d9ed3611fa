//! The interfaces of a plan: checked before the start, and tracked afterwards.

mod error;
mod qdiscs;

pub use error::InterfaceError;

use candor_bpf::gateway::Kind;
use candor_config::plan::{Bus, BusIndex, Echo, Engine, Formats, Plan};
use candor_core::frame::{CANFD_MTU, FrameFormat};
use candor_core::job::Job;
use candor_core::units::BitRate;
use candor_io::can::{self, InterfaceIndex, Support};
use candor_netlink::cangw::CangwJob;
use candor_netlink::client::Client;
use candor_netlink::link::{self, CanLink, Link};

use crate::notice::Notice;
use crate::system_error::SystemError;
use candor_io::machine::{Capability, Machine};

/// Minimal similarity of a suggested name (Jaro-Winkler).
const SIMILAR: f64 = 0.75;

#[derive(Debug)]
pub struct Interfaces {
    /// By bus; `None` if no route uses it.
    seen: Vec<Option<Seen>>,
    hazards: Vec<Notice>,
}

#[derive(Clone, Debug)]
struct Seen {
    /// State at the last refresh.
    link: Link,
    /// False while the interface is gone.
    is_there: bool,
    /// Name in the file.
    waits_for: String,
}

impl Interfaces {
    /// Finds the interface of every used bus, with notices about it.
    pub fn find(client: &mut Client, plan: &Plan) -> Result<(Self, Vec<Notice>), InterfaceError> {
        let mut seen = Vec::new();
        let mut notices = Vec::new();
        for (index, bus) in plan.buses().iter().enumerate() {
            let link = if plan.uses(BusIndex(index)) { Some(find(client, bus)?) } else { None };
            notices.extend(link.iter().flat_map(|link| first_notices(bus, link)));
            let waits_for = bus.interface.clone();
            seen.push(link.map(|link| Seen { link, is_there: true, waits_for }));
        }
        let mut found = Self { seen, hazards: Vec::new() };
        found.hazards = found.find_hazards(client, plan)?;
        notices.extend(found.hazards.iter().cloned());
        Ok((found, notices))
    }

    /// Interfaces for a reload, with notices that were not reported before. A missing interface stays missing if it
    /// was.
    pub fn find_again(&self, client: &mut Client, plan: &Plan) -> Result<(Self, Vec<Notice>), InterfaceError> {
        let now = link::list(client).map_err(InterfaceError::List)?;
        let known: Vec<_> = self.seen.iter().flatten().collect();
        let mut notices = Vec::new();
        let mut seen = Vec::new();
        for (index, bus) in plan.buses().iter().enumerate() {
            if !plan.uses(BusIndex(index)) {
                seen.push(None);
                continue;
            }
            let of_name = now.iter().find(|link| link.name == bus.interface && link.can.is_some());
            let is_free = |seen: &&&Seen| {
                let is_named = |link: &Link| plan.buses().iter().any(|other| other.interface == link.name);
                !now.iter().any(|link| link.index == seen.link.index && is_named(link))
            };
            let waited_for = || known.iter().filter(|seen| seen.waits_for == bus.interface).find(is_free);
            let found = match (of_name, waited_for()) {
                (Some(link), _) => Seen { link: link.clone(), is_there: true, waits_for: bus.interface.clone() },
                (None, Some(seen)) => Seen::clone(seen),
                (None, None) => {
                    let link = find(client, bus)?;
                    Seen { link, is_there: true, waits_for: bus.interface.clone() }
                }
            };
            if !known.iter().any(|seen| seen.link.index == found.link.index) {
                notices.extend(first_notices(bus, &found.link));
            }
            seen.push(Some(found));
        }
        let mut found = Self { seen, hazards: Vec::new() };
        found.hazards = found.find_hazards(client, plan)?;
        notices.extend(found.hazards.iter().filter(|hazard| !self.hazards.contains(hazard)).cloned());
        Ok((found, notices))
    }

    /// Settings of the present interfaces that make them drop frames of the plan.
    fn find_hazards(&self, client: &mut Client, plan: &Plan) -> Result<Vec<Notice>, InterfaceError> {
        let too_small = plan.routes().iter().filter(|route| self.present(route.to).is_some()).filter_map(|route| {
            let (from, to) = (self.link(route.from), self.link(route.to));
            let carries_fd = match route.formats {
                Formats::Xl => false,
                Formats::Any => sends_fd(from),
                Formats::Only(format) => format == FrameFormat::Fd,
            };
            (carries_fd && !sends_fd(to))
                .then(|| Notice::FdDoesNotFit { route: route.name.clone(), interface: to.name.clone() })
        });
        let no_room = plan.routes().iter().filter(|route| route.formats == Formats::Xl).filter_map(|route| {
            self.present(route.to)?;
            let to = self.link(route.to);
            (to.mtu < Kind::Xl.least_mtu())
                .then(|| Notice::XlDoesNotFit { route: route.name.clone(), interface: to.name.clone() })
        });
        let too_long = plan.frames().iter().filter(|frame| frame.format == FrameFormat::Fd).filter_map(|frame| {
            self.present(frame.to)?;
            let to = self.link(frame.to);
            (!sends_fd(to)).then(|| Notice::FdDoesNotFit { route: frame.name.clone(), interface: to.name.clone() })
        });
        let virtual_ones = self.there().filter(|(_bus, link)| link.kind.as_deref() == Some("vcan"));
        let unheard = virtual_ones.filter_map(|(bus, link)| {
            let route = plan
                .routes()
                .iter()
                .find(|route| route.to == bus && route.echo == Echo::Off && route.timing.is_none())?;
            let by_programs = plan.engine() == Engine::Bpf;
            Some(Notice::NoEcho { route: route.name.clone(), interface: link.name.clone(), by_programs })
        });
        Ok(too_small
            .chain(no_room)
            .chain(too_long)
            .chain(unheard)
            .chain(qdiscs::hazards(client, plan, self)?)
            .collect())
    }

    fn seen(&self, bus: BusIndex) -> &Seen {
        self.seen[bus.0].as_ref().expect("the interfaces of all buses that a route uses were found at the start")
    }

    /// State of the interface of a used bus, at the last refresh.
    pub fn link(&self, bus: BusIndex) -> &Link {
        &self.seen(bus).link
    }

    /// Interface index of a bus, also while the interface is gone.
    pub fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.link(bus).index
    }

    /// Interface index of a bus; `None` while the interface is gone.
    pub fn present(&self, bus: BusIndex) -> Option<InterfaceIndex> {
        Some(self.seen(bus)).filter(|seen| seen.is_there).map(|seen| seen.link.index)
    }

    /// The present interfaces with their buses.
    pub fn there(&self) -> impl Iterator<Item = (BusIndex, &Link)> {
        let used = self.seen.iter().enumerate().filter_map(|(bus, seen)| Some((BusIndex(bus), seen.as_ref()?)));
        used.filter(|(_bus, seen)| seen.is_there).map(|(bus, seen)| (bus, &seen.link))
    }

    /// The jobs in the form of can-gw, whichever engine runs them.
    pub fn kernel_jobs(&self, jobs: &[&Job]) -> Vec<CangwJob> {
        jobs.iter().map(|job| CangwJob::new(job, self.index(job.from), self.index(job.to))).collect()
    }

    /// Updates the state of all interfaces. Returns notices about changes, and whether an interface index has changed.
    ///
    /// Interfaces are identified by index, which survives renaming. After one has disappeared, an interface with the
    /// name in the file replaces it, unless another bus uses that.
    pub fn refresh(&mut self, client: &mut Client, plan: &Plan) -> Result<(Vec<Notice>, bool), InterfaceError> {
        let now = link::list(client).map_err(InterfaceError::List)?;
        let mut notices = Vec::new();
        let mut moved = false;
        let in_use: Vec<_> =
            self.seen.iter().flatten().filter(|seen| seen.is_there).map(|seen| seen.link.index).collect();
        for (seen, bus) in self.seen.iter_mut().zip(plan.buses()) {
            let Some(seen) = seen else { continue };
            let same = now.iter().find(|link| seen.is_there && link.index == seen.link.index);
            let is_free = |link: &&Link| link.can.is_some() && !in_use.contains(&link.index);
            let of_name = || now.iter().filter(is_free).find(|link| link.name == bus.interface);
            let Some(link) = same.or_else(of_name) else {
                if seen.is_there {
                    seen.is_there = false;
                    let interface = bus.interface.clone();
                    notices.push(Notice::InterfaceGone {
                        bus: bus.name.clone(),
                        was: seen.link.name.clone(),
                        interface,
                    });
                }
                continue;
            };
            if same.is_some() {
                notices.extend(changes(bus, &seen.link, link));
            } else {
                notices.push(Notice::InterfaceBack { interface: link.name.clone() });
                notices.extend(first_notices(bus, link));
            }
            moved |= link.index != seen.link.index;
            (seen.link, seen.is_there) = (link.clone(), true);
        }
        // Retried at the next refresh.
        if let Ok(hazards) = self.find_hazards(client, plan) {
            notices.extend(hazards.iter().filter(|hazard| !self.hazards.contains(hazard)).cloned());
            self.hazards = hazards;
        }
        Ok((notices, moved))
    }
}

pub fn interface_gone(bus: &Bus, interface: &str) -> InterfaceError {
    InterfaceError::Gone { bus: bus.name.clone(), interface: interface.into() }
}

/// Checks the capability for `restart-after`.
pub fn may_restart(plan: &Plan) -> Result<(), InterfaceError> {
    match plan.buses().iter().find(|bus| bus.restart_after.is_some()) {
        Some(bus) if Machine::here().own().has(Capability::NetAdmin) == Some(false) => {
            Err(InterfaceError::RestartNotPermitted { bus: bus.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Checks for CAN in the kernel.
pub fn can_is_there() -> Result<(), InterfaceError> {
    match support()? {
        Support::None => Err(InterfaceError::NoCan),
        Support::WithoutRaw | Support::Raw => Ok(()),
    }
}

/// Checks for CAN_RAW sockets.
pub fn can_raw_is_there() -> Result<(), InterfaceError> {
    match support()? {
        Support::None | Support::WithoutRaw => Err(InterfaceError::NoCanRaw),
        Support::Raw => Ok(()),
    }
}

fn support() -> Result<Support, InterfaceError> {
    Ok(can::support().map_err(SystemError::while_doing("Probing for CAN sockets"))?)
}

fn find(client: &mut Client, bus: &Bus) -> Result<Link, InterfaceError> {
    let (name, interface) = (bus.name.clone(), bus.interface.clone());
    match link::by_name(client, &bus.interface).map_err(InterfaceError::List)? {
        Some(link) if link.can.is_some() => Ok(link),
        Some(_) => Err(InterfaceError::NotCan { bus: name, interface, hint: hint(client, &bus.interface)? }),
        None => Err(InterfaceError::Missing { bus: name, interface, hint: hint(client, &bus.interface)? }),
    }
}

/// Suggestions for an interface that does not exist or is not CAN.
fn hint(client: &mut Client, wanted: &str) -> Result<String, InterfaceError> {
    let links = link::list(client).map_err(InterfaceError::List)?;
    let names: Vec<_> = links.into_iter().filter(|link| link.can.is_some()).map(|link| link.name).collect();
    let closest = names.iter().map(|name| (strsim::jaro_winkler(name, wanted), name));
    let closest = closest.filter(|(score, _)| *score > SIMILAR).max_by(|a, b| a.0.total_cmp(&b.0));
    let there = match (closest, names.as_slice()) {
        (Some((_, name)), _) => format!("; did you mean {name}?"),
        (None, []) => "; this machine has no CAN interface".into(),
        (None, names) => format!("; found: {}", names.join(", ")),
    };
    let make = if wanted.starts_with("vcan") {
        format!(" (to create a virtual bus: sudo ip link add dev {wanted} type vcan && sudo ip link set {wanted} up)")
    } else {
        String::new()
    };
    Ok(there + &make)
}

/// Notices about a new interface.
fn first_notices(bus: &Bus, link: &Link) -> Vec<Notice> {
    let down = (!link.up).then(|| Notice::InterfaceDown { interface: link.name.clone() });
    down.into_iter().chain(differing_rates(bus, link)).collect()
}

/// Notices about changes since the last refresh.
fn changes(bus: &Bus, was: &Link, is: &Link) -> Vec<Notice> {
    let interface = is.name.clone();
    let mut notices = Vec::new();
    if was.name != is.name {
        notices.push(Notice::InterfaceRenamed {
            bus: bus.name.clone(),
            was: was.name.clone(),
            interface: interface.clone(),
        });
    }
    match (was.up, is.up) {
        (true, false) => notices.push(Notice::InterfaceDown { interface }),
        (false, true) => notices.push(Notice::InterfaceUp { interface }),
        _ => {}
    }
    let rates = |link: &Link| link.can.map(|CanLink { bitrate, data_bitrate, .. }| (bitrate, data_bitrate));
    if rates(was) != rates(is) {
        notices.extend(differing_rates(bus, is));
    }
    notices
}

fn differing_rates(bus: &Bus, link: &Link) -> Vec<Notice> {
    let can = link.can.unwrap_or_default();
    let rates = [("bit rate", bus.bitrate, can.bitrate), ("data bit rate", bus.data_bitrate, can.data_bitrate)];
    let differs = |(which, expected, found): (&'static str, Option<BitRate>, Option<BitRate>)| {
        let (expected, found) = (expected?, found?);
        let interface = link.name.clone();
        (expected != found).then_some(Notice::BitRateDiffers { interface, which, expected, found })
    };
    rates.into_iter().filter_map(differs).collect()
}

const fn sends_fd(link: &Link) -> bool {
    link.mtu as usize >= CANFD_MTU
}
