//! The program between a real CAN bus of a guest and sessions of Zenoh on loopback.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use candor_bridge::payload::{self, Sent};
use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, InterfaceIndex, Options, poll};
use candor_io::clock;
use candor_io::signal::{self, Signal};
use nix::net::if_::if_nametoindex;
use serde_json::Value;
use tempfile::TempDir;
use zenoh::{Config, Session, Wait as _};

const LIMIT: Duration = Duration::from_secs(60);
const BUS: &str = "t-front";
const ENDPOINT: &str = "tcp/127.0.0.1:7447";
const MTU: &str = "72";

/// The tests share a bus and a port.
static MACHINE: Mutex<()> = Mutex::new(());

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
}

fn plug() {
    ip(&format!("link add {BUS} mtu {MTU} type vcan"));
    ip(&format!("link set {BUS} up"));
}

fn unplug() {
    ip(&format!("link del {BUS}"));
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn socket() -> CanSocket {
    let index = InterfaceIndex::new(if_nametoindex(BUS).unwrap()).unwrap();
    CanSocket::open(index, &Options::default()).unwrap()
}

fn send(socket: &CanSocket, text: &str) {
    let mut bytes = [0; CANFD_MTU];
    let len = text.parse::<Frame>().unwrap().to_kernel(&mut bytes);
    socket.write(&bytes[..len]).unwrap();
}

/// The next frame of the bus, if there is one in this time.
fn hear(socket: &CanSocket, patience: Duration) -> Option<String> {
    if poll(&[socket], Some(patience)).unwrap().is_empty() {
        return None;
    }
    let mut bytes = [0; CANFD_MTU];
    let len = socket.read(&mut bytes).unwrap();
    Some(Frame::from_kernel(&bytes[..len]).unwrap().to_string())
}

/// The program, with its files.
struct Program {
    child: Child,
    folder: TempDir,
}

impl Program {
    fn start(zenoh: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[bus.front]\ninterface = \"{BUS}\"\n[zenoh]\nconfig = \"zenoh.json5\"\nprefix = \"candor/car7\"\nmax-age = \"5min\"\n\
             [[in]]\nbus = \"front\"\nmatch = \"200..2FF\"\nrate = \"1 frames/s\"\nburst = 2\n"
        );
        std::fs::write(folder.path().join("bridge.toml"), text).unwrap();
        std::fs::write(folder.path().join("zenoh.json5"), zenoh).unwrap();
        let output = |name: &str| Stdio::from(File::create(folder.path().join(name)).unwrap());
        let mut command = Command::new("candor-bridge");
        command.args(["bridge.toml", "--json"]).current_dir(folder.path());
        let child = command.stdout(output("output")).stderr(output("errors")).spawn().unwrap();
        Self { child, folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn wait_for_error(&self, text: &str) {
        let told = || std::fs::read_to_string(self.path().join("errors")).unwrap();
        let end = Instant::now() + LIMIT;
        while !told().contains(text) {
            assert!(Instant::now() < end, "{text:?} is missing: {}", told());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(mut self) -> (ExitStatus, Value) {
        signal::send(self.child.id(), Signal::Terminate).unwrap();
        let mut status = None;
        wait_until("the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let output = std::fs::read(self.path().join("output")).unwrap();
        (status.unwrap(), serde_json::from_slice(&output).unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended, unless the test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A configuration without multicast.
fn config(mode: &str, key: &str) -> String {
    let other = if key == "listen" { "connect" } else { "listen" };
    format!(
        "{{ mode: \"{mode}\", scouting: {{ multicast: {{ enabled: false }} }}, \
         {other}: {{ endpoints: [] }}, {key}: {{ endpoints: [\"{ENDPOINT}\"] }} }}"
    )
}

fn session(config: &str) -> Session {
    let mut config = Config::from_json5(config).unwrap();
    // The guest has no /dev/shm.
    config.insert_json5("transport/shared_memory/enabled", "false").unwrap();
    zenoh::open(config).wait().unwrap()
}

fn frames(session: &Session) -> Receiver<Sent> {
    let (sender, frames) = mpsc::channel();
    let take = move |sample: zenoh::sample::Sample| {
        let _ = sender.send(payload::decode(&sample.payload().to_bytes()).unwrap());
    };
    session.declare_subscriber("candor/car7/front/frame/*").callback(take).background().wait().unwrap();
    frames
}

fn now() -> u64 {
    u64::try_from(clock::realtime().unwrap().0).unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn frames_cross_between_a_bus_and_the_network() {
    let _machine = MACHINE.lock().unwrap();
    ip("link set lo up");
    plug();
    let program = Program::start(&config("peer", "listen"));
    let peer = session(&config("peer", "connect"));
    let published = frames(&peer);
    let bus = socket();

    let before = now();
    send(&bus, "123#1122");
    let Sent { stamp_ns, number, frame } = published.recv_timeout(LIMIT).unwrap();
    assert_eq!((number, frame.to_string().as_str()), (1, "123#1122"));
    assert!((before..=now()).contains(&stamp_ns), "{stamp_ns} is the stamp of the kernel");

    let put = |text: &str| {
        let frame: Frame = text.parse().unwrap();
        let key = format!("candor/car7/front/send/{}", text.split_once('#').unwrap().0);
        let bytes = payload::encode(&Sent { stamp_ns: 0, number: 0, frame });
        peer.put(key, bytes).wait().unwrap();
    };
    put("300#AA");
    for number in 0..50 {
        put(&format!("200#{number:02X}"));
    }
    let mut heard = Vec::new();
    while let Some(frame) = hear(&bus, Duration::from_secs(3)) {
        heard.push(frame);
    }
    assert_eq!(heard[..2], ["200#00", "200#01"], "the burst, and not the refused frame");

    // The bus goes away and comes back.
    drop(bus);
    unplug();
    plug();
    let bus = socket();
    let again = |published: &Receiver<Sent>| {
        send(&bus, "124#");
        published.recv_timeout(Duration::from_millis(300)).is_ok_and(|sent| sent.frame.to_string() == "124#")
    };
    wait_until("frames come again", || again(&published));
    put("2FF#01");
    assert_eq!(hear(&bus, LIMIT).as_deref(), Some("2FF#01"));

    let (status, counts) = program.stop();
    assert!(status.success(), "{status}");
    assert_eq!(counts["refused"]["not-allowed"], 1, "{counts}");
    let sent = counts["sent_to_bus"].as_u64().unwrap();
    assert_eq!(sent, heard.len() as u64 + 1, "{counts}");
    assert_eq!(sent + counts["refused"]["rate"].as_u64().unwrap(), 51, "{counts}");
    peer.close().wait().unwrap();
    unplug();
}

#[test]
#[ignore = "runs in a guest"]
fn a_program_without_a_router_says_so_waits_for_it_and_ends_by_a_signal() {
    let _machine = MACHINE.lock().unwrap();
    ip("link set lo up");
    plug();
    let bus = socket();
    let program = Program::start(&config("client", "connect"));
    program.wait_for_error("zenoh: there is no session yet");
    send(&bus, "123#");
    program.wait_for_error("received 1");
    let (status, counts) = program.stop();
    assert!(status.success(), "{status}");
    assert_eq!((&counts["received"], &counts["published"]), (&1.into(), &0.into()), "{counts}");

    let program = Program::start(&config("client", "connect"));
    program.wait_for_error("zenoh: there is no session yet");
    send(&bus, "123#55");
    program.wait_for_error("waiting 1");
    let router = session(&config("router", "listen"));
    program.wait_for_error("zenoh: the session is open");
    let published = frames(&router);
    assert_eq!(published.recv_timeout(LIMIT).unwrap().frame.to_string(), "123#55");
    let (status, counts) = program.stop();
    assert!(status.success(), "{status}");
    assert_eq!((&counts["received"], &counts["published"]), (&1.into(), &1.into()), "{counts}");
    router.close().wait().unwrap();
    unplug();
}
