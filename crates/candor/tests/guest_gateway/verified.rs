//! Every statement of the specification that was observed on a real kernel, on this one.
//!
//! The scripts are those of [`candor_core::oracle::vectors`], which the oracle runs too.

mod real;

use std::os::fd::AsRawFd as _;

use candor_core::filter::Filter;
use candor_core::oracle::vectors::{self, Gateway as _, Vector};
use candor_core::oracle::{EchoBy, Interface, SameInterface};
use candor_engine::relative_crc8_by_trial;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};

use crate::egress;
use crate::kernel::{self, WithMaxHops};
use crate::prelude::*;
use real::{Real, Stamping};

/// The first releases with the fix, of those that guests boot.
const FIXED: [[u32; 3]; 2] = [[6, 1, 168], [6, 12, 80]];

/// `CANDOR_VECTOR` selects one by name.
#[test]
#[ignore = "runs in a guest"]
fn kernel_agrees_with_every_vector() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let _stamping = Stamping::start();
    let only = std::env::var("CANDOR_VECTOR").ok();
    let vectors = vectors::all().into_iter().filter(|vector| only.as_ref().is_none_or(|name| vector.name == name));
    let mut failed = Vec::new();
    for vector in vectors {
        // The last name is that of a vector that panics.
        println!("{}", vector.name);
        if let Some(missing) = missing(&vector) {
            skip(missing, &format!("{} needs it, and the kernel is {}", vector.name, kernel::release()));
            continue;
        }
        let _max_hops = if vector.kernel.max_hops == kernel::max_hops() {
            None
        } else {
            let Some(with) = WithMaxHops::new(vector.kernel.max_hops) else { continue };
            Some(with)
        };
        failed.extend(
            vector.run(&mut Real::new(&vector.interfaces)).err().map(|error| format!("{}: {error}", vector.name)),
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A feature of the vector that this kernel lacks.
fn missing(vector: &Vector) -> Option<Feature> {
    let drivers = vector.interfaces.iter().any(|interface| interface.echo_by == EchoBy::Driver);
    let refuses = real::refuses_same_interface();
    match vector.kernel.same_interface {
        // Kernels differ, and only vectors about that depend on it.
        SameInterface::Refused if !refuses => Some(Feature::NoSelfJobs),
        SameInterface::Accepted if refuses && vector.name == "from_an_interface_to_itself_never_fires" => {
            Some(Feature::SelfJobs)
        }
        _ if drivers => Some(Feature::Controllers),
        _ if counts_crc8_from_the_end(vector) && !relative_crc8_by_trial().unwrap() => Some(Feature::RelativeCrc8),
        _ => None,
    }
}

fn counts_crc8_from_the_end(vector: &Vector) -> bool {
    vector.events.iter().any(|event| match event {
        vectors::Event::Add { job, answer: Ok(()) } => job.checksums.crc8.is_some_and(|crc8| crc8.span.is_relative()),
        _ => false,
    })
}

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
    let (flags, protocol) = (SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let listener = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol).unwrap();
    // Every multicast group.
    bind(listener.as_raw_fd(), &NetlinkAddr::new(0, u32::MAX)).unwrap();
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

#[test]
#[ignore = "runs in a guest"]
fn trial_agrees_with_the_kernel_version() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let interfaces = || link::list(&mut Client::open().unwrap()).unwrap();
    let before = interfaces();
    let inside = relative_crc8_by_trial().unwrap();
    assert_eq!(interfaces(), before, "the trial leaves no trace");
    let version = source_version();
    println!("kernel {version:?} computes a CRC8 with positions from the end inside the frame: {inside}");
    if let Some(fixed) = FIXED.iter().find(|fixed| fixed[..2] == version[..2]) {
        assert_eq!(inside, version >= *fixed, "{version:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn auto_chooses_the_engine_that_computes_it_right() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let keys = "frames = \"classic\"\nor = { data = \"00\" }\n\
                checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }";
    let candor = scene.start(&(LEFT_RIGHT.to_owned() + &route("crc", "left", "right", keys)), "auto");
    let side = &candor.before_ready.iter().find(|event| event["route"] == "crc").unwrap()["side"];
    assert_eq!(side, if relative_crc8_by_trial().unwrap() { "kernel" } else { "user" });
    candor.stop();
}

/// The version of the source, which Debian has in the build text.
fn source_version() -> [u32; 3] {
    let word = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
    let (release, build) = (word("osrelease"), word("version"));
    let source = build.split_once("Debian ").map_or(release.as_str(), |(_, version)| version);
    let mut numbers = source.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}
