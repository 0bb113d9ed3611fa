//! `candor-lab bench`: measures all gateways in one guest with the same traffic.

mod progress;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::Plan;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::{OUT, Topology, WIRE, WIRE_LISTENERS};
use candor_lab::kernel::Testbed;
use candor_lab::record::{RECORD_EXTENSION, Record};
use candor_lab::tester::StampSource;

use super::tester::DeviceUnderTest;
use super::{guests, report, tester};
use crate::cli::{BenchArgs, origin_name};
use progress::Progress;

const PROCESSORS: usize = 1;

pub(crate) fn run(args: &BenchArgs) -> Outcome {
    // Errors are reported before the guest boots.
    let Some(files) = tester::read(&args.gateways, Form::once(args.json))? else { return Ok(Exit::No) };
    let conditions = tester::Conditions::of(args.conditions, PROCESSORS, &tester::engines(&files))?;
    tester::pattern(&args.traffic, None, conditions.origin)?;
    let devices = tester::devices_under_test(&files, args.conditions.baselines)?;
    check_interfaces(&files, args.topology)?;
    let adapter = match (args.stamps.source, args.topology) {
        (StampSource::Kernel, _) => None,
        (StampSource::Hardware, Topology::Wire) => Some(WIRE_LISTENERS.to_owned()),
        (StampSource::Hardware, Topology::Kvaser | Topology::Vcan) => {
            return Err("Virtual interfaces and emulated cards have no hardware timestamps: add --topology wire".into());
        }
    };
    let folder = args.records.display();
    fs::create_dir_all(&args.records).map_err(|error| format!("Cannot create the directory {folder}: {error}"))?;
    args.html.as_deref().map(probe).transpose()?;
    let mut spec = GuestSpec::new(
        Testbed::Icount,
        args.topology,
        guest::guest_lab()?,
        command(args, &guest_names(&args.gateways)),
    );
    spec.wire_adapters.extend(adapter);
    spec.arch = args.arch;
    spec.kernel.clone_from(&args.kernel);
    spec.copies.clone_from(&args.gateways);
    spec.out = Some(args.records.clone());
    spec.timeout = args.timeout;

    let mut progress = Progress::new(devices.len());
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    let exit = exit.inspect_err(guests::show_console)?;
    // Status 1 means that no frame arrived. Other gateways are reported.
    if exit.status > 1 {
        render::err(&format!("candor-lab: the tester in the guest ended with status {}\n", exit.status));
        return Ok(Exit::CouldNotRun);
    }
    let records = read(&args.records, &devices)?;
    guests::report_platform(&exit, "measured");
    report::print(&records, args.html.as_deref(), args.json)?;
    Ok(if exit.status == 0 { Exit::Fine } else { Exit::No })
}

/// The interfaces of the tester: send, monitor, receive.
const fn tester_interfaces(topology: Topology) -> [&'static str; 3] {
    match topology {
        Topology::Vcan => ["vcan0", "vcan0", "vcan1"],
        Topology::Kvaser | Topology::Wire => ["can0", "can1", "can4"],
    }
}

/// A gateway on the tester's interfaces would lose every frame, which shows only after minutes.
fn check_interfaces(files: &[(PathBuf, Plan)], topology: Topology) -> Result<(), String> {
    // Virtual interfaces have no separate side for the gateway.
    if topology == Topology::Vcan {
        return Ok(());
    }
    for (file, plan) in files {
        if let Some(bus) = plan.buses().iter().find(|bus| tester_interfaces(topology).contains(&bus.interface.as_str()))
        {
            return Err(format!(
                "{} has {} for its bus {}, which belongs to the tester: use can2, where frames arrive, and can3",
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
    let [send, monitor, receive] = tester_interfaces(args.topology);
    let time = |time: std::time::Duration| format!("{}ns", time.as_nanos());
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
        ("--frames-from", origin_name(conditions.frames_from).to_owned()),
        ("--policy", conditions.policy.to_string()),
        ("--stamps", args.stamps.source.name().to_owned()),
        ("--records", OUT.to_owned()),
    ];
    let mut words = vec!["candor-lab".to_owned(), "tester".to_owned(), "--json".to_owned()];
    words.extend(options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
    if args.topology == Topology::Wire {
        words.extend(["--wire-bitrate".to_owned(), WIRE.nominal.to_string()]);
        words.extend(WIRE.data.into_iter().flat_map(|rate| ["--wire-data-bitrate".to_owned(), rate.to_string()]));
    }
    words.extend(conditions.baselines.then(|| "--baselines".to_owned()));
    words.extend_from_slice(gateways);
    words
}

/// The names of the gateway files in the guest's working directory.
fn guest_names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    files.iter().map(name).collect()
}

/// Checks that the report can be written before measuring.
fn probe(html: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().create(true).append(true).open(html);
    opened.map(drop).map_err(|error| format!("Cannot write {}: {error}", html.display()))
}

/// The records of the guest, in the order of the gateways.
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
    fn gateways_on_interfaces_of_the_tester_are_refused() {
        let between = |from: &str, to: &str| {
            let text = format!(
                "[bus.a]\ninterface = \"{from}\"\n[bus.b]\ninterface = \"{to}\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n"
            );
            vec![("g.toml".into(), candor_config::config::load(text.as_bytes()).unwrap().plan)]
        };
        assert_eq!(check_interfaces(&between("can2", "can3"), Topology::Kvaser), Ok(()));
        assert_eq!(check_interfaces(&between("vcan0", "vcan1"), Topology::Vcan), Ok(()));
        let error = check_interfaces(&between("can2", "can4"), Topology::Wire).unwrap_err();
        assert!(error.contains("g.toml has can4 for its bus b"), "{error}");
    }
}
