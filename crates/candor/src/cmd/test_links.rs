//! Interfaces for tests.

use candor_core::units::BitRate;
use candor_io::can::InterfaceIndex;
use candor_netlink::link::{CanLink, Link, Traffic};

/// A controller for classic frames at 500 kbit/s that does not report its state.
pub(super) fn controller(name: &str) -> Link {
    Link {
        index: InterfaceIndex::new(3).unwrap(),
        name: name.into(),
        kind: Some("can".into()),
        up: true,
        echoes: true,
        mtu: 16,
        tx_queue_len: 10,
        received: Traffic::default(),
        sent: Traffic::default(),
        can: Some(CanLink { bitrate: BitRate::from_bits_per_second(500_000), ..CanLink::default() }),
    }
}
