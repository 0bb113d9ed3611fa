//! `candor-lab cells`: measures the cells of a plan in a guest, one after the other, and reports their states.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_config::config;
use candor_config::plan::BusIndex;
use candor_core::causes;
use candor_core::frame::Frame;
use candor_core::ruleset::{Routed, RuleSet};
use candor_egress::policy::FrameRate;
use candor_io::can::Stamps;
use candor_io::{clock, process};
use candor_lab::cells::{CellOrder, Device, Order, Said, State, SupervisorOrder};
use candor_lab::device::BARE_METAL;
use candor_lab::experiment::load::Load;
use candor_lab::experiment::traffic::Traffic;
use candor_lab::experiment::{replay, schedule};
use candor_lab::load::Activity;
use candor_lab::open_loop::{self, Frames, Hearing};
use candor_lab::profile;
use candor_lab::record::{self, Disposition, Inside, RECORD_EXTENSION, Record, baseline_of};
use candor_lab::tester::{Names, Origin, Pattern, StampSource, Wire};
use candor_lab::throughput;

use super::device::{CellDevice, Gone};
use super::method::Failed;
use super::tester::{self, Conditions, processors};
use crate::cli::{ConditionArgs, LabCellsArgs, TesterPolicy};

/// Appended to the stamps of a record that has those of the sender, …
const SENDER_STAMPS: &str = ", the sender's error queue (SO_TIMESTAMPING in software: TX_SCHED, TX_SOFTWARE)";
/// … and if the tester waits for each frame.
const READ_STAMPS: &str = ", the clock when the tester had read a frame";

/// Maximum p99 of the lateness of sending, in percent of the mean period.
const MOST_LATENESS_PERCENT: i64 = 10;
/// Maximum of frames that were sent before the previous frame arrived, if sent one at a time.
const MOST_OVERLAPPED_PERCENT: usize = 1;

