//! What this machine knows: interfaces, and the hops that can-gw allows.

use candor_core::explain::{Interface, LinkState, Machine};
use candor_core::frame::CANFD_MTU;
use candor_core::plan::{BusIndex, Plan};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, CanState, Link};

use super::needed_hops;

/// Where can-gw says how many hops it allows.
const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// Looks at the interfaces of all buses, and notes what keeps frames from coming in at all.
pub(super) fn machine(plan: &Plan, on: BusIndex, notes: &mut Vec<String>) -> Result<Machine, NetlinkError> {
    let links = link::list(&mut Client::open()?)?;
    let interfaces = plan.buses().iter().enumerate().map(|(at, bus)| {
        let Some(link) = links.iter().find(|link| link.name == bus.interface) else {
            notes.push(format!("this machine has no interface {}", bus.interface));
            return Interface::default();
        };
        notes.extend(trouble(link, BusIndex(at) == on));
        let state = if link.up { LinkState::Up } else { LinkState::Down };
        let mtu_bytes = usize::try_from(link.mtu).unwrap_or(usize::MAX);
        Interface { mtu_bytes: Some(mtu_bytes), link: Some(state), peer: None }
    });
    let interfaces = interfaces.collect();
    let needed = needed_hops(plan);
    let max_hops = match std::fs::read_to_string(MAX_HOPS_FILE).ok().and_then(|text| text.trim().parse().ok()) {
        Some(max_hops) if max_hops < needed => {
            notes.push(format!(
                "can-gw allows {max_hops} hops (max_hops), a route of the file {needed}; candor run refuses that"
            ));
            max_hops
        }
        Some(max_hops) => max_hops,
        None => {
            notes.push("can-gw is not loaded (modprobe can-gw)".to_owned());
            needed
        }
    };
    Ok(Machine { max_hops, interfaces })
}

/// What an interface keeps from working.
fn trouble(link: &Link, is_source: bool) -> Vec<String> {
    let name = &link.name;
    let mut trouble = Vec::new();
    if is_source && !link.up {
        trouble.push(format!("{name} is down: no frame comes in"));
    }
    if is_source && usize::try_from(link.mtu).is_ok_and(|mtu| mtu < CANFD_MTU) {
        trouble.push(format!("{name} has an MTU of {} bytes: no CAN FD frame comes in", link.mtu));
    }
    if link.can.is_some_and(|can| can.state == Some(CanState::BusOff)) {
        trouble.push(format!("{name} is bus-off: it sends and receives nothing until it is restarted"));
    }
    trouble
}
