//! A running gateway that reads its file again: no frame is lost, doubled, out of order or treated by half of each file,
//! routes go on with their counters, and a file that cannot be taken changes nothing.

mod asked;
mod kept;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use candor_core::frame::{CAN_MTU, CANFD_MTU, Frame, RawId};
use candor_io::can::{self, Batch, CanSocket, First, SendList};
use candor_io::signal::{self, Signal};
use serde_json::Value;

use crate::candor::{Candor, Ended, Run, write};
use crate::frames::{listener_on, number_of, sender_on};
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const PATIENCE: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_millis(50);
/// Frames that are under way at once: fewer than any queue or ring holds.
const WINDOW: u32 = 64;

const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";
const THIRD: &str = "[bus.third]\ninterface = \"t-third\"\n";

/// What a frame becomes under either file: identifier and the end of its data.
const TREATMENTS: [(u32, [u8; 4]); 2] = [(0x456, [0xAA; 4]), (0x457, [0xBB; 4])];

/// Two files that treat the same frames otherwise, and differ in everything else that can be exchanged: the second one takes
/// both formats and more identifiers, and has one bus and two routes more.
fn files() -> [String; 2] {
    let over = |keys: &str, (id, end): (u32, [u8; 4])| {
        let end: String = end.iter().map(|byte| format!("{byte:02X}")).collect();
        format!(
            "[[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\n{keys}\
             and = {{ data = \"FFFFFFFF00000000\" }}\nor = {{ data = \"00000000{end}\" }}\nset = {{ id = \"{id:X}\" }}\n"
        )
    };
    let more = "[[route]]\nname = \"beside\"\nfrom = \"left\"\nto = \"third\"\nmatch = \"7F0\"\necho = true\n\
                [[route]]\nname = \"back\"\nfrom = \"third\"\nto = \"left\"\nmatch = \"7F1\"\necho = true\n";
    [
        BUSES.to_owned() + &over("match = \"123\"\nframes = \"classic\"\n", TREATMENTS[0]),
        BUSES.to_owned() + THIRD + more + &over("match = \"120:7F0\"\n", TREATMENTS[1]),
    ]
}

/// Buses, a folder for the file and one for lists.
struct Place {
    left: Bus,
    right: Bus,
    _third: Bus,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let (left, right, third) = (Bus::new("left"), Bus::new("right"), Bus::new("third"));
        Self { left, right, _third: third, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("candor.toml")
    }

    fn run_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn start(&self, gateway: &str, engine: &str) -> Candor {
        Run { gateway, engine, run_dir: self.run_dir(), uid: None }.start_from(&self.file())
    }
}

/// Has a candor read its file again, with this text in it, and waits for what it says.
fn reload(candor: &Candor, file: &Path, text: &str) -> Value {
    write(file, text);
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    candor.event(&["reloaded", "not-reloaded", "invalid"])
}

/// Frames with numbers, and who hears them on the other side.
struct Stream {
    sender: CanSocket,
    listener: CanSocket,
    heard: AtomicU32,
    enough: AtomicBool,
}

impl Stream {
    fn new(place: &Place) -> Self {
        let listener = listener_on(place.right.index);
        listener.set_receive_buffer(1 << 20).unwrap();
        let sender = sender_on(place.left.index);
        Self { sender, listener, heard: AtomicU32::new(0), enough: AtomicBool::new(false) }
    }

    /// Sends and hears at least so many frames while something happens, and says how many of each treatment.
    fn flows(&self, frames: u32, meanwhile: impl FnOnce()) -> [u32; 2] {
        std::thread::scope(|scope| {
            let flow = scope.spawn(|| self.flow(frames));
            meanwhile();
            self.enough.store(true, Ordering::Relaxed);
            flow.join().unwrap()
        })
    }

    fn flow(&self, frames: u32) -> [u32; 2] {
        let mut treated = [0, 0];
        let (mut sent, mut heard) = (0_u32, 0_u32);
        let (mut list, mut batch) = (SendList::default(), Batch::default());
        while sent < frames || !self.enough.load(Ordering::Relaxed) {
            // Half of them are heard before the others follow, so that some are always under way.
            let bytes: Vec<_> = (sent..sent + WINDOW / 2).map(numbered).collect();
            let frames = bytes.iter().map(<[u8; CAN_MTU]>::as_slice);
            sent += u32::try_from(self.sender.send_batch(&mut list, frames).unwrap()).unwrap();
            while sent - heard > WINDOW / 2 {
                self.hear(&mut batch, &mut heard, &mut treated);
            }
        }
        while heard < sent {
            self.hear(&mut batch, &mut heard, &mut treated);
        }
        assert!(can::poll(&[&self.listener], Some(SILENCE)).unwrap().is_empty(), "a frame came twice");
        treated
    }

