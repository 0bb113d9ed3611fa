//! `candor-lab can-send`: what it costs a program to hand a frame over, by what stands before the bus.

mod report;
mod sending;
mod set_ups;

use std::thread;
use std::time::Duration;

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

use super::load::{self, Failed};
use crate::cli::LabCanSendArgs;
use crate::cmd::tester;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::Form;
use candor_cli::render;
use sending::{Handed, Identifiers};

/// What the kernel does with a frame that a program hands over, from the socket to the queue and often to the driver.
const FUNCTION: &str = "can_send";
/// Frames before the first that counts.
const WARM_UP: usize = 10;
/// Between those frames at least: what the interface has to say of one is said before the next.
const WARM_UP_GAP: Duration = Duration::from_millis(1);
/// After a change, or a flood: the kernel frees what it no longer needs, which would take softirqs from a flood, and a bus takes what a
/// socket has waiting.
const UNTIL_QUIET: Duration = Duration::from_millis(300);
/// Calls by which the tracer itself is measured.
const OWN_CALLS: usize = 1000;
/// What the papers had the queue of their interfaces hold.
const QUEUE_OF_THE_PAPERS: u32 = 1000;

/// What stands before the bus, under a name, and what is sent there.
struct Before {
    name: String,
    rules: Option<u32>,
    /// `None` leaves it as it is.
    tree: Option<Tree>,
    sent: Vec<Identifiers>,
    send_buffer: Option<u32>,
}

/// What handing over each of the frames cost.
struct Measured<'a> {
    before: &'a Before,
    calls: Vec<Calls>,
}

/// Frames that were sent in one way.
struct Calls {
    frame: String,
    gap: Duration,
    /// `write()`, without a tracer.
    write: Series,
    /// Frames for which there was no room at first.
    refused: usize,
    traced: Option<Traced>,
}

/// The same with the tracer.
struct Traced {
    /// `can_send()`. The calls of frames for which there was no room are among them.
    function: Series,
    write: Series,
}

/// All that was measured.
struct Results<'a> {
    /// The tracer's own share.
    own: Option<Series>,
    measured: Vec<Measured<'a>>,
}

pub(crate) fn run(args: &LabCanSendArgs) -> Outcome {
    let Some(all) = befores(args)? else { return Ok(Exit::No) };
    load::take_down(&args.down)?;
    let results = load::as_tester(|| {
        let own = args.trace.then(|| Tracer::own(OWN_CALLS)).transpose()?.and_then(Series::new);
        let found = kernel::open(&args.interface, None)?.found()?;
        let queue = args.set_ups.is_some().then(|| set_queue(&args.interface, QUEUE_OF_THE_PAPERS)).transpose()?;
        let measured = all.iter().map(|before| measure(args, before)).collect::<Result<Vec<_>, Failed>>();
        queue.map(|queue| set_queue(&args.interface, queue)).transpose()?;
        give(&args.interface, &found)?;
        Ok(Results { own, measured: measured? })
    })?;
    render::out(&if args.json { report::json(args, &results) } else { report::text(args, &results) })?;
    Ok(Exit::Fine)
}

/// What is to be measured; `None`, after saying why, if a file is not valid.
fn befores(args: &LabCanSendArgs) -> Result<Option<Vec<Before>>, Box<dyn std::error::Error>> {
    let sent: Vec<_> = args.sent.iter().copied().map(Identifiers::Fixed).collect();
    let before = |name: &str, tree, sent| Before { name: name.to_owned(), rules: None, tree, sent, send_buffer: None };
    let mut all = vec![before("as it is", None, sent.clone())];
    let Some(files) = tester::read(&args.gateways, Form::running(args.json))? else { return Ok(None) };
    for (file, plan) in &files {
        let name = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
        let mut tree = tree_of(plan, &args.interface).map_err(|why| format!("{}: {why}", file.display()))?;
        // Whose group is not there sends nothing here.
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

/// What a file wants before the bus of this interface.
fn tree_of(plan: &Plan, interface: &str) -> Result<Tree, String> {
    let bus = plan.buses().iter().position(|bus| bus.interface == interface).map(BusIndex);
    let mut trees = compile::trees(plan.egress());
    bus.and_then(|bus| trees.remove(&bus))
        .ok_or_else(|| format!("it says nothing of what stands before {interface}: add [egress.BUS]"))
}

fn give(name: &str, wanted: &Tree) -> Result<(), Failed> {
    let target = Target { name: name.to_owned(), kernel: kernel::open(name, None)?, wanted: wanted.clone() };
    apply(&mut [target]).map_err(|error| in_full(&error))?;
    Ok(())
}

/// Sets how many frames the queue of an interface holds, and says how many it held.
fn set_queue(name: &str, frames: u32) -> Result<u32, Failed> {
    let mut client = Client::open()?;
    let link = interfaces::find(&mut client, name)?;
    link::set_tx_queue_len(&mut client, link.index, frames)?;
    Ok(link.tx_queue_len)
}

fn measure<'a>(args: &LabCanSendArgs, before: &'a Before) -> Result<Measured<'a>, Failed> {
    if let Some(tree) = &before.tree {
        give(&args.interface, tree)?;
        thread::sleep(UNTIL_QUIET);
    }
    let index = interfaces::find(&mut Client::open()?, &args.interface)?.index;
    // Nobody hears the frames, and what listening costs is not asked here. But the papers' sender was one as any other.
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

fn traced(send: impl FnOnce() -> Result<Handed, Failed>) -> Result<Traced, Failed> {
    let tracer = Tracer::of(FUNCTION)?;
    thread::sleep(UNTIL_QUIET);
    let (handed, durations) = tracer.during(send)?;
    let handed = handed?;
    thread::sleep(UNTIL_QUIET);
    let (asked, seen) = (handed.writes.count() + handed.refused, durations.len());
    if seen != asked {
        let others = "somebody else sends, or frames never came so far";
        return Err(
            format!("{FUNCTION}() was traced {seen} times, and {asked} frames were handed over: {others}").into()
        );
    }
    let function = Series::new(durations).ok_or("--frames must be 1 or more")?;
    Ok(Traced { function, write: handed.writes })
}
