//! `candor dump` on virtual buses.

use crate::prelude::*;
use crate::sockets::xl;

const DATABASE: &str = include_str!("../../../../examples/powertrain.dbc");
/// Long enough for CAN XL.
const XL_MTU: u32 = 2060;

impl Scenario {
    /// Starts it and waits until it listens on the bus on the right, which is the last one that it opens.
    fn dump(&self, arguments: &[&str]) -> Candor {
        let command = &mut self.command(&["dump"]);
        self.listening(Candor::spawn(command.args(["t-left", "t-right", "--json"]).args(arguments), ""))
    }

    fn dump_text(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(&["dump", "t-left", "t-right"]);
        let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.listening(command.spawn().unwrap())
    }

    fn listening<T>(&self, started: T) -> T {
        let list = || fs::read_to_string("/proc/net/can/rcvlist_all").unwrap();
        // Without a receiver, the list has `(t-right: no entry)`.
        wait_until("it listens", || list().lines().any(|line| line.trim_start().starts_with("t-right")));
        started
    }
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), out, err)
}

#[test]
#[ignore = "runs in a guest"]
fn prints_the_frames_of_several_buses() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    scene.bus("left").set_down();
    link::set_mtu(&mut Client::open().unwrap(), scene.index("left"), XL_MTU).unwrap();
    scene.bus("left").set_up();
    let (left, right) = (scene.sender("left"), scene.sender("right"));
    left.enable_xl().unwrap();
    let database = scene.file("powertrain.dbc", DATABASE);

    let dump = scene.dump_text(&["--database", &database, "--decode", "--count", "6", "--duration", "10s"]);
    send(&left, &frame("123#138801"));
    send(&right, &frame("12345678#1122334455667788"));
    send(&left, &frame("321#0600FE0F"));
    send(&right, &frame("100##1AABB"));
    left.write(&xl(0x5_0123)).unwrap();
    send(&right, &frame("20000040#0000000000000000"));
    let (status, out, err) = ended(dump);
    assert_eq!((status, err.as_str()), (Some(0), "frames: 6\n"), "{out}");
    let lines: Vec<_> = out
        .lines()
        .map(|line| line.split_once(")  ").map_or_else(|| line.trim_start(), |(_time, rest)| rest))
        .collect();
    let bytes = vec!["AA"; 64].join(" ");
    let wanted = [
        "t-left   TX       123   [3]  13 88 01",
        "ABS1  VehSpd 50 km/h  Braking 1",
        "t-right  TX  12345678   [8]  11 22 33 44 55 66 77 88",
        "t-left   TX       321   [4]  06 00 FE 0F",
        "TCU1  Gear Not active  Torque -256 Nm",
        "t-right  TX       100   [2]  AA BB  FD BRS",
        &format!("t-left   TX       123  [64]  XL VCID 05 SDT 00 AF 00000000  {bytes}"),
        "t-right  TX  20000040   [8]  00 00 00 00 00 00 00 00  error: bus-off",
    ];
    assert_eq!(lines, wanted);

    // Frames of a condition, as JSON.
    let condition = ["--match", "ABS1.VehSpd > 50", "--match", "100..1FF"];
    let dump = scene.dump(&[&["--database", &database, "--decode", "--count", "2"][..], &condition].concat());
    for text in ["321#0600FE0F", "200#", "123#R3"] {
        send(&left, &frame(text));
    }
    send(&left, &frame("123#138901"));
    send(&right, &frame("1FF##1AABB"));
    let ended = dump.wait();
    assert!(ended.status.success(), "{ended:?}");
    let frames: Vec<_> = ended.events.iter().map(|event| event["frame"]["text"].as_str().unwrap_or("end")).collect();
    assert_eq!(frames, ["123#138901", "1FF##5AABB", "end"]);
    let first = &ended.events[0];
    assert_eq!(
        (&first["bus"], &first["sent_here"], &first["message"]["name"]),
        (&json!("t-left"), &json!(true), &json!("ABS1"))
    );
    assert_eq!(first["message"]["signals"][0], json!({"name": "VehSpd", "value": "50.01", "unit": "km/h"}));
    assert_eq!(ended.events[2], json!({"event": "end", "frames": 2, "lost": 0}));
}

#[test]
#[ignore = "runs in a guest"]
fn writes_logs_until_a_signal() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let (left, right) = (scene.sender("left"), scene.sender("right"));
    let dump = scene.dump_text(&["--log"]);
    let sent = ["123#1122", "12345678##5AABB", "123#R4"].map(frame);
    for frame in &sent {
        send(&left, frame);
        send(&right, frame);
    }
    // Received before the signal.
    std::thread::sleep(Duration::from_millis(50));
    signal::send(dump.id(), Signal::Terminate).unwrap();
    let (status, out, err) = ended(dump);
    assert_eq!((status, err.as_str()), (Some(0), "frames: 6\n"), "{out}");
    let words: Vec<Vec<_>> = out.lines().map(|line| line.split(' ').collect()).collect();
    let [times, buses, frames] = [0, 1, 2].map(|at| words.iter().map(|words| words[at]).collect::<Vec<_>>());
    assert!(times.is_sorted() && times[0].starts_with('(') && times[0].ends_with(')'), "{out}");
    assert_eq!(buses, ["t-left", "t-right"].repeat(3));
    assert_eq!(frames.iter().step_by(2).map(|text| frame(text)).collect::<Vec<_>>(), sent);

    // In vain, and while an interface is down.
    let quiet = scene.dump_text(&["--match", "456", "--duration", "100ms"]);
    send(&left, &frame("123#1122"));
    scene.bus("right").set_down();
    let (status, out, err) = ended(quiet);
    assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
    assert_eq!(err, "t-right is down; set it up: sudo ip link set t-right up\nframes: 0\n");
    scene.bus("right").set_up();
}
