use std::path::Path;

use candor_config::config;
use candor_core::frame::{CANFD_BRS, Frame, RawId};
use candor_core::random::SplitMix64;
use candor_recording::{Buses, Clock, Format, Record, Sink};

use super::*;
use crate::cli::BusLog;

const MS: u64 = 1_000_000;
const GATEWAY: &str = "\
[bus.powertrain]
interface = \"can0\"
bitrate = \"500kbit/s\"
data-bitrate = \"2Mbit/s\"
[bus.body]
interface = \"can1\"
bitrate = \"125kbit/s\"
[[route]]
name = \"r\"
from = \"powertrain\"
to = \"body\"
match = \"0A0\"
frames = \"classic\"
";

/// Identifier, period in ms, jitter in ms, payload in bytes.
const TRUTH: [(u32, u64, u64, u8); 4] = [(0x0A0, 10, 2, 8), (0x110, 20, 0, 5), (0x7E8, 100, 30, 8), (0x300, 50, 1, 48)];

/// Two minutes of frames that end up to 250 us after they were queued, as on a bus; and copies of one of them on another bus.
fn records() -> (Vec<Record>, Buses) {
    let mut buses = Buses::new();
    let (powertrain, body) = (buses.index(b"can0").unwrap(), buses.index(b"can1").unwrap());
    let mut random = SplitMix64::new(7);
    let mut all = Vec::new();
    for (id, period, jitter, len) in TRUTH {
        let payload = vec![0x55; len.into()];
        let frame =
            if len > 8 { Frame::fd(RawId(id), CANFD_BRS, &payload) } else { Frame::classic(RawId(id), &payload) };
        let mut last = 0;
        for number in 0..120_000 / period {
            let queued = 1000 * MS + number * period * MS + random.next_u64() % (jitter * MS + 1);
            last = (queued + 200_000 + random.next_u64() % 50_000).max(last + 200_000);
            let at_ns = i64::try_from(last).unwrap();
            all.push(Record { at_ns, clock: Clock::Start, bus: powertrain, direction: None, frame: frame.unwrap() });
            if id == 0x0A0 {
                all.push(Record { at_ns: at_ns + 1_500_000, bus: body, ..*all.last().unwrap() });
            }
        }
    }
    let rare = Frame::classic(RawId(0x6FF), &[1]).unwrap();
    all.push(Record { at_ns: 3_000_000_000, bus: body, frame: rare, ..all[0] });
    all.sort_by_key(|record| record.at_ns);
    (all, buses)
}

fn write(path: &Path, format: Format) {
    let mut sink = Sink::new(format, std::fs::File::create(path).unwrap());
    let (records, buses) = records();
    records.iter().for_each(|record| sink.write(record, &buses).unwrap());
    sink.finish().unwrap();
}

/// What is learned of a log in this format, and its text.
fn learn(format: Format, gateway: Option<&str>) -> (Vec<Learned>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("drive.{}", format.endings()[0]));
    write(&path, format);
    let loaded = gateway.map(|text| config::load(text.as_bytes()).unwrap());
    let known = loaded.as_ref().map(|loaded| Known { file: "car.toml", plan: &loaded.plan });
    let mut logs = Logs::default();
    logs.read(&BusLog { path, bus: None }, None, known.as_ref()).unwrap();
    let mut learned = learned(&logs);
    known.iter().for_each(|known| known.leave_out(&mut learned));
    let text = View::of(&logs, &learned).text();
    (learned, text)
}

#[test]
fn learns_what_generated_logs_were_made_of() {
    for format in [Format::Candump, Format::Pcapng, Format::Asc] {
        let (learned, _) = learn(format, None);
        for (id, period, jitter, len) in TRUTH {
            let found = learned.iter().find(|one| (one.id, &*one.bus) == (id, "can0")).unwrap();
            assert_eq!((found.shape.len, found.shape.bit_rate_switch), (len, len > 8));
            let Arrivals::Cyclic { period_ns, jitter_ns } = found.arrivals else { panic!("{id:X} has no period") };
            let share = period_ns as f64 / (period * MS) as f64;
            assert!((0.998..1.0005).contains(&share), "{id:X}: {period_ns}");
            // The jitter of the sender, and the 50 us for which a frame may have waited.
            let most = jitter * MS + 50_000;
            assert!(jitter_ns <= most + most / 10, "{id:X}: {jitter_ns}");
            assert!(jitter_ns >= jitter * MS * 8 / 10, "{id:X}: {jitter_ns}");
        }
    }
}

#[test]
fn the_printed_tables_are_those_of_a_gateway_file() {
    let (learned, text) = learn(Format::Candump, Some(GATEWAY));
    let loaded = config::load(format!("{GATEWAY}\n{text}").as_bytes()).unwrap();
    assert_eq!(loaded.plan.traffic().len(), TRUTH.len());
    assert!(text.contains("# left out: 0A0: car.toml forwards it from powertrain"), "{text}");
    assert!(text.contains("# left out: 6FF seen once"), "{text}");
    // A second time, the file has all of them.
    let again = config::load(format!("{GATEWAY}\n{text}").as_bytes()).unwrap();
    let known = Known { file: "car.toml", plan: &again.plan };
    let mut learned = learned;
    known.leave_out(&mut learned);
    assert!(learned.iter().all(|one| one.left_out.is_some()));
    let question = candor_config::bounds::Question {
        latency: Some(Duration::from_millis(1)),
        ..candor_config::bounds::Question::default()
    };
    let model = candor_config::bounds::Model::of(&loaded.plan, &question).unwrap();
    assert_eq!(model.network.messages.len(), TRUTH.len() + 1, "and the copy of 0A0");
}
