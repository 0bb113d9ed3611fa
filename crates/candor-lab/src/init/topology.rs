//! The interfaces of a guest.

use std::time::Duration;

use candor_core::units::BitRate;
use candor_io::can;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, Link};

use super::InitError;
use crate::job::Topology;

/// Size of a CAN FD frame; classic frames pass too.
const FD_FRAME_BYTES: u32 = 72;
const KVASER_RATE: BitRate = BitRate::from_bits_per_second(1_000_000).expect("a million is not 0");
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(4);

/// Brings up the loopback device and the interfaces of the topology.
pub(super) fn set_up(topology: Topology) -> Result<(), InitError> {
    let mut client = Client::open().map_err(failed("lo"))?;
    let loopback = find(&mut client, "lo")?;
    link::set_up(&mut client, loopback.index).map_err(failed("lo"))?;
    if topology == Topology::Wire {
        return Ok(()); // made by a program that goes on running
    }
    for name in topology.interfaces() {
        if topology == Topology::Vcan {
            link::create_vcan(&mut client, name).map_err(failed(name))?;
        }
        let interface = find(&mut client, name)?;
        let set_size = match topology {
            Topology::Kvaser => link::set_can_bitrate(&mut client, interface.index, KVASER_RATE),
            Topology::Vcan | Topology::Wire => link::set_mtu(&mut client, interface.index, FD_FRAME_BYTES),
        };
        set_size.and_then(|()| link::set_up(&mut client, interface.index)).map_err(failed(name))?;
    }
    if topology == Topology::Kvaser {
        topology.interfaces().iter().try_for_each(|name| wait_until_operational(name))?;
    }
    Ok(())
}

/// The kernel reports state changes at most once a second. That work should be done before the command starts.
fn wait_until_operational(name: &str) -> Result<(), InitError> {
    let is_operational = can::wait_until_operational(name, OPERATIONAL_WITHIN);
    is_operational.then_some(()).ok_or_else(|| InitError::NotOperational(name.to_owned()))
}

fn find(client: &mut Client, name: &str) -> Result<Link, InitError> {
    link::by_name(client, name).map_err(failed(name))?.ok_or_else(|| InitError::NoInterface(name.to_owned()))
}

fn failed(interface: &str) -> impl FnOnce(NetlinkError) -> InitError {
    let interface = interface.to_owned();
    move |source| InitError::Link { interface, source }
}
