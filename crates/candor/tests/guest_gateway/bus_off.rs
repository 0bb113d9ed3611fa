//! A controller that leaves its bus and comes back: an adapter on a serial line, played by this test, says when.

use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use candor_io::can::InterfaceIndex;
use candor_io::signal::Signal;
use candor_netlink::client::Client;
use candor_netlink::link::{self, CanState, Link};
use nix::pty::openpty;
use nix::unistd::ttyname;

use crate::candor::{Candor, Run};
use crate::frames::{classic, hear, listener_on, send, sender_on};
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Slcan, Feature::Vcan];
const PATIENCE: Duration = Duration::from_secs(20);
const NAME: &str = "t-serial";
const OFF: &[u8] = b"sb256256\r";
const ACTIVE: &[u8] = b"sa000000\r";

/// The adapter at the other end of a pseudo terminal, and its interface.
struct Adapter {
    line: File,
    /// Holds the line discipline until its input ends.
    attached: Child,
    /// Identifiers of the frames that left, as the adapter was told them.
    frames: Receiver<String>,
    index: InterfaceIndex,
}

impl Adapter {
    fn plug_in() -> Self {
        let pair = openpty(None, None).unwrap();
        let path = ttyname(&pair.slave).unwrap();
        // The kernel waits for room on the line, so somebody has to read all the time.
        let line = File::from(pair.master);
        let (sender, frames) = mpsc::channel();
        let reader = line.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut said = String::new();
            for byte in BufReader::new(reader).bytes().map_while(Result::ok) {
                match byte {
                    b'\r' => {
                        let words = std::mem::take(&mut said);
                        if words.starts_with('t') && sender.send(words).is_err() {
                            break;
                        }
                    }
                    other => said.push(char::from(other)),
                }
            }
        });
        let mut attach = Command::new("slcan_attach");
        attach.args(["-w", "-n", NAME]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::null());
        let attached = attach.spawn().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let link = loop {
            if let Some(link) = link::by_name(&mut Client::open().unwrap(), NAME).unwrap() {
                break link;
            }
            assert!(Instant::now() < deadline, "slcan_attach makes no interface");
            std::thread::sleep(Duration::from_millis(10));
        };
        let adapter = Self { line, attached, frames, index: link.index };
        link::set_up(&mut Client::open().unwrap(), adapter.index).unwrap();
        adapter
    }

    fn says(&mut self, words: &[u8]) {
        self.line.write_all(words).unwrap();
    }

    fn link() -> Link {
        link::by_name(&mut Client::open().unwrap(), NAME).unwrap().unwrap()
    }

    #[track_caller]
    fn next_frame(&self) -> String {
        self.frames.recv_timeout(PATIENCE).expect("a frame is missing")
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        drop(self.attached.stdin.take());
        let _ = self.attached.wait();
    }
}

fn start(bus_keys: &str, engine: &str, folder: &tempfile::TempDir) -> Candor {
    let gateway = format!(
        "[bus.left]\ninterface = \"t-left\"\n[bus.serial]\ninterface = \"{NAME}\"\n{bus_keys}\n\
         [bus.third]\ninterface = \"t-third\"\n\
         [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"serial\"\nframes = \"classic\"\n\
         [[route]]\nname = \"beside\"\nfrom = \"left\"\nto = \"third\"\nframes = \"classic\"\necho = true\n"
    );
    Run { gateway: &gateway, engine, run_dir: folder.path().to_owned(), uid: None }.start()
}

fn notice_with(candor: &Candor, words: &str) -> String {
    loop {
        let notice = candor.notice();
        if notice.contains(words) {
            return notice;
        }
    }
}

