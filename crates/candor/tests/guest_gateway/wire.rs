//! `candor-lab wire` with the drivers of the kernel, with a gateway between two of its buses, and what it leaves.

mod adapters;
mod arbitration;
mod injected;
mod ordered;
mod pace;

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use candor_core::units::BitRate;

use crate::prelude::*;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vhci];
const BIT_NS: u64 = 2000;
const NEAR_FAR: &str = "--bus b0:500k:t-near,t-far";

#[test]
#[ignore = "runs in a guest"]
fn frames_pass_one_by_one_at_the_pace_of_the_bus() {
    let Some(wire) = Wire::start(NEAR_FAR) else { return };
    let (near, far) = (open("t-near"), open("t-far"));
    let frames: Vec<Frame> = (0..100).map(|number: u8| classic(0x123, &[number, 1, 2, 3, 4, 5, 6, 7])).collect();
    send_all(&near, &frames);
    assert_eq!(receive(&far, frames.len()), frames);

    // Both at once: the lower identifier wins.
    let (patient, urgent) = ([classic(0x200, &[0; 8]); 20], [classic(0x100, &[0; 8]); 20]);
    send_all(&near, &patient);
    send_all(&far, &urgent);
    receive(&far, patient.len());
    receive(&near, urgent.len());

    let ended = wire.end();
    assert_eq!(ended.last["is_valid"], true, "{}", ended.last);
    assert_eq!(ended.last["buses"][0]["frames"], 140);
    let log = ended.frames();
    for (logged, frame) in log.iter().zip(&frames) {
        assert_eq!((logged.node.as_str(), logged.frame), ("t-near", *frame));
    }
    // Bits without gaps, to the nanosecond.
    let gap = |pair: &[Logged]| pair[1].start_ns - pair[0].end_ns;
    assert!(log[..100].windows(2).all(|pair| gap(pair) == 3 * BIT_NS), "there are gaps between the frames");

    let (patient, urgent): (Vec<_>, Vec<_>) = log[100..].iter().partition(|logged| logged.frame.id.0 == 0x200);
    assert!(patient.iter().all(|logged| logged.node == "t-near"));
    assert!(urgent.iter().all(|logged| logged.node == "t-far" && logged.lost == 0), "an urgent frame lost");
    // The controller starts full; whether it stays full depends on the kernel.
    let lost: u32 = patient.iter().map(|logged| logged.lost).sum();
    let longest = patient.iter().map(|logged| logged.lost).max();
    assert!(longest >= Some(10), "a patient frame waits for {longest:?} urgent ones");
    assert!(lost <= 20, "{lost} losses against 20 frames");
}

fn gateway() -> String {
    "[bus.fast]\ninterface = \"t-b\"\n[bus.slow]\ninterface = \"t-c\"\n".to_owned()
        + &route("all", "fast", "slow", "frames = \"classic\"")
}

