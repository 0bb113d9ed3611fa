//! Statements of the specification that no script can express.

use std::os::fd::{AsRawFd, OwnedFd};

use candor_core::filter::Filter;
use candor_core::oracle::Interface;
use candor_core::oracle::vectors::Gateway;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};

use super::real::Real;
use crate::egress;
use crate::prelude::*;

fn two_buses() -> (Real, Job) {
    let real = Real::new(&[Interface::vcan("vcan0"), Interface::vcan("vcan1")]);
    (real, Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL))
}

#[test]
#[ignore = "runs in a guest"]
fn keeps_the_socket_priority_of_the_sender() {
    /// `TC_PRIO_INTERACTIVE`.
    const URGENT: i32 = 6;
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let (mut real, job) = two_buses();
    // Two bands: one without room for frames of this priority, and one for the others.
    let tree = "qdisc root handle 1: prio bands 2 priomap 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0\n\
                qdisc parent 1:1 handle 10: pfifo limit 100\nqdisc parent 1:2 handle 20: pfifo limit 0";
    egress::make(&mut egress::interface("t-end1"), &egress::paced::tree(tree)).unwrap();
    real.add(&job).unwrap();
    let sender = sender_on(real.index(BusIndex(0)));
    let mut send = |priority| {
        setsockopt(&sender, sockopt::Priority, &priority).unwrap();
        sender.write(&[0; 16]).unwrap();
        let [job] = <[_; 1]>::try_from(real.list()).unwrap();
        job.counted
    };
    assert_eq!(send(0), [1, 0, 0]);
    assert_eq!(send(URGENT), [1, 1, 0], "the queue for this priority has no room");
    assert_eq!(send(URGENT - 1), [2, 1, 0]);
}

#[test]
#[ignore = "runs in a guest"]
fn netlink_has_no_event_for_jobs() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let (mut real, job) = two_buses();
    let listener = every_group();
    let events = || {
        let mut kinds = Vec::new();
        let mut bytes = [0; 8192];
        loop {
            match recv(listener.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => kinds.push(u16::from_ne_bytes([bytes[4], bytes[5]])),
                Err(Errno::EAGAIN) => return kinds,
                Err(error) => panic!("{error}"),
            }
        }
    };
    // Events of the interfaces.
    let _ = events();
    real.add(&job).unwrap();
    real.delete(&job).unwrap();
    real.add(&job).unwrap();
    real.flush();
    assert_eq!(events(), [0; 0]);
    // The socket receives other events.
    let _bus = Bus::new("new");
    assert_ne!(events(), [0; 0]);
}

/// A socket in every multicast group of rtnetlink.
fn every_group() -> OwnedFd {
    let (flags, protocol) = (SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol).unwrap();
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, u32::MAX)).unwrap();
    socket
}
