//! Frames by the control group of the socket that sends them.

use std::process::Command;

use candor_core::frame::CANFD_MTU;
use candor_egress::classify::{self, End, Packet, Socket};
use candor_egress::filter::ETH_P_CAN;
use candor_egress::kernel::{Here, locate};
use candor_io::can::CanSocket;
use candor_io::packet::TransmitRing;
use caps::{CapSet, Capability};
use serde_json::Value;

use super::commands::{self, found};
use super::line::{self, Line};
use super::paced::trees;
use super::*;
use crate::candor::program;
use crate::control_group::Group;
use crate::frames::{classic, send, sender_on, try_send};

const NET_ADMIN: u64 = 1 << 12;
const BPF: u64 = 1 << 39;

/// A band for a service, and one for a group; a route, for what no socket sends.
const BANDS: &str = r#"
[bus.a]
interface = "t-left"
[bus.b]
interface = "t-right"
[[egress.a.band]]
name = "group"
cgroup = "/t-candor/urgent"
[[egress.a.band]]
name = "service"
unit = "t-logger.service"
[[egress.a.band]]
name = "rest"
"#;

fn needs(more: &[Feature]) -> Vec<Feature> {
    [NEEDS, &[Feature::ControlGroups], more].concat()
}

/// The band in which a frame of a socket in these groups waits, by the tree alone.
fn band(tree: &Tree, groups: &[u64]) -> u16 {
    let mut bytes = [0; CANFD_MTU];
    let len = classic(0x123, &[1]).to_kernel(&mut bytes);
    let socket = Some(Socket { user: 0, group: 0, control_groups: groups });
    let packet =
        Packet { bytes: &bytes[..len], protocol: ETH_P_CAN, priority: 0, mark: 0, socket, incoming_interface: 0 };
    match classify::egress(tree, &packet).end {
        End::Queue { class, .. } => class.minor(),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_leave_in_the_order_of_the_groups_that_send_them() {
    let Some(_machine) = require(&needs(line::NEEDS)) else { return };
    let service = Group::new("/t-candor.slice/t-logger.service");
    let inner = Group::new("/t-candor.slice/t-logger.service/inner");
    let (urgent, beside) = (Group::new("/t-candor/urgent"), Group::new("/t-candor/urgent-not"));
    let mut tree = trees(BANDS).remove(0);
    assert_eq!(locate(&mut Here::default(), &mut tree).unwrap(), []);
    let mut line = Line::new();
    let root = Group::new("/");
    let mut sockets = Vec::new();
    for group in [&root, &beside, &inner, &service, &urgent] {
        let socket = group.inside(|| sender_on(line.index));
        sockets.push((socket, band(&tree, &group.numbers())));
    }
    // Opened outside and used inside: it counts where it was opened.
    line.block(&tree).unwrap();
    urgent.inside(|| {
        for round in 0..3 {
            for (number, (socket, _)) in sockets.iter().enumerate() {
                send(socket, &classic(0x200, &[u8::try_from(number).unwrap(), round]));
            }
        }
    });
    let bands: Vec<_> = sockets.iter().map(|(_, band)| *band).collect();
    assert_eq!(bands, [3, 3, 2, 2, 1]);
    let observed = line.kernel.observe().unwrap();
    let waiting = |minor| observed.bands.iter().find(|(handle, _)| *handle == Handle::new(1, minor)).unwrap().1.queue;
    assert_eq!([1, 2, 3].map(|minor| waiting(minor).backlog_frames), [3, 6, 6]);
    assert_eq!(line.read(15), [4, 4, 4, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1]);
    assert_eq!(differences(&tree, &observed.tree), []);
    line.clear();
}

#[test]
#[ignore = "runs in a guest"]
fn what_is_in_no_group_or_in_another_is_not_limited() {
    let Some(_machine) = require(&needs(&[])) else { return };
    let group = Group::new("/t-candor/limited");
    let text = "[bus.a]\ninterface = \"t-near\"\n[[egress.a.band]]\nname = \"all\"\n[[egress.a.limit]]\n\
                cgroup = [\"/t-candor/limited\", \"/t-candor/none\"]\nrate = \"1 frames/s\"\nburst = 3\n";
    let mut tree = trees(text).remove(0);
    let missing = locate(&mut Here::default(), &mut tree).unwrap();
    assert_eq!(missing.len(), 1);
    let mut place = Place::new();
    place.make(&tree).unwrap();
    let (inside, outside) = (group.inside(|| sender_on(place.pair.near)), sender_on(place.pair.near));
    let refused = |socket: &CanSocket| {
        let tried = (0..40).filter_map(|_| try_send(socket, &classic(0x123, &[1])).err());
        tried.map(|error| assert_eq!(error.raw_os_error(), Some(libc::ENOBUFS))).count()
    };
    assert_eq!(refused(&outside), 0);
    let count = refused(&inside);
    assert!(count > 0, "nothing is refused");
    let observed = place.observe();
    assert_eq!(differences(&tree, &observed.tree), []);
    assert_eq!(observed.filters[0].actions[0].drops, u32::try_from(count).unwrap());
    place.clear();
}

/// Frames that each band of t-left has taken, in their order.
fn taken(place: &commands::Place, file: &str) -> Vec<u64> {
    let shown: Value = serde_json::from_str(&place.says(&["egress", "show", file, "--json"], 0, &[]).out).unwrap();
    let below = shown["interfaces"][0]["tree"][0]["below"].as_array().unwrap().clone();
    let bands = below.iter().filter(|one| one["what"] == "class");
    bands.map(|band| band["below"][0]["counted"]["frames"].as_u64().unwrap()).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn from_plan_to_clear() {
    let Some(_machine) = require(&needs(&[])) else { return };
    let place = commands::Place::new();
    let file = place.file(BANDS);
    let service = Group::new("/t-candor.slice/t-logger.service");
    for command in ["plan", "apply", "verify"] {
        let words = ["There is no cgroup /t-candor/urgent (bus a): systemd-cgls shows", "candor run waits"];
        place.says(&["egress", command, &file], 2, &words);
    }
    let urgent = Group::new("/t-candor/urgent");
    place.says(&["egress", "plan", &file], 0, &["bpf unit t-logger.service flowid 1:2 (number "]);
    place.says(&["egress", "apply", &file], 0, &["t-left: made"]);
    place.says(&["egress", "apply", &file], 0, &["t-left: was as it should be"]);
    place.says(&["egress", "verify", &file], 0, &["the kernel has what it wants"]);
    let inside = service.inside(|| sender_on(place.left.index));
    send(&inside, &classic(0x123, &[1]));
    send(&sender_on(place.left.index), &classic(0x123, &[2]));
    assert_eq!(taken(&place, &file), [0, 1, 1]);
    // A socket of another family, and a group below that of the service.
    let inner = Group::new("/t-candor.slice/t-logger.service/inner");
    let mut ring = inner.inside(|| TransmitRing::open(place.left.index, 4, None)).unwrap();
    let mut bytes = [0; CANFD_MTU];
    let len = classic(0x123, &[3]).to_kernel(&mut bytes);
    assert_eq!(ring.send([&bytes[..len]]).taken, 1);
    assert_eq!(taken(&place, &file), [0, 2, 1]);
    place.says(&["egress", "show", &file], 0, &["bpf unit t-logger.service", "bpf cgroup /t-candor/urgent"]);
    let shown = place.says(&["egress", "show", "--interface", "t-left", "--as", "tc"], 1, &[]);
    assert!(shown.out.is_empty() && shown.err.contains("sudo candor egress apply"), "{shown:?}");
    // A group of the same name, which nobody told of.
    drop(urgent);
    let _again = Group::new("/t-candor/urgent");
    place.says(&["egress", "verify", &file], 1, &["~ filter parent 1: pref 1", "1 of 1 interface"]);
    place.says(&["egress", "apply", &file], 0, &["t-left: changed"]);
    place.says(&["egress", "plan", "--exit-code", &file], 0, &[]);
    let _other = Group::new("/t-candor/t-logger.service");
    place.says(&["egress", "plan", &file], 2, &["several units t-logger.service", "\"/t-candor/t-logger.service\""]);
    place.says(&["egress", "clear", &file], 0, &["t-left: cleared"]);
    assert_eq!(found("t-left"), Tree::default());
}

#[test]
#[ignore = "runs in a guest"]
fn a_service_that_is_started_again_while_candor_runs_is_known_again() {
    let Some(_machine) = require(&needs(&[Feature::Cangw])) else { return };
    let place = commands::Place::new();
    let file = place.file(&format!("{BANDS}[[route]]\nname = \"over\"\nfrom = \"b\"\nto = \"a\"\n"));
    let _urgent = Group::new("/t-candor/urgent");
    let mut run = place.looks_on(&["run", &file, "--engine", "kernel", "--json", "--seccomp"]);
    run.notice("t-left: no frames from unit t-logger.service until it is there");
    run.event("ready");
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.child.id())).unwrap();
    assert!(status.contains(&format!("CapEff:\t{:016x}", NET_ADMIN | BPF)), "{status}");
    for round in 1..=3 {
        let service = Group::new("/t-candor.slice/t-logger.service");
        run.notice("t-left: frames from unit t-logger.service are known again");
        let [near, far] = service.inside(|| [place.left.index, place.right.index].map(sender_on));
        send(&near, &classic(0x123, &[1]));
        // Nobody sends what the kernel forwards.
        send(&far, &classic(0x123, &[2]));
        assert_eq!(taken(&place, &file), [0, round, round], "the filter is another one each time, the queue the same");
        drop((near, far));
        drop(service);
        run.notice("t-left: no frames from unit t-logger.service");
    }
    assert_eq!(run.end(), 0);
    assert_eq!(found("t-left"), Tree::default());
}

#[test]
#[ignore = "runs in a guest"]
fn who_may_load_no_program_is_told() {
    let Some(_machine) = require(&needs(&[])) else { return };
    let place = commands::Place::new();
    let (_service, _urgent) = (Group::new("/t-candor.slice/t-logger.service"), Group::new("/t-candor/urgent"));
    let file = place.file(BANDS);
    let said = std::thread::spawn(move || {
        // What is started gets what the bounding set of its thread leaves.
        for capability in [Capability::CAP_BPF, Capability::CAP_SYS_ADMIN] {
            caps::drop(None, CapSet::Bounding, capability).unwrap();
        }
        Command::new(program()).args(["egress", "apply", &file]).output().unwrap()
    });
    let said = said.join().unwrap();
    let errors = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(2), "{errors}");
    assert!(errors.contains("filter bpf parent 1: pref 1 on t-left") && errors.contains("wants CAP_BPF"), "{errors}");
    assert_eq!(found("t-left"), Tree::default());
}