    /// Hears the next frames, and notes which file treated them.
    fn hear(&self, batch: &mut Batch, heard: &mut u32, treated: &mut [u32; 2]) {
        assert!(!can::poll(&[&self.listener], Some(PATIENCE)).unwrap().is_empty(), "frame {heard} was lost");
        self.listener.recv_batch(batch, First::DoesNotWait).unwrap();
        for received in batch.frames() {
            let frame = Frame::from_kernel(received.bytes).unwrap();
            assert_eq!(number_of(&frame), *heard, "lost, doubled or out of order");
            let is_whole = |&(id, end): &(u32, [u8; 4])| frame.id == RawId(id) && frame.data[4..8] == end;
            let which = TREATMENTS.iter().position(is_whole);
            treated[which.unwrap_or_else(|| panic!("treated by half of each file: {frame:?}"))] += 1;
            *heard += 1;
        }
        self.heard.store(*heard, Ordering::Relaxed);
    }

    /// Waits until so many frames have been heard.
    fn wait_for(&self, frames: u32) {
        while self.heard.load(Ordering::Relaxed) < frames {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A frame with this number.
fn numbered(number: u32) -> [u8; CAN_MTU] {
    let mut data = [0; 8];
    data[..4].copy_from_slice(&number.to_be_bytes());
    let mut bytes = [0; CANFD_MTU];
    Frame::classic(RawId(0x123), &data).unwrap().to_kernel(&mut bytes);
    *bytes.first_chunk().unwrap()
}

/// Checks that every frame is accounted for, and gives what the route has handled.
#[track_caller]
fn accounted(ended: &Ended) -> u64 {
    let routes = ended.accounts()["routes"].as_array().unwrap();
    routes.iter().find(|route| route["route"] == "over").unwrap()["handled"].as_u64().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn no_frame_is_lost_doubled_or_treated_by_half_of_each_file() {
    let Some(_machine) = require(NEEDS) else { return };
    // Where each system call is traced a frame takes ten times as long as the counting guest's instructions.
    let counts = std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "icount");
    let fully = ("mmap-mmsg", if counts { 100_000 } else { 10_000 }, 100);
    let others = ["read-write", "mmap-adaptive", "mmapbusy-write", "mmsg-mmsg", "uring-uring"];
    let others = others.map(|engine| (engine, 1_000, 10));
    for (engine, frames, reloads) in [fully].into_iter().chain(others) {
        let (place, files) = (Place::new(), files());
        let candor = place.start(&files[0], engine);
        let stream = Stream::new(&place);
        let treated = stream.flows(frames, || {
            for number in 1..=reloads {
                stream.wait_for(frames / (reloads + 1) * number);
                if number == reloads / 2 {
                    let said = reload(&candor, &place.file(), "[bus.left]\ninterface = 7\n");
                    assert_eq!(said["event"], "invalid", "{said}");
                    assert!(!said["findings"].as_array().unwrap().is_empty(), "{said}");
                }
                let said = reload(&candor, &place.file(), &files[number as usize % 2]);
                assert_eq!(said["event"], "reloaded", "{engine}, reload {number}: {said}");
            }
        });
        assert!(treated.iter().all(|treated| *treated > 0), "{engine}: {treated:?}");
        let ended = candor.end(Signal::Terminate);
        assert_eq!(accounted(&ended), u64::from(treated[0] + treated[1]), "{engine}");
        let left = ended.event("final-counters")["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == "left");
        assert_eq!(left.unwrap()["taken"], treated[0] + treated[1], "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_storm_of_signals_does_no_harm() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, files) = (Place::new(), files());
    let candor = place.start(&files[0], "mmap-adaptive");
    let stream = Stream::new(&place);
    let treated = stream.flows(100, || {
        for number in 0..1000 {
            if number % 100 == 0 {
                write(&place.file(), &files[number / 100 % 2]);
            }
            signal::send(candor.pid(), Signal::Hangup).unwrap();
        }
        assert_eq!(candor.event(&["reloaded", "not-reloaded", "invalid"])["event"], "reloaded");
    });
    // The end in the middle of a reload: everything is taken away all the same.
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    let ended = candor.end(Signal::Terminate);
    assert_eq!(accounted(&ended), u64::from(treated[0] + treated[1]));
    let left: Vec<_> = place.run_dir().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
}
