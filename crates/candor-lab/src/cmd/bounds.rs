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
use candor_bounds::{Analysis, Assumptions, MessageId, Ns};
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::{Model, Question};
use candor_core::bits::LongestFrames;
use candor_io::signal::EndingSignals;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;
use candor_lab::report::{BoundsPage, bounds_html};
use indicatif::{ProgressBar, ProgressStyle};

use super::guests;
use crate::cli::BoundsArgs;
use schedules::{Kept, Schedules};
pub(super) use view::View;

type Failure = Box<dyn std::error::Error>;
/// By message.
type Responses = Vec<Option<Response>>;

/// What was observed of a message.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    simulated: Option<Ns>,
    in_guest: Option<Ns>,
}

pub(crate) fn run(args: &BoundsArgs) -> Outcome {
    are_different(args)?;
    let file = GatewayFile::read(&args.gateway)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    let question = Question { latency: args.latency, quantile: None, controller: args.controller };
    let model = Model::of(&loaded.plan, &question)?;
    let longest = LongestFrames::up_to(model.network.messages.iter().map(|one| one.len.into()).max().unwrap_or(0));
    if args.here {
        return play_here(args, &model, &longest);
    }
    let analysis = model.network.analyse(Assumptions::default()).map_err(|problems| model.problems(&problems))?;
    let kept = match &args.replay {
        Some(path) => Schedules::read(path, &model)?.0,
        None => search(args, &model, &longest, &analysis),
    };
    if let Some(path) = &args.schedules {
        Schedules(kept.clone()).write(path, &model)?;
    }
    let mut observed = vec![Observed::default(); model.network.messages.len()];
    for kept in &kept {
        note(&mut observed, &model.network.simulate(&longest, &kept.schedule), |one| &mut one.simulated);
    }
    let mut kernel_release = None;
    if args.guest {
        let (release, responses) = in_guest(args, &kept, &model)?;
        kernel_release = Some(release);
        for responses in &responses {
            note(&mut observed, responses, |one| &mut one.in_guest);
        }
    }
    let view = View::of(file.source.name(), &model, (&analysis, &kept, &observed), kernel_release.as_deref());
    if let Some(path) = &args.html {
        write(path, &page(&file, &model, &analysis, &observed))?;
    }
    let exit = if view.is_exceeded() { Exit::No } else { Exit::Fine };
    let text = if args.json { render::object(&view) } else { view.text() };
    render::answer(&text, exit)
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

fn note(observed: &mut [Observed], responses: &[Option<Response>], place: fn(&mut Observed) -> &mut Option<Ns>) {
    for (one, response) in observed.iter_mut().zip(responses) {
        let place = place(one);
        *place = (*place).max(response.map(|response| response.time));
    }
}

/// The worst schedule of each message.
fn search(args: &BoundsArgs, model: &Model<'_>, longest: &LongestFrames, analysis: &Analysis) -> Vec<Kept> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} schedules {bar:30}") {
        bar.set_style(style);
    }
    let tell = |played: u32, all: u32| {
        bar.set_length(all.into());
        bar.set_position(played.into());
    };
    let search = Search { plays: args.plays, seed: args.seed };
    let found = model.network.search(longest, analysis, search, tell);
    bar.finish_and_clear();
    let kept = found.into_iter().enumerate().filter_map(|(at, found)| {
        let found = found?;
        Some(Kept { message: MessageId(at), how: found.how.into(), schedule: found.schedule })
    });
    kept.collect()
}

fn page(file: &GatewayFile, model: &Model<'_>, analysis: &Analysis, observed: &[Observed]) -> String {
    let buses: Vec<_> =
        (0..model.network.buses.len()).map(|bus| model.bus(candor_bounds::BusId(bus)).to_owned()).collect();
    let messages: Vec<_> = (0..model.network.messages.len()).map(|at| model.name(MessageId(at))).collect();
    let observed: Vec<_> = observed.iter().map(|one| one.in_guest.max(one.simulated)).collect();
    bounds_html(&BoundsPage {
        file: file.source.name(),
        version: env!("CARGO_PKG_VERSION"),
        analysis,
        network: &model.network,
        buses: &buses,
        messages: &messages,
        observed: &observed,
        how: "the longest response that was observed",
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
    let scene = stage::Scene { file, plan, buses, network, gateway: &gateway };
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
fn in_guest(args: &BoundsArgs, kept: &[Kept], model: &Model<'_>) -> Result<(String, Vec<Responses>), Failure> {
    const SCHEDULES: &str = "/host-schedules.json";
    let file = super::evidence_runs::plain(&std::path::absolute(&args.gateway)?);
    let in_guest = super::evidence_runs::in_guest_path(&file);
    let mut words =
        ["candor-lab", "bounds", in_guest.as_str(), "--here", "--replay", SCHEDULES].map(str::to_owned).to_vec();
    words.push(format!("--controller={}", args.controller));
    words.extend(args.latency.map(|latency| format!("--latency={}ns", latency.as_nanos())));
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
