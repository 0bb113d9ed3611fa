//! `candor-lab bounds`: bounds of response times, and the longest responses that a search finds.
//!
//! ```text
//!  file ─▶ Model ─▶ Network ─┬─ analyse ───────────────────────────▶ bounds ──┐
//!                            └─ search ─▶ schedules ─▶ simulated buses ─▶ observed ─▶ table, JSON, page
//!                                            └─▶ guest: gateway ─▶ observed ──┘
//! ```

mod guest;
mod schedules;
mod stage;
mod view;

use std::fs;
use std::path::Path;

use candor_bounds::simulation::Search;
use candor_bounds::{Analysis, Assumptions, MessageId, Network, Ns, Problem, Queue};
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::{Model, NoBounds};
use candor_config::plan::Plan;
use candor_core::bits::LongestFrames;
use candor_egress::policy::MOST_BANDS;
use candor_lab::report::{Beside, BoundsPage, bounds_html};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{BoundsArgs, GatewayQueue};
use schedules::{Kept, Schedules};
pub(super) use view::View;

type Failure = Box<dyn std::error::Error>;
/// What was observed of a message.
#[derive(Clone, Debug, Default)]
struct Observed {
    simulated: Option<Ns>,
    /// By engine.
    in_guest: Vec<Option<Ns>>,
}

impl Observed {
    fn most(&self) -> Option<Ns> {
        self.in_guest.iter().copied().flatten().chain(self.simulated).max()
    }
}

/// A queue of the gateway, its bounds, and what was observed.
struct Variant {
    queue: GatewayQueue,
    network: Network,
    analysis: Analysis,
    kept: Vec<Kept>,
    /// By message.
    observed: Vec<Observed>,
}

/// What guests had.
#[derive(Debug, Default)]
struct Guests {
    /// `None` without `--guest`.
    kernel_release: Option<String>,
    /// Names of engines.
    engines: Vec<&'static str>,
}

pub(crate) fn run(args: &BoundsArgs) -> Outcome {
    are_different(args)?;
    let file = GatewayFile::read(&args.gateway)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    let question = args.assumed.question();
    let placed = |why: NoBounds| why.in_file(file.source.name(), file.source.text(), &loaded.plan);
    let model = Model::of(&loaded.plan, &question).map_err(placed)?;
    let longest = LongestFrames::up_to(model.network.messages.iter().map(|one| one.len.into()).max().unwrap_or(0));
    if args.here {
        return guest::play_here(args, &longest);
    }
    if args.queues != [GatewayQueue::File] && (args.schedules.is_some() || args.replay.is_some()) {
        return Err("each of --queues has its own schedules: leave out --schedules and --replay".into());
    }
    if args.guest
        && let Some(why) = not_playable(&loaded.plan)
    {
        return Err(format!("{}: {why}: leave out --guest", file.source.name()).into());
    }
    let mut variants = Vec::new();
    for &queue in &args.queues {
        let problems = |problems: Vec<Problem>| placed(model.problems(&problems));
        let queued = queued(&model, queue, question.assumptions).map_err(problems)?;
        let (network, analysis) = queued.map_err(|why| format!("{}: {why}", file.source.name()))?;
        let kept = match &args.replay {
            Some(path) => Schedules::read(path, &model)?.0,
            None => search(args, &network, &longest, &analysis),
        };
        let mut observed = vec![Observed::default(); network.messages.len()];
        for kept in &kept {
            for (one, response) in observed.iter_mut().zip(network.simulate(&longest, &kept.schedule)) {
                one.simulated = one.simulated.max(response.map(|response| response.time));
            }
        }
        variants.push(Variant { queue, network, analysis, kept, observed });
    }
    if let Some((path, first)) = args.schedules.as_ref().zip(variants.first()) {
        Schedules(first.kept.clone()).write(path, &model)?;
    }
    let guests = if args.guest { guest::play(args, &file, &model, &mut variants)? } else { Guests::default() };
    let view = View::of(file.source.name(), &model, &variants, &guests, args.assumed.errors.unwrap_or(0));
    if let Some(path) = &args.html {
        write(path, &page(&file, &model, &variants, &guests))?;
    }
    let exit = if view.is_exceeded() { Exit::No } else { Exit::Fine };
    let text = if args.json { render::object(&view) } else { view.text() };
    render::answer(&text, exit)
}

