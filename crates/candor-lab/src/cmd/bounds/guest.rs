//! The gateway in a guest: a file for each queue, with the schedules for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_bounds::simulation::Schedule;
use candor_bounds::{MessageId, Ns, Queue};
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::bounds::{Model, NoBounds, Question};
use candor_config::engine::Engine;
use candor_core::bits::LongestFrames;
use candor_egress::netlink::arbitration;
use candor_io::signal::EndingSignals;
use candor_lab::guest::{GuestSpec, guest_lab};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;
use serde::{Deserialize, Serialize};

use super::schedules::Schedules;
use super::{Failure, Guests, Variant, stage};
use crate::cli::{BoundsArgs, GatewayQueue};
use crate::cmd::{evidence, evidence_runs, guests, tester};

const SCHEDULES: &str = "/host-schedules.json";

/// What the guest prints.
#[derive(Debug, Serialize, Deserialize)]
struct Played {
    kernel_release: String,
    /// By queue, engine and message: the longest response in nanoseconds.
    longest: Vec<Vec<Vec<Option<u64>>>>,
}

/// Plays the schedules of all queues with all engines in one guest.
pub(super) fn play(
    args: &BoundsArgs,
    file: &GatewayFile,
    model: &Model<'_>,
    variants: &mut [Variant],
) -> Result<Guests, Failure> {
    let gateway = evidence_runs::plain(&std::path::absolute(&args.gateway)?);
    let path = evidence_runs::in_guest_path(&gateway);
    let names = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>().join(",");
    let mut words = ["candor-lab", "bounds", path.as_str(), "--guest", "--here"].map(str::to_owned).to_vec();
    words.push(format!("--queues={}", names(&mut variants.iter().map(|variant| variant.queue.name()))));
    if !args.engines.is_empty() {
        words.push(format!("--engines={}", names(&mut args.engines.iter().map(|engine| engine.name()))));
    }
    words.extend(args.assumed.controller.map(|frames| format!("--controller={frames}")));
    words.extend(args.assumed.latency.map(|latency| format!("--latency={}ns", latency.as_nanos())));
    let mut spec = GuestSpec::new(Testbed::Icount, Topology::Vcan, guest_lab()?, words);
    spec.files.extend(evidence_runs::files_for_guest(&gateway)?);
    for variant in &*variants {
        if variant.queue != GatewayQueue::File {
            let text = with_queue((file, &args.assumed.question()), model, variant)?;
            spec.files.push((of_queue(Path::new(&path), variant.queue).display().to_string(), text.into_bytes()));
        }
        let schedules = Schedules(variant.kept.clone()).to_json(model)?.into_bytes();
        spec.files.push((of_queue(Path::new(SCHEDULES), variant.queue).display().to_string(), schedules));
    }
    let is_newest = model.plan.has_arbitration()
        || variants.iter().any(|variant| variant.queue == GatewayQueue::Arbitration)
        || model.plan.engine() == Engine::Bpf
        || args.engines.contains(&Engine::Bpf);
    spec.kernel = args.kernel.clone().or_else(|| is_newest.then(|| evidence::WITH_BPF_QUEUES.to_owned()));
    spec.timeout = args.timeout;
    let played: Played = guests::figures(&spec)?;
    for (variant, of_queue) in variants.iter_mut().zip(played.longest) {
        for of_engine in of_queue {
            for (observed, longest) in variant.observed.iter_mut().zip(of_engine) {
                observed.in_guest.push(longest.map(Ns));
            }
        }
    }
    let engines = args.engines.iter().map(|engine| engine.name()).collect::<Vec<_>>();
    let engines = if engines.is_empty() { vec![model.plan.engine().name()] } else { engines };
    Ok(Guests { kernel_release: Some(played.kernel_release), engines })
}

