//! Measures conversions of a candump log on one core, file to file:
//! `cargo run --release -p candor-recording --features all --example speed -- LOG [FORMAT]`.
//!
//! Each conversion is repeated, and the shortest processor time counts. If `CANDOR_PYTHON_CAN` is set, python-can does the same with the first
//! 100 000 lines, with a short writer of pcapng, which it does not have; other formats it only reads.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_recording::{Format, Record, Sink};

type Failure = Box<dyn std::error::Error>;

const REPETITIONS: usize = 5;
/// python-can needs a minute for a million lines.
const LINES_OF_PYTHON: usize = 100_000;

/// Arguments: log, output, format. Prints frames per second.
const PYTHON: &str = "
import struct, sys, time
from can.io import *

class PcapngWriter:
    # As short as possible: python-can has none.
    def __init__(self, path):
        self.file, self.buses = open(path, 'wb'), {}
        self.file.write(struct.pack('<IIIHHQI', 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, 2**64 - 1, 28))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def on_message_received(self, message):
        bus = self.buses.get(message.channel)
        if bus is None:
            bus = self.buses[message.channel] = len(self.buses)
            self.file.write(struct.pack('<IIHHIHHB3xII', 1, 32, 227, 0, 0, 9, 1, 9, 0, 32))
        ns = int(message.timestamp * 1e9)
        id = message.arbitration_id | message.is_extended_id << 31 | message.is_remote_frame << 30 | message.is_error_frame << 29
        flags = message.is_fd << 2 | message.error_state_indicator << 1 | message.bitrate_switch
        packet = struct.pack('>IBBxx', id, message.dlc, flags) + message.data
        size = len(packet)
        body = packet + bytes(-size % 4)
        length = 32 + len(body)
        self.file.write(struct.pack('<IIIIIII', 6, length, bus, ns >> 32, ns & 0xFFFFFFFF, size, size) + body
                        + struct.pack('<I', length))

log, output, name = sys.argv[1:]
writers = {'candump': CanutilsLogWriter, 'pcapng': PcapngWriter, 'asc': ASCWriter, 'blf': BLFWriter, 'trc': TRCWriter}
writer = writers.get(name)
start, count = time.process_time(), 0
if writer is None:
    for message in CanutilsLogReader(log):
        count += 1
else:
    with writer(output) as file:
        for message in CanutilsLogReader(log):
            file.on_message_received(message)
            count += 1
print(count / (time.process_time() - start), 'reading only' if writer is None else '')
";

fn convert(log: &Path, output: &Path, to: Format) -> Result<u64, Failure> {
    let mut reader = Format::Candump.reader(File::open(log)?);
    let mut sink = Sink::new(to, File::create(output)?);
    let mut record = Record::EMPTY;
    while reader.read(&mut record)? {
        sink.write(&record, reader.buses())?;
    }
    sink.finish()?;
    Ok(sink.written())
}

/// Processor time of this process in ns.
///
/// # Source
/// [`sched-stats`](https://docs.kernel.org/scheduler/sched-stats.html)
fn processor_ns() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// Frames per second of python-can.
fn python(peer: &Path, log: &Path, output: &Path, to: Format) -> Result<(f64, String), Failure> {
    let mut python = Command::new(peer.join("venv/bin/python"));
    let printed = python.args(["-c", PYTHON]).arg(log).arg(output).arg(to.name()).output()?;
    let text = String::from_utf8(printed.stdout)?;
    let (speed, remark) = text.trim_end_matches('\n').split_once(' ').ok_or("python-can did not finish")?;
    Ok((speed.parse()?, remark.to_owned()))
}

fn main() -> Result<(), Failure> {
    let log: PathBuf = std::env::args_os().nth(1).ok_or("usage: speed LOG [FORMAT]")?.into();
    let peer = std::env::var_os("CANDOR_PYTHON_CAN").map(PathBuf::from);
    let folder = std::env::temp_dir().join(format!("candor-speed-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let (output, short) = (folder.join("output"), folder.join("short.log"));
    let text = fs::read_to_string(&log)?;
    fs::write(&short, text.lines().take(LINES_OF_PYTHON).flat_map(|line| [line, "\n"]).collect::<String>())?;
    println!("candump to     frames/s   ns/frame   python-can frames/s   times");
    let only = std::env::args().nth(2);
    for to in Format::all().filter(|to| only.as_deref().is_none_or(|only| only == to.name())) {
        let (mut best, mut frames) = (f64::INFINITY, 0);
        for _ in 0..REPETITIONS {
            let start = processor_ns()?;
            frames = convert(&log, &output, to)?;
            best = best.min((processor_ns()? - start) as f64 / 1e9);
        }
        let speed = frames as f64 / best;
        print!("{:10} {speed:12.0} {:10.1}", to.name(), 1e9 / speed);
        match &peer {
            None => println!(),
            Some(peer) => {
                let (theirs, remark) = python(peer, &short, &output, to)?;
                println!("   {theirs:19.0} {:7.0} {remark}", speed / theirs);
            }
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}