/// Both engines: with `restart-after` candor holds the interface down until then, and every frame has an end with a name.
#[test]
#[ignore = "runs in a guest"]
fn a_bus_off_controller_is_started_again() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ["read-write", "kernel"] {
        let (left, _third) = (Bus::new("left"), Bus::new("third"));
        let mut adapter = Adapter::plug_in();
        let folder = tempfile::tempdir().unwrap();
        let candor = start("restart-after = \"300ms\"", engine, &folder);
        let sender = sender_on(left.index);
        for round in 1..=2 {
            send(&sender, &classic(0x123, &[1, 2]));
            assert_eq!(adapter.next_frame(), "t12320102", "{engine}");
            adapter.says(OFF);
            let notice = notice_with(&candor, "bus-off");
            assert!(notice.contains("candor restarts it in 300ms"), "{engine}: {notice}");
            send(&sender, &classic(0x123, &[1, 2]));
            let notice = candor.notice();
            // The interface that candor itself took down is no news.
            let expected = match (engine, round) {
                ("read-write", 1) => "Frames to t-serial are dropped: Network is down",
                _ => "Interface t-serial is back on its bus",
            };
            assert!(notice.starts_with(expected), "{engine}: {notice}");
            if notice.starts_with("Frames") {
                assert_eq!(candor.notice(), "Interface t-serial is back on its bus", "{engine}");
            }
            assert!(Adapter::link().up);
        }
        send(&sender, &classic(0x123, &[1, 2]));
        assert_eq!(adapter.next_frame(), "t12320102", "{engine}");
        let ended = candor.end(Signal::Terminate);
        assert!(ended.status.success(), "{engine}: {ended:?}");
        let routes = &ended.accounts()["routes"];
        let of = |at: usize, key: &str| routes[at][key].as_u64().unwrap();
        assert_eq!((of(0, "handled"), of(0, "dropped"), of(1, "handled")), (3, 2, 5), "{engine}: {routes}");
    }
}

/// Without it candor says what is lost, and that it goes on as soon as somebody else brought it back.
#[test]
#[ignore = "runs in a guest"]
fn a_bus_off_controller_that_nobody_starts_again_is_told_of() {
    let Some(_machine) = require(NEEDS) else { return };
    let (left, third) = (Bus::new("left"), Bus::new("third"));
    let listener = listener_on(third.index);
    let mut adapter = Adapter::plug_in();
    let folder = tempfile::tempdir().unwrap();
    let candor = start("", "read-write", &folder);
    let sender = sender_on(left.index);
    adapter.says(OFF);
    let notice = notice_with(&candor, "bus-off");
    assert!(notice.contains("sudo ip link set t-serial down && sudo ip link set t-serial up"), "{notice}");
    assert_eq!(Adapter::link().can.unwrap().state, Some(CanState::BusOff));
    for _ in 0..3 {
        send(&sender, &classic(0x123, &[1, 2]));
        // The last of the routes is for this one.
        hear(&listener, PATIENCE).expect("a frame is missing");
    }
    let client = &mut Client::open().unwrap();
    link::set_down(client, adapter.index).unwrap();
    link::set_up(client, adapter.index).unwrap();
    adapter.says(ACTIVE);
    let notice = notice_with(&candor, "back on its bus");
    assert!(notice.contains("3 frames accepted during bus-off may be lost"), "{notice}");
    send(&sender, &classic(0x123, &[1, 2]));
    // Those of before are lost, or waited for room.
    assert_eq!(adapter.next_frame(), "t12320102");
    assert!(candor.end(Signal::Terminate).status.success());
}

/// A candor that ends meanwhile leaves no interface down that it took down.
#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_is_held_down_is_set_up_at_the_end() {
    let Some(_machine) = require(NEEDS) else { return };
    let (_left, _third) = (Bus::new("left"), Bus::new("third"));
    let mut adapter = Adapter::plug_in();
    let folder = tempfile::tempdir().unwrap();
    let candor = start("restart-after = \"1h\"", "read-write", &folder);
    adapter.says(OFF);
    notice_with(&candor, "bus-off");
    let deadline = Instant::now() + PATIENCE;
    while Adapter::link().up {
        assert!(Instant::now() < deadline, "it is not set down");
    }
    assert!(candor.end(Signal::Terminate).status.success());
    assert!(Adapter::link().up);
}
