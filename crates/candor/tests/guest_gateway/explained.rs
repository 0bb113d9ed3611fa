//! `candor explain` agrees with the running gateways.

use std::collections::{BTreeMap, VecDeque};

use candor_config::placement::{KernelAbilities, Placement, not_for_kernel, not_for_user_space};
use candor_config::plan::{Engine, Plan};
use candor_core::frame::CANFD_MAX_DLEN;

use crate::forwarding;
use crate::kernel::WithMaxHops;
use crate::prelude::*;
use crate::traffic::Traffic;

const FRAMES: usize = 60;
/// Frames for the routes of the files.
const MEANT: &str = include_str!("explained/frames.txt");
/// Lists, ranges, payloads and other formats: `auto` splits it.
const SPLIT: &str = include_str!("../cmd/explain.toml");

macro_rules! examples {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../../../../examples/", $name)))),*] };
}

const EXAMPLES: [(&str, &str); 29] = examples!(
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
    "22-signals.toml",
    "23-dashboard.toml",
    "24-border.toml",
    "25-service-mode.toml",
    "26-bounds.toml",
    "27-link.toml",
    "kvaser-kernel.toml",
    "kvaser-read-write.toml"
);

const FURTHER: &str = include_str!("explained/further.toml");

#[test]
fn list_has_every_example() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    if !is_there(Feature::Sources) {
        return;
    }
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, _)| name));
}

#[test]
#[ignore = "runs in a guest"]
fn explanations_agree_with_every_engine() {
    for (features, engine) in [(VCAN_AND_CANGW, "kernel"), (VCAN, "read-write"), (VCAN_AND_CANGW, "auto")] {
        if let Some(_machine) = require(features) {
            agrees(engine);
        }
    }
}

