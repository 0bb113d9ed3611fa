//! The engine `"bpf"`: what happens to its programs when files, interfaces and processes change. What they send, count and leave
//! to others is compared in [`crate::differential`].

mod applied;
mod dropped;
mod xl;

use candor_egress::netlink::{self, program};

use crate::prelude::*;

const FEATURES: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Programs];

/// Names of all filters of kind `bpf` at the ingress.
fn filters(interface: InterfaceIndex) -> Vec<String> {
    let attached = program::attached(&mut Client::open().unwrap(), interface).unwrap();
    attached.into_iter().map(|attached| attached.name).collect()
}

fn has_ingress(interface: InterfaceIndex) -> bool {
    program::has_ingress(&mut Client::open().unwrap(), interface).unwrap()
}

/// A vcan that frames come from, and a pair that they leave through.
struct Way {
    place: Scenario,
    right: Pair,
    sender: CanSocket,
    far: CanSocket,
}

impl Way {
    fn new() -> Option<Self> {
        Self::with(FEATURES)
    }

    fn with(features: &[Feature]) -> Option<Self> {
        let place = Scenario::new(features, ["left"])?;
        let right = Pair::new(["t-right", "t-far"]);
        let (sender, far) = (place.sender("left"), listener_on(right.far));
        Some(Self { place, right, sender, far })
    }

    fn left(&self) -> InterfaceIndex {
        self.place.index("left")
    }

    fn start(&self, ids: &[&str]) -> Candor {
        self.place.start(&gateway(ids), "bpf")
    }

    /// True if a frame arrives, once.
    fn forwards(&self, id: u32) -> bool {
        let frame = classic(id, &[id.to_be_bytes()[3]]);
        send(&self.sender, &frame);
        let heard: Vec<_> = std::iter::from_fn(|| hear(&self.far, Duration::from_millis(20))).collect();
        assert!(heard.is_empty() || heard == [frame], "{heard:?}");
        !heard.is_empty()
    }

    #[track_caller]
    fn assert_no_filters(&self) {
        assert_eq!((filters(self.left()), has_ingress(self.left())), (Vec::new(), false));
    }

    #[track_caller]
    fn assert_clean(&self) {
        self.assert_no_filters();
        assert_eq!(self.place.lists(), 0);
    }
}

/// Several routes, so that a frame passes several filters.
fn gateway(ids: &[&str]) -> String {
    let one = |id: &&str| route(&format!("r{id}"), "left", "right", &format!("frames = \"classic\"\nmatch = \"{id}\""));
    LEFT_RIGHT.to_owned() + &ids.iter().map(one).collect::<String>()
}

