//! `candor-lab cells`: measures the cells of a plan in a guest, one after the other, and tells what becomes of each.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use candor_config::config;
use candor_config::plan::BusIndex;
use candor_core::causes;
use candor_core::frame::Frame;
use candor_core::ruleset::{Routed, RuleSet};
use candor_egress::policy::FrameRate;
use candor_io::can::Stamps;
use candor_io::clock;
use candor_lab::cells::{CellOrder, Device, Order, Said, State, SupervisorOrder};
use candor_lab::experiment::load::Load;
use candor_lab::experiment::traffic::Traffic;
use candor_lab::experiment::{replay, schedule};
use candor_lab::load::Activity;
use candor_lab::open_loop::{self, Frames, Hearing};
use candor_lab::record;
use candor_lab::record::{Disposition, Inside, RECORD_EXTENSION, Record, baseline_of};
use candor_lab::tester::{Names, Origin, Pattern, StampSource, Wire};
use candor_lab::throughput;

use super::device::DeviceUnderTest;
use super::load::Failed;
use crate::cli::{ConditionArgs, FramesFrom, LabCellsArgs, TesterPolicy};
use crate::cmd::tester::{self, Conditions, processors};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// What is said besides where the sender's stamps are kept, …
const SENDER_STAMPS: &str = ", the sender's error queue (SO_TIMESTAMPING in software: TX_SCHED, TX_SOFTWARE)";
/// … and where a program of the tester waits for each frame.
const READ_STAMPS: &str = ", the clock when the tester had read a frame";

/// p99 of the lateness of sending, beyond this share of the mean period, says that the frames did not come as they were to.
const MOST_LATENESS_PERCENT: i64 = 10;

/// More frames than this that met the one ahead of them say that the figures are not of one frame at a time.
const MOST_OVERLAPPED_PERCENT: usize = 1;

pub(crate) fn run(args: &LabCellsArgs) -> Outcome {
    let text =
        fs::read_to_string(&args.order).map_err(|error| format!("Cannot read {}: {error}", args.order.display()))?;
    let order: Order = serde_json::from_str(&text)?;
    for cell in &order.cells {
        say(cell, State::Begun)?;
        let state = match measure(cell, &order, &args.records) {
            Ok(None) => State::Ok,
            Ok(Some(invalid)) => State::Invalid(invalid),
            // It says nothing of the cell, which is to be measured again.
            Err(error) if error.is::<Gone>() => return Err(error),
            Err(error) => State::Failed(causes::in_full(&*error)),
        };
        say(cell, state)?;
    }
    Ok(Exit::Fine)
}

fn say(cell: &CellOrder, state: State) -> std::io::Result<()> {
    let said = Said { cell: cell.name.clone(), state };
    let line = serde_json::to_string(&said).map_err(std::io::Error::other)?;
    render::out(&format!("{line}\n"))
}

