//! Bands by the control group of the sending socket.

use candor_egress::classify::{self, End, Packet, Socket};
use candor_egress::filter::ETH_P_CAN;
use candor_egress::kernel::{Here, locate};
use candor_io::packet::TransmitRing;
use caps::{CapSet, Capability};

use super::commands::found;
use super::line::Line;
use super::paced::trees;
use super::*;
use crate::control_group::Group;
use crate::serial::SERIAL;

const NET_ADMIN: u64 = 1 << 12;
const BPF: u64 = 1 << 39;
const BANDS: &str = include_str!("groups.toml");

fn scene(more: &[Feature]) -> Option<Scenario> {
    Scenario::new(&needs(more), ["left", "right"])
}

fn needs(more: &[Feature]) -> Vec<Feature> {
    [VCAN, &[Feature::Cgroup], more].concat()
}

/// The band that the tree selects for a frame of a socket in these groups.
fn band(tree: &Tree, groups: &[u64]) -> u16 {
    let bytes = &bytes_of(&classic(0x123, &[1]));
    let socket = Some(Socket { user: 0, group: 0, control_groups: groups });
    let packet = Packet { bytes, protocol: ETH_P_CAN, priority: 0, mark: 0, socket, incoming_interface: 0 };
    match classify::egress(tree, &packet).end {
        End::Queue { class, .. } => class.minor(),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_leave_in_the_order_of_their_groups() {
    let Some(mut line) = Line::new(&needs(SERIAL)) else { return };
    let service = Group::new("/t-candor.slice/t-logger.service");
    let inner = Group::new("/t-candor.slice/t-logger.service/inner");
    let (urgent, beside) = (Group::new("/t-candor/urgent"), Group::new("/t-candor/urgent-not"));
    let mut tree = trees(BANDS).remove(0);
    assert_eq!(locate(&mut Here::default(), &mut tree).unwrap(), []);
    let root = Group::new("/");
    let mut sockets = Vec::new();
    for group in [&root, &beside, &inner, &service, &urgent] {
        let socket = group.inside(|| sender_on(line.index));
        sockets.push((socket, band(&tree, &group.numbers())));
    }
    // The group that opened a socket counts, not the one that sends.
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
fn limits_only_the_groups_of_the_limit() {
    let Some(mut fixture) = Fixture::new(&needs(&[])) else { return };
    let group = Group::new("/t-candor/limited");
    let text = "[bus.a]\ninterface = \"t-near\"\n[[egress.a.band]]\nname = \"all\"\n[[egress.a.limit]]\n\
                cgroup = [\"/t-candor/limited\", \"/t-candor/none\"]\nrate = \"1 frames/s\"\nburst = 3\n";
    let mut tree = trees(text).remove(0);
    let missing = locate(&mut Here::default(), &mut tree).unwrap();
    assert_eq!(missing.len(), 1);
    fixture.make(&tree).unwrap();
    let (inside, outside) = (group.inside(|| fixture.sender()), fixture.sender());
    let refused = |socket: &CanSocket| {
        let tried = (0..40).filter_map(|_| try_send(socket, &classic(0x123, &[1])).err());
        tried.map(|error| assert_eq!(error.raw_os_error(), Some(errno::ENOBUFS))).count()
    };
    assert_eq!(refused(&outside), 0);
    let count = refused(&inside);
    assert!(count > 0, "nothing is refused");
    let observed = fixture.observe();
    assert_eq!(differences(&tree, &observed.tree), []);
    assert_eq!(observed.filters[0].actions[0].drops, u32::try_from(count).unwrap());
    fixture.clear();
}

/// The frames that each band of t-left has accepted.
fn taken(scenario: &Scenario, file: &str) -> Vec<u64> {
    let shown = scenario.json(&["egress", "show", file]);
    let below = shown["interfaces"][0]["tree"][0]["below"].as_array().unwrap().clone();
    let bands = below.iter().filter(|one| one["what"] == "class");
    bands.map(|band| band["below"][0]["counted"]["frames"].as_u64().unwrap()).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn plan_apply_verify_show_and_clear() {
    let Some(scenario) = scene(&[]) else { return };
    let file = scenario.file("candor.toml", BANDS);
    let service = Group::new("/t-candor.slice/t-logger.service");
    for command in ["plan", "apply", "verify"] {
        let words = ["cgroup /t-candor/urgent (bus a) not found: systemd-cgls lists", "candor run waits"];
        scenario.egress(&[command, &file], 2, &words);
    }
    let urgent = Group::new("/t-candor/urgent");
    scenario.egress(&["plan", &file], 0, &["bpf unit t-logger.service flowid 1:2 (number "]);
    scenario.egress(&["apply", &file], 0, &["t-left: created"]);
    scenario.egress(&["apply", &file], 0, &["t-left: unchanged"]);
    scenario.egress(&["verify", &file], 0, &["the kernel matches the file"]);
    let inside = service.inside(|| scenario.sender("left"));
    send(&inside, &classic(0x123, &[1]));
    send(&scenario.sender("left"), &classic(0x123, &[2]));
    assert_eq!(taken(&scenario, &file), [0, 1, 1]);
    // A packet socket, and a group below that of the service.
    let inner = Group::new("/t-candor.slice/t-logger.service/inner");
    let mut ring = inner.inside(|| TransmitRing::open(scenario.index("left"), 4, None)).unwrap();
    assert_eq!(ring.send([bytes_of(&classic(0x123, &[3])).as_slice()]).taken, 1);
    assert_eq!(taken(&scenario, &file), [0, 2, 1]);
    scenario.egress(&["show", &file], 0, &["bpf unit t-logger.service", "bpf cgroup /t-candor/urgent"]);
    let shown = scenario.egress(&["show", "--interface", "t-left", "--as", "tc"], 1, &["sudo candor egress apply"]);
    assert!(shown.out.is_empty(), "{shown:?}");
    // Another group of the same name.
    drop(urgent);
    let _again = Group::new("/t-candor/urgent");
    scenario.egress(&["verify", &file], 1, &["~ filter parent 1: pref 1", "1 of 1 interface"]);
    scenario.egress(&["apply", &file], 0, &["t-left: changed"]);
    scenario.egress(&["plan", "--exit-code", &file], 0, &[]);
    let _other = Group::new("/t-candor/t-logger.service");
    scenario.egress(
        &["plan", &file],
        2,
        &["several units are named t-logger.service", "\"/t-candor/t-logger.service\""],
    );
    scenario.egress(&["clear", &file], 0, &["t-left: cleared"]);
    assert_eq!(found("t-left"), Tree::default());
}

#[test]
#[ignore = "runs in a guest"]
fn run_recognises_a_restarted_service() {
    let Some(scenario) = scene(&[Feature::Cangw]) else { return };
    let file = scenario.file("candor.toml", &(BANDS.to_owned() + &route("over", "b", "a", "")));
    let _urgent = Group::new("/t-candor/urgent");
    let run = scenario.events(&["run", &file, "--engine", "kernel", "--json", "--seccomp"]);
    run.notice_with("t-left: matches no frames from unit t-logger.service until the cgroup exists");
    run.event(&["ready"]);
    let status = fs::read_to_string(format!("/proc/{}/status", run.pid())).unwrap();
    assert!(status.contains(&format!("CapEff:\t{:016x}", NET_ADMIN | BPF)), "{status}");
    for round in 1..=3 {
        let service = Group::new("/t-candor.slice/t-logger.service");
        run.notice_with("t-left: frames from unit t-logger.service are matched again");
        let [near, far] = service.inside(|| ["left", "right"].map(|bus| scenario.sender(bus)));
        send(&near, &classic(0x123, &[1]));
        // A forwarded frame has no socket.
        send(&far, &classic(0x123, &[2]));
        assert_eq!(taken(&scenario, &file), [0, round, round], "a new filter each time, but the same queue");
        drop((near, far));
        drop(service);
        run.notice_with("t-left: matches no frames from unit t-logger.service");
    }
    assert!(run.end(Signal::Interrupt).status.success());
    assert_eq!(found("t-left"), Tree::default());
}

#[test]
#[ignore = "runs in a guest"]
fn reports_a_missing_capability_for_programs() {
    let Some(scenario) = scene(&[]) else { return };
    let (_service, _urgent) = (Group::new("/t-candor.slice/t-logger.service"), Group::new("/t-candor/urgent"));
    let mut apply = scenario.command(&["egress", "apply", &scenario.file("candor.toml", BANDS)]);
    let apply = std::thread::spawn(move || {
        // A process inherits the bounding set of the thread that starts it.
        for capability in [Capability::CAP_BPF, Capability::CAP_SYS_ADMIN] {
            caps::drop(None, CapSet::Bounding, capability).unwrap();
        }
        output(&mut apply)
    });
    apply.join().unwrap().assert(2, &["filter bpf parent 1: pref 1 on t-left", "needs CAP_BPF"]);
    assert_eq!(found("t-left"), Tree::default());
}
