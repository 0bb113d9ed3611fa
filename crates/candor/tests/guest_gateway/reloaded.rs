//! A running gateway reloads its file: no frame is lost, doubled, reordered or treated by parts of both files, routes keep
//! their counters, and an invalid file changes nothing.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use candor_core::frame::CAN_MTU;
use candor_io::can::{Batch, First, SendList};

use crate::candor::write;
use crate::prelude::*;
use crate::queues;

const PATIENCE: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_millis(50);
/// Frames in flight: fewer than any queue or ring holds.
const WINDOW: u32 = 64;

const THIRD: &str = "[bus.third]\ninterface = \"t-third\"\n";

/// The identifier and the last bytes that each file gives a frame.
const TREATMENTS: [(u32, [u8; 4]); 2] = [(0x456, [0xAA; 4]), (0x457, [0xBB; 4])];

/// Two files that change the same frames differently. The second file also matches both formats and more identifiers, and
/// has one bus and two routes more.
fn files() -> [String; 2] {
    files_with("echo = true")
}

/// All routes have this key.
fn files_with(key: &str) -> [String; 2] {
    let over = |keys: &str, (id, end): (u32, [u8; 4])| {
        let end: String = end.iter().map(|byte| format!("{byte:02X}")).collect();
        let change = format!("or = {{ data = \"00000000{end}\" }}\nset = {{ id = \"{id:X}\" }}");
        let keys = format!("{key}\n{keys}\nand = {{ data = \"FFFFFFFF00000000\" }}\n{change}");
        route("over", "left", "right", &keys)
    };
    let beside = route("beside", "left", "third", &format!("match = \"7F0\"\n{key}"));
    let back = route("back", "third", "left", &format!("match = \"7F1\"\n{key}"));
    let first = over("match = \"123\"\nframes = \"classic\"", TREATMENTS[0]);
    let second = [THIRD, &beside, &back, &over("match = \"120:7F0\"", TREATMENTS[1])].concat();
    [first, second].map(|routes| LEFT_RIGHT.to_owned() + &routes)
}

fn scene(features: &[Feature]) -> Option<Scenario> {
    Scenario::new(features, ["left", "right", "third"])
}

impl Scenario {
    fn reloadable(&self) -> PathBuf {
        self.files.path().join("candor.toml")
    }

    fn start_reloadable(&self, gateway: &str, engine: &str) -> Candor {
        self.run(gateway, engine).start_from(&self.reloadable())
    }

    fn reload(&self, candor: &Candor, text: &str) -> Value {
        write(&self.reloadable(), text);
        candor.reload()
    }
}

struct Stream {
    sender: CanSocket,
    listener: CanSocket,
    heard: AtomicU32,
    enough: AtomicBool,
}

/// Ends every wait for a number when it is dropped, so that a panic of the stream is reported.
struct Wakes<'a>(&'a AtomicU32);

impl Drop for Wakes<'_> {
    fn drop(&mut self) {
        self.0.store(u32::MAX, Ordering::Relaxed);
    }
}

impl Stream {
    fn new(place: &Scenario) -> Self {
        Self::between(place.sender("left"), place.listener("right"))
    }

    fn between(sender: CanSocket, listener: CanSocket) -> Self {
        listener.set_receive_buffer(1 << 20).unwrap();
        Self { sender, listener, heard: AtomicU32::new(0), enough: AtomicBool::new(false) }
    }

    /// Sends and receives at least this many frames during `meanwhile`. Returns the frames that each file has changed.
    fn flows(&self, frames: u32, meanwhile: impl FnOnce()) -> [u32; 2] {
        std::thread::scope(|scope| {
            let flow = scope.spawn(|| self.flow(frames));
            meanwhile();
            self.enough.store(true, Ordering::Relaxed);
            flow.join().unwrap()
        })
    }

