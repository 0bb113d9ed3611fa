//! `[link.NAME]` of running gateways: rings, crashes, and networks that lose, delay and hold packets.

use std::os::unix::net::UnixStream;

use crate::measured::command_lines;
use crate::metrics::talk;
use crate::prelude::*;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw, Feature::Guest];

/// A running gateway with links, and its metrics.
struct Side {
    candor: Candor,
    metrics: PathBuf,
}

impl Side {
    fn start(scene: &Scenario, name: &str, text: &str) -> Self {
        let metrics = scene.files.path().join(format!("{name}.metrics"));
        let file = scene.file(&format!("{name}.toml"), text);
        let mut command = scene.command(&["run", &file, "--json", "--metrics", &format!("unix:{}", metrics.display())]);
        Self { candor: Candor::spawn(&mut command, "").ready(), metrics }
    }

    /// The sum of a counter of a link over its reasons, if it has any.
    fn counter(&self, name: &str, link: &str) -> u64 {
        let text = talk(UnixStream::connect(&self.metrics).unwrap());
        let start = format!("candor_link_{name}{{link=\"{link}\"");
        let values = text.lines().filter(|line| line.starts_with(&start));
        values.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }

    fn wait_for(&self, name: &str, link: &str, value: u64) {
        wait_until(&format!("{name} of {link} is {value}"), || self.counter(name, link) == value);
    }

    fn wait_for_connection(&self, link: &str) {
        self.wait_for("up", link, 1);
    }
}

fn scene() -> Option<Scenario> {
    let scene = Scenario::new(NEEDS, ["left", "right"])?;
    let mut client = Client::open().unwrap();
    let loopback = link::by_name(&mut client, "lo").unwrap().unwrap();
    link::set_up(&mut client, loopback.index).unwrap();
    Some(scene)
}

fn is_interface(name: &str) -> bool {
    link::by_name(&mut Client::open().unwrap(), name).unwrap().is_some()
}

fn link_table(name: &str, keys: &str) -> String {
    format!("[link.{name}]\nprotocol = \"candor\"\n{keys}\n")
}

