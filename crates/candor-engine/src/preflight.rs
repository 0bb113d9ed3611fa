//! Are the interfaces what the plan expects, before anything is changed and all the time after?

mod error;
mod qdiscs;

pub use error::InterfaceError;

use candor_config::plan::{Bus, BusIndex, Formats, Plan};
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

/// Names that differ more than this are not offered as what was meant.
const SIMILAR: f64 = 0.75;

/// The interfaces of a plan's buses, found.
#[derive(Debug)]
pub(crate) struct Interfaces {
    /// By bus; `None` for those that no route uses, which are left alone.
    seen: Vec<Option<Seen>>,
    /// What makes them drop frames, and has been told.
    hazards: Vec<Notice>,
}

#[derive(Clone, Debug)]
struct Seen {
    /// As it was last seen.
    link: Link,
    /// Whether it is still there.
    is_there: bool,
    /// The name in the file.
    waits_for: String,
}

impl Interfaces {
    /// Finds the interface of every bus that a route uses and says what is odd about it.
    pub(crate) fn find(client: &mut Client, plan: &Plan) -> Result<(Self, Vec<Notice>), InterfaceError> {
        let mut seen = Vec::new();
        let mut notices = Vec::new();
        for (index, bus) in plan.buses().iter().enumerate() {
            let is_used = plan.routes().iter().any(|route| [route.from, route.to].contains(&BusIndex(index)));
            let link = if is_used { Some(find(client, bus)?) } else { None };
            notices.extend(link.iter().flat_map(|link| first_notices(bus, link)));
            let waits_for = bus.interface.clone();
            seen.push(link.map(|link| Seen { link, is_there: true, waits_for }));
        }
        let mut found = Self { seen, hazards: Vec::new() };
        found.hazards = found.find_hazards(client, plan)?;
        notices.extend(found.hazards.iter().cloned());
        Ok((found, notices))
    }

