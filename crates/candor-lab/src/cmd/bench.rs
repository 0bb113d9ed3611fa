//! `candor-lab bench`: one guest, all gateways, the same traffic for each.

mod progress;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use candor_config::plan::Plan;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::{OUT, WIRE, WIRE_LISTENERS};
use candor_lab::kernel::Testbed;
use candor_lab::record::{RECORD_EXTENSION, Record};
use candor_lab::tester::StampSource;
use clap::ValueEnum as _;

use crate::cli::{BenchArgs, FramesFrom, TopologyArg};
use crate::cmd::tester::DeviceUnderTest;
use crate::cmd::{report, tester};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::Form;
use candor_cli::render;
use progress::Progress;

/// Of the guest, which counts instructions.
const PROCESSORS: usize = 1;

pub(crate) fn run(args: &BenchArgs) -> Outcome {
    // Mistakes are found here, before a guest is booted for them.
    let Some(files) = tester::read(&args.gateways, Form::once(args.json))? else { return Ok(Exit::No) };
    let conditions = tester::Conditions::of(args.conditions, PROCESSORS, &tester::engines(&files))?;
    tester::pattern(&args.traffic, None, conditions.origin)?;
    let devices = tester::devices_under_test(&files, args.conditions.baselines)?;
    keeps_off_the_tester(&files, args.topology)?;
    let adapter = match (args.stamps.source(), args.topology) {
        (StampSource::Kernel, _) => None,
        (StampSource::Hardware, TopologyArg::Wire) => Some(WIRE_LISTENERS.to_owned()),
        (StampSource::Hardware, TopologyArg::Kvaser | TopologyArg::Vcan) => {
            return Err(
                "Neither virtual interfaces nor the emulated cards take stamps of their own: add --topology wire"
                    .into(),
            );
        }
    };
    let folder = args.records.display();
    fs::create_dir_all(&args.records).map_err(|error| format!("Cannot make the folder {folder}: {error}"))?;
    args.html.as_deref().map(probe).transpose()?;
    let mut spec = GuestSpec::new(
        Testbed::Icount,
        super::guests::topology(args.topology),
        guest::static_lab()?,
        command(args, &guest_names(&args.gateways)),
    );
    spec.wire_adapters.extend(adapter);
    spec.kernel.clone_from(&args.kernel);
    spec.copies.clone_from(&args.gateways);
    spec.out = Some(args.records.clone());
    spec.timeout = args.timeout;

    let mut progress = Progress::new(devices.len());
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    let exit = exit.inspect_err(super::guests::show_console)?;
    // 1 is an answer: nothing arrived. What was measured is reported all the same.
    if exit.status > 1 {
        render::err(&format!("candor-lab: The tester in the guest ended with status {}\n", exit.status));
        return Ok(Exit::CouldNotRun);
    }
    let records = read(&args.records, &devices)?;
    super::guests::tell_platform(&exit, "measured");
    report::print(&records, args.html.as_deref(), args.json)?;
    Ok(if exit.status == 0 { Exit::Fine } else { Exit::No })
}

/// Where the tester sends, watches and hears.
const fn ears(topology: TopologyArg) -> [&'static str; 3] {
    match topology {
        TopologyArg::Vcan => ["vcan0", "vcan0", "vcan1"],
        TopologyArg::Kvaser | TopologyArg::Wire => ["can0", "can1", "can4"],
    }
}

/// A gateway on one of the tester's own cards loses every frame, and that would show only after minutes.
fn keeps_off_the_tester(files: &[(PathBuf, Plan)], topology: TopologyArg) -> Result<(), String> {
    // Virtual interfaces have no other side.
    if matches!(topology, TopologyArg::Vcan) {
        return Ok(());
    }
    for (file, plan) in files {
        if let Some(bus) = plan.buses().iter().find(|bus| ears(topology).contains(&bus.interface.as_str())) {
            return Err(format!(
                "{} has {} for its bus {}, which is the tester's: between these cards the gateway's interfaces are can2, where frames \
                 come in, and can3",
                file.display(),
                bus.interface,
                bus.name
            ));
        }
    }
    Ok(())
}

/// The tester's command line in the guest.
fn command(args: &BenchArgs, gateways: &[String]) -> Vec<String> {
    let BenchArgs { traffic, conditions, .. } = args;
    let [send, monitor, receive] = ears(args.topology);
    let time = |time: std::time::Duration| format!("{}ns", time.as_nanos());
    let name =
        |value: FramesFrom| value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let options = [
        ("--send", send.to_owned()),
        ("--monitor", monitor.to_owned()),
        ("--receive", receive.to_owned()),
        ("--frames", traffic.frames.to_string()),
        ("--frame", traffic.frame.to_string()),
        ("--warm-up", traffic.warm_up.to_string()),
        ("--gap-min", time(traffic.gap_min)),
        ("--gap-max", time(traffic.gap_max)),
        ("--seed", traffic.seed.to_string()),
        ("--lost-after", time(traffic.lost_after)),
        ("--frames-from", name(conditions.frames_from)),
        ("--policy", conditions.policy.to_string()),
        ("--stamps", args.stamps.source().name().to_owned()),
        ("--records", OUT.to_owned()),
    ];
    let mut words = vec!["candor-lab".to_owned(), "tester".to_owned(), "--json".to_owned()];
    words.extend(options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
    if let TopologyArg::Wire = args.topology {
        words.extend(["--wire-bitrate".to_owned(), WIRE.nominal.to_string()]);
        words.extend(WIRE.data.into_iter().flat_map(|rate| ["--wire-data-bitrate".to_owned(), rate.to_string()]));
    }
    words.extend(conditions.baselines.then(|| "--baselines".to_owned()));
    words.extend_from_slice(gateways);
    words
}

/// The gateway files as they are called in the guest's working directory.
fn guest_names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    files.iter().map(name).collect()
}

/// A report that cannot be written should be known before the gateways are measured for it.
fn probe(html: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().create(true).append(true).open(html);
    opened.map(drop).map_err(|error| format!("Cannot write {}: {error}", html.display()))
}

/// The records that the guest has left, in the order of the gateways.
fn read(folder: &Path, devices: &[DeviceUnderTest]) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    let mut records = Vec::new();
    for DeviceUnderTest { name, .. } in devices {
        records.extend(report::read(&folder.join(format!("{name}.{RECORD_EXTENSION}")))?);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_on_the_testers_cards_are_refused_before_a_guest_boots() {
        let between = |from: &str, to: &str| {
            let text = format!(
                "[bus.a]\ninterface = \"{from}\"\n[bus.b]\ninterface = \"{to}\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n"
            );
            vec![("g.toml".into(), candor_config::config::load(text.as_bytes()).unwrap().plan)]
        };
        assert_eq!(keeps_off_the_tester(&between("can2", "can3"), TopologyArg::Kvaser), Ok(()));
        assert_eq!(keeps_off_the_tester(&between("vcan0", "vcan1"), TopologyArg::Vcan), Ok(()));
        let error = keeps_off_the_tester(&between("can2", "can4"), TopologyArg::Wire).unwrap_err();
        assert!(error.contains("g.toml has can4 for its bus b"), "{error}");
    }
}