/// Plays the schedules of all queues with a gateway on this machine, and prints the responses.
pub(super) fn play_here(args: &BoundsArgs, longest: &LongestFrames) -> Outcome {
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let files = args.queues.iter().map(|queue| GatewayFile::read(&of_queue(&args.gateway, *queue)));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let mut loaded = Vec::with_capacity(files.len());
    for file in &files {
        let Some(valid) = file.gateway_or_say(Form::Text)? else { return Ok(Exit::CouldNotRun) };
        loaded.push(valid);
    }
    if loaded.iter().any(|file| file.plan.has_arbitration())
        && let Err(why) = arbitration::layout()
    {
        return Err(format!("--queues arbitration: {why}; choose another kernel, such as --kernel debian-7.3").into());
    }
    let mut all = Vec::with_capacity(files.len());
    for ((queue, file), valid) in args.queues.iter().zip(&files).zip(loaded) {
        let placed = |why: NoBounds| why.in_file(file.source.name(), file.source.text(), &valid.plan);
        let model = Model::of(&valid.plan, &args.assumed.question()).map_err(placed)?;
        let path = of_queue(Path::new(SCHEDULES), *queue);
        let schedules: Vec<Schedule> =
            Schedules::read(&path, &model)?.0.into_iter().map(|kept| kept.schedule).collect();
        let gateway: Vec<_> = model.nodes_of_this_machine().collect();
        let gateway_file = of_queue(&args.gateway, *queue);
        let engines = if args.engines.is_empty() { vec![None] } else { args.engines.iter().map(Some).collect() };
        let mut of_queue = Vec::with_capacity(engines.len());
        for engine in engines {
            let (buses, network) = (&*model.buses, &model.network);
            let engine = engine.copied();
            let scene =
                stage::Scene { file: &gateway_file, engine, plan: model.plan, buses, network, gateway: &gateway };
            let name = engine.unwrap_or_else(|| valid.plan.engine()).name();
            let placed = |why: Failure| format!("queue {}, engine {name}: {why}", queue.name());
            let responses = stage::play(scene, longest, &schedules, &signals).map_err(placed)?;
            let most = |at: usize| responses.iter().filter_map(|all| all[at].map(|response| response.time.0)).max();
            of_queue.push((0..network.messages.len()).map(most).collect::<Vec<_>>());
        }
        all.push(of_queue);
    }
    render::out(&render::object(&Played { kernel_release: tester::kernel_release(), longest: all }))?;
    Ok(Exit::Fine)
}

/// The file for a queue, in the same directory.
fn of_queue(path: &Path, queue: GatewayQueue) -> PathBuf {
    match queue {
        GatewayQueue::File => path.to_owned(),
        other => {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(other.name());
            name.into()
        }
    }
}

/// The text of the file with the queue of a variant on all buses that the gateway sends on.
fn with_queue(
    (file, question): (&GatewayFile, &Question),
    model: &Model<'_>,
    variant: &Variant,
) -> Result<String, String> {
    let mut text = file.source.text().to_owned();
    for node in model.nodes_of_this_machine() {
        let (bus, network) = (model.bus(model.network.nodes[node.0].bus), &variant.network);
        text = without_egress(&text, bus);
        text += "\n";
        if network.nodes[node.0].queue == Queue::Arbitration {
            text += &format!("[egress.{bus}]\nqueue = \"arbitration\"\n");
            continue;
        }
        let mut bands: BTreeMap<usize, Vec<MessageId>> = BTreeMap::new();
        for (at, message) in network.messages.iter().enumerate().filter(|(_, message)| message.node == node) {
            bands.entry(message.band).or_default().push(MessageId(at));
        }
        text += &model.egress_with_bands(bus, &bands.into_values().collect::<Vec<_>>());
    }
    // Tables can be written in more ways than are found here, and two messages with one identifier can need two bands.
    let loaded = file.with_text(&text).ok();
    let is_it = |network: &candor_bounds::Network| {
        (&network.nodes, &network.messages) == (&variant.network.nodes, &variant.network.messages)
    };
    match loaded.and_then(|loaded| Some(is_it(&Model::of(&loaded.plan, question).ok()?.network))) {
        Some(true) => Ok(text),
        _ => Err(format!(
            "{}: the queue {} cannot be written in place of its own: write them as [egress.BUS] and [[egress.BUS.band]], or leave \
             out {} in --queues",
            file.source.name(),
            variant.queue.name(),
            variant.queue.name()
        )),
    }
}

/// Leaves out the tables of a queue.
fn without_egress(text: &str, bus: &str) -> String {
    let (table, under) = (format!("[egress.{bus}]"), format!("[egress.{bus}."));
    let mut is_left_out = false;
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        if line.starts_with('[') {
            is_left_out = line.starts_with(&table) || line.trim_start_matches('[').starts_with(&under[1..]);
        }
        !is_left_out
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::without_egress;

    #[test]
    fn queues_of_other_buses_stay() {
        let text =
            "a = 1\n[egress.a]\nqueue = 3\n[[egress.a.band]]\nname = \"x\"\n[egress.ab]\nqueue = 4\n[[traffic]]\n";
        assert_eq!(without_egress(text, "a"), "a = 1\n[egress.ab]\nqueue = 4\n[[traffic]]\n");
        assert_eq!(without_egress(text, "b"), text);
    }
}
