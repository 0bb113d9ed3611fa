//! `candor-lab tester`: starts each gateway, measures it, stops it and writes its record.

mod conditions;
mod devices;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use candor_cli::gateway_file::{Form, GatewayFile, plural};
use candor_cli::{Exit, Outcome, render};
use candor_config::engine::Engine;
use candor_config::explain::Miss;
use candor_config::plan::{Echo, Plan};
use candor_core::frame::{Frame, RawId};
use candor_core::job::Job;
use candor_io::can::Stamps;
use candor_io::schedule::{self, Policy};
use candor_lab::device::{BARE_METAL, Device};
use candor_lab::experiment::load::Load;
use candor_lab::record::{ADAPTER_STAMPS, Header, KERNEL_STAMPS, RECORD_EXTENSION, Record};
use candor_lab::tester::{self, Interfaces, Names, Origin, Pattern, PatternError, StampSource, Wire};
use serde::Serialize;

use crate::cli::{TesterArgs, TrafficArgs};
pub(super) use conditions::Conditions;
pub(super) use devices::{DeviceUnderTest, devices_under_test};

/// Progress reports per series.
const REPORTS: u32 = 10;

pub(crate) fn run(args: &TesterArgs) -> Outcome {
    let names = args.interfaces.names();
    let Some(files) = read(&args.gateways, Form::running(args.json))? else { return Ok(Exit::No) };
    let mut devices = devices_under_test(&files, args.conditions.baselines, args.conditions.bare_metal)?;
    if devices.is_empty() {
        let external = || "external".to_owned();
        devices.push(DeviceUnderTest { name: external(), engine: external(), spins: false, gateway: None });
    }
    let processors = processors();
    let Conditions { policy, origin, because } = Conditions::of(args.conditions, processors, &engines(&files))?;
    if let Some(because) = because {
        render::err(&format!("candor-lab: {because}\n"));
    }
    let wire = args.wire_bitrate.map(|nominal| Wire { nominal, data: args.wire_data_bitrate });
    let pattern = Pattern { stamps: args.stamps.source, ..pattern(&args.traffic, wire, origin)? };
    // Errors of the interfaces are reported before the first gateway starts.
    drop(Interfaces::open(names, &pattern)?);
    let folder = args.records.display();
    fs::create_dir_all(&args.records).map_err(|error| format!("Cannot create the directory {folder}: {error}"))?;
    let candor = std::env::current_exe()?;
    let mut exit = Exit::Fine;
    for DeviceUnderTest { name: device, engine, gateway, .. } in devices {
        let say = Say { device: &device, json: args.json };
        say.event(&Event::Start { frames: pattern.frames })?;
        let running = gateway.map(|gateway| Device::start(&candor, &gateway)).transpose()?;
        let record = measure(names, &pattern, policy, header(&device, &engine, names, &pattern), &say)
            .map_err(|error| -> Box<dyn std::error::Error> { error })?;
        let path = write(&args.records, &record)?;
        let said = running.map_or(Ok(Vec::new()), Device::stop)?;
        if engine == BARE_METAL {
            fs::write(args.records.join(format!("{device}.gateway.txt")), said.join("\n") + "\n")?;
        }
        let lost = record.samples.iter().filter(|sample| sample.far_ns.is_none()).count();
        if lost > 0 && lost == record.samples.len() {
            exit = Exit::No;
            let plan = files.iter().find(|(file, _)| devices::name_of(file) == device).map(|(_, plan)| plan);
            render::err(&format!(
                "candor-lab: {device}: no frame arrived on {}. {}\n",
                names.receive,
                advice(plan, &args.traffic.frame, names.send)
            ));
        }
        say.event(&Event::Done { lost, record: path.display().to_string() })?;
    }
    Ok(exit)
}

/// Possible reasons why no frame arrived from the interface `send`; without a plan, something else or a baseline loop forwards.
fn advice(plan: Option<&Plan>, frame: &Frame, send: &str) -> String {
    let jobs = plan.map(candor_config::lower).unwrap_or_default();
    let matches = |job: &Job, frame: &Frame| Miss::of(0, job, frame).is_none();
    if !jobs.is_empty() && !jobs.iter().any(|job| matches(job, frame)) {
        let of_job = |job: &Job| Frame { id: RawId(job.filter.normalise().id), ..*frame };
        let other = jobs.iter().map(|job| (job, of_job(job))).find(|(job, frame)| matches(job, frame));
        let example = other.map_or_else(String::new, |(_, frame)| format!(", such as --frame {frame}"));
        return format!("No route matches {frame}, which the tester sends: select a frame with --frame{example}.");
    }
    let echoes = !jobs.is_empty() && jobs.iter().filter(|job| matches(job, frame)).all(|job| job.echo == Echo::On);
    let echo = if echoes { "" } else { " Between virtual interfaces it needs echo = true (cangw -e)." };
    format!("Does a gateway forward from the bus of {send} to it?{echo}")
}