    /// The interfaces of another plan that is to take the place of this one, and what is odd about them that was not told
    /// before. An interface that is away is waited for on.
    pub(crate) fn find_again(&self, client: &mut Client, plan: &Plan) -> Result<(Self, Vec<Notice>), InterfaceError> {
        let now = link::list(client).map_err(InterfaceError::List)?;
        let is_used = |bus| plan.routes().iter().any(|route| [route.from, route.to].contains(&bus));
        let known: Vec<_> = self.seen.iter().flatten().collect();
        let mut notices = Vec::new();
        let mut seen = Vec::new();
        for (index, bus) in plan.buses().iter().enumerate() {
            if !is_used(BusIndex(index)) {
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

    /// What makes the interfaces that are there drop frames of the plan.
    fn find_hazards(&self, client: &mut Client, plan: &Plan) -> Result<Vec<Notice>, InterfaceError> {
        let too_small = plan.routes().iter().filter(|route| self.present(route.to).is_some()).filter_map(|route| {
            let (from, to) = (self.link(route.from), self.link(route.to));
            let carries_fd = match route.formats {
                Formats::Any => sends_fd(from),
                Formats::Only(format) => format == FrameFormat::Fd,
            };
            (carries_fd && !sends_fd(to))
                .then(|| Notice::FdDoesNotFit { route: route.name.clone(), interface: to.name.clone() })
        });
        Ok(too_small.chain(qdiscs::hazards(client, plan, self)?).collect())
    }

    fn seen(&self, bus: BusIndex) -> &Seen {
        self.seen[bus.0].as_ref().expect("the interfaces of all buses that a route uses were found at the start")
    }

    /// The interface of a bus that a route of the plan uses, as it was last seen.
    pub(crate) fn link(&self, bus: BusIndex) -> &Link {
        &self.seen(bus).link
    }

    /// The number of the interface of a bus, also while it is away.
    pub(crate) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.link(bus).index
    }

    /// The number of the interface of a bus, unless it is away.
    pub(crate) fn present(&self, bus: BusIndex) -> Option<InterfaceIndex> {
        Some(self.seen(bus)).filter(|seen| seen.is_there).map(|seen| seen.link.index)
    }

    /// The interfaces that are there, each with its bus.
    pub(crate) fn there(&self) -> impl Iterator<Item = (BusIndex, &Link)> {
        let used = self.seen.iter().enumerate().filter_map(|(bus, seen)| Some((BusIndex(bus), seen.as_ref()?)));
        used.filter(|(_bus, seen)| seen.is_there).map(|(bus, seen)| (bus, &seen.link))
    }

    /// The jobs as the kernel knows them, whichever engine runs them.
    pub(crate) fn kernel_jobs(&self, jobs: &[&Job]) -> Vec<CangwJob> {
        jobs.iter().map(|job| CangwJob::new(job, self.index(job.from), self.index(job.to))).collect()
    }

    /// Looks again: which interfaces have gone, come back, got another name, gone down or up since the last look? Says
    /// also whether one has another number now.
    ///
    /// An interface is known by its number, which renaming leaves alone. After it has gone, one of the name in the file
    /// takes its place, unless it is in use for another bus.
    pub(crate) fn refresh(&mut self, client: &mut Client, plan: &Plan) -> Result<(Vec<Notice>, bool), InterfaceError> {
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
        // What cannot be read now is read at the next look.
        if let Ok(hazards) = self.find_hazards(client, plan) {
            notices.extend(hazards.iter().filter(|hazard| !self.hazards.contains(hazard)).cloned());
            self.hazards = hazards;
        }
        Ok((notices, moved))
    }
}

pub(crate) fn interface_gone(bus: &Bus, interface: &str) -> InterfaceError {
    InterfaceError::Gone { bus: bus.name.clone(), interface: interface.into() }
}

/// Whether this process may set interfaces down and up, if a bus asks for it.
pub(crate) fn may_restart(plan: &Plan) -> Result<(), InterfaceError> {
    match plan.buses().iter().find(|bus| bus.restart_after.is_some()) {
        Some(bus) if Machine::here().own().has(Capability::NetAdmin) == Some(false) => {
            Err(InterfaceError::RestartNotPermitted { bus: bus.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Whether the kernel has CAN at all.
pub(crate) fn can_is_there() -> Result<(), InterfaceError> {
    match support()? {
        Support::None => Err(InterfaceError::NoCan),
        Support::WithoutRaw | Support::Raw => Ok(()),
    }
}

/// Whether the kernel has the sockets that user space needs.
pub(crate) fn can_raw_is_there() -> Result<(), InterfaceError> {
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

/// What there is instead of the interface and what to type.
fn hint(client: &mut Client, wanted: &str) -> Result<String, InterfaceError> {
    let links = link::list(client).map_err(InterfaceError::List)?;
    let names: Vec<_> = links.into_iter().filter(|link| link.can.is_some()).map(|link| link.name).collect();
    let closest = names.iter().map(|name| (strsim::jaro_winkler(name, wanted), name));
    let closest = closest.filter(|(score, _)| *score > SIMILAR).max_by(|a, b| a.0.total_cmp(&b.0));
    let there = match (closest, names.as_slice()) {
        (Some((_, name)), _) => format!("; did you mean {name}?"),
        (None, []) => "; there is no CAN interface at all".into(),
        (None, names) => format!("; there are {}", names.join(", ")),
    };
    let make = if wanted.starts_with("vcan") {
        format!(" (to make a virtual bus: sudo ip link add dev {wanted} type vcan && sudo ip link set {wanted} up)")
    } else {
        String::new()
    };
    Ok(there + &make)
}

/// What is odd about an interface that is seen for the first time.
fn first_notices(bus: &Bus, link: &Link) -> Vec<Notice> {
    let down = (!link.up).then(|| Notice::InterfaceDown { interface: link.name.clone() });
    down.into_iter().chain(differing_rates(bus, link)).collect()
}

/// What has become different about an interface.
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