/// Two gateways and two links between them. The first has a bus as well.
fn ring() -> [String; 2] {
    let first = buses(&["left"])
        + &link_table("a", "listen = \"127.0.0.1:3001\"\nbus = \"x\"")
        + &link_table("b", "listen = \"127.0.0.1:3002\"\nbus = \"y\"")
        + &route("start", "left", "a", "")
        + &route("ab", "a", "b", "")
        + &route("ba", "b", "a", "");
    let second = link_table("c", "connect = \"127.0.0.1:3001\"\nbus = \"x\"")
        + &link_table("d", "connect = \"127.0.0.1:3002\"\nbus = \"y\"")
        + &route("cd", "c", "d", "")
        + &route("dc", "d", "c", "");
    [first, second]
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_come_around_a_ring_end_at_their_gateway() {
    let Some(scene) = scene() else { return };
    let [first, second] = ring();
    let one = Side::start(&scene, "one", &first);
    let two = Side::start(&scene, "two", &second);
    ["a", "b"].into_iter().for_each(|link| one.wait_for_connection(link));
    ["c", "d"].into_iter().for_each(|link| two.wait_for_connection(link));
    let sender = scene.sender("left");
    for number in 0..10 {
        send(&sender, &classic(0x100 + number, &[1, 2]));
    }
    one.wait_for("refused_frames_total", "b", 10);
    let counted = |side: &Side, links: [&str; 2], name: &str| links.map(|link| side.counter(name, link));
    // Each link tells its counters by itself, once a second.
    one.wait_for("sent_frames_total", "a", 10);
    two.wait_for("received_frames_total", "c", 10);
    two.wait_for("sent_frames_total", "d", 10);
    assert_eq!(counted(&one, ["a", "b"], "sent_frames_total"), [10, 0]);
    assert_eq!(counted(&two, ["c", "d"], "sent_frames_total"), [0, 10]);
    assert_eq!(counted(&two, ["c", "d"], "received_frames_total"), [10, 0]);
    assert_eq!(counted(&one, ["a", "b"], "received_frames_total"), [0, 0]);
    for (side, links) in [(&one, ["a", "b"]), (&two, ["c", "d"])] {
        assert_eq!(counted(side, links, "lost_frames_total"), [0, 0]);
    }

    // A reload leaves links alone that stay as they are, and starts those anew that change.
    let file = scene.files.path().join("one.toml");
    crate::candor::write(&file, &(first.clone() + &route("back", "a", "left", "")));
    assert_eq!(one.candor.reload()["event"], "reloaded");
    assert_eq!(counted(&one, ["a", "b"], "connections_total"), [1, 1]);
    let changed = first.replace("bus = \"y\"", "bus = \"y\"\nmax-age = \"50ms\"");
    crate::candor::write(&file, &changed);
    assert_eq!(one.candor.reload()["event"], "reloaded");
    two.wait_for("connections_total", "d", 2);
    assert_eq!(two.counter("connections_total", "c"), 1);

    one.candor.stop();
    two.candor.stop();
    assert_eq!(["a", "b-net", "c", "d"].map(is_interface), [false; 4]);
    wait_until("the processes of links end", || processes("candor-link").is_empty());
}

/// Processes whose command line has these words.
fn processes(words: &str) -> Vec<u32> {
    command_lines().into_iter().filter(|(_, line)| line.contains(words)).map(|(pid, _)| pid).collect()
}

fn there_and_back(link: &str, address: &str) -> String {
    link_table(link, &format!("{address}\nbus = \"x\""))
        + &route("out", if link == "one" { "left" } else { "right" }, link, "")
        + &route("in", link, if link == "one" { "left" } else { "right" }, "echo = true")
}

#[test]
#[ignore = "runs in a guest"]
fn links_survive_crashes() {
    let Some(scene) = scene() else { return };
    let one = || buses(&["left"]) + &there_and_back("one", "listen = \"127.0.0.1:3001\"");
    let two = buses(&["right"]) + &there_and_back("two", "connect = \"127.0.0.1:3001\"");
    let first = Side::start(&scene, "one", &one());
    let second = Side::start(&scene, "two", &two);
    let (sender, listener) = (scene.sender("left"), scene.listener("right"));
    // Frames sent before the connection is there again may be lost, or arrive late.
    let mut number = 0;
    let mut crosses = || {
        wait_until("a frame crosses", || {
            number += 1;
            send(&sender, &numbered(number));
            std::iter::from_fn(|| hear(&listener, Duration::from_millis(100))).any(|frame| number_of(&frame) == number)
        });
    };
    crosses();
    // Both programs of links: each carries its link anew.
    let workers = processes("exe work");
    assert_eq!(workers.len(), 2, "{:?}", command_lines());
    for pid in workers {
        process::kill(pid).unwrap();
        wait_until("the process has ended", || !processes("exe work").contains(&pid));
        crosses();
    }
    // The gateway: its program ends with it, its interfaces stay, and the next start takes them.
    process::kill(first.candor.pid()).unwrap();
    wait_until("the program of the link ends", || {
        processes("candor-link").len() == processes("candor-link serve").len()
    });
    assert!(is_interface("one"));
    let first = Side::start(&scene, "one", &one());
    crosses();
    // Without the program that starts the others, links stay down, and are shown so.
    for pid in processes("candor-link serve") {
        process::kill(pid).unwrap();
    }
    let metrics = || talk(UnixStream::connect(&first.metrics).unwrap());
    wait_until("the link is shown as down", || metrics().contains("candor_link_up{link=\"one\"} 0\n"));
    first.candor.stop();
    second.candor.stop();
    // Nobody else knows of a pair that was there before.
    assert_eq!(["one", "two"].map(is_interface), [true, false]);
    let mut client = Client::open().unwrap();
    let left_behind = link::by_name(&mut client, "one").unwrap().unwrap().index;
    link::delete(&mut client, left_behind).unwrap();
}

/// Sends frames from left to right, over a loopback interface with this disturbance.
fn disturbed(scene: &Scenario, netem: &str, [first, second]: [&str; 2], frames: u32, gap: Duration) -> [Side; 2] {
    let table = |link: &str, keys: &str| {
        let bus = if link == "one" { "left" } else { "right" };
        format!("[link.{link}]\nbus = \"x\"\n{keys}\n") + &route("out", bus, link, "") + &route("in", link, bus, "")
    };
    let one = Side::start(scene, "one", &(buses(&["left"]) + &table("one", first)));
    let two = Side::start(scene, "two", &(buses(&["right"]) + &table("two", second)));
    one.wait_for_connection("one");
    two.wait_for_connection("two");
    let sender = scene.sender("left");
    // Gaps are known after the first frame.
    send(&sender, &numbered(0));
    two.wait_for("received_frames_total", "two", 1);
    tc(&format!("qdisc replace dev lo root netem limit 100000 {netem}"));
    for number in 1..frames {
        send(&sender, &numbered(number));
        std::thread::sleep(gap);
    }
    [one, two]
}

fn tc(arguments: &str) -> String {
    let output = Command::new("tc").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "tc {arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn heal() {
    tc("qdisc del dev lo root");
}

#[test]
#[ignore = "runs in a guest"]
fn what_a_network_loses_is_counted() {
    let Some(scene) = scene() else { return };
    if !is_there(Feature::Tc) {
        return;
    }
    const FRAMES: u32 = 400;
    let gap = Duration::from_millis(1);
    // One frame for each datagram.
    let udp = |own: u16, other: u16| {
        format!(
            "protocol = \"cannelloni-udp\"\nflush = \"0ms\"\nlisten = \"127.0.0.1:{own}\"\nconnect = \"127.0.0.1:{other}\""
        )
    };
    let [one, two] = disturbed(&scene, "loss 5%", [&udp(2001, 2002), &udp(2002, 2001)], FRAMES, gap);
    heal();
    // A gap is known when the next datagram has arrived.
    send(&scene.sender("left"), &classic(0x7FF, &[]));
    one.wait_for("sent_frames_total", "one", u64::from(FRAMES) + 1);
    let all = u64::from(FRAMES) + 1;
    let counted = || two.counter("received_frames_total", "two") + two.counter("lost_datagrams_total", "two");
    wait_until("each frame is received or lost", || counted() >= all);
    // A few keep-alives may be lost, too.
    assert!(counted() <= all + 10, "{} frames and datagrams", counted());
    assert!(two.counter("lost_datagrams_total", "two") > 0);
    one.candor.stop();
    two.candor.stop();

    // TCP repeats what is lost.
    let server = "protocol = \"candor\"\nlisten = \"127.0.0.1:2003\"";
    let client = "protocol = \"candor\"\nconnect = \"127.0.0.1:2003\"";
    let [one, two] = disturbed(&scene, "delay 5ms loss 2%", [client, server], FRAMES, gap);
    two.wait_for("received_frames_total", "two", FRAMES.into());
    assert_eq!(two.counter("lost_frames_total", "two"), 0);
    heal();
    one.candor.stop();
    two.candor.stop();

    // A slow network: what does not fit into the queue, or is too old, is dropped by the sender, and known to the receiver.
    let short = format!("{client}\nqueue = 50\nmax-age = \"100ms\"");
    let [one, two] = disturbed(&scene, "rate 200kbit", [&short, server], 5 * FRAMES, Duration::ZERO);
    wait_until("nothing waits", || one.counter("waiting_frames", "one") == 0);
    heal();
    send(&scene.sender("left"), &classic(0x7FF, &[]));
    let all = u64::from(5 * FRAMES) + 1;
    // Nobody numbers frames that candor-link was too slow to read.
    let missed = || one.counter("dropped_frames_total", "one\",reason=\"missed");
    wait_until("each frame is received, lost or missed", || {
        two.counter("received_frames_total", "two") + two.counter("lost_frames_total", "two") + missed() == all
    });
    let lost = two.counter("lost_frames_total", "two");
    assert!(lost > 0);
    wait_until("what is lost was dropped", || one.counter("dropped_frames_total", "one") - missed() == lost);
    one.wait_for("sent_frames_total", "one", two.counter("received_frames_total", "two"));
    one.candor.stop();
    two.candor.stop();
}

/// Frames from the left bus cross a link to the program of another project, which sends them on the right bus, and back.
fn crosses(scene: &Scenario, link: &str, program: &str, arguments: &str, frames: &[&str]) {
    let text = buses(&["left"])
        + &format!("[link.net]\n{link}\n")
        + &route("out", "left", "net", "")
        + &route("in", "net", "left", "echo = true");
    let start_peer = || {
        let mut command = Command::new(program);
        Guarded::spawn(command.args(arguments.split(' ')).stdin(Stdio::null()).stdout(Stdio::null()))
    };
    let mut peer = start_peer();
    let side = Side::start(scene, "net", &text);
    wait_until(&format!("{program} is connected"), || {
        // One that cannot connect ends.
        if peer.try_wait().unwrap().is_some() {
            peer = start_peer();
        }
        side.counter("up", "net") == 1
    });
    let frames: Vec<Frame> = frames.iter().map(|text| text.parse().unwrap()).collect();
    for (from, to) in [("left", "right"), ("right", "left")] {
        let (sender, listener) = (scene.sender(from), scene.listener(to));
        // The other program may not have opened its interface yet.
        wait_until(&format!("{program} carries a frame to {to}"), || {
            send(&sender, &classic(0x7FF, &[]));
            hear(&listener, Duration::from_millis(200)).is_some()
        });
        while hear(&listener, Duration::from_millis(200)).is_some() {}
        for frame in &frames {
            send(&sender, frame);
        }
        for frame in &frames {
            assert_eq!(next_frame(&listener).to_string(), frame.to_string(), "{program} {arguments}: {from} to {to}");
        }
    }
    side.candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn programs_of_other_projects_carry_each_kind_of_frame() {
    let Some(scene) = scene() else { return };
    if !is_there(Feature::LinkPeers) {
        return;
    }
    const DATA: [&str; 3] = ["123#", "123#1122334455667788", "12345678#AA"];
    let all = [&DATA[..], &["123#R", "1FFFFFFF#R", "123##0", "12345678##1112233445566778899AABBCC"]].concat();
    let udp = "protocol = \"cannelloni-udp\"\nlisten = \"127.0.0.1:4001\"\nconnect = \"127.0.0.1:4002\"";
    crosses(&scene, udp, "cannelloni", "-I t-right -l 4002 -R 127.0.0.1 -r 4001 -t 1000", &all);
    let tcp = "protocol = \"cannelloni-tcp\"";
    let server = format!("{tcp}\nlisten = \"127.0.0.1:4003\"");
    crosses(&scene, &server, "cannelloni", "-C c -I t-right -R 127.0.0.1 -r 4003 -t 1000", &all);
    let client = format!("{tcp}\nconnect = \"127.0.0.1:4004\"");
    crosses(&scene, &client, "cannelloni", "-C s -I t-right -l 4004 -t 1000", &all);
    let client = "protocol = \"socketcand\"\nbus = \"t-right\"\nconnect = \"127.0.0.1:4005\"";
    crosses(&scene, client, "socketcand", "-i t-right -l lo -n -p 4005", &DATA);
    let server = "protocol = \"socketcand\"\nbus = \"x\"\nlisten = \"127.0.0.1:4006\"";
    crosses(&scene, server, "socketcandcl", "-s 127.0.0.1 -i x,t-right -p 4006", &DATA);
}