/// Processors available to this process.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The traffic of the arguments, with kernel stamps.
pub(super) fn pattern(args: &TrafficArgs, wire: Option<Wire>, origin: Origin) -> Result<Pattern, PatternError> {
    let pattern = Pattern {
        template: args.frame,
        frames: args.frames,
        warm_up: args.warm_up,
        gap: (args.gap_min, args.gap_max),
        seed: args.seed,
        timeout: args.lost_after,
        wire,
        origin,
        inside: Stamps::Off,
        stamps: StampSource::Kernel,
    };
    pattern.check()?;
    Ok(pattern)
}

/// Measures on a separate thread, because gateways inherit the scheduling policy of the thread that starts them.
fn measure(
    names: Names<'_>,
    pattern: &Pattern,
    policy: Policy,
    mut header: Header,
    say: &Say<'_>,
) -> Result<Record, Box<dyn std::error::Error + Send + Sync>> {
    thread::scope(|scope| {
        let measuring = scope.spawn(|| {
            prepare(policy, &mut header);
            let every = (pattern.frames / REPORTS).max(1);
            series(names, pattern, header, |done| match done % every {
                0 => say.event(&Event::Progress { done, of: pattern.frames }),
                _ => Ok(()),
            })
        });
        measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Measures one series; calls `progress` with the number of frames so far.
pub(super) fn series(
    names: Names<'_>,
    pattern: &Pattern,
    mut header: Header,
    mut progress: impl FnMut(u32) -> io::Result<()>,
) -> Result<Record, Box<dyn std::error::Error + Send + Sync>> {
    // Opened for each series, so that no frame of the previous one is queued.
    let mut interfaces = Interfaces::open(names, pattern)?;
    header.start_realtime_ns = candor_io::clock::realtime()?.0;
    let mut reported = Ok(());
    let series = tester::measure(&mut interfaces, pattern, |done| {
        if reported.is_ok() {
            reported = progress(done);
        }
    })?;
    reported?;
    header.late_or_duplicate_frames = series.late_or_duplicate;
    header.foreign_frames = series.foreign;
    header.overlapped_frames = series.overlapped;
    Ok(Record { header, samples: series.samples })
}

/// Sets the scheduling policy and locks the memory; a failure is a warning in the record.
pub(super) fn prepare(policy: Policy, header: &mut Header) {
    match schedule::set_policy(policy) {
        Ok(()) => header.tester_policy = name_of_policy(policy),
        Err(error) => {
            header
                .warnings
                .push(format!("The tester could not set {} (needs CAP_SYS_NICE): {error}", name_of_policy(policy)));
        }
    }
    if let Err(error) = schedule::lock_memory() {
        header.warnings.push(format!("The tester's memory is not locked (needs CAP_IPC_LOCK): {error}"));
    }
}

fn name_of_policy(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => format!("SCHED_FIFO {priority}"),
        Policy::Idle => "SCHED_IDLE".to_owned(),
        Policy::Normal => "SCHED_OTHER".to_owned(),
        Policy::RoundRobin(priority) => format!("SCHED_RR {priority}"),
    }
}

/// `uname -r`.
pub(super) fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// The platform as described by the testbed, and the kernel command line without words that contain paths, which change
/// from run to run.
pub(super) fn platform(described: Option<&str>, command_line: &str) -> BTreeMap<String, String> {
    let mut platform: BTreeMap<String, String> =
        described.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let words: Vec<&str> = command_line.split_whitespace().filter(|word| !word.contains('/')).collect();
    if !words.is_empty() {
        platform.insert("kernel_command_line".to_owned(), words.join(" "));
    }
    platform
}

/// Nanoseconds per instruction, if the clock counts them.
pub(super) fn instruction_ns() -> Option<u32> {
    std::env::var("CANDOR_INSTRUCTION_NS").ok()?.parse().ok()
}

/// The header of a record before the measurement.
pub(super) fn header(device: &str, engine: &str, names: Names<'_>, pattern: &Pattern) -> Header {
    let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let variable = |name: &str| std::env::var(name).ok();
    Header {
        device: device.to_owned(),
        engine: engine.to_owned(),
        testbed: variable("CANDOR_TESTBED").unwrap_or_else(|| "host".to_owned()),
        instruction_ns: instruction_ns(),
        topology: variable("CANDOR_TOPOLOGY"),
        kernel_release: kernel_release(),
        platform: platform(
            variable("CANDOR_PLATFORM").as_deref(),
            &fs::read_to_string("/proc/cmdline").unwrap_or_default(),
        ),
        candor_version: env!("CARGO_PKG_VERSION").to_owned(),
        frame: pattern.template.to_string(),
        send: names.send.to_owned(),
        monitor: names.monitor.to_owned(),
        receive: names.receive.to_owned(),
        traffic: pattern.origin.traffic().to_owned(),
        tester_policy: name_of_policy(Policy::Normal),
        stamps: match pattern.stamps {
            StampSource::Hardware => ADAPTER_STAMPS.to_owned(),
            StampSource::Kernel => KERNEL_STAMPS.to_owned(),
        },
        gap_min_ns: nanoseconds(pattern.gap.0),
        gap_max_ns: nanoseconds(pattern.gap.1),
        seed: pattern.seed,
        timeout_ns: nanoseconds(pattern.timeout),
        warm_up_frames: pattern.warm_up,
        start_realtime_ns: 0,
        wire_bits_per_second: pattern.wire.map(|wire| wire.nominal.bits_per_second()),
        wire_data_bits_per_second: pattern.wire.and_then(|wire| wire.data).map(|rate| rate.bits_per_second()),
        late_or_duplicate_frames: 0,
        foreign_frames: 0,
        overlapped_frames: 0,
        warnings: Vec::new(),
        load: Load::None.to_string(),
        activity_per_second: BTreeMap::new(),
        throughput: None,
        levels: Vec::new(),
    }
}

pub(super) type Plans = Vec<(PathBuf, Plan)>;

/// Loads gateway files; `None` after printing findings.
pub(super) fn read(files: &[PathBuf], form: Form) -> Result<Option<Plans>, Box<dyn std::error::Error>> {
    let mut plans = Vec::new();
    for file in files {
        let gateway = GatewayFile::read(file)?;
        let Some(loaded) = gateway.gateway_or_say(form)? else { return Ok(None) };
        plans.push((file.clone(), loaded.plan.clone()));
    }
    Ok(Some(plans))
}

pub(super) fn engines(files: &[(PathBuf, Plan)]) -> Vec<Engine> {
    files.iter().map(|(_, plan)| plan.engine()).collect()
}

fn write(folder: &Path, record: &Record) -> io::Result<PathBuf> {
    let path = folder.join(format!("{}.{RECORD_EXTENSION}", record.header.device));
    fs::write(&path, record.to_text())
        .map_err(|error| io::Error::new(error.kind(), format!("Cannot write {}: {error}", path.display())))?;
    Ok(path)
}

/// Progress of the tester: text, or JSON lines for `candor-lab bench`.
struct Say<'a> {
    device: &'a str,
    json: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EventView<'a> {
    device: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    Start { frames: u32 },
    Progress { done: u32, of: u32 },
    Done { lost: usize, record: String },
}

impl Say<'_> {
    fn event(&self, event: &Event) -> io::Result<()> {
        let device = self.device;
        if self.json {
            return render::out(&render::line(&EventView { device, event }));
        }
        let text = match event {
            Event::Start { frames } => format!("start: {}", plural(*frames as usize, "frame")),
            Event::Progress { done, of } => format!("progress: {done} of {of}"),
            Event::Done { lost, record } => format!("done: {lost} lost, {record}"),
        };
        render::out(&format!("{device}: {text}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_silence_depends_on_the_routes() {
        let of = |keys: &str| {
            let text = format!(
                "[bus.a]\ninterface = \"vcan0\"\n[bus.b]\ninterface = \"vcan1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{keys}"
            );
            let plan = candor_config::config::load(text.as_bytes()).unwrap().plan;
            advice(Some(&plan), &"123#0000".parse().unwrap(), "vcan0")
        };
        let frame = of("match = \"321\"\necho = true\n");
        assert!(frame.contains("No route matches 123#0000") && frame.contains("--frame 321#0000"), "{frame}");
        assert!(!frame.contains("echo"), "{frame}");
        assert!(!of("echo = true\n").contains("echo"));
        assert!(
            of("").contains("echo = true")
                && advice(None, &"123#0000".parse().unwrap(), "vcan0").contains("echo = true")
        );
    }

    #[test]
    fn events_have_the_published_keys() {
        let record = "kernel.record.csv".to_owned();
        for event in [Event::Start { frames: 9 }, Event::Progress { done: 1, of: 9 }, Event::Done { lost: 1, record }] {
            candor_cli::schema::assert_valid("candor-lab tester", &EventView { device: "kernel", event: &event });
        }
    }

    #[test]
    fn platform_omits_paths_of_command_line() {
        let found = platform(Some(r#"{"qemu":"7.2"}"#), "quiet initrd=/tmp/x panic=-1 isolcpus=1\n");
        let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, [("kernel_command_line", "quiet panic=-1 isolcpus=1"), ("qemu", "7.2")]);
        assert!(platform(None, "\n").is_empty());
    }
}
