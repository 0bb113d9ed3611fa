//! `candor-lab bounds`: bounds of response times, and the longest responses that a search finds.
//!
//! ```text
//!  file ─▶ Model ─▶ Network ─┬─ analyse ───────────────────────────▶ bounds ──┐
//!                            └─ search ─▶ schedules ─▶ simulated buses ─▶ observed ─▶ table, JSON, page
//!                                            └─▶ guest: gateway ─▶ observed ──┘
//! ```

mod schedules;
mod stage;
mod view;

use std::fs;
use std::path::Path;

use candor_bounds::simulation::{Response, Schedule, Search};
use candor_bounds::{Analysis, Assumptions, MessageId, Network, Ns, Queue};
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::Model;
use candor_config::engine::Engine;
use candor_core::bits::LongestFrames;
use candor_egress::policy::MOST_BANDS;
use candor_io::signal::EndingSignals;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;
use candor_lab::report::{Beside, BoundsPage, bounds_html};
use indicatif::{ProgressBar, ProgressStyle};

use super::guests;
use crate::cli::{BoundsArgs, GatewayQueue};
use schedules::{Kept, Schedules};
pub(super) use view::View;

type Failure = Box<dyn std::error::Error>;
/// By message.
type Responses = Vec<Option<Response>>;

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
    let placed = |error: String| format!("{}: {error}", file.source.name());
    let model = Model::of(&loaded.plan, &question).map_err(placed)?;
    let longest = LongestFrames::up_to(model.network.messages.iter().map(|one| one.len.into()).max().unwrap_or(0));
    if args.here {
        return play_here(args, &model, &longest);
    }
    let is_of_file = args.queues == [GatewayQueue::File];
    if !is_of_file && (args.guest || args.schedules.is_some() || args.replay.is_some()) {
        return Err("--queues compares queues on simulated buses: leave out --guest, --schedules and --replay".into());
    }
    let mut variants = Vec::new();
    for &queue in &args.queues {
        let (network, analysis) = queued(&model, queue, question.assumptions).map_err(placed)?;
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
    let Some(first) = variants.first_mut() else { return Err("--queues names no queue".into()) };
    if let Some(path) = &args.schedules {
        Schedules(first.kept.clone()).write(path, &model)?;
    }
    let mut guests = Guests::default();
    if args.guest {
        let engines: Vec<Option<Engine>> =
            if args.engines.is_empty() { vec![None] } else { args.engines.iter().copied().map(Some).collect() };
        for engine in engines {
            let (release, responses) = in_guest(args, &first.kept, &model, engine)?;
            guests.kernel_release = Some(release);
            guests.engines.push(engine.unwrap_or_else(|| loaded.plan.engine()).name());
            for (at, one) in first.observed.iter_mut().enumerate() {
                let of_schedules = responses.iter().filter_map(|all| all.get(at).copied().flatten());
                one.in_guest.push(of_schedules.map(|response| response.time).max());
            }
        }
    }
    let view = View::of(file.source.name(), &model, &variants, &guests, args.assumed.errors.unwrap_or(0));
    if let Some(path) = &args.html {
        write(path, &page(&file, &model, &variants, &guests))?;
    }
    let exit = if view.is_exceeded() { Exit::No } else { Exit::Fine };
    let text = if args.json { render::object(&view) } else { view.text() };
    render::answer(&text, exit)
}

