//! Before anything is changed: are the interfaces what the plan expects?

use candor_core::frame::{CANFD_MTU, FrameFormat};
use candor_core::job::Job;
use candor_core::plan::{Bus, BusIndex, Echo, Engine, Formats, Plan, Timestamp};
use candor_core::units::BitRate;
use candor_io::can::{self, InterfaceIndex, Support};
use candor_netlink::cangw::CangwJob;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use crate::error::GatewayError;
use crate::notice::Notice;

/// Names that differ more than this are not offered as what was meant.
const SIMILAR: f64 = 0.75;

/// The interfaces of a plan's buses, found.
#[derive(Debug)]
pub(crate) struct Interfaces {
    /// By bus; `None` for those that no route uses, which are left alone.
    links: Vec<Option<Link>>,
}

impl Interfaces {
    /// Finds the interface of every bus that a route uses and says what is odd about it.
    pub(crate) fn find(client: &mut Client, plan: &Plan) -> Result<(Self, Vec<Notice>), GatewayError> {
        protocols_are_there(plan.engine())?;
        let mut links = Vec::new();
        let mut notices = Vec::new();
        for (index, bus) in plan.buses().iter().enumerate() {
            let is_used = plan.routes().iter().any(|route| [route.from, route.to].contains(&BusIndex(index)));
            let link = if is_used { Some(find(client, bus)?) } else { None };
            notices.extend(link.iter().flat_map(|link| look_at(bus, link)));
            links.push(link);
        }
        let found = Self { links };
        notices.extend(plan.routes().iter().filter_map(|route| {
            let (from, to) = (found.link(route.from), found.link(route.to));
            let carries_fd = match route.formats {
                Formats::Any => sends_fd(from),
                Formats::Only(format) => format == FrameFormat::Fd,
            };
            (carries_fd && !sends_fd(to))
                .then(|| Notice::FdDoesNotFit { route: route.name.clone(), interface: to.name.clone() })
        }));
        Ok((found, notices))
    }

    /// The interface of a bus that a route of the plan uses.
    pub(crate) fn link(&self, bus: BusIndex) -> &Link {
        self.links[bus.0].as_ref().expect("the interfaces of all buses that a route uses were found at the start")
    }

    /// The number of the interface of a bus of the plan.
    pub(crate) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.link(bus).index
    }

    /// The jobs as the kernel knows them, whichever engine runs them.
    pub(crate) fn kernel_jobs(&self, jobs: &[Job]) -> Vec<CangwJob> {
        jobs.iter().map(|job| CangwJob::new(job, self.index(job.from), self.index(job.to))).collect()
    }

    /// Looks again: are all interfaces still there, and which went down or up since the last look?
    pub(crate) fn look(&mut self, client: &mut Client, plan: &Plan) -> Result<Vec<Notice>, GatewayError> {
        let now = link::list(client).map_err(GatewayError::Links)?;
        let used = self.links.iter_mut().zip(plan.buses()).filter_map(|(link, bus)| Some((link.as_mut()?, bus)));
        let mut notices = Vec::new();
        for (link, bus) in used {
            let Some(seen) = now.iter().find(|other| other.index == link.index) else {
                return Err(interface_gone(bus, &link.name));
            };
            if seen.up != link.up {
                link.up = seen.up;
                let interface = link.name.clone();
                notices.push(if seen.up {
                    Notice::InterfaceUp { interface }
                } else {
                    Notice::InterfaceDown { interface }
                });
            }
        }
        Ok(notices)
    }
}

pub(crate) fn interface_gone(bus: &Bus, interface: &str) -> GatewayError {
    GatewayError::InterfaceGone { bus: bus.name.clone(), interface: interface.into() }
}

/// What the read-write engine cannot do is an error of the file; with `--engine` the file was checked for another.
pub(crate) fn read_write_can_do(plan: &Plan, jobs: &[Job]) -> Result<(), GatewayError> {
    let echo_disagrees = |job: &Job| jobs.iter().any(|other| other.to == job.to && other.echo != job.echo);
    for job in jobs {
        let what = match job {
            Job { timestamp: Timestamp::Kept, .. } => "keeping the time stamp of the reception",
            Job { hop_limit: Some(2..), .. } => "counting hops",
            Job { echo: Echo::On, .. } if echo_disagrees(job) => "echo, while another route to the bus has none",
            _ => continue,
        };
        return Err(GatewayError::CannotDo { route: plan.route(job.route).name.clone(), what });
    }
    Ok(())
}

fn protocols_are_there(engine: Engine) -> Result<(), GatewayError> {
    let failed = |source| GatewayError::System { what: "Asking the kernel for CAN", source };
    match (can::support().map_err(failed)?, engine) {
        (Support::None, _) => Err(GatewayError::NoCan),
        (Support::WithoutRaw, Engine::ReadWrite) => Err(GatewayError::CanRawMissing),
        (Support::WithoutRaw | Support::Raw, _) => Ok(()),
    }
}

fn find(client: &mut Client, bus: &Bus) -> Result<Link, GatewayError> {
    let (name, interface) = (bus.name.clone(), bus.interface.clone());
    match link::by_name(client, &bus.interface).map_err(GatewayError::Links)? {
        Some(link) if link.can.is_some() => Ok(link),
        Some(_) => Err(GatewayError::NotCan { bus: name, interface, hint: hint(client, &bus.interface)? }),
        None => Err(GatewayError::InterfaceMissing { bus: name, interface, hint: hint(client, &bus.interface)? }),
    }
}

/// What there is instead of the interface and what to type.
fn hint(client: &mut Client, wanted: &str) -> Result<String, GatewayError> {
    let links = link::list(client).map_err(GatewayError::Links)?;
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

fn look_at(bus: &Bus, link: &Link) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !link.up {
        notices.push(Notice::InterfaceDown { interface: link.name.clone() });
    }
    let can = link.can.unwrap_or_default();
    let mut compare = |which, expected: Option<BitRate>, found: Option<BitRate>| {
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            notices.push(Notice::BitRateDiffers { interface: link.name.clone(), which, expected, found });
        }
    };
    compare("bit rate", bus.bitrate, can.bitrate);
    compare("data bit rate", bus.data_bitrate, can.data_bitrate);
    notices
}

const fn sends_fd(link: &Link) -> bool {
    link.mtu as usize >= CANFD_MTU
}