#[test]
#[ignore = "runs in a guest"]
fn programs_go_with_their_process_or_to_the_next_one() {
    let Some(way) = Way::new() else { return };
    let candor = way.start(&["100", "200"]);
    assert!(way.forwards(0x100) && way.forwards(0x200) && !way.forwards(0x300));
    let ended = candor.end(Signal::Terminate);
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!((ended.counted("r100"), ended.counted("r200")), ([1, 0, 0], [1, 0, 0]));
    way.assert_clean();

    // A killed one leaves its programs, which work.
    for next in [&["100", "200"][..], &["200", "300", "400"], &["300"]] {
        let killed = way.start(&["100", "200"]);
        killed.kill();
        assert!(way.forwards(0x100) && way.forwards(0x200) && !way.forwards(0x300));
        let words = ["eBPF programs of a candor that died", "r100", "r200"];
        way.place.candor(&["status"]).assert(0, &words);
        let candor = way.start(next);
        for id in [0x100, 0x200, 0x300, 0x400] {
            assert_eq!(way.forwards(id), next.contains(&format!("{id:X}").as_str()), "{id:X}");
        }
        let words = "Found 2 eBPF filters on t-left of a candor that died; they are replaced or removed";
        assert_eq!(notices(&candor.before_ready), [words]);
        candor.end(Signal::Terminate);
        way.assert_clean();
    }
    // A gateway that may not remove them says so.
    way.start(&["100"]).kill();
    let candor = way.place.start(&gateway(&["200"]), "read-write");
    assert!(notices(&candor.before_ready).iter().any(|notice| notice.contains("sudo candor down")));
    assert!(way.forwards(0x100));
    candor.end(Signal::Terminate);
    way.place.candor(&["down"]).assert(0, &["Removed 1 eBPF filter of dead"]);
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn one_gateway_has_the_programs_of_an_interface() {
    let Some(way) = Way::new() else { return };
    let first = way.start(&["100"]);
    let refused = way.place.run(&gateway(&["200"]), "bpf").fails();
    refused.assert_refused(&["already runs eBPF programs on t-left", &first.pid().to_string()]);
    assert!(way.forwards(0x100) && !way.forwards(0x200));
    first.end(Signal::Terminate);
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn an_exclusive_route_says_who_becomes_deaf() {
    let Some(way) = Way::new() else { return };
    let exclusive = gateway(&["100"]).replace("match", "exclusive = true\nmatch");
    let listener = listener_on(way.left());
    let file = way.place.file("exclusive.toml", &format!("engine = \"bpf\"\n{exclusive}"));
    for listens in [true, false] {
        for command in ["check", "apply"] {
            let said = way.place.candor(&[command, &file]);
            said.assert(0, &[]);
            assert_eq!(said.err.contains("will not receive the frames of route \"r100\""), listens, "{command}");
        }
        way.place.candor(&["down", &file]).assert(0, &[]);
        let candor = way.place.start(&exclusive, "bpf");
        let text = "A socket of another program on t-left (candump, for example) will not receive the frames of route \"r100\"";
        assert_eq!(notices(&candor.before_ready).iter().any(|notice| notice.starts_with(text)), listens);
        assert!(way.forwards(0x100));
        candor.end(Signal::Terminate);
        if listens {
            assert_eq!(hear(&listener, Duration::from_millis(20)), None);
            listener.set_filters(&[]).unwrap();
        }
    }
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn latencies_are_measured_in_the_program() {
    let Some(way) = Way::new() else { return };
    let file = way.place.file("candor.toml", &gateway(&["100", "200"]));
    let socket = way.place.files.path().join("metrics.sock");
    let address = format!("unix:{}", socket.display());
    let arguments = ["run", &file, "--engine", "bpf", "--json", "--latency", "--seccomp", "--metrics", &address];
    let candor = Candor::spawn(&mut way.place.command(&arguments), "").ready();
    for _ in 0..3 {
        assert!(way.forwards(0x100));
    }
    let of = |number: &str, value: &str| {
        format!("candor_route_latency_seconds_{number}{{route=\"r{value}\",from=\"left\",to=\"right\",side=\"bpf\"}} ")
    };
    let ask = || crate::metrics::talk(std::os::unix::net::UnixStream::connect(&socket).unwrap());
    let mut text = String::new();
    wait_until("latencies are counted", || {
        text = ask();
        text.contains(&(of("count", "100") + "3\n"))
    });
    assert!(text.contains(&(of("count", "200") + "0\n")), "{text}");
    let sum = text.split_once(&of("sum", "100")).unwrap().1.lines().next().unwrap();
    let sum: f64 = sum.parse().unwrap();
    assert!(0.0 < sum && sum < 3.0, "{sum} s");
    // They count on in the program of another file.
    way.place.file("candor.toml", &gateway(&["300", "100"]));
    assert_eq!(candor.reload()["event"], "reloaded");
    assert!(way.forwards(0x100) && way.forwards(0x300));
    wait_until("latencies are counted", || ask().contains(&(of("count", "300") + "1\n")));
    assert!(ask().contains(&(of("count", "100") + "4\n")), "{}", ask());
    candor.end(Signal::Terminate);
    way.assert_clean();
}

/// A range is changed by several filters of the kernel, which share no counter.
#[test]
#[ignore = "runs in a guest"]
fn counters_of_a_route_count_each_frame_once_over_a_reload() {
    let Some(way) = Way::new() else { return };
    let keys = "frames = \"classic\"\nmatch = \"0FE..101\"\nto-id = \"200..\"";
    let file = |others: &str| LEFT_RIGHT.to_owned() + &route("range", "left", "right", keys) + others;
    let path = way.place.files.path().join("candor.toml");
    let candor = way.place.run(&file(""), "bpf").start_from(&path);
    let sends = || program::attached(&mut Client::open().unwrap(), way.left()).unwrap();
    let actions = || sends().iter().map(|filter| filter.action).filter(|action| *action != 0).collect::<Vec<_>>();
    let pass = || {
        let moved = (0..4).map(|number| {
            send(&way.sender, &classic(0xFE + number, &[1]));
            hear(&way.far, PATIENCE).unwrap().id.0
        });
        assert_eq!(moved.collect::<Vec<_>>(), [0x200, 0x201, 0x202, 0x203]);
    };
    pass();
    let before = actions();
    assert!(before.len() > 1, "{before:?}");
    for others in [route("other", "left", "right", "match = \"300\""), String::new()] {
        way.place.file("candor.toml", &file(&others));
        assert_eq!(candor.reload()["event"], "reloaded");
        let now = actions();
        assert!(before.iter().all(|action| now.iter().filter(|other| *other == action).count() == 1), "{now:?}");
        pass();
    }
    assert_eq!(candor.end(Signal::Terminate).counted("range"), [12, 0, 0]);
    way.assert_clean();
}

/// Two pairs of virtual interfaces and two routes in a circle.
#[test]
#[ignore = "runs in a guest"]
fn frames_do_not_go_round_for_ever() {
    let Some(place) = Scenario::new(FEATURES, []) else { return };
    let (one, two) = (Pair::new(["t-x0", "t-x1"]), Pair::new(["t-y0", "t-y1"]));
    // A band by source bus marks frames as well.
    let bands = "[[egress.y0.band]]\nname = \"x0\"\nfrom = \"x0\"\n[[egress.y0.band]]\nname = \"rest\"\n";
    let gateway = buses(&["x0", "y0", "y1", "x1"]) + &route("there", "x0", "y0", "") + &route("back", "y1", "x1", "");
    let gateway = gateway + bands;
    let file = place.file("circle.toml", &gateway);
    let mut command = place.command(&["run", &file, "--engine", "bpf", "--json", "--stats", "20ms"]);
    let candor = Candor::spawn(&mut command, "").ready();
    let (sender, listener) = (sender_on(one.far), listener_on(two.far));
    let frame = classic(0x123, &[1]);
    send(&sender, &frame);
    let heard: Vec<_> = std::iter::from_fn(|| hear(&listener, Duration::from_millis(200))).collect();
    assert_eq!(heard, [frame; 4], "eight passes, every second one here");
    assert_eq!(sent_by_bands(two.near).first(), Some(&4), "all frames are from x0");
    candor.notice_with("Dropped 1 frame that went in a circle");
    // Another program removes the filter that counts.
    let guarded = filters(one.near).len();
    output(Command::new("tc").args("filter del dev t-x0 ingress pref 51468 protocol can".split(' '))).assert(0, &[]);
    candor.notice_with("put them back");
    wait_until("it is back", || filters(one.near).len() == guarded);
    let ended = candor.end(Signal::Terminate);
    assert_eq!((ended.counted("there"), ended.counted("back")), ([4, 0, 0], [4, 0, 0]));
    for interface in [one.near, one.far, two.near, two.far] {
        assert_eq!((filters(interface), has_ingress(interface)), (Vec::new(), false));
    }
}

/// Filters and disciplines of other programs stay as they are.
#[test]
#[ignore = "runs in a guest"]
fn other_filters_stay() {
    let Some(way) = Way::new() else { return };
    let tc = |words: &str| output(Command::new("tc").args(words.split(' '))).assert(0, &[]);
    tc("qdisc add dev t-left clsact");
    tc("filter add dev t-left ingress protocol all pref 7 matchall action continue");
    let candor = way.start(&["100", "200"]);
    assert!(way.forwards(0x100));
    candor.end(Signal::Terminate);
    assert_eq!((filters(way.left()), has_ingress(way.left())), (Vec::new(), true));
    let listed = output(Command::new("tc").args("filter show dev t-left ingress".split(' ')));
    listed.assert(0, &["pref 7 matchall"]);

    // Another program removes those of candor, and it puts them back.
    let candor = way.start(&["100", "200"]);
    tc("filter del dev t-left ingress pref 51724 protocol can");
    assert!(candor.notice_with("put them back").contains("t-left"));
    wait_until("the programs are back", || way.forwards(0x100) && way.forwards(0x200));
    candor.end(Signal::Terminate);
    tc("qdisc del dev t-left clsact");
}

#[test]
#[ignore = "runs in a guest"]
fn programs_return_with_their_interfaces() {
    let Some(mut way) = Way::new() else { return };
    let candor = way.start(&["100", "200"]);
    assert!(way.forwards(0x100));
    way.place.unplug("left");
    candor.notice_with("is gone");
    way.place.plug_in("left");
    candor.notice_with("is back");
    way.sender = way.place.sender("left");
    wait_until("frames pass again", || way.forwards(0x100));
    assert!(way.forwards(0x200));

    link::delete(&mut Client::open().unwrap(), way.right.near).unwrap();
    candor.notice_with("is gone");
    way.right = Pair::new(["t-right", "t-far"]);
    way.far = listener_on(way.right.far);
    candor.notice_with("is back");
    wait_until("frames pass again", || way.forwards(0x200));
    let ended = candor.end(Signal::Terminate);
    // What was not read before an interface disappeared is lost, as with can-gw.
    assert!(ended.counted("r100")[0] >= 1 && ended.counted("r200")[0] >= 2, "{ended:?}");
    way.assert_clean();
}

/// Only with the capabilities that it needs, and with few system calls.
#[test]
#[ignore = "runs in a guest"]
fn programs_need_two_capabilities() {
    let Some(way) = Way::new() else { return };
    let file = way.place.file("candor.toml", &gateway(&["100", "200"]));
    for path in [way.place.run_dir.path(), way.place.files.path()] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let mut command =
        way.place.command(&["run", &file, "--engine", "bpf", "--json", "--user", "65534:65534", "--seccomp"]);
    let candor = Candor::spawn(&mut command, "").ready();
    let status = fs::read_to_string(format!("/proc/{}/status", candor.pid())).unwrap();
    let kept = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim().to_owned();
    // CAP_NET_ADMIN is 12, CAP_BPF 39.
    assert_eq!(u64::from_str_radix(&kept, 16).unwrap(), 1 << 12 | 1 << 39);
    assert!(way.forwards(0x100));
    assert_eq!(candor.reload()["event"], "reloaded");
    assert!(way.forwards(0x200));
    candor.end(Signal::Terminate);
    way.assert_clean();
}

fn sent_by_bands(interface: InterfaceIndex) -> Vec<u64> {
    let mut client = Client::open().unwrap();
    let names = netlink::InterfaceNames::read(&mut client).unwrap();
    let observed = netlink::observe(&mut client, interface, &names).unwrap();
    observed.bands.iter().map(|(_, band)| band.queue.frames).collect()
}

/// The queue of the outgoing bus selects by the bus that a frame comes from, whose ingress has a filter for that.
#[test]
#[ignore = "runs in a guest"]
fn programs_share_an_interface_with_queues() {
    let Some(way) = Way::new() else { return };
    let bands = "[[egress.right.band]]\nname = \"left\"\nfrom = \"left\"\n[[egress.right.band]]\nname = \"rest\"\n";
    let candor = way.place.start(&(gateway(&["100", "200"]) + bands), "bpf");
    assert!(way.forwards(0x100) && way.forwards(0x200) && !way.forwards(0x300));
    assert_eq!(sent_by_bands(way.right.near).first(), Some(&2), "frames from the left bus");
    let mut client = Client::open().unwrap();
    let names = netlink::InterfaceNames::read(&mut client).unwrap();
    let observed = netlink::observe(&mut client, way.left(), &names).unwrap();
    assert_eq!(observed.tree.filters.len(), 1, "without those of the programs: {:?}", observed.tree);
    let ended = candor.end(Signal::Terminate);
    assert_eq!(notices(&ended.events), Vec::<&str>::new());
    way.assert_clean();
}

/// Their place at the ingress is made for received frames only, and stays.
#[test]
#[ignore = "runs in a guest"]
fn queues_come_to_programs_that_run() {
    let Some(way) = Way::new() else { return };
    let path = way.place.files.path().join("candor.toml");
    let candor = way.place.run(&gateway(&["100", "200"]), "bpf").start_from(&path);
    let reload = |more: &str| {
        way.place.file("candor.toml", &(gateway(&["100", "200"]) + more));
        candor.reload()
    };
    let bands = "[[egress.right.band]]\nname = \"left\"\nfrom = \"left\"\n[[egress.right.band]]\nname = \"rest\"\n";
    let answer = reload(bands);
    assert_eq!(answer["event"], "reloaded", "{answer}");
    assert!(way.forwards(0x100) && way.forwards(0x200));
    assert_eq!(sent_by_bands(way.right.near).first(), Some(&2), "frames from the left bus");
    // Without the queues again, and once more with them.
    for (more, sent) in [("", None), (bands, Some(&1))] {
        assert_eq!(reload(more)["event"], "reloaded");
        assert!(way.forwards(0x100));
        assert_eq!(sent_by_bands(way.right.near).first(), sent);
    }
    // The kernel would limit what comes in.
    let limit =
        "[[egress.left.band]]\nname = \"all\"\n[[egress.left.limit]]\nmatch = \"100\"\nrate = \"20 frames/s\"\n";
    let answer = reload(&(bands.to_owned() + limit));
    assert_eq!(answer["event"], "not-reloaded");
    assert!(answer["because"].as_str().unwrap().contains("no place for filters of sent frames"), "{answer}");
    assert!(way.forwards(0x100) && way.forwards(0x200));
    assert_eq!(sent_by_bands(way.right.near).first(), Some(&3), "the queues are those of before");
    candor.end(Signal::Terminate);
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn the_verifier_says_why_it_refuses() {
    const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
    let Some(_machine) = require(FEATURES) else { return };
    let refused = candor_io::bpf::load_classifier(c"candor_test", &[EXIT]).unwrap_err();
    // Newer kernels add a hint.
    assert!(refused.log.contains("R0 !read_ok") && refused.log.contains(&refused.to_string()), "{refused:?}");
    assert!(refused.log.lines().count() > 1 && !refused.to_string().is_empty() && !refused.is_privilege());
}
