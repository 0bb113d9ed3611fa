//! `candor-lab system-calls`: what one more frame takes, by how it is sent and received.

use std::fmt::Write as _;

use candor_io::clock::{self, MonotonicNs};
use candor_io::schedule;
use candor_lab::stats::Line;
use candor_lab::system_calls::{AtOnce, Bench, Pass, Point, line};
use candor_netlink::client::Client;
use serde_json::{Value, json};

use crate::cli::LabSystemCallsArgs;
use crate::cmd::tester;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// How frames are handed over, and how the calls are called that send and receive so.
const WAYS: [(AtOnce, &str, &str); 3] = [
    (AtOnce::One, "write", "read"),
    (AtOnce::All, "sendmmsg", "recvmmsg"),
    // As many as candor's own engines take at once.
    (AtOnce::Some(64), "sendmmsg of 64", "recvmmsg of 64"),
];

/// Between two numbers of frames.
const PAUSE_NS: i64 = 5_000_000;

/// A system call and what it took.
struct Measured {
    call: &'static str,
    /// Frames and nanoseconds.
    times: Vec<(usize, i64)>,
    line: Option<Line>,
}

pub(crate) fn run(args: &LabSystemCallsArgs) -> Outcome {
    // Not at a real-time priority, as the other testers: a pass of 50 000 frames is longer than the kernel lets such a one run.
    schedule::lock_memory().map_err(|error| format!("The tester locks its memory (CAP_IPC_LOCK): {error}"))?;
    let measured = measure(args)?;
    let text = if args.json { format!("{}\n", to_json(args, &measured)) } else { table(args, &measured) };
    render::out(&text)?;
    Ok(Exit::Fine)
}

/// Those that receive, then those that send.
fn measure(args: &LabSystemCallsArgs) -> Result<Vec<Measured>, Box<dyn std::error::Error>> {
    let most = args.points.iter().copied().max().unwrap_or(1);
    let mut bench = Bench::open(&mut Client::open()?, &args.interface, args.frame, most)?;
    let mut points: [Vec<Point>; WAYS.len()] = Default::default();
    // The kernel has its memory for all of them from now on.
    for (at_once, ..) in WAYS {
        bench.pass(most, at_once)?;
    }
    for frames in &args.points {
        for ((at_once, ..), points) in WAYS.iter().zip(&mut points) {
            points.push(bench.point(*frames, *at_once, args.repeats)?);
        }
        render::err(&format!("candor-lab: {frames} frames measured\n"));
        // Whoever passes that on has done so before the next pass begins.
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

fn to_json(args: &LabSystemCallsArgs, measured: &[Measured]) -> Value {
    let call = |one: &Measured| {
        let points: Vec<_> =
            one.times.iter().map(|(frames, took_ns)| json!({ "frames": frames, "took_ns": took_ns })).collect();
        json!({
            "call": one.call,
            "points": points,
            "slope_ns_per_frame": one.line.map(|line| line.slope),
            "intercept_ns": one.line.map(|line| line.intercept),
            "r_squared": one.line.map(|line| line.determination),
        })
    };
    json!({
        "kernel_release": tester::kernel_release(),
        "interface": args.interface,
        "frame": args.frame.to_string(),
        "repeats": args.repeats,
        "calls": measured.iter().map(call).collect::<Vec<_>>(),
    })
}

fn table(args: &LabSystemCallsArgs, measured: &[Measured]) -> String {
    let mut text = format!(
        "Frames on {}, in ns of this machine (instructions in the counting laboratory)\n\n{:>10}",
        args.interface, "frames"
    );
    let cell = |text: &mut String, of: &str| write!(text, " {of:>15}").expect("a String takes everything");
    measured.iter().for_each(|one| cell(&mut text, one.call));
    for (position, frames) in args.points.iter().enumerate() {
        write!(text, "\n{frames:>10}").expect("a String takes everything");
        measured.iter().for_each(|one| cell(&mut text, &one.times[position].1.to_string()));
    }
    let mut row = |name: &str, of: fn(Line) -> String| {
        write!(text, "\n{name:>10}").expect("a String takes everything");
        measured.iter().for_each(|one| cell(&mut text, &one.line.map_or_else(|| "-".to_owned(), of)));
    };
    row("each", |line| format!("{:.1}", line.slope));
    row("besides", |line| format!("{:.0}", line.intercept));
    row("R²", |line| format!("{:.6}", line.determination));
    text.push_str("\n\n");
    for (one, many) in [("read", "recvmmsg"), ("write", "sendmmsg")] {
        text += &comparison(measured, one, many).unwrap_or_default();
    }
    text
}

/// By how much a frame more costs less where many are given to one call.
fn comparison(measured: &[Measured], one: &str, many: &str) -> Option<String> {
    let slope = |call: &str| Some(measured.iter().find(|of| of.call == call)?.line?.slope);
    let percent = (slope(many)? / slope(one)? - 1.0) * 100.0;
    Some(format!("A frame more takes {percent:+.1} % with {many}() against {one}()\n"))
}