pub(crate) fn run(args: &LabCellsArgs) -> Outcome {
    let text =
        fs::read_to_string(&args.order).map_err(|error| format!("Cannot read {}: {error}", args.order.display()))?;
    let order: Order = serde_json::from_str(&text)?;
    if order.addresses {
        process::set_stack_limit(profile::STACK_MIB)?;
    }
    for cell in &order.cells {
        say(cell, State::Begun)?;
        let state = match measure(cell, &order, &args.records) {
            Ok(None) => State::Ok,
            Ok(Some(invalid)) => State::Invalid(invalid),
            // The cell must be measured again.
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

/// Measures one cell and writes its record. Returns the reason if the record is invalid.
fn measure(cell: &CellOrder, order: &Order, records: &Path) -> Result<Option<String>, Failed> {
    let supervisor = order.supervisor.as_ref();
    let (traffic, load): (Traffic, Load) = (cell.traffic.parse()?, cell.load.parse()?);
    let frame: Frame = cell.frame.parse()?;
    let candor = std::env::current_exe()?;
    let expected = Prediction::of(&cell.device);
    let series = Planned::of(cell, frame, &traffic, order)?;
    if let Some(frame) = expected.as_ref().and_then(|expected| series.none_passes(expected)) {
        return Err(format!("The rules do not forward the frame {frame}").into());
    }
    let running = CellDevice::start(&candor, cell, load, supervisor)?;
    let mut record = thread::scope(|scope| {
        let work = || match traffic {
            Traffic::OneAtATime => one_at_a_time(cell, order, frame),
            _ => at_moments(cell, series, &traffic, expected.as_ref()),
        };
        scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    record.header.warnings.extend(unstamped(&record));
    if order.addresses {
        write(&records.join(profile::ADDRESSES), &profile::of_this_machine()?)?;
    }
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

/// Sends each frame when the previous one has arrived.
fn one_at_a_time(cell: &CellOrder, order: &Order, frame: Frame) -> Result<Record, Failed> {
    let supervisor = order.supervisor.as_ref();
    let processors = match supervisor {
        // A guest has one, and the results of a plan do not depend on the host.
        None => 1,
        Some(SupervisorOrder { machine: None, .. }) => processors(),
        // The gateway has its own processors.
        Some(SupervisorOrder { machine: Some(_), .. }) => processors().max(2),
    };
    let frames_from = Some(if cell.from_timer && processors == 1 { Origin::Timer } else { Origin::Call });
    let asked = ConditionArgs { frames_from, policy: TesterPolicy(None), baselines: false, bare_metal: false };
    // The plan has selected a source that suits all of its engines.
    let Conditions { policy, origin, .. } = Conditions::of(asked, processors, &[])?;
    let pattern = Pattern { origin, ..described(cell, frame) };
    pattern.check()?;
    let mut header = header(cell, &pattern);
    if (pattern.inside, pattern.origin) == (Stamps::On, Origin::Call) {
        header.stamps.push_str(SENDER_STAMPS);
        header.stamps.push_str(READ_STAMPS);
    }
    tester::prepare(policy, &mut header);
    let before = (Activity::now(), clock::monotonic()?);
    let mut record = tester::series(names(cell), &pattern, header, |done| {
        say(cell, State::Done(done))?;
        if order.addresses && done == profile::UNTRACED { profile::wait_for_trace() } else { Ok(()) }
    })?;
    add_activity(&mut record, &before)?;
    Ok(record)
}

/// Frames and their send times; empty if they are sent one at a time.
struct Planned {
    frames: Frames,
    moments: Vec<u64>,
    /// Upper end of the search for the throughput.
    up_to: Option<FrameRate>,
}

impl Planned {
    fn of(cell: &CellOrder, frame: Frame, traffic: &Traffic, order: &Order) -> Result<Self, Failed> {
        let count = cell.warm_up + cell.frames;
        if let Traffic::Replay { file, interface } = traffic {
            let log = order.logs.get(file).ok_or_else(|| format!("The log {file} is missing"))?;
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

    /// The first frame, if the rules block all of them.
    fn none_passes(&self, expected: &Prediction) -> Option<Frame> {
        let frames = match &self.frames {
            Frames::Given(frames) => &frames[..],
            Frames::Numbered(frame) => std::slice::from_ref(frame),
        };
        frames.iter().all(|frame| expected.of_frame(frame).is_none()).then(|| frames.first().copied())?
    }
}

/// Sends frames at planned times.
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
        frames: u32::try_from(count)?.saturating_sub(cell.warm_up),
        gap: (Duration::ZERO, Duration::ZERO),
        origin: Origin::Timer,
        ..described(cell, cell.frame.parse()?)
    };
    let mut header = header(cell, &described);
    header.traffic = traffic.to_string();
    let hearing = match described.stamps {
        StampSource::Hardware => Hearing::Adapter,
        StampSource::Kernel if cell.ends.hears_leaving => Hearing::Leaving,
        StampSource::Kernel => Hearing::Arriving,
    };
    header.stamps = hearing.stamps().to_owned();
    if described.inside == Stamps::On {
        header.stamps.push_str(SENDER_STAMPS);
    }
    tester::prepare(TesterPolicy::FIFO, &mut header);
    let Names { send, monitor, receive } = names(cell);
    let mut bench = open_loop::Bench::open((send, monitor, receive), hearing, described.inside, count)?;
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
    let mut reported = Ok(());
    let series = bench.measure(&pattern, predict, |done| {
        if reported.is_ok() {
            reported = say(cell, State::Done(done.saturating_sub(cell.warm_up)));
        }
    })?;
    reported?;
    header.start_realtime_ns = series.start_realtime_ns;
    header.late_or_duplicate_frames = series.doubled;
    header.foreign_frames = series.strange;
    let mut record = Record { header, samples: series.samples };
    add_activity(&mut record, &before)?;
    Ok(record)
}

fn names(cell: &CellOrder) -> Names<'_> {
    let ends = &cell.ends;
    Names { send: &ends.send, monitor: &ends.monitor, receive: &ends.receive }
}

/// The traffic of a cell, as in its record.
fn described(cell: &CellOrder, frame: Frame) -> Pattern {
    Pattern {
        template: frame,
        frames: cell.frames,
        warm_up: cell.warm_up,
        gap: (Duration::from_nanos(cell.gap_ns.0), Duration::from_nanos(cell.gap_ns.1)),
        seed: cell.seed,
        timeout: Duration::from_nanos(cell.lost_after_ns),
        wire: wire(cell),
        origin: Origin::Call,
        inside: if cell.stages { Stamps::On } else { Stamps::Off },
        stamps: if cell.hardware_stamps { StampSource::Hardware } else { StampSource::Kernel },
    }
}

/// The second bus, whose frame time is subtracted. A null cell has none, because it receives on the first bus.
fn wire(cell: &CellOrder) -> Option<Wire> {
    cell.wire.filter(|_| cell.device != Device::None)?.wire()
}

fn header(cell: &CellOrder, pattern: &Pattern) -> record::Header {
    let engine = match &cell.device {
        Device::None => "none",
        Device::External => "external",
        Device::Candor { engine, .. } => engine,
        Device::Baseline { engine, .. } => &baseline_of(engine),
        Device::BareMetal { .. } => BARE_METAL,
        Device::Command { .. } => "command",
    };
    let device = cell.levels.iter().find(|(factor, _)| factor == "gateway").map_or(engine, |(_, level)| level);
    let mut header = tester::header(device, engine, names(cell), pattern);
    header.load.clone_from(&cell.load);
    header.levels.clone_from(&cell.levels);
    header
}

fn add_activity(record: &mut Record, (before, began): &(Activity, clock::MonotonicNs)) -> Result<(), Failed> {
    let nanoseconds = u64::try_from(clock::monotonic()?.0 - began.0)?;
    record.header.activity_per_second = Activity::now().per_second_since(before, Duration::from_nanos(nanoseconds));
    Ok(())
}

/// Predicts the output of the gateway's rules.
struct Prediction {
    rules: RuleSet,
    to: BusIndex,
    from: BusIndex,
}

impl Prediction {
    /// `None` if the rules are not known.
    fn of(device: &Device) -> Option<Self> {
        let (file, database) = match device {
            Device::Candor { file, database, .. } => (file, database.as_deref()),
            Device::BareMetal { file } => (file, None),
            _ => return None,
        };
        let mut read = |_: &str| database.map(Into::into).ok_or_else(String::new);
        let plan = config::load_for(file.as_bytes(), None, &mut read).ok()?.plan;
        if plan.composing_buses().next().is_some() {
            return None;
        }
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

/// A warning if stamps of the sender are missing. Refused frames have none.
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
            "Stamps of the sender are missing for {missing} of {all} frames: their time to the first bus is not divided"
        )
    })
}

/// The reason why a record is invalid; `None` if it is valid.
fn invalid(record: &Record) -> Option<String> {
    let samples = &record.samples;
    if samples.iter().all(|sample| sample.far_ns.is_none()) {
        return Some("no frame arrived".to_owned());
    }
    let unseen = samples.iter().filter(|sample| sample.far_ns.is_some() && sample.monitor_ns.is_none()).count();
    if unseen > 0 {
        return Some(format!("{} without a stamp of the monitor", plural(unseen, "frame")));
    }
    let overlapped = usize::try_from(record.header.overlapped_frames).unwrap_or(usize::MAX);
    if overlapped.saturating_mul(100) > samples.len() * MOST_OVERLAPPED_PERCENT {
        return Some(format!(
            "{overlapped} of {} frames were sent before the previous frame arrived: increase gap-min",
            samples.len()
        ));
    }
    let altered = samples.iter().filter(|sample| sample.disposition == Disposition::Altered).count();
    if altered > 0 {
        return Some(format!("{} not modified as the rules specify", plural(altered, "frame")));
    }
    if record.header.throughput.is_some() {
        // The search has handled late frames.
        return None;
    }
    let (first, last) = (samples.first()?, samples.last()?);
    let gaps = i64::try_from(samples.len()).unwrap_or(i64::MAX) - 1;
    let period = (last.due_ns - first.due_ns).checked_div(gaps).unwrap_or_default();
    let mut lateness: Vec<_> = samples.iter().map(|sample| sample.sent_ns - sample.due_ns).collect();
    lateness.sort_unstable();
    let p99 = lateness[(lateness.len() * 99 / 100).min(lateness.len() - 1)];
    (p99 > period * MOST_LATENESS_PERCENT / 100 && p99 > 0)
        .then(|| format!("the tester was late: 1 of 100 frames by {p99} ns or more, with a period of {period} ns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prediction_applies_the_rules() {
        let file = "engine = \"read-write\"\n[bus.first]\ninterface = \"a\"\n[bus.second]\ninterface = \"b\"\n\
                    [[route]]\nname = \"r\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"123\"\nframes = \"classic\"\nset = { data = \"FF00000000000000\" }\n";
        let device = Device::Candor { engine: "read-write".into(), file: file.into(), database: None };
        let prediction = Prediction::of(&device).unwrap();
        let frame: Frame = "123#1122334455667788".parse().unwrap();
        assert_eq!(prediction.of_frame(&frame).unwrap().to_string(), "123#FF00000000000000");
        assert_eq!(prediction.of_frame(&"124#11".parse().unwrap()), None);
        assert!(Prediction::of(&Device::None).is_none());
    }
}
