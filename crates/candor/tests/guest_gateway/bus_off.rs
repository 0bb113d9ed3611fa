//! A controller that goes bus-off and recovers: a serial adapter whose state the test sets.

use std::io::{BufReader, Read as _, Write as _};
use std::sync::mpsc::{self, Receiver};

use candor_netlink::link::{CanState, Link};

use crate::prelude::*;
use crate::serial::{SERIAL, Serial, set_up};

const NAME: &str = "t-serial";
const OFF: &[u8] = b"sb256256\r";
const ACTIVE: &[u8] = b"sa000000\r";

struct Adapter {
    serial: Serial,
    /// Frames that left, in the notation of the adapter.
    frames: Receiver<String>,
    index: InterfaceIndex,
}

impl Adapter {
    fn new() -> Self {
        let serial = Serial::attach(NAME);
        let (sender, frames) = mpsc::channel();
        let reader = serial.line.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut line = String::new();
            for byte in BufReader::new(reader).bytes().map_while(Result::ok) {
                match byte {
                    b'\r' => {
                        let words = std::mem::take(&mut line);
                        if words.starts_with('t') && sender.send(words).is_err() {
                            break;
                        }
                    }
                    other => line.push(char::from(other)),
                }
            }
        });
        Self { serial, frames, index: set_up(NAME) }
    }

    fn report(&mut self, state: &[u8]) {
        self.serial.line.write_all(state).unwrap();
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
        self.serial.detach();
    }
}

fn gateway(serial_keys: &str, engine: &str) -> String {
    // A program sends without echo.
    let beside = if engine == "bpf" { "" } else { "echo = true" };
    let serial = format!("[bus.serial]\ninterface = \"{NAME}\"\n{serial_keys}\n");
    let routes = [("over", "serial", ""), ("beside", "third", beside)]
        .map(|(name, to, keys)| route(name, "left", to, &format!("frames = \"classic\"\n{keys}")));
    serial + &buses(&["left", "third"]) + &routes.concat()
}

/// All engines: with `restart-after`, candor keeps the interface down for that time, and every lost frame is counted.
#[test]
#[ignore = "runs in a guest"]
fn restarts_a_bus_off_controller() {
    for (engine, features) in
        [("read-write", SERIAL), ("kernel", SERIAL), ("bpf", &[SERIAL, &[Feature::Programs]].concat())]
    {
        let Some(scene) = Scenario::new(features, ["left", "third"]) else { return };
        let mut adapter = Adapter::new();
        let candor = scene.start(&gateway("restart-after = \"300ms\"", engine), engine);
        let sender = scene.sender("left");
        for round in 1..=2 {
            send(&sender, &classic(0x123, &[1, 2]));
            assert_eq!(adapter.next_frame(), "t12320102", "{engine}");
            adapter.report(OFF);
            let notice = candor.notice_with("bus-off");
            assert!(notice.contains("candor restarts it in 300ms"), "{engine}: {notice}");
            send(&sender, &classic(0x123, &[1, 2]));
            let notice = candor.notice();
            // No notice for an interface that candor itself set down.
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
        let ended = candor.stop();
        ended.accounts();
        let ([handled, dropped, _], [beside, ..]) = (ended.counted("over"), ended.counted("beside"));
        assert_eq!((handled, dropped, beside), (3, 2, 5), "{engine}: {ended:?}");
    }
}

/// Without `restart-after`, candor reports the loss and resumes when the interface is restarted.
#[test]
#[ignore = "runs in a guest"]
fn reports_a_bus_off_controller_without_restart() {
    let Some(scene) = Scenario::new(SERIAL, ["left", "third"]) else { return };
    let listener = scene.listener("third");
    let mut adapter = Adapter::new();
    let candor = scene.start(&gateway("", "read-write"), "read-write");
    let sender = scene.sender("left");
    adapter.report(OFF);
    let notice = candor.notice_with("bus-off");
    assert!(notice.contains("sudo ip link set t-serial down && sudo ip link set t-serial up"), "{notice}");
    assert_eq!(Adapter::link().can.unwrap().state, Some(CanState::BusOff));
    for _ in 0..3 {
        send(&sender, &classic(0x123, &[1, 2]));
        // The last route is to this bus.
        next_frame(&listener);
    }
    let client = &mut Client::open().unwrap();
    link::set_down(client, adapter.index).unwrap();
    link::set_up(client, adapter.index).unwrap();
    adapter.report(ACTIVE);
    let notice = candor.notice_with("back on its bus");
    assert!(notice.contains("3 frames accepted during bus-off may be lost"), "{notice}");
    send(&sender, &classic(0x123, &[1, 2]));
    // Earlier frames are lost, or waited for room.
    assert_eq!(adapter.next_frame(), "t12320102");
    candor.stop();
}

/// A candor that ends during `restart-after` sets the interface up again.
#[test]
#[ignore = "runs in a guest"]
fn sets_a_waiting_interface_up_at_the_end() {
    let Some(scene) = Scenario::new(SERIAL, ["left", "third"]) else { return };
    let mut adapter = Adapter::new();
    let candor = scene.start(&gateway("restart-after = \"1h\"", "read-write"), "read-write");
    adapter.report(OFF);
    candor.notice_with("bus-off");
    wait_until("the interface is set down", || !Adapter::link().up);
    candor.stop();
    assert!(Adapter::link().up);
}