/// The network with this queue in all nodes of the gateway.
fn queued(model: &Model<'_>, queue: GatewayQueue, assumptions: Assumptions) -> Result<(Network, Analysis), String> {
    let analyse = |network: &Network| network.analyse(assumptions).map_err(|problems| model.problems(&problems));
    let mut network = model.network.clone();
    for node in model.nodes_of_this_machine() {
        let of_node = &mut network.nodes[node.0];
        match queue {
            GatewayQueue::File => {}
            GatewayQueue::Arbitration => of_node.queue = Queue::Arbitration,
            GatewayQueue::Fifo => {
                of_node.queue = Queue::fifo();
                network.messages.iter_mut().filter(|one| one.node == node).for_each(|one| one.band = 0);
            }
            GatewayQueue::Bands => {
                let bus = model.bus(of_node.bus);
                let proposed = analyse(&network)?.propose_bands(node, MOST_BANDS);
                let none = || {
                    format!(
                        "[egress.{bus}]: there are no bands with which the deadlines hold; leave out bands in --queues"
                    )
                };
                network = proposed.ok_or_else(none)?.network;
            }
        }
    }
    let analysis = analyse(&network)?;
    Ok((network, analysis))
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
    let engines = guests.engines.iter().enumerate().map(|(at, engine)| Beside {
        name: format!("engine {engine}"),
        bounds: Vec::new(),
        observed: first.observed.iter().map(|one| one.in_guest.get(at).copied().flatten()).collect(),
    });
    let queues = variants.iter().map(|variant| Beside {
        name: format!("queue {}", variant.queue.name()),
        bounds: variant.analysis.bounds().map(|(_, bound)| bound.response).collect(),
        observed: variant.observed.iter().map(|one| one.simulated).collect(),
    });
    let beside: Vec<_> = if guests.engines.is_empty() { queues.collect() } else { engines.collect() };
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

/// Plays the schedules of `--replay` with a gateway on this machine, and prints the responses.
fn play_here(args: &BoundsArgs, model: &Model<'_>, longest: &LongestFrames) -> Outcome {
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let path = args.replay.as_deref().ok_or("--here plays the schedules of --replay")?;
    let schedules: Vec<Schedule> = Schedules::read(path, model)?.0.into_iter().map(|kept| kept.schedule).collect();
    let gateway: Vec<_> = model.nodes_of_this_machine().collect();
    let (file, plan, buses, network) = (&*args.gateway, model.plan, &*model.buses, &model.network);
    let scene = stage::Scene { file, engine: args.engine, plan, buses, network, gateway: &gateway };
    let responses = stage::play(scene, longest, &schedules, &signals)?;
    let numbers = |responses: &Responses| -> Vec<Option<[u64; 2]>> {
        responses.iter().map(|response| response.map(|one| [one.time.0, one.released.0])).collect()
    };
    let played =
        Played { kernel_release: super::tester::kernel_release(), responses: responses.iter().map(numbers).collect() };
    render::out(&render::object(&played))?;
    Ok(Exit::Fine)
}

/// What the guest prints: by schedule and message, the response and the release of the frame in nanoseconds.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Played {
    kernel_release: String,
    responses: Vec<Vec<Option<[u64; 2]>>>,
}

/// Release of the kernel, and responses by schedule and message.
fn in_guest(
    args: &BoundsArgs,
    kept: &[Kept],
    model: &Model<'_>,
    engine: Option<Engine>,
) -> Result<(String, Vec<Responses>), Failure> {
    const SCHEDULES: &str = "/host-schedules.json";
    let file = super::evidence_runs::plain(&std::path::absolute(&args.gateway)?);
    let in_guest = super::evidence_runs::in_guest_path(&file);
    let mut words =
        ["candor-lab", "bounds", in_guest.as_str(), "--here", "--replay", SCHEDULES].map(str::to_owned).to_vec();
    words.extend(engine.map(|engine| format!("--engine={}", engine.name())));
    words.extend(args.assumed.controller.map(|frames| format!("--controller={frames}")));
    words.extend(args.assumed.latency.map(|latency| format!("--latency={}ns", latency.as_nanos())));
    let mut spec = GuestSpec::new(Testbed::Icount, Topology::Vcan, guest::guest_lab()?, words);
    spec.files.extend(super::evidence_runs::files_for_guest(&file)?);
    spec.files.push((SCHEDULES.to_owned(), Schedules(kept.to_vec()).to_json(model)?.into_bytes()));
    spec.kernel.clone_from(&args.kernel);
    spec.timeout = args.timeout;
    let played: Played = guests::figures(&spec)?;
    let response =
        |one: Option<[u64; 2]>| one.map(|[time, released]| Response { time: Ns(time), released: Ns(released) });
    let responses = played.responses.into_iter().map(|of| of.into_iter().map(response).collect());
    Ok((played.kernel_release, responses.collect()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