/// Measures one cell and writes its record. Says why the record tells nothing of the gateway, if it does not.
fn measure(cell: &CellOrder, order: &Order, records: &Path) -> Result<Option<String>, Failed> {
    let supervisor = order.supervisor.as_ref();
    let (traffic, load): (Traffic, Load) = (cell.traffic.parse()?, cell.load.parse()?);
    let frame: Frame = cell.frame.parse()?;
    let candor = std::env::current_exe()?;
    let expected = Prediction::of(&cell.device);
    let series = Planned::of(cell, frame, &traffic, order)?;
    if let Some(frame) = expected.as_ref().and_then(|expected| series.none_passes(expected)) {
        return Err(format!("The rules let no frame {frame} through").into());
    }
    let running = DeviceUnderTest::start(&candor, cell, load, supervisor)?;
    let mut record = thread::scope(|scope| {
        let work = || match traffic {
            Traffic::OneAtATime => one_at_a_time(cell, supervisor, frame),
            _ => at_moments(cell, series, &traffic, expected.as_ref()),
        };
        scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    record.header.warnings.extend(unstamped(&record));
    let said = running.end(&mut record.header, supervisor)?;
    write(&records.join(format!("{}.{RECORD_EXTENSION}", cell.name)), &record.to_text())?;
    if !said.is_empty() {
        write(&records.join(format!("{}.gateway.txt", cell.name)), &(said.join("\n") + "\n"))?;
    }
    Ok(invalid(&record))
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    fs::write(path, text).map_err(|error| format!("Cannot write {}: {error}", path.display()).into())
}

/// One frame, and the next one when it has arrived.
fn one_at_a_time(cell: &CellOrder, supervisor: Option<&SupervisorOrder>, frame: Frame) -> Result<Record, Failed> {
    let processors = match supervisor {
        // Guests have one, and what a plan gives does not depend on where it runs.
        None => 1,
        Some(SupervisorOrder { machine: None, .. }) => processors(),
        // The gateway has others than the tester.
        Some(SupervisorOrder { machine: Some(_), .. }) => processors().max(2),
    };
    let frames_from = if cell.from_timer && processors == 1 { FramesFrom::Timer } else { FramesFrom::Call };
    let asked = ConditionArgs { frames_from, policy: TesterPolicy(None), baselines: false };
    // A timer is what every engine of the plan can be measured with, so there is no need to look at this one.
    let Conditions { policy, origin, .. } = Conditions::of(asked, processors, &[])?;
    let pattern = Pattern {
        template: frame,
        frames: cell.frames,
        warm_up: cell.warm_up,
        gap: (Duration::from_nanos(cell.gap_ns.0), Duration::from_nanos(cell.gap_ns.1)),
        seed: cell.seed,
        timeout: Duration::from_nanos(cell.lost_after_ns),
        wire: wire(cell),
        origin,
        inside: inside(cell),
        stamps: source(cell),
    };
    pattern.check()?;
    let mut header = header(cell, &pattern);
    if (pattern.inside, pattern.origin) == (Stamps::On, Origin::Call) {
        header.stamps.push_str(SENDER_STAMPS);
        header.stamps.push_str(READ_STAMPS);
    }
    tester::prepare(policy, &mut header);
    let before = (Activity::now(), clock::monotonic()?);
    let mut record = tester::series(names(cell), &pattern, header, |done| say(cell, State::Done(done)))?;
    tell_activity(&mut record, &before)?;
    Ok(record)
}

/// Frames and their moments; neither where frames come one at a time.
struct Planned {
    frames: Frames,
    moments: Vec<u64>,
    /// Where the search for their rate ends, if it is searched.
    up_to: Option<FrameRate>,
}

impl Planned {
    fn of(cell: &CellOrder, frame: Frame, traffic: &Traffic, order: &Order) -> Result<Self, Failed> {
        let count = cell.warm_up + cell.frames;
        if let Traffic::Replay { file, interface } = traffic {
            let log = order.logs.get(file).ok_or_else(|| format!("The log {file} has not come along"))?;
            let mut log = replay::frames(log, interface.as_deref()).map_err(|error| format!("{file}: {error}"))?;
            log.truncate(count as usize);
            let frames = Frames::Given(log.iter().map(|one| one.frame).collect());
            return Ok(Self { frames, moments: log.iter().map(|one| one.at_ns).collect(), up_to: None });
        }
        let bus = cell.bus.wire().ok_or("a bus has a bit rate")?;
        let numbered = |number: u32| open_loop::numbered(frame, number);
        let up_to = match *traffic {
            Traffic::Throughput { up_to } => Some(schedule::frame_rate(up_to, &frame, bus)),
            _ => None,
        };
        let moments = match up_to {
            Some(rate) => schedule::at_rate(rate, count),
            None => schedule::moments(traffic, count, numbered, bus, cell.seed).unwrap_or_default(),
        };
        Ok(Self { frames: Frames::Numbered(frame), moments, up_to })
    }

    /// A frame that the rules keep back as they do all others.
    fn none_passes(&self, expected: &Prediction) -> Option<Frame> {
        let frames = match &self.frames {
            Frames::Given(frames) => &frames[..],
            Frames::Numbered(frame) => std::slice::from_ref(frame),
        };
        frames.iter().all(|frame| expected.of_frame(frame).is_none()).then(|| frames.first().copied())?
    }
}

/// Frames at moments of their own.
fn at_moments(
    cell: &CellOrder,
    Planned { frames, moments, up_to }: Planned,
    traffic: &Traffic,
    expected: Option<&Prediction>,
) -> Result<Record, Failed> {
    let count = moments.len();
    let mut pattern = open_loop::Pattern {
        frames,
        moments,
        warm_up: cell.warm_up,
        lost_after: Duration::from_nanos(cell.lost_after_ns),
        wire: wire(cell),
    };
    let described = Pattern {
        template: cell.frame.parse()?,
        frames: u32::try_from(count)?.saturating_sub(cell.warm_up),
        warm_up: cell.warm_up,
        gap: (Duration::ZERO, Duration::ZERO),
        seed: cell.seed,
        timeout: pattern.lost_after,
        wire: pattern.wire,
        origin: Origin::Timer,
        inside: inside(cell),
        stamps: source(cell),
    };
    let mut header = header(cell, &described);
    header.traffic = traffic.to_string();
    let hearing = match described.stamps {
        StampSource::Hardware => Hearing::Adapter,
        StampSource::Kernel if cell.ends.hears_leaving => Hearing::Leaving,
        StampSource::Kernel => Hearing::Arriving,
    };
    header.stamps = hearing.stamps().to_owned();
    if inside(cell) == Stamps::On {
        header.stamps.push_str(SENDER_STAMPS);
    }
    tester::prepare(TesterPolicy::FIFO, &mut header);
    let Names { send, monitor, receive } = names(cell);
    let mut bench = open_loop::Bench::open((send, monitor, receive), hearing, inside(cell), count)?;
    let before = (Activity::now(), clock::monotonic()?);
    let predict = expected.map(|expected| |frame: &Frame| expected.of_frame(frame));
    let predict = predict.as_ref().map(|predict| -> &dyn Fn(&Frame) -> Option<Frame> { predict });
    if let Some(up_to) = up_to {
        let mut warm_up = pattern.warm_up;
        let (searched, found) = throughput::search(up_to, |rate| {
            let warm_up = std::mem::take(&mut warm_up);
            let moments = schedule::at_rate(rate, warm_up + described.frames);
            let trial =
                bench.measure(&open_loop::Pattern { moments, warm_up, ..pattern.clone() }, predict, |_done| {})?;
            Ok(open_loop::trial_of(&trial.samples, rate))
        })?;
        pattern.moments = schedule::at_rate(found.ndr.tried(), u32::try_from(count)?);
        header.throughput = Some(searched);
    }
    let mut told = Ok(());
    let series = bench.measure(&pattern, predict, |done| {
        if told.is_ok() {
            told = say(cell, State::Done(done.saturating_sub(cell.warm_up)));
        }
    })?;
    told?;
    header.start_realtime_ns = series.start_realtime_ns;
    header.late_or_duplicate_frames = series.doubled;
    header.foreign_frames = series.strange;
    let mut record = Record { header, samples: series.samples };
    tell_activity(&mut record, &before)?;
    Ok(record)
}

fn names(cell: &CellOrder) -> Names<'_> {
    let ends = &cell.ends;
    Names { send: &ends.send, monitor: &ends.monitor, receive: &ends.receive }
}

fn inside(cell: &CellOrder) -> Stamps {
    if cell.stages { Stamps::On } else { Stamps::Off }
}

fn source(cell: &CellOrder) -> StampSource {
    if cell.hardware_stamps { StampSource::Hardware } else { StampSource::Kernel }
}

/// The second wire, where its time is not the gateway's. A null cell has none: what it hears is on the first.
fn wire(cell: &CellOrder) -> Option<Wire> {
    cell.wire.filter(|_| cell.device != Device::None)?.wire()
}

fn header(cell: &CellOrder, pattern: &Pattern) -> record::Header {
    let engine = match &cell.device {
        Device::None => "none",
        Device::External => "external",
        Device::Candor { engine, .. } => engine,
        Device::Baseline { engine, .. } => &baseline_of(engine),
        Device::Command { .. } => "command",
    };
    let device = cell.levels.iter().find(|(factor, _)| factor == "gateway").map_or(engine, |(_, level)| level);
    let mut header = tester::header(device, engine, names(cell), pattern);
    header.load.clone_from(&cell.load);
    header.levels.clone_from(&cell.levels);
    header
}

fn tell_activity(record: &mut Record, (before, began): &(Activity, clock::MonotonicNs)) -> Result<(), Failed> {
    let nanoseconds = u64::try_from(clock::monotonic()?.0 - began.0)?;
    record.header.activity_per_second = Activity::now().per_second_since(before, Duration::from_nanos(nanoseconds));
    Ok(())
}

/// What the gateway's rules make of a frame.
struct Prediction {
    rules: RuleSet,
    to: BusIndex,
    from: BusIndex,
}

impl Prediction {
    /// `None` where candor does not know the rules.
    fn of(device: &Device) -> Option<Self> {
        let Device::Candor { file, .. } = device else { return None };
        let plan = config::load(file.as_bytes()).ok()?.plan;
        let bus = |name: &str| plan.buses().iter().position(|bus| bus.name == name).map(BusIndex);
        let (from, to) = (bus("first")?, bus("second")?);
        let rules = RuleSet::compile(&candor_config::lower(&plan), plan.buses().len());
        Some(Self { rules, to, from })
    }

    fn of_frame(&self, frame: &Frame) -> Option<Frame> {
        let mut out = None;
        self.rules.from_bus(self.from).outcomes(frame, |_job, routed| {
            if let Routed::Send { to, frame } = routed
                && to == self.to
            {
                out.get_or_insert(*frame);
            }
        });
        out
    }
}

/// Which of the sender's stamps did not come, if they were asked for. A frame that the interface had no room for needs none.
fn unstamped(record: &Record) -> Option<String> {
    if !record.header.stamps.contains(SENDER_STAMPS) {
        return None;
    }
    let sent: Vec<_> = record.samples.iter().filter(|sample| sample.disposition != Disposition::Refused).collect();
    let is_whole = |inside: Inside| inside.queued_ns.is_some() && inside.handed_ns.is_some();
    let missing = sent.iter().filter(|sample| !is_whole(sample.inside)).count();
    (missing > 0).then(|| {
        let all = sent.len();
        format!(
            "The sender's stamps did not all come for {missing} of {all} frames: the time to the first bus is one part"
        )
    })
}

/// Why a record says nothing of the gateway.
fn invalid(record: &Record) -> Option<String> {
    let samples = &record.samples;
    if samples.iter().all(|sample| sample.far_ns.is_none()) {
        return Some("no frame arrived".to_owned());
    }
    let unseen = samples.iter().filter(|sample| sample.far_ns.is_some() && sample.monitor_ns.is_none()).count();
    if unseen > 0 {
        return Some(format!("{unseen} frames arrived that the monitor did not see"));
    }
    let overlapped = usize::try_from(record.header.overlapped_frames).unwrap_or(usize::MAX);
    if overlapped.saturating_mul(100) > samples.len() * MOST_OVERLAPPED_PERCENT {
        return Some(format!(
            "{overlapped} of {} frames were sent when the frame that goes ahead was still under way: raise gap-min",
            samples.len()
        ));
    }
    let altered = samples.iter().filter(|sample| sample.disposition == Disposition::Altered).count();
    if altered > 0 {
        return Some(format!("{altered} frames arrived otherwise than the rules say"));
    }
    if record.header.throughput.is_some() {
        // Frames that were sent late have counted in the search already.
        return None;
    }
    let (first, last) = (samples.first()?, samples.last()?);
    let gaps = i64::try_from(samples.len()).unwrap_or(i64::MAX) - 1;
    let period = (last.due_ns - first.due_ns).checked_div(gaps).unwrap_or_default();
    let mut lateness: Vec<_> = samples.iter().map(|sample| sample.sent_ns - sample.due_ns).collect();
    lateness.sort_unstable();
    let p99 = lateness[(lateness.len() * 99 / 100).min(lateness.len() - 1)];
    (p99 > period * MOST_LATENESS_PERCENT / 100 && p99 > 0).then(|| {
        format!("the tester was late: 1 of 100 frames by {p99} ns or more, and there is one every {period} ns")
    })
}

/// What became of a cell is not known, because whoever had its gateway is gone.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Gone(pub(super) String);

/// `candor-lab load` and `candor-lab relay`.
pub(crate) fn be_load(words: &[String]) -> Outcome {
    let load: Load = words.join(" ").parse()?;
    candor_lab::load::be(load, &std::env::current_exe()?, || render::out("ready\n"))?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_predict_what_comes_out() {
        let file = "engine = \"read-write\"\n[bus.first]\ninterface = \"a\"\n[bus.second]\ninterface = \"b\"\n\
                    [[route]]\nname = \"r\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"123\"\nframes = \"classic\"\nset = { data = \"FF00000000000000\" }\n";
        let device = Device::Candor { engine: "read-write".into(), file: file.into() };
        let prediction = Prediction::of(&device).unwrap();
        let frame: Frame = "123#1122334455667788".parse().unwrap();
        assert_eq!(prediction.of_frame(&frame).unwrap().to_string(), "123#FF00000000000000");
        assert_eq!(prediction.of_frame(&"124#11".parse().unwrap()), None);
        assert!(Prediction::of(&Device::None).is_none());
    }
}
