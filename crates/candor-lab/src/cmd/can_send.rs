//! `candor-lab can-send`: the latency of write() under different queueing disciplines.

pub(super) mod report;
mod sending;
mod set_ups;

use std::thread;
use std::time::Duration;

use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::{BusIndex, Plan};
use candor_core::causes::in_full;
use candor_egress::kernel::{self, Here, Kernel as _, Target, apply, locate};
use candor_egress::tree::Tree;
use candor_egress::{compile, text};
use candor_io::can::{CanSocket, Loopback, Options};
use candor_lab::stats::Series;
use candor_lab::tester as interfaces;
use candor_lab::tracer::Tracer;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::method::{self, Failed};
use super::tester;
use crate::cli::LabCanSendArgs;
use sending::{Identifiers, Sent};

/// The kernel's path of a sent frame, from the socket to the queue and often to the driver.
const FUNCTION: &str = "can_send";
/// Frames before the first measured one.
const WARM_UP: usize = 10;
/// Minimum gap between them, so that the transmit interrupts of one precede the next.
const WARM_UP_GAP: Duration = Duration::from_millis(1);
/// Pause after a change or a flood: the kernel frees memory in softirqs, and the bus sends the frames that wait.
const UNTIL_QUIET: Duration = Duration::from_millis(300);
/// Calls that measure the overhead of the tracer.
const OWN_CALLS: usize = 1000;
const QUEUE_OF_THE_PAPERS: u32 = 1000;

/// A queueing discipline and the frames sent to it.
struct Before {
    name: String,
    rules: Option<u32>,
    /// `None`: the discipline of the interface.
    tree: Option<Tree>,
    sent: Vec<Identifiers>,
    send_buffer: Option<u32>,
}

struct Measured<'a> {
    before: &'a Before,
    calls: Vec<Calls>,
}

/// A series of calls with one frame and gap.
struct Calls {
    frame: String,
    gap: Duration,
    /// `write()` without the tracer.
    write: Series,
    /// `write()` calls refused because the queue was full.
    refused: usize,
    traced: Option<Traced>,
}

struct Traced {
    /// `can_send()`, including refused calls.
    function: Series,
    write: Series,
}

struct Results<'a> {
    /// Overhead of the tracer.
    own: Option<Series>,
    measured: Vec<Measured<'a>>,
}

pub(crate) fn run(args: &LabCanSendArgs) -> Outcome {
    let Some(all) = befores(args)? else { return Ok(Exit::No) };
    method::set_down(&args.down)?;
    let results = method::as_tester(|| {
        let own = args.trace.then(|| Tracer::own(OWN_CALLS)).transpose()?.and_then(Series::new);
        let found = kernel::open(&args.interface, None)?.found()?;
        let queue = args.set_ups.is_some().then(|| set_queue(&args.interface, QUEUE_OF_THE_PAPERS)).transpose()?;
        let measured = all.iter().map(|before| measure(args, before)).collect::<Result<Vec<_>, Failed>>();
        queue.map(|queue| set_queue(&args.interface, queue)).transpose()?;
        apply_tree(&args.interface, &found)?;
        Ok(Results { own, measured: measured? })
    })?;
    render::out(&if args.json {
        render::line(&report::View::of(args, &results))
    } else {
        report::text(args, &results)
    })?;
    Ok(Exit::Fine)
}

/// The configurations to measure; `None`, after printing findings, if a file is not valid.
fn befores(args: &LabCanSendArgs) -> Result<Option<Vec<Before>>, Box<dyn std::error::Error>> {
    let sent: Vec<_> = args.sent.iter().copied().map(Identifiers::Fixed).collect();
    let before = |name: &str, tree, sent| Before { name: name.to_owned(), rules: None, tree, sent, send_buffer: None };
    let mut all = vec![before("as it is", None, sent.clone())];
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(None) };
    for (file, plan) in &files {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        let mut tree = tree_of(plan, &args.interface).map_err(|why| format!("{}: {why}", file.display()))?;
        // A control group that does not exist sends nothing.
        locate(&mut Here::default(), &mut tree)?;
        all.push(before(&name, Some(tree), sent.clone()));
    }
    for set_up in args.set_ups.into_iter().flat_map(set_ups::of) {
        let tree = text::parse(&set_up.tree).map_err(|wrong| format!("{}: {wrong:?}", set_up.name))?.tree;
        let set_ups::SetUp { name, rules, sent, send_buffer, .. } = set_up;
        all.push(Before { name, rules, tree: Some(tree), sent: vec![sent], send_buffer });
    }
    Ok(Some(all))
}

