//! `--live`: the interfaces and the can-gw of this machine.

use std::collections::BTreeSet;
use std::path::Path;

use candor_config::explain::{Interface, LinkState};
use candor_config::placement::{KernelAbilities, Missing, NoPrograms, NotForBpf};
use candor_config::plan::{Bus, BusIndex, Engine, Plan, Route, Timestamp};
use candor_core::frame::CANFD_MTU;
use candor_egress::netlink;
use candor_engine::{SystemError, fq_drops_kept_timestamps};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, CanState, Link};

use super::needed_hops;

const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// The abilities of can-gw, probed as by `candor run`. Privileges are not checked: another user may run the gateway.
pub(super) fn can_gw(plan: &Plan, notes: &mut Vec<String>) -> Result<KernelAbilities, SystemError> {
    // Of this kernel, as the engine auto uses it.
    let no_programs = match plan.engine() {
        Engine::Auto => candor_engine::no_programs()?.filter(|why| *why != NoPrograms::Privilege),
        _ => KernelAbilities::EVERY.no_programs,
    };
    let missing = KernelAbilities { max_hops: needed_hops(plan), no_programs, ..KernelAbilities::EVERY };
    match plan.engine() {
        Engine::User(_) => return Ok(missing),
        Engine::Bpf => {
            if let Some(why) = candor_engine::no_programs()? {
                notes.push(format!("candor run refuses the file here: {}", NotForBpf::None(why)));
            }
            return Ok(KernelAbilities { no_programs: None, ..missing });
        }
        _ if Path::new(MAX_HOPS_FILE).exists() => {}
        Engine::Auto => return Ok(KernelAbilities { missing: Some(Missing::Module), ..missing }),
        Engine::Kernel => {
            notes.push("the kernel module can-gw is not loaded; load it: sudo modprobe can-gw".to_owned());
            return Ok(missing);
        }
    }
    let jobs = candor_config::lower(plan);
    let (found, untold) = candor_engine::kernel_abilities(&jobs)?;
    let wants_relative = jobs.iter().any(|job| job.checksums.crc8.is_some_and(|crc8| crc8.span.is_relative()));
    let crc8 = "a CRC8 with positions from the end";
    if untold.is_some() {
        notes.push(format!(
            "only root can test whether this kernel computes {crc8} inside the frame; assuming it does not"
        ));
    } else if wants_relative && !found.relative_crc8 && plan.engine() == Engine::Kernel {
        notes.push(format!("this kernel computes {crc8} outside the frame, so candor run rejects it"));
    }
    Ok(KernelAbilities { no_programs, ..found })
}

/// Notes qdiscs that drop the frames of a gateway.
pub(super) fn qdiscs(plan: &Plan, notes: &mut Vec<String>) -> Result<(), NetlinkError> {
    let mut client = Client::open()?;
    let (links, qdiscs) = (link::list(&mut client)?, netlink::qdiscs(&mut client)?);
    let has = |bus: BusIndex, kind: &str| {
        let link = links.iter().find(|link| link.name == plan.bus(bus).interface);
        link.is_some_and(|link| {
            qdiscs.iter().any(|there| there.interface == link.index && there.qdisc.discipline.kind() == kind)
        })
    };
    let outgoing: BTreeSet<_> = candor_core::order::set(plan.routes().iter().map(|route| route.to));
    for bus in outgoing.into_iter().filter(|&bus| has(bus, "etf")) {
        let interface = &plan.bus(bus).interface;
        notes.push(format!("the qdisc etf of {interface} drops every frame of a gateway: they have no transmit time"));
    }
    let drops = fq_drops_kept_timestamps();
    let is_lost = |route: &&Route| drops && route.timestamp == Timestamp::Kept && has(route.to, "fq");
    for route in plan.routes().iter().filter(is_lost) {
        let interface = &plan.bus(route.to).interface;
        notes.push(format!(
            "the qdisc fq of {interface} treats the timestamps kept by route {:?} as transmit times and drops the frames",
            route.name
        ));
    }
    Ok(())
}

/// The interfaces of all buses; notes their problems.
pub(super) fn interfaces(plan: &Plan, on: BusIndex, notes: &mut Vec<String>) -> Result<Vec<Interface>, NetlinkError> {
    let links = link::list(&mut Client::open()?)?;
    let interface = |(at, bus): (usize, &Bus)| {
        let Some(link) = links.iter().find(|link| link.name == bus.interface) else {
            notes.push(format!("this machine has no interface {}", bus.interface));
            return Interface { peer: bus.vxcan_peer, ..Interface::default() };
        };
        notes.extend(trouble(link, BusIndex(at) == on));
        let state = if link.up { LinkState::Up } else { LinkState::Down };
        let mtu_bytes = usize::try_from(link.mtu).unwrap_or(usize::MAX);
        Interface { mtu_bytes: Some(mtu_bytes), link: Some(state), peer: bus.vxcan_peer }
    };
    Ok(plan.buses().iter().enumerate().map(interface).collect())
}

fn trouble(link: &Link, is_source: bool) -> Vec<String> {
    let name = &link.name;
    let mut trouble = Vec::new();
    if is_source && !link.up {
        trouble.push(format!("{name} is down: it receives no frames"));
    }
    if is_source && usize::try_from(link.mtu).is_ok_and(|mtu| mtu < CANFD_MTU) {
        trouble.push(format!("{name} has an MTU of {} bytes: it receives no CAN FD frames", link.mtu));
    }
    if link.can.is_some_and(|can| can.state == Some(CanState::BusOff)) {
        trouble.push(format!("{name} is bus-off: it sends and receives nothing until it is restarted"));
    }
    trouble
}
