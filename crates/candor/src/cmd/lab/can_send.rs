//! `candor lab can-send`: what it costs a program to hand a frame over, by what stands before the bus.

use std::fmt::Write as _;
use std::time::Duration;

use candor_core::causes::in_full;
use candor_core::egress::compile;
use candor_core::egress::tree::Tree;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::plan::{BusIndex, Plan};
use candor_core::stats::{LatencyNs, Quantile, Series};
use candor_io::can::{CanSocket, Loopback, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;
use candor_tc::{Here, Kernel as _, Target, apply, locate};
use serde_json::{Value, json};

use super::load::{self, Failed};
use crate::cli::LabCanSendArgs;
use crate::cmd::{Outcome, egress, tester};
use crate::exit::Exit;
use crate::gateway_file::Form;
use crate::render;

/// Between two frames: the queue is empty again, and whatever a controller has to say has been said.
const PAUSE: Duration = Duration::from_millis(1);
/// Frames before the first that counts.
const WARM_UP: usize = 10;

/// What stands before the bus, under a name.
struct Before {
    name: String,
    /// `None` leaves it as it is.
    tree: Option<Tree>,
}

/// What handing over each of the frames cost.
struct Measured<'a> {
    before: &'a Before,
    calls: Vec<Series>,
}

pub(crate) fn run(args: &LabCanSendArgs) -> Outcome {
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(Exit::No) };
    let mut all = vec![Before { name: "as it is".to_owned(), tree: None }];
    for (file, plan) in &files {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let mut tree = tree_of(plan, &args.interface).map_err(|why| format!("{}: {why}", file.display()))?;
        // Whose group is not there sends nothing here.
        locate(&mut Here::default(), &mut tree)?;
        all.push(Before { name, tree: Some(tree) });
    }
    load::take_down(&args.down)?;
    let measured = load::as_tester(|| {
        let found = egress::open(&args.interface, None)?.found()?;
        let measured = all.iter().map(|before| measure(args, before)).collect::<Result<Vec<_>, Failed>>();
        give(&args.interface, &found)?;
        measured
    })?;
    let text = if args.json { format!("{}\n", to_json(args, &measured)) } else { table(args, &measured) };
    render::out(&text)?;
    Ok(Exit::Fine)
}

/// What a file wants before the bus of this interface.
fn tree_of(plan: &Plan, interface: &str) -> Result<Tree, String> {
    let bus = plan.buses().iter().position(|bus| bus.interface == interface).map(BusIndex);
    let mut trees = compile::trees(plan.egress());
    bus.and_then(|bus| trees.remove(&bus))
        .ok_or_else(|| format!("it says nothing of what stands before {interface}: add [egress.BUS]"))
}

fn give(name: &str, wanted: &Tree) -> Result<(), Failed> {
    let target = Target { name: name.to_owned(), kernel: egress::open(name, None)?, wanted: wanted.clone() };
    apply(&mut [target]).map_err(|error| in_full(&error))?;
    Ok(())
}

fn measure<'a>(args: &LabCanSendArgs, before: &'a Before) -> Result<Measured<'a>, Failed> {
    if let Some(tree) = &before.tree {
        give(&args.interface, tree)?;
    }
    let mut client = Client::open()?;
    let index = interfaces::find(&mut client, &args.interface)?.index;
    // Nobody hears the frames: what listening costs is not asked here.
    let socket = CanSocket::open(index, &Options { filters: &[], loopback: Loopback::Off, ..Options::default() })?;
    let calls = args.sent.iter().map(|frame| calls(&socket, frame, args.frames)).collect::<Result<_, _>>()?;
    Ok(Measured { before, calls })
}

/// How long each `write()` took, without what the clock takes.
fn calls(socket: &CanSocket, frame: &Frame, count: usize) -> Result<Series, Failed> {
    let mut bytes = [0; CANFD_MTU];
    let length = frame.to_kernel(&mut bytes);
    let mut samples = Vec::with_capacity(WARM_UP + count);
    for _ in 0..WARM_UP + count {
        let MonotonicNs(now) = clock::monotonic()?;
        clock::sleep_until(MonotonicNs(now + i64::try_from(PAUSE.as_nanos())?))?;
        let (MonotonicNs(first), MonotonicNs(start)) = (clock::monotonic()?, clock::monotonic()?);
        socket.write(&bytes[..length]).map_err(|error| format!("Cannot send {frame}: {error}"))?;
        let MonotonicNs(end) = clock::monotonic()?;
        samples.push(LatencyNs(end - start - (start - first)));
    }
    Series::new(samples.split_off(WARM_UP)).ok_or_else(|| "--frames must be 1 or more".into())
}

fn to_json(args: &LabCanSendArgs, measured: &[Measured<'_>]) -> Value {
    let call = |(frame, series): (&Frame, &Series)| {
        json!({
            "frame": frame.to_string(),
            "min_ns": series.min().0,
            "p50_ns": series.quantile(Quantile::P50).0,
            "max_ns": series.max().0,
        })
    };
    let one = |one: &Measured<'_>| {
        let calls: Vec<_> = args.sent.iter().zip(&one.calls).map(call).collect();
        json!({ "before": one.before.name, "calls": calls })
    };
    json!({
        "kernel_release": tester::kernel_release(),
        "interface": args.interface,
        "frames": args.frames,
        "measured": measured.iter().map(one).collect::<Vec<_>>(),
    })
}

fn table(args: &LabCanSendArgs, measured: &[Measured<'_>]) -> String {
    let mut text = format!(
        "One write() of {}, in ns of this machine (instructions in the counting laboratory): median\n\n{:<24}",
        args.interface, "before the bus"
    );
    let cell = |text: &mut String, of: &str| write!(text, " {of:>22}").expect("a String takes everything");
    args.sent.iter().for_each(|frame| cell(&mut text, &frame.to_string()));
    for one in measured {
        write!(text, "\n{:<24}", one.before.name).expect("a String takes everything");
        one.calls.iter().for_each(|series| cell(&mut text, &series.quantile(Quantile::P50).0.to_string()));
    }
    text.push('\n');
    text
}
