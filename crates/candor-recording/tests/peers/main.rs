//! Each format and kind of frame, in both directions, compared with python-can (with asammdf for MDF4), tshark and Python's csv.
//!
//! `CANDOR_PYTHON_CAN` is a directory with `venv`, in which the Python packages are installed. `cargo xtask test` makes it and sets
//! the variable; without it, the test prints `SKIP` and the reason. tshark is that of `CANDOR_TSHARK`, or of `PATH`.
//!
//! A difference must be listed in `known.txt`, with the format, the direction and the kind; and what is listed must be there.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_core::frame::Frame;
use candor_core::random::SplitMix64;
use candor_recording::{Buses, Clock, Counts, Direction, Format, Record, Sink, pcapng};
use require::require;

const START_NS: i64 = 1_700_000_000_000_000_000;
const KNOWN: &str = include_str!("known.txt");

/// Frames by kind.
fn kinds() -> Vec<(&'static str, Vec<Frame>)> {
    let mut random = SplitMix64::new(30);
    let mut hex = |bytes: usize| (0..bytes).map(|_| format!("{:02X}", random.next_u64() & 0xFF)).collect::<String>();
    let make = |texts: Vec<String>| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Frame>>();
    let lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
    let standard = (0..=8).map(|len| format!("{:03X}#{}", 0x7F * len + 1, hex(len))).collect();
    let extended = (0..=8).map(|len| format!("{:08X}#{}", 0x1F_FFFF * len + 1, hex(len))).collect();
    let remote = (0..=8).flat_map(|len| [format!("123#R{len}"), format!("12345678#R{len}")]).collect();
    let fd = (1..16).map(|at| format!("{:03X}##4{}", 0x7F * at, hex(lengths[at]))).collect();
    let flags = (1..16).map(|at| format!("{:08X}##{:X}{}", 0x1F_FFFF * at, 4 + at % 4, hex(lengths[at]))).collect();
    let empty_fd = vec!["123##4".to_owned(), "12345678##7".to_owned()];
    let raw = (9..16).map(|dlc| format!("123#{}_{dlc:X}", hex(8))).collect();
    let raw_remote = (9..16).map(|dlc| format!("123#R8_{dlc:X}")).collect();
    let errors = vec!["20000088#0000040000000000".to_owned(), "20000004#0008000000006000".to_owned()];
    vec![
        ("standard", make(standard)),
        ("extended", make(extended)),
        ("remote", make(remote)),
        ("fd", make(fd)),
        ("fd-flags", make(flags)),
        ("fd-empty", make(empty_fd)),
        ("raw-dlc", make(raw)),
        ("raw-dlc-remote", make(raw_remote)),
        ("error", make(errors)),
    ]
}

/// The frames with times, two buses and both directions.
fn records(frames: &[Frame], buses: &mut Buses) -> Vec<Record> {
    let buses = ["can0", "can1"].map(|name| buses.index(name.as_bytes()).unwrap());
    let record = |(at, frame): (usize, &Frame)| Record {
        at_ns: START_NS + i64::try_from(at).unwrap() * 1_234_000,
        clock: Clock::Unix,
        bus: buses[at % 2],
        direction: Some(if at / 2 % 2 == 0 { Direction::Received } else { Direction::Sent }),
        frame: *frame,
    };
    frames.iter().enumerate().map(record).collect()
}

/// `1700000000000000 0 Rx 123#11`.
fn line(record: &Record, bus: &str) -> String {
    let direction = record.direction.map_or("-", Direction::name);
    let us = (record.at_ns + 500).div_euclid(1000);
    format!("{us} {} {direction} {}\n", bus.trim_start_matches("can"), record.frame)
}

fn read(format: Format, path: &Path) -> String {
    let mut reader = format.reader(File::open(path).unwrap());
    let (mut text, mut record) = (String::new(), Record::EMPTY);
    loop {
        match reader.read(&mut record) {
            Ok(true) => text.push_str(&line(&record, reader.buses().name(record.bus))),
            Ok(false) => return text,
            Err(error) => {
                let _ = writeln!(text, "{error}");
                return text;
            }
        }
    }
}

