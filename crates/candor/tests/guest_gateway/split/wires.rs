//! Buses of which the test has the other ends.

use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, Frame};
use candor_io::can::{CanSocket, InterfaceIndex, Options};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::frames;

pub(super) const BUSES: usize = 3;
/// Interfaces of the gateway, and the ends at which the test sits.
pub(super) const NAMES: [[&str; 2]; BUSES] = [["t-a", "t-far-a"], ["t-b", "t-far-b"], ["t-c", "t-far-c"]];

const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(3);
const ERRORS: Filter = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };

/// The far ends of the gateway's interfaces, by bus.
pub(super) struct Wires {
    pub(super) gateway: Vec<InterfaceIndex>,
    sockets: Vec<CanSocket>,
}

impl Wires {
    pub(super) fn new() -> Self {
        let mut client = Client::open().unwrap();
        let mut wires = Self { gateway: Vec::new(), sockets: Vec::new() };
        for names in NAMES {
            link::create_vxcan(&mut client, names).unwrap();
            let [near, far] = names.map(|name| link::by_name(&mut client, name).unwrap().unwrap().index);
            link::set_up(&mut client, near).unwrap();
            link::set_up(&mut client, far).unwrap();
            wires.gateway.push(near);
            let options = Options { filters: &[Filter::ALL, ERRORS], ..Options::default() };
            let socket = CanSocket::open(far, &options).unwrap();
            socket.set_receive_buffer(8 << 20).unwrap();
            wires.sockets.push(socket);
        }
        wires
    }

    pub(super) fn send(&self, bus: usize, frame: &Frame) {
        frames::send(&self.sockets[bus], frame);
    }

    /// Forgets what a run that failed has left, which may be much.
    pub(super) fn drain(&self) {
        for bus in 0..BUSES {
            while !self.hear(bus, 0).is_empty() {}
        }
    }

    /// So many frames from a bus, or fewer if they do not come, and any that come after them.
    pub(super) fn hear(&self, bus: usize, count: usize) -> Vec<Frame> {
        let mut heard = Vec::new();
        loop {
            let patience = if heard.len() < count { PATIENCE } else { SILENCE };
            let Some(frame) = frames::hear(&self.sockets[bus], patience) else { return heard };
            heard.push(frame);
            if heard.len() > 100 * (count + 1) {
                // It circulates.
                return heard;
            }
        }
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        let mut client = Client::open().unwrap();
        // The other end goes along.
        self.gateway.iter().for_each(|near| link::delete(&mut client, *near).unwrap());
    }
}
