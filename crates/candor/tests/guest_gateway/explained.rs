//! What `candor explain` says, and what the gateways then do.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_config::config;
use candor_config::placement::{KernelAbilities, not_for_kernel, not_for_user_space};
use candor_config::plan::{Engine, Plan};
use candor_core::frame::{CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use candor_io::can::CanSocket;
use candor_io::signal::Signal;
use candor_netlink::client::Client;
use candor_netlink::link;
use serde_json::Value;

use crate::candor::{Run, program};
use crate::forwarding;
use crate::frames::{hear, listener_on, try_send};
use crate::kernel::WithMaxHops;
use crate::require::{Bus, Feature, is_there, require};
use crate::traffic::Traffic;

const PATIENCE: Duration = Duration::from_secs(20);
/// Random frames for each bus of each file.
const FRAMES: usize = 60;
/// Frames that the routes of the files are for.
const MEANT: [&str; 20] = [
    "123#1122334455667788",
    "123#1122",
    "123#R",
    "00000123#11",
    "2AA#1122334455667788_F",
    "300#0102030405060700",
    "321##1112233445566778899AABBCC",
    "321##3",
    "410#",
    "18DA10F1#02010C",
    "18FEF1AA##2112233445566778899AABBCCDDEEFF00",
    "7DF#0201050000000000",
    "7E8#0341050000000000",
    "150#1122",
    "400#1122330000000000",
    "400#1122340000000000",
    "401#01AA3F",
    "401##301AA3FFFFFFFFFFF",
    "401#R",
    "650#11",
];
/// Lists, ranges, payloads and other formats: the gateway is split.
const SPLIT: &str = include_str!("../cmd/explain.toml");

macro_rules! examples {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../../../../examples/", $name)))),*] };
}

const EXAMPLES: [(&str, &str); 23] = examples!(
    "01-forward.toml",
    "02-filter.toml",
    "03-modify.toml",
    "04-checksum.toml",
    "05-fd.toml",
    "06-both-ways.toml",
    "07-lists.toml",
    "08-other-identifiers.toml",
    "09-payload.toml",
    "10-classic-and-fd.toml",
    "11-default-deny.toml",
    "12-realtime.toml",
    "13-wire.toml",
    "14-egress.toml",
    "15-tree.toml",
    "16-canopen.toml",
    "17-throttled.toml",
    "18-turns.toml",
    "19-throttled-turns.toml",
    "20-shares.toml",
    "21-services.toml",
    "kvaser-kernel.toml",
    "kvaser-read-write.toml"
);

/// Echoes that meet further routes, raw DLCs, malformed identifiers, a checksum that short frames have no place for, a
/// way back.
const FURTHER: &str = r#"
[bus.first]
interface = "t-first"

[bus.second]
interface = "t-second"

[bus.third]
interface = "t-third"

[bus.fourth]
interface = "t-fourth"

[[route]]
name = "on"
from = "first"
to = "second"
echo = true

[[route]]
name = "further"
from = "second"
to = "third"
frames = "classic"
echo = true

[[route]]
name = "back"
from = "second"
to = "first"
match = "123~C00007FF"
hop-limit = 1
echo = true

[[route]]
name = "unseen"
from = "first"
to = "fourth"

[[route]]
name = "malformed"
from = "first"
to = "third"
match = "300:700"
frames = "classic"
and = { id = "7F0" }
xor = { raw-id = "12345000" }
echo = true

[[route]]
name = "raw-dlc"
from = "first"
to = "second"
match = "2A0:7F0"
frames = "classic"
xor = { len = 15 }
echo = true

[[route]]
name = "from-the-end"
from = "first"
to = "third"
match = "321"
frames = "fd"
set = { flags = "00" }
checksum-xor = { from = -3, to = -2, result = -1, init = "FF" }
echo = true

[[route]]
name = "mirror"
from = "fourth"
to = "fourth"
match = "123:7FF"
set = { id = "00000456" }
back-to-incoming = true
"#;

#[test]
fn every_example_is_looked_at() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    if !is_there(Feature::Sources) {
        return;
    }
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, _)| name));
}

