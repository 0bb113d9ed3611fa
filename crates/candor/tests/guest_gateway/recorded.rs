//! `candor record` on virtual buses: its files are read with the library that converts them.

use std::collections::BTreeSet;

use candor_recording::{Direction, ReadRecords as _, Record, pcapng};

use crate::prelude::*;

const OUT: &str = "drive.pcapng";

impl Scenario {
    /// Starts it and waits until it writes its file, which it does after it has opened all buses.
    fn record(&self, folder: &Path, arguments: &[&str]) -> Child {
        let begun = || -> BTreeSet<PathBuf> {
            let files = fs::read_dir(folder).unwrap().flatten();
            files.filter(|file| file.metadata().is_ok_and(|of| of.len() > 0)).map(|file| file.path()).collect()
        };
        let before = begun();
        let mut command = self.command(&["record", "t-left", "t-right", "--json", "--out"]);
        let command = command.arg(folder.join(OUT)).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("it writes", || !begun().is_subset(&before));
        child
    }
}

/// Status, output and errors.
fn ended(child: Child) -> (Option<i32>, Value, String) {
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), serde_json::from_str(&out).unwrap_or_default(), err)
}

fn stopped(child: Child) -> (Option<i32>, Value, String) {
    signal::send(child.id(), Signal::Terminate).unwrap();
    ended(child)
}

/// The files in the order of their names, with their frames and the names of their buses.
#[track_caller]
fn files(folder: &Path) -> Vec<(String, Vec<(String, Record)>)> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        // No incomplete block at the end.
        assert_eq!(pcapng::whole(&bytes), bytes.len(), "{path:?}");
        let mut reader = pcapng::Reader::new(&bytes[..]);
        let (mut record, mut records) = (Record::EMPTY, Vec::new());
        while reader.read(&mut record).unwrap() {
            records.push((reader.buses().name(record.bus).to_owned(), record));
        }
        assert_eq!(records.len() as u64, pcapng::packets(&bytes));
        (path.file_name().unwrap().to_str().unwrap().to_owned(), records)
    };
    paths.into_iter().map(read).collect()
}

/// Numbers of frames in all files, which have them in the order of their times. Frames of two buses may have the same time,
/// above all in user-mode Linux, whose clock goes on by 256 ns; then the lower number is the first.
#[track_caller]
fn numbers(folder: &Path) -> Vec<u32> {
    let files = files(folder);
    let records = files.iter().flat_map(|(_, records)| records);
    let mut found: Vec<_> = records.map(|(_, record)| (record.at_ns, number_of(&record.frame))).collect();
    assert!(found.is_sorted_by_key(|(at_ns, _)| *at_ns), "frames are not in the order of their times");
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}

/// Requires that the numbers go up to this one without a gap, and returns how many there are.
#[track_caller]
fn assert_consecutive(found: &[u32], end: u32) -> usize {
    assert_eq!(found.iter().zip(&found[1..]).find(|(one, next)| **one + 1 != **next), None, "of {}", found.len());
    assert_eq!(found.last(), Some(&(end - 1)));
    found.len()
}

