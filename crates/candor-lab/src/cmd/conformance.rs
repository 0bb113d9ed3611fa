//! `candor-lab conformance`: starts a gateway, tests it, ends it, and reports the properties that hold.

mod gateway;
pub(super) mod table;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use candor_cli::{Exit, Outcome, render};
use candor_io::signal::{self, EndingSignals};
use candor_lab::conformance::{
    self, Command, ConformanceError, Continue, Interfaces, Options, Progress, Report, Wanted,
};

use crate::cli::ConformanceArgs;
use gateway::Gateway;

/// Interval after which progress is shown.
const SHOW_AFTER: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &ConformanceArgs) -> Outcome {
    if args.from == args.to {
        return Err("--from and --to are the same interface; a gateway has two sides".into());
    }
    // Errors of the arguments are reported before the gateway starts.
    let mut bench = Interfaces::open(&args.from, &args.to)?;
    let options = options(args, &bench)?;
    let command = (!args.command.is_empty()).then(|| Command::new(args.command.clone())).transpose()?;
    let teardown = args.teardown.as_deref().map(|text| Command::new(text.split_whitespace().map(Into::into).collect()));
    let teardown = teardown.transpose()?;
    let begin = Instant::now();
    let mut gateway = Gateway::start(command)?;
    // From here on a signal must not prevent the end of the gateway, which was started before so that it does not inherit this.
    let _held = EndingSignals::block()?;
    let tested = test(args, &mut gateway, &mut bench, &options);
    let ended = gateway.end(|| conformance::crosses(&mut bench, &options));
    let taken_down = teardown.map_or(Ok(()), |teardown| teardown.run());
    let left = gateway.clear_up();
    // The first error is reported.
    let mut report = tested?;
    let (state, ended) = ended?;
    taken_down?;
    let left = left?;
    report.lines.extend(ended.or(left));
    explain_silence(args, &mut report);
    let took = begin.elapsed();
    let text = if args.json {
        render::object(&table::View::of(args, &state, &report, took))
    } else {
        table::text(args, &state, &report, took)
    };
    render::answer(&text, if report.all_right() { Exit::Fine } else { Exit::No })
}

fn test(
    args: &ConformanceArgs,
    gateway: &mut Gateway,
    bench: &mut Interfaces,
    options: &Options,
) -> Result<Report, Box<dyn std::error::Error>> {
    let mut failed = Ok(());
    let mut display = Display::new(args.json);
    let tested = conformance::run(bench, options, &mut |progress| {
        display.show(progress);
        failed = match progress {
            Progress::Waiting => gateway.is_starting(),
            Progress::Check { .. } => gateway.has_started(),
        };
        let stops = failed.is_err() || signal::ending_signal_waits().unwrap_or(false);
        if stops { Continue::No } else { Continue::Yes }
    });
    display.done();
    failed?;
    match tested {
        Err(ConformanceError::Stopped) => Err("Interrupted; the test is incomplete".into()),
        tested => Ok(tested?),
    }
}

fn options(args: &ConformanceArgs, bench: &Interfaces) -> Result<Options, String> {
    let fd = match bench.without_fd() {
        _ if args.classic_only => Wanted::No("skipped (--classic-only)".into()),
        None => Wanted::Yes,
        Some(name) if args.fd => {
            return Err(format!(
                "--fd needs interfaces that support CAN FD, and {name} supports classic frames only (for a virtual one: \
                 sudo ip link set {name} down && sudo ip link set {name} mtu 72 up)"
            ));
        }
        Some(name) => Wanted::No(format!("{name} supports classic frames only")),
    };
    let error_frames = match bench.real() {
        None => Wanted::Yes,
        Some(name) => Wanted::No(format!("{name} is not a virtual interface; error frames cannot be sent there")),
    };
    let both_ways = match (args.both_ways, args.one_way) {
        (true, _) => Some(Wanted::Yes),
        (_, true) => Some(Wanted::No("skipped (--one-way)".into())),
        _ => None,
    };
    let (wait, lost_after, seed) = (args.wait, args.lost_after, args.seed);
    Ok(Options { fd, error_frames, both_ways, wait, lost_after, seed })
}

/// Adds the usual cause when no frame arrives.
fn explain_silence(args: &ConformanceArgs, report: &mut Report) {
    if let (None, Some(line)) = (report.first_frame_after, report.lines.first_mut()) {
        let (from, to) = (&args.from, &args.to);
        let question =
            format!("; does it forward from {from} to {to}? Between virtual interfaces can-gw needs echo (-e)");
        line.detail.push_str(&question);
    }
}

/// Shows progress if the test takes long: a bar on a terminal, otherwise lines.
struct Display {
    /// The start, or the time of the last line.
    quiet_since: Instant,
    bar: Option<indicatif::ProgressBar>,
    on_terminal: bool,
}

impl Display {
    fn new(json: bool) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !json;
        Self { quiet_since: Instant::now(), bar: None, on_terminal }
    }

    fn show(&mut self, progress: Progress) {
        let (done, of, what) = match progress {
            Progress::Waiting => (0, 1, "waiting for the first frame"),
            Progress::Check { done, of, property } => (done, of, property),
        };
        if self.bar.is_none() && self.quiet_since.elapsed() < SHOW_AFTER {
            return;
        }
        self.quiet_since = Instant::now();
        if self.on_terminal {
            let bar = self.bar.get_or_insert_with(|| {
                let style = indicatif::ProgressStyle::with_template("{bar:20} {pos} of {len}: {msg}");
                indicatif::ProgressBar::new(0).with_style(style.expect("the template is valid"))
            });
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            bar.set_message(what);
        } else {
            render::err(&format!("candor-lab: {done} of {of}: {what}\n"));
        }
    }

    fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
