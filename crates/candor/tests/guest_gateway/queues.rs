//! Queueing disciplines at the root of an interface.

use std::time::Duration;

use candor_egress::discipline::{Discipline, Netem};
use candor_egress::handle::Handle;
use candor_egress::netlink;
use candor_egress::tree::Qdisc;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

/// Gives an interface another root discipline.
pub(crate) fn set_root(interface: InterfaceIndex, discipline: Discipline) {
    let qdisc = Qdisc { handle: Handle::NONE, parent: Handle::ROOT, stab: None, discipline };
    netlink::replace_qdisc(&mut Client::open().unwrap(), interface, &qdisc).unwrap();
}

/// Gives every frame away so much later, and has room for so many.
pub(crate) fn delay(interface: InterfaceIndex, delay: Duration, room: u32) {
    set_root(interface, Discipline::Netem(Netem { limit_frames: Some(room), delay, ..Netem::default() }));
}

/// Gives an interface the kernel's default again.
pub(crate) fn delete_root(interface: InterfaceIndex) {
    netlink::delete_qdisc(&mut Client::open().unwrap(), interface, Handle::ROOT, Handle::NONE).unwrap();
}