/// The network with this queue in all nodes of the gateway.
fn queued(
    model: &Model<'_>,
    queue: GatewayQueue,
    assumptions: Assumptions,
) -> Result<Result<(Network, Analysis), String>, Vec<Problem>> {
    let analyse = |network: &Network| network.analyse(assumptions);
    let mut network = model.network.clone();
    for node in model.nodes_of_this_machine() {
        let of_node = &mut network.nodes[node.0];
        match queue {
            GatewayQueue::File => {}
            GatewayQueue::Arbitration | GatewayQueue::Fifo => {
                of_node.queue = if queue == GatewayQueue::Fifo { Queue::fifo() } else { Queue::Arbitration };
                network.messages.iter_mut().filter(|one| one.node == node).for_each(|one| one.band = 0);
            }
            GatewayQueue::Bands => {
                let bus = model.bus(of_node.bus);
                let proposed = analyse(&network)?.propose_bands(node, MOST_BANDS);
                let Some(proposed) = proposed else {
                    return Ok(Err(format!(
                        "[egress.{bus}]: there are no bands with which the deadlines hold; leave out bands in --queues"
                    )));
                };
                network = proposed.network;
            }
        }
    }
    let analysis = analyse(&network)?;
    Ok(Ok((network, analysis)))
}

/// Why the frames of a gateway cannot be those of the frames that it received.
fn not_playable(plan: &Plan) -> Option<&'static str> {
    if plan.is_only_traffic() {
        Some("it has no gateway to play in a guest")
    } else if plan.routes().iter().any(|route| route.timing.is_some()) {
        Some("a guest does not play routes with cycle, min-delay, on-change or timeout")
    } else if !plan.modes().is_empty() {
        Some("a guest does not play modes")
    } else {
        None
    }
}

/// Refuses to write over a file that is read, or two files in one place.
fn are_different(args: &BoundsArgs) -> Result<(), String> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_missing| path.to_owned());
    let read = [Some(&args.gateway), args.replay.as_ref()].into_iter().flatten();
    let mut known: Vec<_> = read.map(|path| real(path)).collect();
    for path in [&args.schedules, &args.html].into_iter().flatten() {
        let place = real(path);
        if known.contains(&place) {
            return Err(format!("{} would be overwritten: choose another file", path.display()));
        }
        known.push(place);
    }
    Ok(())
}

/// The worst schedule of each message.
fn search(args: &BoundsArgs, network: &Network, longest: &LongestFrames, analysis: &Analysis) -> Vec<Kept> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} schedules {bar:30}") {
        bar.set_style(style);
    }
    let tell = |played: u32, all: u32| {
        bar.set_length(all.into());
        bar.set_position(played.into());
    };
    let search = Search { plays: args.plays, seed: args.seed };
    let found = network.search(longest, analysis, search, tell);
    bar.finish_and_clear();
    let kept = found.into_iter().enumerate().filter_map(|(at, found)| {
        let found = found?;
        Some(Kept { message: MessageId(at), how: found.how.into(), schedule: found.schedule })
    });
    kept.collect()
}

fn page(file: &GatewayFile, model: &Model<'_>, variants: &[Variant], guests: &Guests) -> String {
    let Some(first) = variants.first() else { return String::new() };
    let buses: Vec<_> =
        (0..model.network.buses.len()).map(|bus| model.bus(candor_bounds::BusId(bus)).to_owned()).collect();
    let messages: Vec<_> = (0..model.network.messages.len()).map(|at| model.name(MessageId(at))).collect();
    let observed: Vec<_> = first.observed.iter().map(Observed::most).collect();
    let queues = variants.iter().flat_map(|variant| {
        let bounds = || variant.analysis.bounds().map(|(_, bound)| bound.response).collect();
        let queue = format!("queue {}", variant.queue.name());
        let simulated = Beside {
            name: queue.clone(),
            bounds: bounds(),
            observed: variant.observed.iter().map(|one| one.simulated).collect(),
        };
        let engines = guests.engines.iter().enumerate().map(move |(at, engine)| Beside {
            name: format!("{queue}, engine {engine}"),
            bounds: bounds(),
            observed: variant.observed.iter().map(|one| one.in_guest.get(at).copied().flatten()).collect(),
        });
        std::iter::once(simulated).chain(engines)
    });
    let beside: Vec<_> = queues.collect();
    bounds_html(&BoundsPage {
        file: file.source.name(),
        version: env!("CARGO_PKG_VERSION"),
        analysis: &first.analysis,
        network: &first.network,
        buses: &buses,
        messages: &messages,
        observed: &observed,
        how: "the longest response that was observed",
        beside: &beside,
    })
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
