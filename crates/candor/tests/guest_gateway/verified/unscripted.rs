//! What the specification has seen beside frames, jobs and counters, so that no script can say it.

use std::os::fd::{AsRawFd, OwnedFd};

use candor_config::plan::BusIndex;
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_core::oracle::Interface;
use candor_core::oracle::vectors::Gateway;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};

use super::real::{Real, TC_H_ROOT, add_qdisc};
use crate::frames::sender_on;
use crate::require::{Bus, Feature, require};

const FEATURES: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

fn two_buses() -> (Real, Job) {
    let real = Real::new(&[Interface::vcan("vcan0"), Interface::vcan("vcan1")]);
    (real, Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL))
}

#[test]
#[ignore = "runs in a guest"]
fn the_socket_priority_of_a_sender_passes_the_gateway() {
    /// `TC_PRIO_INTERACTIVE`.
    const URGENT: i32 = 6;
    let Some(_machine) = require(FEATURES) else { return };
    let (mut real, job) = two_buses();
    let index = real.index(BusIndex(1));
    drop_of_priority(index, usize::try_from(URGENT).unwrap());
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
fn nobody_is_told_that_jobs_have_changed() {
    let Some(_machine) = require(FEATURES) else { return };
    let (mut real, job) = two_buses();
    let listener = every_group();
    let said = || {
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
    // What happened to the interfaces before is still on its way.
    let _ = said();
    real.add(&job).unwrap();
    real.delete(&job).unwrap();
    real.add(&job).unwrap();
    real.flush();
    assert_eq!(said(), [0; 0]);
    // It hears what is told.
    let _bus = Bus::new("told");
    assert_ne!(said(), [0; 0]);
}

/// A socket that hears what rtnetlink tells anybody.
fn every_group() -> OwnedFd {
    let (flags, protocol) = (SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol).unwrap();
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, u32::MAX)).unwrap();
    socket
}

/// Gives an interface the qdisc prio with two bands: one for this priority, which has no room, and one for the others.
fn drop_of_priority(interface: InterfaceIndex, priority: usize) {
    const HANDLE: u32 = 0x0001_0000;
    const BANDS: u32 = 2;
    // `struct tc_prio_qopt`: the band of each priority, then `struct tc_fifo_qopt`: room for so many frames.
    let mut bands = [0; 16];
    bands[priority] = 1;
    let prio: Vec<u8> = BANDS.to_ne_bytes().into_iter().chain(bands).collect();
    let mut client = Client::open().unwrap();
    let mut add = |parent, handle, kind, options: &[u8]| {
        add_qdisc(&mut client, interface, parent, handle, kind, options);
    };
    add(TC_H_ROOT, HANDLE, "prio", &prio);
    add(HANDLE | 1, 0, "pfifo", &100_u32.to_ne_bytes());
    add(HANDLE | 2, 0, "pfifo", &0_u32.to_ne_bytes());
}
