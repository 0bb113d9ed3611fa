//! What this machine knows: its interfaces, and its can-gw.

use candor_core::explain::{Interface, LinkState};
use candor_core::frame::CANFD_MTU;
use candor_core::placement::{KernelAbilities, Missing};
use candor_core::plan::{Bus, BusIndex, Engine, Plan};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, CanState, Link};

use super::needed_hops;

/// Where can-gw says how many hops it allows.
const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// What can-gw can do here. Whether this user may use it is not asked: `candor run` may be another's.
pub(super) fn can_gw(plan: &Plan, notes: &mut Vec<String>) -> KernelAbilities {
    let needed = needed_hops(plan);
    let found = std::fs::read_to_string(MAX_HOPS_FILE).ok().and_then(|text| text.trim().parse().ok());
    match found {
        Some(max_hops) => KernelAbilities { max_hops, ..KernelAbilities::EVERY },
        None if plan.engine() == Engine::Auto => {
            KernelAbilities { missing: Some(Missing::Module), max_hops: needed, ..KernelAbilities::EVERY }
        }
        None => {
            if plan.engine() == Engine::Kernel {
                notes.push("the kernel module can-gw is not loaded; type: sudo modprobe can-gw".to_owned());
            }
            KernelAbilities { max_hops: needed, ..KernelAbilities::EVERY }
        }
    }
}

/// Looks at the interfaces of all buses, and notes what keeps frames from coming in at all.
pub(super) fn interfaces(plan: &Plan, on: BusIndex, notes: &mut Vec<String>) -> Result<Vec<Interface>, NetlinkError> {
    let links = link::list(&mut Client::open()?)?;
    let look = |(at, bus): (usize, &Bus)| {
        let Some(link) = links.iter().find(|link| link.name == bus.interface) else {
            notes.push(format!("this machine has no interface {}", bus.interface));
            return Interface { peer: bus.vxcan_peer, ..Interface::default() };
        };
        notes.extend(trouble(link, BusIndex(at) == on));
        let state = if link.up { LinkState::Up } else { LinkState::Down };
        let mtu_bytes = usize::try_from(link.mtu).unwrap_or(usize::MAX);
        Interface { mtu_bytes: Some(mtu_bytes), link: Some(state), peer: bus.vxcan_peer }
    };
    Ok(plan.buses().iter().enumerate().map(look).collect())
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