/// Without echo, which programs do not have, and with all routes exclusive.
#[test]
#[ignore = "runs in a guest"]
fn explanations_agree_with_programs() {
    let Some(_machine) = require(&[VCAN_AND_CANGW, &[Feature::Programs]].concat()) else { return };
    for exclusive in [false, true] {
        let mut checked = 0;
        for (name, file) in files() {
            let file = file.replace("echo = true", "");
            let keys = if exclusive { "[[route]]\nexclusive = true" } else { "[[route]]" };
            let file = file.replace("[[route]]", keys);
            let plan = plan_of(&file).with_engine(Engine::Bpf);
            if !plan.routes().is_empty() && Placement::of(&plan, KernelAbilities::NEWEST).is_ok() {
                Lab::new(&file).check(name, "bpf");
                checked += 1;
            }
        }
        assert!(checked > 4, "only {checked} files, exclusive: {exclusive}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn explains_several_hops() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let Some(_with) = WithMaxHops::new(3) else { return };
    Lab::new(FURTHER).check("three hops", "kernel");
    Lab::new(SPLIT).check("three hops", "auto");
}

#[test]
#[ignore = "runs in a guest"]
fn explains_frames_that_interfaces_refuse() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
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

/// The files, with their database in a place that does not depend on theirs.
fn files() -> impl Iterator<Item = (&'static str, String)> {
    let databases = [
        ("powertrain.dbc", include_str!("../../../../examples/powertrain.dbc")),
        ("body.dbc", include_str!("../../../../examples/body.dbc")),
    ];
    let databases = databases.map(|(name, text)| {
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        (format!("\"{name}\""), format!("{path:?}"))
    });
    let own = [("forwarding", forwarding::GATEWAY), ("further", FURTHER), ("split", SPLIT)];
    let placed =
        move |file: &str| databases.iter().fold(file.to_owned(), |file, (name, path)| file.replace(name, path));
    // A link needs its program and its peer.
    let examples = EXAMPLES.into_iter().filter(|(_, file)| !file.contains("[link."));
    examples.chain(own).map(move |(name, file)| (name, placed(file)))
}

fn plan_of(file: &str) -> Plan {
    let mut read = |path: &str| fs::read(path).map_err(|why| why.to_string());
    config::load_for(file.as_bytes(), None, &mut read).unwrap().plan
}

/// All files that this engine can run; with `auto` those that are split.
fn agrees(engine: &str) {
    let mut checked = 0;
    for (name, file) in files() {
        let plan = plan_of(&file);
        let can_run = match engine {
            // A file with queues only.
            _ if plan.routes().is_empty() => false,
            "auto" => plan.engine() == Engine::Auto,
            "kernel" => plan.routes().iter().all(|route| not_for_kernel(route, KernelAbilities::EVERY).is_none()),
            _ => plan.routes().iter().all(|route| not_for_user_space(route).is_none()),
        };
        if can_run {
            let dropped = Lab::new(&file).check(name, engine);
            assert!(dropped.is_empty(), "{name}: dropped while all interfaces are up: {dropped:?}");
            checked += 1;
        }
    }
    assert!(checked > 2, "{engine} runs only {checked} files");
}

/// A file without its real-time section, which a guest with one CPU cannot fulfil.
fn without_realtime(file: &str) -> String {
    let Some((before, section)) = file.split_once("[realtime]\n") else { return file.to_owned() };
    let (_keys, after) = section.split_once("\n[").unwrap();
    format!("{before}[{after}")
}

/// A file without limits over time, which no explanation of a frame can know, and without alarms.
fn without_times(file: &str) -> String {
    let line = |line: &str| match line.strip_prefix("guard = {") {
        Some(guard) if guard.contains("\"drop\"") => "guard = { len = 8, on-violation = \"drop\" }\n".to_owned(),
        Some(_) => "guard = { len = 8 }\n".to_owned(),
        None => format!("{line}\n"),
    };
    file.lines().map(line).collect()
}

struct Lab {
    file: String,
    plan: Plan,
    buses: Vec<Bus>,
}

impl Lab {
    fn new(file: &str) -> Self {
        let mut file = without_times(&without_realtime(file));
        let plan = plan_of(&file);
        let mut buses = Vec::new();
        for (at, bus) in plan.buses().iter().enumerate() {
            let suffix = format!("e{at}");
            buses.push(Bus::new(&suffix));
            file = file.replace(&format!("{:?}", bus.interface), &format!("\"t-{suffix}\""));
        }
        let plan = plan_of(&file);
        Self { file, plan, buses }
    }

    /// Explains frames on every bus, runs the gateway, sends the frames, and compares. Returns the dropped frames by route.
    fn check(&self, name: &str, engine: &str) -> BTreeMap<String, u64> {
        let mut traffic = Traffic::from_seed(2026);
        let random = (0..FRAMES).map(|_| traffic.frame().to_string());
        let meant = MEANT.lines().map(str::to_owned).chain(meant(&self.plan));
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
                if !accepts(sender, &frame) {
                    continue;
                }
                add(&mut counters, explained);
                let mut seen: Vec<Vec<Value>> = vec![Vec::new(); self.buses.len()];
                if !self.is_taken(&explained["rules"]) {
                    seen[on].push(explained["frame"].clone());
                }
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
        let ended = candor.stop();
        let names = ended.routes().iter().map(|route| route["route"].as_str().unwrap().to_owned());
        let counted = names.map(|name| (ended.counted(&name), name)).filter(|(counts, _)| *counts != [0; 3]);
        let counted: BTreeMap<_, _> = counted.map(|(counts, name)| (name, counts)).collect();
        assert_eq!(counted, counters, "{name}, {engine}");
        if is_up.iter().all(|up| *up) {
            assert_eq!(counted.len(), self.plan.routes().len(), "{name}: no frame for a route");
        }
        println!("{name}, {engine}: {deliveries} frames seen as explained, {counted:?}");
        counted.into_iter().map(|(route, counts)| (route, counts[1])).filter(|(_, dropped)| *dropped > 0).collect()
    }

    /// True if a program takes the frame away from other programs of this machine.
    fn is_taken(&self, rules: &Value) -> bool {
        let is_exclusive = |rule: &Value| {
            self.plan.routes().iter().any(|route| route.is_exclusive && rule["route"] == route.name.as_str())
        };
        let leaves = |rule: &Value| ["sent", "dropped"].iter().any(|outcome| rule["outcome"] == *outcome);
        rules.as_array().unwrap().iter().any(|rule| rule["side"] == "bpf" && is_exclusive(rule) && leaves(rule))
    }

    /// Adds the frames that rules send to those that sockets see, by bus. A frame that a further route receives follows
    /// those of all rules before it.
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

/// A frame for every route and each of its formats.
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

fn explain(file: &str, on: &str, engine: &str, frames: &[String]) -> Vec<Value> {
    let mut command = Command::new(program());
    command.args(["explain", "-", "--json", "--live", "--engine", engine, "--on", on]);
    command.args(frames.iter().flat_map(|frame| ["--frame", frame]));
    let output = output_of(&mut command, file);
    assert_eq!(output.status, 0, "{output:?}");
    let Value::Array(explained) = output.json()["frames"].take() else {
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

/// An interface without FD refuses FD frames.
fn accepts(socket: &CanSocket, frame: &Frame) -> bool {
    match try_send(socket, frame) {
        Ok(()) => true,
        Err(error) if frame.format == FrameFormat::Fd && error.raw_os_error() == Some(errno::EINVAL) => false,
        Err(error) => panic!("{frame}: {error}"),
    }
}

/// The next frame in the form of `explain --json`.
fn read(socket: &CanSocket, patience: Duration) -> Option<Value> {
    let frame = hear(socket, patience)?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    Some(json!({
        "text": frame.to_string(),
        "format": if frame.format == FrameFormat::Fd { "fd" } else { "classic" },
        "can_id_hex": format!("{:08X}", frame.id.0),
        "len_bytes": frame.len,
        "len8_dlc": frame.len8_dlc,
        "flags_hex": hex(&[frame.flags]),
        "data_hex": hex(&frame.data[..frame.format.max_len()]),
    }))
}
