//! `candor-lab system-calls`: the cost of one more frame, by system call.

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_io::clock::{self, MonotonicNs};
use candor_io::schedule;
use candor_lab::stats::Line;
use candor_lab::system_calls::{AtOnce, Bench, Pass, Point, line};
use candor_netlink::client::Client;
use serde::Serialize;

use super::method;
use crate::cli::LabSystemCallsArgs;
use crate::cmd::tester;

/// Frames per call, and the names of the calls that send and receive them.
const WAYS: [(AtOnce, &str, &str); 3] = [
    (AtOnce::One, "write", "read"),
    (AtOnce::All, "sendmmsg", "recvmmsg"),
    // As many as candor's own engines take at once.
    (AtOnce::Some(64), "sendmmsg of 64", "recvmmsg of 64"),
];

/// Between two numbers of frames.
const PAUSE_NS: i64 = 5_000_000;

struct Measured {
    call: &'static str,
    /// Number of frames, and nanoseconds.
    times: Vec<(usize, i64)>,
    line: Option<Line>,
}

pub(crate) fn run(args: &LabSystemCallsArgs) -> Outcome {
    // Without real-time priority: the kernel throttles a real-time thread during a pass of 50,000 frames.
    schedule::lock_memory().map_err(|error| format!("The tester locks its memory (CAP_IPC_LOCK): {error}"))?;
    let measured = measure(args)?;
    render::out(&if args.json { render::line(&View::of(args, &measured)) } else { text(args, &measured) })?;
    Ok(Exit::Fine)
}

/// Measures the calls that receive, then those that send.
fn measure(args: &LabSystemCallsArgs) -> Result<Vec<Measured>, Box<dyn std::error::Error>> {
    let most = args.points.iter().copied().max().unwrap_or(1);
    let mut bench = Bench::open(&mut Client::open()?, &args.interface, args.frame, most)?;
    let mut points: [Vec<Point>; WAYS.len()] = Default::default();
    // Lets the kernel allocate its memory first.
    for (at_once, ..) in WAYS {
        bench.pass(most, at_once)?;
    }
    for frames in &args.points {
        for ((at_once, ..), points) in WAYS.iter().zip(&mut points) {
            points.push(bench.point(*frames, *at_once, args.repeats)?);
        }
        render::err(&format!("candor-lab: {} measured\n", plural(*frames, "frame")));
        // The reader of this message has handled it before the next pass.
        let MonotonicNs(now) = clock::monotonic()?;
        clock::sleep_until(MonotonicNs(now + PAUSE_NS))?;
    }
    let of = |call, points: &[Point], time: fn(Pass) -> i64| Measured {
        call,
        times: points.iter().map(|point| (point.frames, time(point.took))).collect(),
        line: line(points, time),
    };
    let all = || WAYS.iter().zip(&points);
    let receiving = all().map(|((.., call), points)| of(call, points, |pass| pass.receiving_ns));
    let sending = all().map(|((_, call, _), points)| of(call, points, |pass| pass.sending_ns));
    Ok(receiving.chain(sending).collect())
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    kernel_release: String,
    interface: &'a str,
    frame: String,
    /// Each time is the median of so many passes.
    repeats: usize,
    calls: Vec<CallView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallView {
    call: &'static str,
    points: Vec<PointView>,
    /// Line through the points; `null` for a single one.
    slope_ns_per_frame: Option<f64>,
    intercept_ns: Option<f64>,
    r_squared: Option<f64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PointView {
    frames: usize,
    took_ns: i64,
}

impl<'a> View<'a> {
    fn of(args: &'a LabSystemCallsArgs, measured: &[Measured]) -> Self {
        let call = |one: &Measured| CallView {
            call: one.call,
            points: one.times.iter().map(|&(frames, took_ns)| PointView { frames, took_ns }).collect(),
            slope_ns_per_frame: one.line.map(|line| line.slope),
            intercept_ns: one.line.map(|line| line.intercept),
            r_squared: one.line.map(|line| line.determination),
        };
        Self {
            kernel_release: tester::kernel_release(),
            interface: &args.interface,
            frame: args.frame.to_string(),
            repeats: args.repeats,
            calls: measured.iter().map(call).collect(),
        }
    }
}

fn text(args: &LabSystemCallsArgs, measured: &[Measured]) -> String {
    let row = |name: String, cell: &dyn Fn(&Measured) -> String| {
        [name].into_iter().chain(measured.iter().map(cell)).collect()
    };
    let of_line =
        |name: &str, of: fn(Line) -> String| row(name.to_owned(), &|one| one.line.map_or_else(|| "-".to_owned(), of));
    let points = args.points.iter().enumerate();
    let mut rows: Vec<Vec<String>> =
        points.map(|(at, frames)| row(frames.to_string(), &|one| one.times[at].1.to_string())).collect();
    rows.push(of_line("each", |line| format!("{:.1}", line.slope)));
    rows.push(of_line("fixed cost", |line| format!("{:.0}", line.intercept)));
    rows.push(of_line("R²", |line| format!("{:.6}", line.determination)));
    let comparisons: String = [("read", "recvmmsg"), ("write", "sendmmsg")]
        .iter()
        .filter_map(|(one, many)| comparison(measured, one, many))
        .collect();
    format!(
        "Frames on {}, in ns of this machine (instructions, if it counts them)\n\n{}\n{comparisons}",
        args.interface,
        method::table(["frames"].into_iter().chain(measured.iter().map(|one| one.call)), rows)
    )
}

/// The difference in cost of one more frame between one and many frames per call.
fn comparison(measured: &[Measured], one: &str, many: &str) -> Option<String> {
    let slope = |call: &str| Some(measured.iter().find(|of| of.call == call)?.line?.slope);
    let percent = (slope(many)? / slope(one)? - 1.0) * 100.0;
    Some(format!("A further frame costs {percent:+.1} % with {many}() compared with {one}()\n"))
}
