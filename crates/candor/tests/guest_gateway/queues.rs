//! Queueing disciplines at the root of an interface.

use candor_egress::discipline::{Discipline, Netem};
use candor_egress::handle::Handle;
use candor_egress::netlink;
use candor_egress::tree::Qdisc;

use crate::prelude::*;

pub(crate) fn set_root(interface: InterfaceIndex, discipline: Discipline) {
    let qdisc = Qdisc { handle: Handle::NONE, parent: Handle::ROOT, stab: None, discipline };
    netlink::replace_qdisc(&mut Client::open().unwrap(), interface, &qdisc).unwrap();
}

/// Delays every frame, with room for this many.
pub(crate) fn delay(interface: InterfaceIndex, delay: Duration, room: u32) {
    set_root(interface, Discipline::Netem(Netem { limit_frames: Some(room), delay, ..Netem::default() }));
}

pub(crate) fn delete_root(interface: InterfaceIndex) {
    netlink::delete_qdisc(&mut Client::open().unwrap(), interface, Handle::ROOT, Handle::NONE).unwrap();
}