/// Sends numbered frames on both buses, slowly enough for any receiver.
fn send_numbered(scene: &Scenario, range: std::ops::Range<u32>) {
    let senders = [scene.sender("left"), scene.sender("right")];
    for number in range {
        send(&senders[number as usize % 2], &numbered(number));
        if number % 100 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn records_buses_with_their_names() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let (left, right) = (scene.sender("left"), scene.sender("right"));
    let config = scene.file("car.toml", &format!("{LEFT_RIGHT}{}", route("r", "left", "right", "")));
    let folder = tempfile::tempdir().unwrap();
    let record = scene.record(folder.path(), &["--config", &config]);
    let sent = ["123#1122", "12345678##5AABB", "123#R4", "20000040#0000000000000000", "7FF#"];
    let sent: Vec<Frame> = sent.iter().map(|text| text.parse().unwrap()).collect();
    for frame in &sent {
        send(&left, frame);
        send(&right, frame);
    }
    let (status, printed, err) = stopped(record);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let buses = ["left", "right"]
        .map(|name| json!({"bus": name, "interface": format!("t-{name}"), "received": 5, "lost": 0, "dropped": 0}));
    let wanted = json!({
        "frames": 10, "files": 1, "removed_files": 0, "unwritten": 0, "xl_frames": 0,
        "triggers": null, "incomplete_triggers": null, "buses": buses
    });
    assert_eq!(printed, wanted);
    let files = files(folder.path());
    let [(name, records)] = &files[..] else { panic!("{files:?}") };
    assert_eq!(name, OUT);
    let names: Vec<_> = records.iter().map(|(bus, _)| bus.as_str()).collect();
    assert_eq!(names, ["left", "right"].repeat(5));
    assert!(records.iter().map(|(_, record)| record.at_ns).is_sorted());
    let frames: Vec<_> = records.iter().step_by(2).map(|(_, record)| (record.frame, record.direction)).collect();
    assert_eq!(frames, sent.iter().map(|frame| (*frame, Some(Direction::Sent))).collect::<Vec<_>>());

    // The file is not overwritten.
    let again = output(scene.command(&["record", "t-left", "--out"]).arg(folder.path().join(OUT)));
    assert_eq!(again.status, 2, "{again:?}");
    assert!(again.err.contains("choose another name"), "{again:?}");
}

#[test]
#[ignore = "runs in a guest"]
fn rings_and_sockets_receive_the_same() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    // Frames of another node are on the bus on the right.
    let candor = scene.start(&format!("{LEFT_RIGHT}{}", route("r", "left", "right", "echo = true")), "kernel");
    let ways = ["ring", "socket"].map(|way| (tempfile::tempdir().unwrap(), way));
    let recorders = ways.each_ref().map(|(folder, way)| scene.record(folder.path(), &["--through", way]));
    let (left, right) = (scene.sender("left"), scene.sender("right"));
    let some = ["123#11223344", "12345678##5AABBCCDD", "20000040#0000000000000000"].map(|text| text.parse().unwrap());
    for frame in &some {
        send(&left, frame);
        send(&right, frame);
    }
    send_numbered(&scene, 0..3000);
    let recorded = recorders.map(stopped);
    candor.stop();
    for (status, printed, err) in &recorded {
        assert_eq!((*status, err.as_str(), &printed["buses"][0]["lost"]), (Some(0), "", &json!(0)), "{printed}");
    }
    let [of_ring, of_socket] = ways.map(|(folder, _)| files(folder.path()).remove(0).1);
    let of_bus = |records: &[(String, Record)], bus: &str| -> Vec<_> {
        let records = records.iter().filter(|(name, _)| name == bus);
        records.map(|(_, one)| (one.frame, one.direction)).collect()
    };
    for bus in ["t-left", "t-right"] {
        assert_eq!(of_bus(&of_ring, bus), of_bus(&of_socket, bus), "{bus}");
    }
    let count = |wanted: Direction| of_ring.iter().filter(|(_, one)| one.direction == Some(wanted)).count();
    assert_eq!([Direction::Sent, Direction::Received].map(count), [3006, 1502]);
    assert!(of_ring.iter().map(|(_, one)| one.at_ns).is_sorted());
}

#[test]
#[ignore = "runs in a guest"]
fn ends_when_no_interface_is_left() {
    for way in ["ring", "socket"] {
        let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
        let folder = tempfile::tempdir().unwrap();
        let record = scene.record(folder.path(), &["--through", way]);
        let count = || folder.path().join(OUT).metadata().unwrap().len();
        scene.unplug("right");
        // It goes on with the other one.
        let left = scene.sender("left");
        let before = count();
        send(&left, &numbered(1));
        wait_until("it writes the frame", || count() > before);
        scene.unplug("left");
        let (status, printed, err) = ended(record);
        assert_eq!((status, &printed["frames"]), (Some(2), &json!(1)), "{way}: {err}");
        for name in ["left", "right"] {
            let line = format!("t-{name} is gone: unplugged or deleted\n");
            assert_eq!(err.matches(&line).count(), 1, "{way}: {err}");
        }
        assert!(err.contains("no interface is left"), "{way}: {err}");
    }
}

/// The kernel says that an interface is gone before it gives the frames that wait.
#[test]
#[ignore = "runs in a guest"]
fn frames_before_the_end_of_an_interface_are_recorded() {
    for way in ["ring", "socket"] {
        let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
        let folder = tempfile::tempdir().unwrap();
        let record = scene.record(folder.path(), &["--through", way]);
        send_numbered(&scene, 0..200);
        for name in ["left", "right"] {
            scene.unplug(name);
        }
        let (status, printed, err) = ended(record);
        assert_eq!((status, &printed["frames"]), (Some(2), &json!(200)), "{way}: {err}");
        assert_eq!(assert_consecutive(&numbers(folder.path()), 200), 200, "{way}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn keeps_the_newest_files() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let many = ["--file-size", "64kB", "--keep", "3"];
    let mut next = 0;
    for _run in 0..2 {
        let record = scene.record(folder.path(), &many);
        send_numbered(&scene, next..next + 10_000);
        next += 10_000;
        let (status, printed, err) = stopped(record);
        assert_eq!((status, err.as_str()), (Some(0), ""));
        assert_eq!(printed["frames"], 10_000);
        assert!(printed["files"].as_u64().unwrap() > 4, "{printed}");
    }
    assert_eq!(files(folder.path()).len(), 3);
    let found = numbers(folder.path());
    assert!(assert_consecutive(&found, next) > 1000);
}

#[test]
#[ignore = "runs in a guest"]
fn records_the_time_around_a_trigger() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let record = scene.record(folder.path(), &["--trigger", "7FF", "--before", "200ms", "--after", "200ms"]);
    let right = scene.sender("right");
    let pause = || std::thread::sleep(Duration::from_millis(500));
    for round in 0..2 {
        send_numbered(&scene, 100 * round..100 * round + 10);
        pause();
        send_numbered(&scene, 100 * round + 10..100 * round + 20);
        send(&right, &classic(0x7FF, &(100 * round + 20).to_be_bytes()));
        send_numbered(&scene, 100 * round + 21..100 * round + 30);
        pause();
        send_numbered(&scene, 100 * round + 30..100 * round + 40);
        pause();
    }
    let (status, printed, err) = stopped(record);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(numbers(folder.path()), (10..30).chain(110..130).collect::<Vec<_>>());
    assert_eq!((&printed["triggers"], &printed["incomplete_triggers"]), (&json!(2), &json!(0)));
}

#[test]
#[ignore = "runs in a guest"]
fn a_killed_recording_loses_a_second_at_most() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut record = scene.record(folder.path(), &["--file-size", "64kB"]);
    send_numbered(&scene, 0..3000);
    std::thread::sleep(Duration::from_millis(1500));
    send_numbered(&scene, 3000..3200);
    record.kill().unwrap();
    record.wait().unwrap();
    let found = numbers(folder.path());
    assert!(assert_consecutive(&found, u32::try_from(found.len()).unwrap()) >= 3000);
}