/// Directions of error frames differ between programs, and have no meaning.
fn without_direction_of_errors(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(' ').filter(|(_, frame)| frame.starts_with("2000")) {
        Some((before, frame)) => format!("{} - {frame}\n", before.rsplit_once(' ').map_or("", |(before, _)| before)),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Compares, and adds what differs.
fn compare(differences: &mut BTreeSet<String>, key: &str, found: &str, wanted: &str) {
    let (found, wanted) = (without_direction_of_errors(found), without_direction_of_errors(wanted));
    if found == wanted {
        return;
    }
    let different = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    match different {
        Some((found, wanted)) => println!("{key}: {found:?} in place of {wanted:?}"),
        None => println!("{key}: {} lines in place of {}", found.lines().count(), wanted.lines().count()),
    }
    differences.insert(key.to_owned());
}

fn check(differences: &BTreeSet<String>, programs: &[&str]) {
    let known = KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = known.filter_map(|line| line.split_once(" |")).map(|(key, _)| key.trim().to_owned());
    let known: BTreeSet<_> = known.filter(|key| programs.contains(&key.split(' ').next().unwrap())).collect();
    let new: Vec<_> = differences.difference(&known).collect();
    let gone: Vec<_> = known.difference(differences).collect();
    assert!(new.is_empty() && gone.is_empty(), "not in known.txt: {new:#?}\nonly in known.txt: {gone:#?}");
}

/// What a format should give of these records.
fn expected(format: Format, records: &[Record], buses: &Buses) -> String {
    let fitted =
        records.iter().copied().filter_map(|mut one| format.limits().fit(&mut one, &mut Counts::new()).then_some(one));
    fitted.map(|record| line(&record, buses.name(record.bus))).collect()
}

fn write(format: Format, path: &Path, records: &[Record], buses: &Buses) {
    let mut sink = Sink::new(format, File::create(path).unwrap());
    records.iter().for_each(|record| sink.write(record, buses).unwrap());
    sink.finish().unwrap();
}

#[test]
fn python_can_reads_and_writes_the_same() {
    let found = std::env::var_os("CANDOR_PYTHON_CAN");
    let Some(peer) = require("python-can", found, "CANDOR_PYTHON_CAN is not set; cargo xtask python-can prints it")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: String| folder.path().join(name);
    let mut buses = Buses::new();
    let all: Vec<_> = kinds().into_iter().map(|(kind, frames)| (kind, records(&frames, &mut buses))).collect();
    for (kind, records) in &all {
        let lines: String = records.iter().map(|record| line(record, buses.name(record.bus))).collect();
        fs::write(at(format!("{kind}.frames")), lines).unwrap();
        Format::all().for_each(|format| write(format, &at(format!("{}.{kind}.ours", format.name())), records, &buses));
    }
    write_signals(folder.path(), &mut buses);
    let mut judge = Command::new(Path::new(&peer).join("venv/bin/python"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/judge.py");
    let output = judge.arg(script).arg(folder.path()).env("TZ", "UTC").output().expect("cannot start Python");
    assert!(output.status.success(), "judge.py: {}", String::from_utf8_lossy(&output.stderr));
    let mut differences = BTreeSet::new();
    let mut compared = 0;
    for format in Format::all() {
        for (kind, records) in &all {
            let name = format.name();
            if let Ok(read_by_them) = fs::read_to_string(at(format!("{name}.{kind}.read"))) {
                let key = format!("python-can {name} reads {kind}");
                compare(&mut differences, &key, &read_by_them, &expected(format, records, &buses));
                compared += 1;
            }
            if let Ok(read_by_vblf) = fs::read_to_string(at(format!("{name}.{kind}.vblf"))) {
                let key = format!("vblf {name} reads {kind}");
                compare(&mut differences, &key, &read_by_vblf, &expected(format, records, &buses));
                compared += 1;
            }
            let theirs = at(format!("{name}.{kind}.theirs"));
            if theirs.exists() {
                let key = format!("python-can {name} writes {kind}");
                compare(&mut differences, &key, &read(format, &theirs), &expected(format, records, &buses));
                compared += 1;
            }
        }
    }
    println!("{compared} cells, {} with a known difference", differences.len());
    assert!(compared >= 2 * 4 * all.len());
    check(&differences, &["python-can", "vblf"]);
}

/// A program of Wireshark: that of `CANDOR_TSHARK`, the directory of unpacked packages, or of `PATH`.
fn wireshark(program: &str) -> Command {
    let Some(root) = std::env::var_os("CANDOR_TSHARK").map(PathBuf::from) else { return Command::new(program) };
    let mut command = Command::new(root.join("usr/bin").join(program));
    let architecture = format!("{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["usr/lib", "lib"].map(|folder| root.join(folder).join(&architecture));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    command.env("WIRESHARK_DATA_DIR", root.join("usr/share/wireshark"));
    command
}

fn has_wireshark() -> bool {
    let version = wireshark("tshark").arg("--version").output().ok().filter(|output| output.status.success());
    require("tshark", version, "tshark does not start: apt-get install tshark").is_some()
}

/// What it prints.
fn output(command: &mut Command) -> String {
    let output = command.env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The blocks of `candor record`.
#[test]
fn wireshark_reads_buses_and_losses_of_a_recording() {
    if !has_wireshark() {
        return;
    }
    let mut bytes = Vec::new();
    pcapng::section(&mut bytes);
    pcapng::interface(&mut bytes, "powertrain", Some(500_000), "stamps: kernel");
    pcapng::interface(&mut bytes, "body", None, "");
    let at_ns = 1_700_000_000_123_456_789;
    for (interface, direction) in [(0, Direction::Received), (1, Direction::Sent)] {
        let frame = "123#1122".parse().unwrap();
        pcapng::packet_block(&mut bytes, interface, at_ns, &frame, Some(direction), "");
    }
    pcapng::statistics(&mut bytes, 0, at_ns, 7, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    fs::write(&path, &bytes).unwrap();
    let fields =
        ["frame.time_epoch", "frame.interface_name", "can.id", "data.data"].map(|field| ["-e", field]).concat();
    let frames = output(wireshark("tshark").arg("-r").arg(&path).args(["-T", "fields"]).args(fields));
    let time = "1700000000.123456789";
    assert_eq!(frames, format!("{time}\tpowertrain\t291\t1122\n{time}\tbody\t291\t1122\n"));
    let told = output(wireshark("capinfos").arg(&path));
    let told: Vec<_> = told.lines().map(str::trim).collect();
    for line in ["Name = powertrain", "Speed = 500000", "Comment = stamps: kernel", "Name = body"] {
        assert!(told.contains(&line), "{line}: {told:#?}");
    }
    let numbers: Vec<_> = told.iter().filter_map(|line| line.strip_prefix("Number of stat entries = ")).collect();
    assert_eq!(numbers, ["1", "0"], "{told:#?}");
}

#[test]
fn tshark_reads_the_same() {
    if !has_wireshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let mut buses = Buses::new();
    let mut differences = BTreeSet::new();
    for (kind, frames) in kinds() {
        let records = records(&frames, &mut buses);
        write(Format::Pcapng, &path, &records, &buses);
        let mut tshark = wireshark("tshark");
        tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=,"]);
        let found = output(tshark.args(FIELDS.iter().chain(&ERRORS).flat_map(|field| ["-e", field])));
        let found: String = found.lines().map(of_tshark).collect();
        let mut wanted = expected(Format::Pcapng, &records, &buses);
        if kind == "error" {
            // tshark shows the bytes as words.
            wanted = wanted.lines().map(|line| format!("{}#\n", line.split_once('#').unwrap().0)).collect();
        }
        compare(&mut differences, &format!("tshark pcapng reads {kind}"), &found, &wanted);
    }
    check(&differences, &["tshark"]);
}

const DATABASE: &str = "\
BO_ 291 Motor: 4 ECU
 SG_ Speed : 0|16@1+ (0.5,-10) [0|0] \"rpm\" X
 SG_ Warm : 24|8@1- (2,0) [0|0] \"\" X
BO_ 2443335288 Other: 8 ECU
 SG_ All : 0|64@1+ (1,0) [0|0] \"\" X
";

/// The same frames with signals, as CSV and as Parquet.
fn write_signals(folder: &Path, buses: &mut Buses) {
    let mut random = SplitMix64::new(31);
    let ids = ["123", "11A25678", "124"];
    let frame =
        |at: u64| format!("{}#{:016X}", ids[usize::try_from(at % 3).unwrap()], random.next_u64()).parse().unwrap();
    let records = records(&(0..300).map(frame).collect::<Vec<_>>(), buses);
    let database = candor_signals::read(DATABASE.as_bytes());
    for format in [Format::Csv, Format::Parquet] {
        let file = File::create(folder.join(format!("signals.{}", format.name()))).unwrap();
        let mut sink = Sink::of(format.limits(), format.decoding_writer(file, &database).unwrap());
        records.iter().for_each(|record| sink.write(record, buses).unwrap());
        assert_eq!(sink.finish().unwrap().iter().map(|(_, count)| count).collect::<Vec<_>>(), [100]);
    }
}

const FIELDS: [&str; 12] = [
    "frame.time_epoch",
    "frame.interface_name",
    "frame.packet_flags_direction",
    "can.id",
    "can.flags.xtd",
    "can.flags.rtr",
    "can.flags.err",
    "can.len",
    "canfd.flags.brs",
    "canfd.flags.esi",
    "can.reserved",
    "data.data",
];

/// The bits of an error class, from the lowest.
const ERRORS: [&str; 9] = [
    "can.err.tx_timeout",
    "can.err.lostarb",
    "can.err.ctrl",
    "can.err.prot",
    "can.err.trx",
    "can.err.ack",
    "can.err.busoff",
    "can.err.buserror",
    "can.err.restarted",
];

/// A line of tshark in the form of [`line`].
fn of_tshark(fields: &str) -> String {
    let fields: Vec<_> = fields.split(',').collect();
    let (&[time, bus, direction, id, extended, remote, error, len, brs, esi, reserved, data], classes) =
        fields.split_first_chunk().unwrap();
    let (seconds, ns) = time.split_once('.').unwrap();
    let us = seconds.parse::<u64>().unwrap() * 1_000_000 + ns[..6].parse::<u64>().unwrap();
    assert_eq!(&ns[6..], "000");
    let direction = if direction == "0x00000001" || direction == "1" { "Rx" } else { "Tx" };
    let bus = bus.trim_start_matches("can");
    if error == "1" {
        let class: u32 = (0..).zip(classes).map(|(bit, is_set)| u32::from(*is_set == "1") << bit).sum();
        return format!("{us} {bus} {direction} {:08X}#\n", class | 0x2000_0000);
    }
    let id: u32 = id.parse().unwrap();
    let id = if extended == "1" { format!("{id:08X}") } else { format!("{id:03X}") };
    // The last of the bytes that tshark 4.0 calls reserved is the raw DLC.
    let raw = match reserved.strip_prefix("0000").map(|raw| u8::from_str_radix(raw, 16)) {
        Some(Ok(raw @ 9..)) => format!("_{raw:X}"),
        _ => String::new(),
    };
    let data = data.to_uppercase();
    let frame = match (brs, esi, remote) {
        ("", "", "1") => format!("{id}#R{}{raw}", if len == "0" { "" } else { len }),
        ("", "", _) => format!("{id}#{data}{raw}"),
        _ => {
            let flags = 4 | u8::from(brs == "1") | u8::from(esi == "1") << 1;
            format!("{id}##{flags:X}{data}")
        }
    };
    format!("{us} {bus} {direction} {frame}\n")
}