/// The discipline that a file configures for this interface.
fn tree_of(plan: &Plan, interface: &str) -> Result<Tree, String> {
    let bus = plan.buses().iter().position(|bus| bus.interface == interface).map(BusIndex);
    let mut trees = compile::trees(plan.egress());
    bus.and_then(|bus| trees.remove(&bus)).ok_or_else(|| format!("it has no [egress.BUS] for {interface}"))
}

fn apply_tree(name: &str, wanted: &Tree) -> Result<(), Failed> {
    let target = Target { name: name.to_owned(), kernel: kernel::open(name, None)?, wanted: wanted.clone() };
    apply(&mut [target]).map_err(|error| in_full(&error))?;
    Ok(())
}

/// Sets txqueuelen and returns the old value.
fn set_queue(name: &str, frames: u32) -> Result<u32, Failed> {
    let mut client = Client::open()?;
    let link = interfaces::find(&mut client, name)?;
    link::set_tx_queue_len(&mut client, link.index, frames)?;
    Ok(link.tx_queue_len)
}

fn measure<'a>(args: &LabCanSendArgs, before: &'a Before) -> Result<Measured<'a>, Failed> {
    if let Some(tree) = &before.tree {
        apply_tree(&args.interface, tree)?;
        thread::sleep(UNTIL_QUIET);
    }
    let index = interfaces::find(&mut Client::open()?, &args.interface)?.index;
    // The cost of receivers is not measured, except with the configurations of the papers.
    let loopback = if args.set_ups.is_some() { Loopback::On } else { Loopback::Off };
    let socket = CanSocket::open(index, &Options { filters: &[], loopback, ..Options::default() })?;
    before.send_buffer.map(|bytes| socket.set_send_buffer(bytes)).transpose()?;
    let ways = before.sent.iter().flat_map(|sent| args.gaps.iter().map(move |gap| (sent, *gap)));
    let calls = ways.map(|(sent, gap)| calls(args, &socket, sent, gap)).collect::<Result<_, _>>()?;
    if args.set_ups.is_some() {
        render::err(&format!("candor-lab: {} measured\n", before.name));
    }
    Ok(Measured { before, calls })
}

fn calls(args: &LabCanSendArgs, socket: &CanSocket, sent: &Identifiers, gap: Duration) -> Result<Calls, Failed> {
    let send = || sending::send(socket, sent, gap, args.frames);
    sending::send(socket, sent, gap.max(WARM_UP_GAP), WARM_UP)?;
    let plain = send()?;
    if gap < WARM_UP_GAP {
        thread::sleep(UNTIL_QUIET);
    }
    let traced = args.trace.then(|| traced(send)).transpose()?;
    Ok(Calls { frame: sent.name(), gap, write: plain.writes, refused: plain.refused, traced })
}

fn traced(send: impl FnOnce() -> Result<Sent, Failed>) -> Result<Traced, Failed> {
    let tracer = Tracer::of(FUNCTION)?;
    thread::sleep(UNTIL_QUIET);
    let (sent, durations) = tracer.during(send)?;
    let sent = sent?;
    thread::sleep(UNTIL_QUIET);
    let (calls, seen) = (sent.writes.count() + sent.refused, durations.len());
    if seen != calls {
        let reason = "another program sends, or frames did not reach it";
        return Err(format!("{FUNCTION}() was traced {seen} times for {calls} write() calls: {reason}").into());
    }
    let function = Series::new(durations).ok_or("--frames must be 1 or more")?;
    Ok(Traced { function, write: sent.writes })
}