/// Sends frames through a gateway between two buses. Returns the frames of each, and the summary.
fn forward(wire: Wire, gateway: &str, count: u8) -> (Vec<Logged>, Vec<Logged>, Value) {
    let run_dir = tempfile::tempdir().unwrap();
    let candor = Run { gateway, engine: "read-write", run_dir: run_dir.path().to_owned(), uid: None }.start();
    let (sender, receiver) = (open("t-a"), open("t-d"));
    let frames: Vec<Frame> = (0..count).map(|number| classic(0x321, &[number])).collect();
    send_all(&sender, &frames);
    assert_eq!(receive(&receiver, frames.len()), frames);
    candor.stop();
    let ended = wire.end();
    let log = ended.frames();
    let on = |bus: &str| log.iter().filter(|logged| logged.bus == bus).cloned().collect();
    (on("fast"), on("slow"), ended.last)
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_forwards_at_the_pace_of_the_slower_bus() {
    let Some(wire) = Wire::start("--bus fast:1M:t-a,t-b --bus slow:125k:t-c,t-d --depth 2") else { return };
    let (fast, slow, _) = forward(wire, &gateway(), 5);
    assert_eq!((fast.len(), slow.len()), (5, 5));
    for (fast, slow) in fast.iter().zip(&slow) {
        assert_eq!((fast.frame, slow.node.as_str()), (slow.frame, "t-c"));
        assert!(slow.start_ns > fast.end_ns, "forwarded before it had arrived");
        assert_eq!(slow.end_ns - slow.start_ns, 8 * (fast.end_ns - fast.start_ns));
    }
}

/// One file describes the buses and the gateway between them.
#[test]
#[ignore = "runs in a guest"]
fn reads_the_buses_from_a_gateway_file() {
    let file = format!(
        "{}[wire]\ndepth = 2\nfaults = [\"lost-ack slow --times 2\"]\n\
         [wire.bus.fast]\nbitrate = \"1Mbit/s\"\ninterfaces = [\"t-a\", \"t-b\"]\n\
         [wire.bus.slow]\nbitrate = \"125kbit/s\"\ninterfaces = [\"t-c\", \"t-d\"]\n",
        gateway()
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.toml");
    fs::write(&path, &file).unwrap();
    let Some(wire) = Wire::start(path.to_str().unwrap()) else { return };
    let (fast, slow, last) = forward(wire, &file, 3);
    assert_eq!(last["buses"][1]["error_frames"], 2, "{last}");
    let length = |logged: &Logged| logged.end_ns - logged.start_ns;
    assert_eq!(length(&slow[0]), 8 * length(&fast[0]));
}

#[test]
#[ignore = "runs in a guest"]
fn the_queue_of_a_controller_without_acknowledgement_fills() {
    // The only node of its bus.
    let Some(wire) = Wire::start("--bus b0:500k:t-lone --depth 2") else { return };
    let lone = open("t-lone");
    let taken = (0..100).take_while(|_| try_send(&lone, &classic(0x123, &[])).is_ok()).count();
    // The queue of 10, the controller, and perhaps one frame between them.
    assert!((12..=13).contains(&taken), "{taken} frames");
    wire.kill();
    wait_until("the interface is deleted", || index("t-lone").is_none());
}

#[test]
#[ignore = "runs in a guest"]
fn force_rates_overrides_the_bit_rate_of_a_node() {
    for (force, errors) in [(" --force-rates", false), ("", true)] {
        let Some(wire) = Wire::start(&format!("{NEAR_FAR}{force}")) else { return };
        let (client, far) = (&mut Client::open().unwrap(), index("t-far").unwrap());
        link::set_down(client, far).unwrap();
        link::set_can_bitrate(client, far, BitRate::from_bits_per_second(125_000).unwrap()).unwrap();
        link::set_up(client, far).unwrap();
        let (near, far) = (open("t-near"), open("t-far"));
        send_all(&near, &[classic(0x123, &[1])]);
        if !errors {
            assert_eq!(receive(&far, 1), [classic(0x123, &[1])]);
        } else {
            // The slower node destroys the frame, until one of them is bus-off or error-passive.
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = wire.end();
        assert_eq!(ended.log.contains("\nerror "), errors, "{}", ended.log);
        if let Some(frame) = ended.frames().first().filter(|_| !errors) {
            assert!(frame.end_ns - frame.start_ns < 70 * BIT_NS, "at 500 kbit/s");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn refuses_an_interface_name_in_use() {
    let Some(_scene) = Scenario::new(&[Feature::Root, Feature::Vhci, Feature::Vcan], ["taken"]) else { return };
    let refused = lab_output(&["wire", "--bus", "b0:500k:t-new,t-taken"]);
    refused.assert(2, &["interface t-taken already exists"]);
    assert_eq!(index("t-new"), None);
}

struct Wire {
    candor: Candor,
    log: PathBuf,
    interfaces: Vec<String>,
    /// CLOCK_MONOTONIC at time 0 of the buses.
    started_ns: u64,
    folder: tempfile::TempDir,
    _machine: MutexGuard<'static, ()>,
}

struct Log {
    last: Value,
    log: String,
}

#[derive(Clone, Debug)]
struct Logged {
    bus: String,
    start_ns: u64,
    end_ns: u64,
    node: String,
    frame: Frame,
    lost: u32,
}

impl Wire {
    fn start(arguments: &str) -> Option<Self> {
        Self::with_faults(arguments, &[])
    }

    fn with_faults(arguments: &str, faults: &[&str]) -> Option<Self> {
        let machine = require(NEEDS)?;
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("wire.log");
        let mut command = Command::new(lab());
        command.args(["wire", "--json", "--late", "10ms", "--log"]).arg(&log).args(arguments.split(' '));
        command.args(faults.iter().flat_map(|fault| ["--fault", *fault]));
        command.env("CANDOR_RUN_DIR", folder.path());
        let candor = Candor::spawn(&mut command, "").ready();
        let ready = candor.before_ready.last().unwrap();
        let buses = ready["buses"].as_array().unwrap().iter();
        let names = buses.flat_map(|bus| bus["interfaces"].as_array().unwrap());
        let interfaces: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
        for name in &interfaces {
            assert!(index(name).is_some(), "{name} does not exist");
        }
        let started_ns = ready["started_monotonic_ns"].as_u64().unwrap();
        Some(Self { candor, log, interfaces, started_ns, folder, _machine: machine })
    }

    /// Ends it with SIGTERM, which deletes its interfaces.
    fn end(self) -> Log {
        let last = self.candor.stop().events.pop().unwrap();
        for name in &self.interfaces {
            assert_eq!(index(name), None, "{name} is left");
        }
        Log { last, log: fs::read_to_string(&self.log).unwrap() }
    }

    fn kill(self) {
        self.candor.kill();
    }
}

impl Log {
    fn frames(&self) -> Vec<Logged> {
        let ns = |text: &str| text.replace('.', "").parse().unwrap();
        let logged = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
            ["frame", bus, start, end, node, frame, _retries, lost] => Some(Logged {
                bus: bus.to_owned(),
                start_ns: ns(start),
                end_ns: ns(end),
                node: node.to_owned(),
                frame: frame.parse().unwrap(),
                lost: lost.parse().unwrap(),
            }),
            _ => None,
        };
        self.log.lines().filter_map(logged).collect()
    }
}

fn index(name: &str) -> Option<InterfaceIndex> {
    Some(link::by_name(&mut Client::open().unwrap(), name).unwrap()?.index)
}

fn open(name: &str) -> CanSocket {
    listener_on(index(name).unwrap())
}

/// Sends frames as fast as the interface accepts them.
fn send_all(socket: &CanSocket, frames: &[Frame]) {
    for frame in frames {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = try_send(socket, frame) {
            assert_eq!(error.raw_os_error(), Some(errno::ENOBUFS), "{error}");
            assert!(Instant::now() < deadline, "the interface accepts no frame");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

fn receive(socket: &CanSocket, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        let frame = hear(socket, PATIENCE);
        frames.push(frame.unwrap_or_else(|| panic!("{} of {count} frames", frames.len())));
    }
    frames
}

#[test]
#[ignore = "runs in a guest"]
fn init_finds_the_bit_rate_of_a_controller_that_is_down() {
    let Some(wire) = Wire::start("--bus b0:125k:t-near,t-peer,t-far") else { return };
    let (client, far) = (&mut Client::open().unwrap(), index("t-far").unwrap());
    link::set_down(client, far).unwrap();
    link::set_can_bitrate(client, far, BitRate::from_bits_per_second(500_000).unwrap()).unwrap();
    let (near, is_over) = (open("t-near"), AtomicBool::new(false));
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                send_all(&near, &[classic(0x123, &[1]), "12345678#02".parse().unwrap()]);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let found = output(Command::new(program()).args(["init", "t-near", "t-far", "--listen", "400ms"]));
        is_over.store(true, Ordering::Relaxed);
        found
    });
    found.assert(
        0,
        &["[bus.t-far]\ninterface = \"t-far\"\nbitrate = \"125kbit/s\"\n# 2 identifiers received: 123, 12345678\n"],
    );
    assert!(found.err.contains("DOWN: nothing is forwarded"), "{found:?}");

    // Nobody sends now: it keeps its own bit rate, and can send again.
    link::set_can_bitrate(client, far, BitRate::from_bits_per_second(250_000).unwrap()).unwrap();
    let silent = output(Command::new(program()).args(["init", "t-far", "--listen", "40ms"]));
    let proposed = ["bitrate = \"250kbit/s\"\n", "[bus.vcan0]\n", "no frame at any common bit rate"];
    silent.assert(0, &proposed);
    link::set_can_bitrate(client, far, BitRate::from_bits_per_second(125_000).unwrap()).unwrap();
    link::set_up(client, far).unwrap();
    send_all(&open("t-far"), &[classic(0x7, &[3])]);
    assert_eq!(receive(&near, 1), [classic(0x7, &[3])]);
    let ended = wire.end();
    assert!(!ended.log.contains("\nerror "), "a listener disturbed the bus: {}", ended.log);
}