    fn flow(&self, frames: u32) -> [u32; 2] {
        let _whatever_happens = Wakes(&self.heard);
        let mut treated = [0, 0];
        let (mut sent, mut heard) = (0_u32, 0_u32);
        let (mut list, mut batch) = (SendList::default(), <Batch>::default());
        while sent < frames || !self.enough.load(Ordering::Relaxed) {
            // Half of them have arrived before the others follow, so some are always in flight.
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

    /// Receives the next frames, and counts which file has changed them.
    fn hear(&self, batch: &mut Batch, heard: &mut u32, treated: &mut [u32; 2]) {
        assert!(!can::poll(&[&self.listener], Some(PATIENCE)).unwrap().is_empty(), "frame {heard} was lost");
        self.listener.recv_batch(batch, First::DoesNotWait).unwrap();
        for received in batch.frames() {
            let frame = Frame::from_kernel(received.bytes).unwrap();
            assert_eq!(number_of(&frame), *heard, "lost, doubled or out of order");
            let is_whole = |&(id, end): &(u32, [u8; 4])| frame.id == RawId(id) && frame.data[4..8] == end;
            let which = TREATMENTS.iter().position(is_whole);
            treated[which.unwrap_or_else(|| panic!("changed by parts of both files: {frame:?}"))] += 1;
            *heard += 1;
        }
        self.heard.store(*heard, Ordering::Relaxed);
    }

    fn wait_for(&self, frames: u32) {
        while self.heard.load(Ordering::Relaxed) < frames {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn numbered(number: u32) -> [u8; CAN_MTU] {
    let mut data = [0; 8];
    data[..4].copy_from_slice(&number.to_be_bytes());
    *bytes_of(&classic(0x123, &data)).first_chunk().unwrap()
}

/// Checks that every frame is counted. Returns the frames that the route has handled.
#[track_caller]
fn accounted(ended: &Ended) -> u64 {
    ended.accounts();
    ended.counted("over")[0]
}

#[test]
#[ignore = "runs in a guest"]
fn reload_loses_doubles_and_reorders_no_frame() {
    // User-mode Linux, which traces each system call, takes ten times as long for a frame.
    let fully = ("mmap-mmsg", if counts_instructions() { 100_000 } else { 10_000 }, 100);
    let others = ["read-write", "mmap-adaptive", "mmapbusy-write", "mmsg-mmsg", "uring-uring"];
    let others = others.map(|engine| (engine, 1_000, 10));
    for (engine, frames, reloads) in [fully].into_iter().chain(others) {
        let Some(place) = scene(VCAN) else { return };
        let files = files();
        let candor = place.start_reloadable(&files[0], engine);
        let stream = Stream::new(&place);
        let treated = stream.flows(frames, || {
            for number in 1..=reloads {
                stream.wait_for(frames / (reloads + 1) * number);
                if number == reloads / 2 {
                    let answer = place.reload(&candor, "[bus.left]\ninterface = 7\n");
                    assert_eq!(answer["event"], "invalid", "{answer}");
                    assert!(!answer["findings"].as_array().unwrap().is_empty(), "{answer}");
                }
                let answer = place.reload(&candor, &files[number as usize % 2]);
                assert_eq!(answer["event"], "reloaded", "{engine}, reload {number}: {answer}");
            }
        });
        assert!(treated.iter().all(|treated| *treated > 0), "{engine}: {treated:?}");
        let ended = candor.end(Signal::Terminate);
        assert_eq!(accounted(&ended), u64::from(treated[0] + treated[1]), "{engine}");
        let left = ended.event("final-counters")["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == "left");
        assert_eq!(left.unwrap()["taken"], treated[0] + treated[1], "{engine}");
    }
}

/// Nobody on a vcan hears what is sent without echo, so the frames leave through a pair.
#[test]
#[ignore = "runs in a guest"]
fn programs_change_between_two_frames() {
    let (frames, reloads) = (100_000, 100);
    let Some(place) = Scenario::new(&[Feature::Root, Feature::Vcan, Feature::Programs], ["left", "third"]) else {
        return;
    };
    let right = Pair::new(["t-right", "t-far"]);
    let files = files_with("exclusive = true");
    let candor = place.start_reloadable(&files[0], "bpf");
    let stream = Stream::between(place.sender("left"), listener_on(right.far));
    let treated = stream.flows(frames, || {
        for number in 1..=reloads {
            stream.wait_for(frames / (reloads + 1) * number);
            let answer = place.reload(&candor, &files[number as usize % 2]);
            assert_eq!(answer["event"], "reloaded", "reload {number}: {answer}");
        }
    });
    assert!(treated.iter().all(|treated| *treated > 0), "{treated:?}");
    let ended = candor.end(Signal::Terminate);
    assert_eq!(ended.counted("over"), [u64::from(treated[0] + treated[1]), 0, 0]);
}

#[test]
#[ignore = "runs in a guest"]
fn reloads_during_many_signals() {
    let Some(place) = scene(VCAN) else { return };
    let files = files();
    let candor = place.start_reloadable(&files[0], "mmap-adaptive");
    let stream = Stream::new(&place);
    let treated = stream.flows(100, || {
        for number in 0..1000 {
            if number % 100 == 0 {
                write(&place.reloadable(), &files[number / 100 % 2]);
            }
            signal::send(candor.pid(), Signal::Hangup).unwrap();
        }
        assert_eq!(candor.event(&["reloaded", "not-reloaded", "invalid"])["event"], "reloaded");
    });
    // SIGTERM during a reload removes everything.
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    let ended = candor.end(Signal::Terminate);
    assert_eq!(accounted(&ended), u64::from(treated[0] + treated[1]));
    let left: Vec<_> = place.run_dir.path().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
}

fn ask(place: &Scenario, arguments: &[&str]) -> Output {
    place.candor(&[&["reload"], arguments].concat())
}

#[test]
#[ignore = "runs in a guest"]
fn reload_reports_the_result() {
    let Some(place) = scene(VCAN) else { return };
    let (files, file) = (files(), place.reloadable());
    let name = file.to_str().unwrap();
    let assert = |status: i32, words: &[&str]| ask(&place, &[]).assert(status, words);
    assert(2, &["no gateway is running"]);
    let candor = place.start_reloadable(&files[0], "auto");

    write(&file, &files[1]);
    assert(0, &["reloaded: ", name, "new: beside, back"]);
    write(&file, &files[0]);
    let answer = ask(&place, &[name, "--json"]).json();
    assert_eq!((&answer["taken"], &answer["gone_routes"][0]["route"]), (&true.into(), &"beside".into()), "{answer}");

    write(&file, "[bus.left]\ninterface = 7\n");
    assert(1, &["error[E", "interface = 7", "not valid", "the running gateway is unchanged"]);
    let answer = ask(&place, &["--json"]).json();
    assert_eq!(answer["taken"], false, "{answer}");
    let lines = answer["findings"].as_array().unwrap().iter().map(|finding| &finding["line"]);
    assert!(lines.into_iter().any(|line| *line == 2), "{answer}");

    write(&file, &files[0].replace("t-right", "t-nowhere"));
    assert(1, &["was not loaded, and the running gateway is unchanged", "interface t-nowhere (bus "]);
    fs::remove_file(&file).unwrap();
    assert(1, &["was not loaded", "cannot read"]);
    ask(&place, &["/nowhere.toml"]).assert(2, &["no gateway is running /nowhere.toml; running: ", name]);

    let stream = Stream::new(&place);
    assert_eq!(stream.flows(64, || {})[1], 0);
    candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn a_new_engine_needs_a_restart() {
    let Some(place) = scene(VCAN) else { return };
    let with = |engine: &str| format!("engine = \"{engine}\"\n{}", files()[0]);
    write(&place.reloadable(), &with("read-write"));
    let mut command = place.command(&["run", place.reloadable().to_str().unwrap(), "--json"]);
    let mut candor = Guarded::spawn(command.stdout(Stdio::null()));
    while ask(&place, &[]).status != 0 {
        assert_eq!(candor.try_wait().unwrap(), None);
    }
    write(&place.reloadable(), &with("mmap-write"));
    let answer = "restart candor to change the engine (read-write is running, the file has mmap-write)";
    ask(&place, &[]).assert(1, &[answer]);
    // The gateway continues, also without a reader of its events.
    assert_eq!(Stream::new(&place).flows(64, || {})[1], 0);
    terminate(candor);
}

#[test]
#[ignore = "runs in a guest"]
fn standard_input_cannot_be_reloaded() {
    let Some(place) = scene(VCAN) else { return };
    let candor = place.start(&files()[0], "auto");
    ask(&place, &[]).assert(2, &["from standard input"]);
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    let answer = candor.event(&["not-reloaded"]);
    assert!(answer["because"].as_str().unwrap().contains("standard input"), "{answer}");
    candor.stop();
}

/// Routes between the same buses in the same receive list, where the order matters.
fn ordered(routes: &[(&str, u32)]) -> String {
    let one = |(name, id): &(&str, u32)| {
        route(name, "left", "right", &format!("frames = \"classic\"\nmatch = \"{id:X}:7FF\"\necho = true"))
    };
    LEFT_RIGHT.to_owned() + &routes.iter().map(one).collect::<String>()
}

#[test]
#[ignore = "runs in a guest"]
fn replaces_only_jobs_that_differ() {
    let Some(place) = scene(VCAN_AND_CANGW) else { return };
    let before = ordered(&[("a", 0x100), ("b", 0x101), ("c", 0x123), ("d", 0x103)]);
    let candor = place.start_reloadable(&before, "auto");
    let sender = place.sender("left");
    let pass = |times: u32| (0..times).for_each(|_| send(&sender, &classic(0x123, &[])));
    pass(3);
    let jobs = || place.jobs().iter().map(|job| (job.filter.id, job.counters.handled)).collect::<Vec<_>>();
    // The kernel forwards after write() has returned.
    let are = |expected: [(u32, u32); 4]| wait_until(&format!("jobs {expected:?}"), || jobs() == expected);
    are([(0x100, 0), (0x101, 0), (0x123, 3), (0x103, 0)]);

    let answer = place.reload(&candor, &ordered(&[("a", 0x100), ("n", 0x1FF), ("c", 0x123), ("d", 0x103)]));
    assert_eq!((&answer["new_routes"][0], &answer["gone_routes"][0]["route"]), (&"n".into(), &"b".into()), "{answer}");
    // The last jobs stay, with their counters.
    are([(0x100, 0), (0x1FF, 0), (0x123, 3), (0x103, 0)]);

    // To user space and back: the route keeps its counters.
    let in_user_space = ordered(&[("c", 0x123)]) + "max-age = \"10s\"\n";
    let answer = place.reload(&candor, &in_user_space);
    assert_eq!((&answer["event"], &answer["kernel_jobs"]), (&"reloaded".into(), &0.into()), "{answer}");
    assert_eq!(jobs(), []);
    let listener = place.listener("right");
    pass(2);
    for _ in 0..2 {
        next_frame(&listener);
    }
    let answer = place.reload(&candor, &before);
    assert_eq!((&answer["event"], &answer["kernel_jobs"]), (&"reloaded".into(), &4.into()), "{answer}");
    pass(1);
    are([(0x100, 0), (0x101, 0), (0x123, 1), (0x103, 0)]);
    assert_eq!(candor.stop().counted("c")[0], 6);
    assert_eq!(jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn waiting_frames_stay_with_their_route() {
    /// Frames that the queue of the slow bus holds.
    const ROOM: u32 = 20;

    for engine in ["read-write", "mmap-adaptive"] {
        let Some(place) = scene(VCAN) else { return };
        queues::delay(place.index("right"), Duration::from_secs(60), ROOM);
        let keys = "echo = false\nwhen-full = \"drop-oldest\"";
        let [over, beside] = [("over", "right"), ("beside", "third")].map(|(name, to)| route(name, "left", to, keys));
        let candor = place.start_reloadable(&(LEFT_RIGHT.to_owned() + &over), engine);
        let sender = place.sender("left");
        (0..ROOM + 10).for_each(|_| send(&sender, &classic(0x123, &[1])));
        std::thread::sleep(Duration::from_millis(100));

        // With another route the frames still wait. Without their own they are dropped.
        let other = LEFT_RIGHT.to_owned() + THIRD + &beside;
        let both = other.clone() + &over;
        let answer = place.reload(&candor, &both);
        assert_eq!((&answer["event"], &answer["gone_routes"]), (&"reloaded".into(), &json!([])), "{answer}");
        let answer = place.reload(&candor, &other);
        let gone = &answer["gone_routes"][0];
        let counted = |key: &str| gone[key].as_u64().unwrap();
        assert_eq!(counted("matched"), u64::from(ROOM + 10), "{engine}: {answer}");
        assert_eq!((counted("handled"), counted("dropped")), (u64::from(ROOM), 10), "{engine}: {answer}");
        assert_eq!(answer["gone_buses"][0]["bus"], "right", "{engine}: {answer}");
        candor.stop();
    }
}