#[test]
#[ignore = "runs in a guest"]
fn the_kernel_gateway_does_what_is_explained() {
    if let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) {
        does_what_is_explained("kernel");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn the_read_write_gateway_does_what_is_explained() {
    if let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) {
        does_what_is_explained("read-write");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn split_gateways_do_what_is_explained() {
    if let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) {
        does_what_is_explained("auto");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_go_further_are_explained() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let Some(_with) = WithMaxHops::new(3) else { return };
    Lab::new(FURTHER).check("three hops", "kernel");
    Lab::new(SPLIT).check("three hops", "auto");
}

#[test]
#[ignore = "runs in a guest"]
fn what_interfaces_refuse_is_explained() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    for engine in ["kernel", "read-write"] {
        let lab = Lab::new(FURTHER);
        let second = &lab.buses[1];
        second.set_down();
        link::set_mtu(&mut Client::open().unwrap(), second.index, 16).unwrap();
        second.set_up();
        let dropped = lab.check("MTU 16", engine);
        assert!(dropped["on"] > 0 && !dropped.contains_key("unseen"), "{engine}: {dropped:?}");

        lab.buses[3].set_down();
        let dropped = lab.check("down", engine);
        assert!(dropped["on"] > 0 && dropped["unseen"] > 0, "{engine}: {dropped:?}");
    }
}

/// All files that this engine can run; `auto` only where there is something to split.
fn does_what_is_explained(engine: &str) {
    let files =
        EXAMPLES.into_iter().chain([("forwarding", forwarding::GATEWAY), ("further", FURTHER), ("split", SPLIT)]);
    let mut checked = 0;
    for (name, file) in files {
        let plan = config::load(file.as_bytes()).unwrap().plan;
        let can_run = match engine {
            // Only what waits before a bus.
            _ if plan.routes().is_empty() => false,
            "auto" => plan.engine() == Engine::Auto,
            "kernel" => plan.routes().iter().all(|route| not_for_kernel(route, KernelAbilities::EVERY).is_none()),
            _ => plan.routes().iter().all(|route| not_for_user_space(route).is_none()),
        };
        if can_run {
            let dropped = Lab::new(file).check(name, engine);
            assert!(dropped.is_empty(), "{name}: nothing is dropped while all interfaces are up: {dropped:?}");
            checked += 1;
        }
    }
    assert!(checked > 2, "{engine} runs {checked} files only");
}

/// A file without what a guest with one processor cannot give, and what makes no difference to frames.
fn without_realtime(file: &str) -> String {
    let Some((before, section)) = file.split_once("[realtime]\n") else { return file.to_owned() };
    let (_keys, after) = section.split_once("\n[").unwrap();
    format!("{before}[{after}")
}

/// A gateway file and buses for it.
struct Lab {
    file: String,
    plan: Plan,
    buses: Vec<Bus>,
}

impl Lab {
    /// Gives a file interfaces of its own.
    fn new(file: &str) -> Self {
        let mut file = without_realtime(file);
        let plan = config::load(file.as_bytes()).unwrap().plan;
        let mut buses = Vec::new();
        for (at, bus) in plan.buses().iter().enumerate() {
            let suffix = format!("e{at}");
            buses.push(Bus::new(&suffix));
            file = file.replace(&format!("{:?}", bus.interface), &format!("\"t-{suffix}\""));
        }
        let plan = config::load(file.as_bytes()).unwrap().plan;
        Self { file, plan, buses }
    }

    /// Explains frames on every bus, runs the gateway, sends the frames, and compares. Gives what was dropped, by route.
    fn check(&self, name: &str, engine: &str) -> BTreeMap<String, u64> {
        let mut traffic = Traffic::from_seed(2026);
        let random = (0..FRAMES).map(|_| traffic.frame().to_string());
        let meant = MEANT.map(str::to_owned).into_iter().chain(meant(&self.plan));
        let frames: Vec<String> = meant.chain(random).collect();
        let explained: Vec<_> =
            self.plan.buses().iter().map(|bus| explain(&self.file, &bus.name, engine, &frames)).collect();

        let is_up: Vec<_> = self.buses.iter().map(is_up).collect();
        let open = |at: usize| is_up[at].then(|| listener_on(self.buses[at].index));
        let senders: Vec<_> = (0..self.buses.len()).map(open).collect();
        let listeners: Vec<_> = (0..self.buses.len()).map(open).collect();
        let run_dir = tempfile::tempdir().unwrap();
        let candor = Run { gateway: &self.file, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();

        let mut counters = BTreeMap::new();
        let mut deliveries = 0;
        for (on, explained) in explained.iter().enumerate() {
            let Some(sender) = &senders[on] else { continue };
            for (text, explained) in frames.iter().zip(explained) {
                let place = format!("{name}, {engine}: {text} on {}", self.plan.buses()[on].name);
                let frame: Frame = text.parse().unwrap();
                if !write(sender, &frame) {
                    continue;
                }
                add(&mut counters, explained);
                let mut seen: Vec<Vec<Value>> = vec![Vec::new(); self.buses.len()];
                seen[on].push(explained["frame"].clone());
                self.sent(&explained["rules"], &mut seen);
                for (at, expected) in seen.into_iter().enumerate() {
                    let Some(listener) = &listeners[at] else { continue };
                    deliveries += expected.len();
                    for expected in expected {
                        assert_eq!(read(listener, PATIENCE), Some(expected), "{place}, seen on bus {at}");
                    }
                }
            }
        }
        for listener in listeners.iter().flatten() {
            assert_eq!(read(listener, Duration::from_millis(50)), None, "{name}, {engine}: a frame too many");
        }
        let ended = candor.end(Signal::Terminate);
        assert!(ended.status.success(), "{ended:?}");
        let mut counted = BTreeMap::new();
        for route in ended.event("final-counters")["routes"].as_array().unwrap() {
            let moved = ["handled", "dropped", "deleted"].map(|key| route[key].as_u64().unwrap());
            if moved != [0; 3] {
                counted.insert(route["route"].as_str().unwrap().to_owned(), moved);
            }
        }
        assert_eq!(counted, counters, "{name}, {engine}");
        if is_up.iter().all(|up| *up) {
            assert_eq!(counted.len(), self.plan.routes().len(), "{name}: the frames leave a route unused");
        }
        println!("{name}, {engine}: {deliveries} frames seen as explained, {counted:?}");
        counted
            .into_iter()
            .filter(|(_, [_, dropped, _])| *dropped > 0)
            .map(|(route, moved)| (route, moved[1]))
            .collect()
    }

    /// What sockets are to see of the frames that rules send, by bus. A frame that comes in again does so when all rules
    /// are done with the one before.
    fn sent(&self, rules: &Value, seen: &mut [Vec<Value>]) {
        let mut arrivals = VecDeque::from([rules]);
        while let Some(rules) = arrivals.pop_front() {
            for rule in rules.as_array().unwrap() {
                if rule["echo"] == true && !rule["sent"].is_null() {
                    let to = self.plan.buses().iter().position(|bus| rule["to"] == bus.name.as_str()).unwrap();
                    seen[to].push(rule["sent"].clone());
                }
                arrivals.extend(rule["next"].as_array().unwrap().iter().map(|next| &next["rules"]));
            }
        }
    }
}

/// A frame for every route, in the formats that it takes.
fn meant(plan: &Plan) -> Vec<String> {
    let mut frames = Vec::new();
    for route in plan.routes() {
        let filter = route.selections[0].filter.normalise();
        let value = route.payload.first().map_or([0; CANFD_MAX_DLEN], |pattern| pattern.value);
        for format in route.formats.list() {
            let frame = match format {
                FrameFormat::Classic => Frame::classic(RawId(filter.id), &value[..8]),
                FrameFormat::Fd => Frame::fd(RawId(filter.id), 0, &value[..8]),
            };
            frames.push(frame.unwrap().to_string());
        }
    }
    frames
}

/// The explanations of frames that come in on a bus.
fn explain(file: &str, on: &str, engine: &str, frames: &[String]) -> Vec<Value> {
    let mut command = Command::new(program());
    command.args(["explain", "-", "--json", "--live", "--engine", engine, "--on", on]);
    command.args(frames.iter().flat_map(|frame| ["--frame", frame]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(file.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let Value::Array(explained) = serde_json::from_slice::<Value>(&output.stdout).unwrap()["frames"].take() else {
        panic!("no list of frames");
    };
    assert_eq!(explained.len(), frames.len());
    explained
}

fn add(counters: &mut BTreeMap<String, [u64; 3]>, explained: &Value) {
    for route in explained["counters"].as_array().unwrap() {
        let sum = counters.entry(route["route"].as_str().unwrap().to_owned()).or_default();
        for (sum, key) in sum.iter_mut().zip(["handled_frames", "dropped_frames", "deleted_frames"]) {
            *sum += route[key].as_u64().unwrap();
        }
    }
}

fn is_up(bus: &Bus) -> bool {
    let links = link::list(&mut Client::open().unwrap()).unwrap();
    links.iter().any(|link| link.index == bus.index && link.up)
}

/// Whether the interface takes the frame.
fn write(socket: &CanSocket, frame: &Frame) -> bool {
    match try_send(socket, frame) {
        Ok(()) => true,
        Err(error) if frame.format == FrameFormat::Fd && error.raw_os_error() == Some(22) => false,
        Err(error) => panic!("{frame}: {error}"),
    }
}

/// The next frame in the form of `explain --json`.
fn read(socket: &CanSocket, patience: Duration) -> Option<Value> {
    let frame = hear(socket, patience)?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    Some(serde_json::json!({
        "text": frame.to_string(),
        "format": if frame.format == FrameFormat::Fd { "fd" } else { "classic" },
        "can_id_hex": format!("{:08X}", frame.id.0),
        "len_bytes": frame.len,
        "len8_dlc": frame.len8_dlc,
        "flags_hex": hex(&[frame.flags]),
        "data_hex": hex(&frame.data[..frame.format.max_len()]),
    }))
}
