//! Measures one gateway in a traced guest.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use candor_config::engine::{Engine, UserEngine};
use candor_core::diagnostic::Diagnostic;
use candor_lab::cells::{Device, Order, Said, State};
use candor_lab::device::{OWN_PROGRAMS, gateway_program};
use candor_lab::experiment::{self, Available};
use candor_lab::guest::{self, GuestSpec, Traced};
use candor_lab::kernel::Testbed;
use candor_lab::observer::Observer;
use candor_lab::profile::{ADDRESSES, Functions, Profile, TRACED, Trace, Tracer, UNTRACED};
use candor_lab::record::{RECORD_EXTENSION, Record};

use super::Failed;
use super::view::Measured;
use crate::cli::ProfileArgs;
use crate::cmd::guests;
use crate::cmd::progress::{JsonLines, Progress};

const FRAMES: u32 = UNTRACED + TRACED;
const WARM_UP: u32 = 100;

#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) what: What,
    /// `None`: the default.
    pub(super) kernel: Option<String>,
    pub(super) modules: Vec<PathBuf>,
    /// candor-lab, with candor next to it.
    pub(super) lab: PathBuf,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Engine(Engine),
    Baseline(UserEngine),
    File { name: String, engine: Engine, text: String },
}

impl What {
    fn name(&self) -> String {
        match self {
            Self::Engine(engine) => engine.name().to_owned(),
            Self::Baseline(engine) => format!("baseline:{}", engine.name()),
            Self::File { name, .. } => name.clone(),
        }
    }
}

pub(super) fn profile(args: &ProfileArgs, subject: &Subject) -> Result<Measured, Failed> {
    let order = order(args, &subject.what)?;
    let cell = order.cells.first().ok_or("The plan has a cell")?.name.clone();
    let folder = tempfile::tempdir()?;
    let traced = Traced { monitor: folder.path().join("monitor"), log: folder.path().join("instructions.log") };
    let out = folder.path().join("out");
    let mut spec = GuestSpec::new(Testbed::Icount, args.topology, subject.lab.clone(), Vec::new());
    order.give_to(&mut spec)?;
    spec.kernel.clone_from(&subject.kernel);
    spec.modules.clone_from(&subject.modules);
    spec.timeout = args.timeout;
    spec.out = Some(out.clone());
    spec.traced = Some(traced.clone());

    let mut watch = Watch::new(traced.monitor);
    let on = subject.kernel.as_ref().map_or_else(String::new, |kernel| format!(" on {kernel}"));
    watch.progress.line(&format!("profiling {}{on}", subject.what.name()));
    let exit = guest::run(&spec, &mut watch);
    watch.progress.clear();
    let exit = exit.inspect_err(guests::show_console)?;
    watch.verdict(exit.status)?;
    let stage = format!("Reading the instructions of {}", subject.what.name());
    watch.progress.stage(&stage);
    let measured = read(&out, &cell, &traced.log, &subject.lab)
        .map(|profile| Measured::of(subject.what.name(), &exit.platform, args.topology, &profile));
    watch.progress.clear();
    measured
}

/// One cell that the tester in the guest measures.
fn order(args: &ProfileArgs, what: &What) -> Result<Order, Failed> {
    let engine = match what {
        What::Engine(engine) | What::File { engine, .. } => format!("engine = \"{}\"", engine.name()),
        What::Baseline(engine) => format!("baseline = \"{}\"", engine.name()),
    };
    let topology = args.topology.name();
    let plan = format!(
        "frames = {FRAMES}\nwarm-up = {WARM_UP}\n[factor]\ntestbed = [\"icount\"]\ntopology = [\"{topology}\"]\n\
         frame = [\"{}\"]\ngateway = [\"profiled\"]\n[gateway.profiled]\n{engine}\n",
        args.frame
    );
    let loaded = experiment::load(plan.as_bytes(), Available::default());
    let why =
        |findings: Vec<Diagnostic>| findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>().join("; ");
    let plan = loaded.map_err(why)?.plan;
    let block = plan.blocks().into_iter().next().ok_or("The plan has a block")?;
    let mut order = Order { addresses: true, ..Order::of(&plan, &block)? };
    if let What::File { text, .. } = what {
        for cell in &mut order.cells {
            if let Device::Candor { file, .. } = &mut cell.device {
                file.clone_from(text);
            }
        }
    }
    Ok(order)
}

fn read(out: &Path, cell: &str, log: &Path, lab: &Path) -> Result<Profile, Failed> {
    let record = Record::read(&out.join(format!("{cell}.{RECORD_EXTENSION}")))?;
    let path = out.join(ADDRESSES);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
    let program = |path: &str| {
        let name = path.rsplit('/').next().filter(|name| OWN_PROGRAMS.contains(name))?;
        Some(if name == "candor" { gateway_program(lab) } else { lab.to_owned() })
    };
    let functions = Functions::parse(&text, program)?;
    let log = File::open(log).map_err(|error| format!("QEMU wrote no log of instructions: {error}"))?;
    let trace = Trace::read(&mut BufReader::new(log))?;
    Ok(Profile::of(&trace, &functions, &record.samples)?)
}

/// Starts and stops the trace as the tester reports its frames.
struct Watch {
    progress: Progress,
    lines: JsonLines,
    monitor: PathBuf,
    tracer: Option<Tracer>,
    failed: Option<io::Error>,
    state: Option<State>,
}

impl Watch {
    fn new(monitor: PathBuf) -> Self {
        let progress = Progress::new();
        Self { progress, lines: JsonLines::default(), monitor, tracer: None, failed: None, state: None }
    }

    fn reached(&mut self, frames: u32) -> io::Result<()> {
        if frames == UNTRACED {
            self.progress.stage("Tracing instructions");
            self.tracer.insert(Tracer::connect(&self.monitor)?).start()
        } else if frames == FRAMES
            && let Some(tracer) = &mut self.tracer
        {
            tracer.stop()
        } else {
            Ok(())
        }
    }

    fn verdict(&self, status: u8) -> Result<(), Failed> {
        match (&self.failed, &self.state) {
            (Some(error), _) => Err(format!("Cannot tell QEMU to trace the guest: {error}").into()),
            (_, Some(State::Ok)) if status == 0 => Ok(()),
            (_, Some(State::Failed(why) | State::Invalid(why))) => Err(why.clone().into()),
            _ => Err(format!("The tester in the guest ended with status {status}").into()),
        }
    }
}

impl Observer for Watch {
    fn stage(&mut self, stage: &str) {
        self.progress.stage(stage);
    }

    fn notice(&mut self, text: &str) {
        self.progress.notice(text);
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.progress.fetched(what, bytes, total);
    }

    fn stdout(&mut self, bytes: &[u8]) {
        for said in self.lines.take::<Said>(bytes) {
            if let State::Done(frames) = said.state {
                let reached = self.reached(frames);
                self.failed = self.failed.take().or_else(|| reached.err());
            } else {
                self.state = Some(said.state);
            }
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.progress.stderr(bytes);
    }
}