#[test]
#[ignore = "runs in a guest"]
fn a_full_disk_is_told_or_the_oldest_files_are_removed() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let disk = Disk::new();
    let record = scene.record(disk.path(), &[]);
    send_numbered(&scene, 0..20_000);
    let (status, printed, err) = ended(record);
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("No space left on device") && err.contains("make room"), "{err}");
    let found = numbers(disk.path());
    assert!(assert_consecutive(&found, u32::try_from(found.len()).unwrap()) > 3000);
    assert_eq!(printed["frames"], found.len());
    assert!(printed["unwritten"].as_u64().unwrap() > 0, "{printed}");
    fs::remove_file(disk.path().join(OUT)).unwrap();

    let record = scene.record(disk.path(), &["--file-size", "64kB", "--keep", "100"]);
    send_numbered(&scene, 0..20_000);
    let (status, printed, err) = stopped(record);
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("removing the oldest files"), "{err}");
    let found = numbers(disk.path());
    assert_eq!((&printed["frames"], &printed["unwritten"]), (&json!(20_000), &json!(0)));
    assert!(printed["removed_files"].as_u64().unwrap() > 0, "{printed}");
    assert!(assert_consecutive(&found, 20_000) > 2000);
}

#[test]
#[ignore = "runs in a guest"]
fn a_replayed_recording_is_the_same() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let record = scene.record(first.path(), &[]);
    send_numbered(&scene, 0..2000);
    for text in ["12345678##5AABB", "123#R4", "20000040#0000000000000000", "7FF#"] {
        send(&scene.sender("left"), &text.parse().unwrap());
    }
    assert_eq!(stopped(record).0, Some(0));

    let record = scene.record(second.path(), &[]);
    let file = first.path().join(OUT);
    let replay = |onto: &[&str]| lab_output(&[&["replay", file.to_str().unwrap(), "--json"], onto].concat());
    let replayed = replay(&["--onto", "t-left=t-left,t-right=t-right", "--speed", "0.5"]);
    assert_eq!(replayed.status, 0, "{replayed:?}");
    let (status, recorded, err) = stopped(record);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    // Without the error frame.
    let of = |folder: &Path| {
        let records = files(folder).remove(0).1.into_iter().filter(|(_, record)| !record.frame.id.is_err());
        records.map(|(bus, record)| (bus, record.frame)).collect::<Vec<_>>()
    };
    let (wanted, found) = (of(first.path()), of(second.path()));
    assert_eq!(wanted.len(), 2003);
    let printed = replayed.json();
    assert!(wanted == found, "{} frames: {recorded} {printed}", found.len());
    assert_eq!((&printed["frames"], &printed["unordered"]), (&json!(2003), &json!(0)));
    assert_eq!(printed["left_out"], json!([{"what": "error frames left out", "count": 1}]));
    let [left, right] = [0, 1].map(|at| &printed["onto"][at]);
    assert_eq!((&left["frames"], &right["frames"]), (&json!(1003), &json!(1000)));
    let late = |what: &str| left["late"][what].as_i64().unwrap();
    assert!((0..=late("p99_ns")).contains(&late("p50_ns")) && late("p99_ns") <= late("max_ns"), "{left}");

    // One bus onto the other, and none.
    let text = lab_output(&["replay", file.to_str().unwrap(), "--onto", "t-right=t-left", "--repeat", "2"]);
    assert!(
        text.status == 0 && text.out.contains("frames of t-left left out: 2006; --onto t-left=INTERFACE"),
        "{text:?}"
    );
    let none = replay(&["--onto", "can7=t-left"]);
    assert_eq!((none.status, &none.json()["frames"]), (1, &json!(0)), "{none:?}");
    scene.bus("left").set_down();
    let down = replay(&["--onto", "t-left"]);
    assert!(down.status == 2 && down.err.contains("t-left"), "{down:?}");
}

/// A disk of 400 kB.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"]).arg(folder.path());
        assert!(mount.status().unwrap().success());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}
