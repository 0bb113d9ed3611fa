//! `candor-lab bench`: measures all gateways in one guest with the same traffic.

mod progress;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::{Bus, Plan};
use candor_core::frame::{Frame, FrameFormat};
use candor_lab::bare_metal;
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
    check_frame(&args.traffic.frame, args.topology)?;
    let devices = tester::devices_under_test(&files, args.conditions.baselines, args.conditions.bare_metal)?;
    if args.conditions.bare_metal {
        check_bare_metal(&files, args.topology)?;
    }
    check_interfaces(&files, args.topology)?;
    let adapter = match (args.stamps.source, args.topology) {
        (StampSource::Kernel, _) => None,
        (StampSource::Hardware, Topology::Wire) => Some(WIRE_LISTENERS.to_owned()),
        (StampSource::Hardware, Topology::Kvaser | Topology::Vcan) => {
            return Err("Virtual interfaces and emulated cards have no hardware timestamps: add --topology wire".into());
        }
    };
    if let Some(replaced) = replaced(&args.records, &devices) {
        render::err(&format!("candor-lab: {replaced}\n"));
    }
    let is_new = !args.records.exists();
    let folder = args.records.display();
    fs::create_dir_all(&args.records).map_err(|error| format!("Cannot create the directory {folder}: {error}"))?;
    args.html.as_deref().map(probe).transpose()?;
    if is_new {
        let _ = fs::remove_dir(&args.records);
    }
    let mut spec = GuestSpec::new(
        Testbed::Icount,
        args.topology,
        guest::guest_lab()?,
        command(args, &guest_names(&args.gateways)),
    );
    spec.wire_adapters.extend(adapter);
    spec.bare_metal = args.conditions.bare_metal;
    spec.arch = args.arch;
    spec.kernel.clone_from(&args.kernel);
    spec.modules.clone_from(&args.module);
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

/// A gateway on interfaces that the guest does not have, or on the tester's, which would lose every frame, fails only after the
/// boot or after minutes.
pub(super) fn check_interfaces(files: &[(PathBuf, Plan)], topology: Topology) -> Result<(), String> {
    for (file, plan) in files {
        let used = plan.routes().iter().flat_map(|route| [route.from, route.to]).map(|bus| plan.bus(bus));
        if let Some(bus) = used.into_iter().find(|bus| !topology.interfaces().contains(&bus.interface.as_str())) {
            return Err(not_in_guest(&file.display().to_string(), bus, topology));
        }
    }
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

/// A frame that the tester's interface cannot send would be lost, each time after a second.
pub(super) fn check_frame(frame: &Frame, topology: Topology) -> Result<(), String> {
    if topology == Topology::Kvaser && frame.format != FrameFormat::Classic {
        return Err(format!(
            "--frame {frame}: the emulated cards (topology kvaser) have no CAN FD; use a classic frame, or --topology vcan"
        ));
    }
    Ok(())
}

/// A gateway without an operating system has two of the emulated cards.
fn check_bare_metal(files: &[(PathBuf, Plan)], topology: Topology) -> Result<(), String> {
    const CARDS: &str = "use can2, where frames arrive, and can3";
    if topology != Topology::Kvaser {
        return Err(format!(
            "--bare-metal needs emulated cards: add --topology kvaser, and in the gateway files {CARDS}"
        ));
    }
    for (file, plan) in files {
        let file = file.display();
        let is_card = |bus: &&Bus| topology.interfaces().contains(&bus.interface.as_str());
        if let Some(Bus { name, interface, .. }) = plan.buses().iter().find(|bus| !is_card(bus)) {
            return Err(format!(
                "{file} has {interface} for its bus {name}, and --bare-metal needs emulated cards (topology kvaser): {CARDS}"
            ));
        }
        bare_metal::check(plan).map_err(|error| format!("--bare-metal: {file}: {error}"))?;
    }
    Ok(())
}

/// The interface of the bus is not one of the guest.
fn not_in_guest(file: &str, bus: &Bus, topology: Topology) -> String {
    let has = |topology: &Topology| topology.interfaces().contains(&bus.interface.as_str());
    let remedy = match [Topology::Kvaser, Topology::Vcan].iter().find(|topology| has(topology)) {
        Some(other) => format!("add --topology {}", other.name()),
        None if topology == Topology::Vcan => "use vcan0, where frames arrive, and vcan1".to_owned(),
        None => "use can2, where frames arrive, and can3".to_owned(),
    };
    format!(
        "{file} has {} for its bus {}, and the guest has {} (topology {}): {remedy}",
        bus.interface,
        bus.name,
        topology.interfaces().join(", "),
        topology.name()
    )
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
    words.extend(conditions.bare_metal.then(|| "--bare-metal".to_owned()));
    words.extend_from_slice(gateways);
    words
}

/// The names of the gateway files in the guest's working directory.
fn guest_names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    files.iter().map(name).collect()
}

/// Checks that the report can be written before measuring. Leaves no empty file in case the measurement is interrupted.
fn probe(html: &Path) -> Result<(), String> {
    let is_new = !html.exists();
    let opened = OpenOptions::new().create(true).append(true).open(html);
    let probed = opened.and_then(|_file| if is_new { fs::remove_file(html) } else { Ok(()) });
    probed.map_err(|error| format!("Cannot write {}: {error}", html.display()))
}

fn record_of(folder: &Path, device: &DeviceUnderTest) -> PathBuf {
    folder.join(format!("{}.{RECORD_EXTENSION}", device.name))
}

/// Records of an earlier run that this one replaces.
fn replaced(folder: &Path, devices: &[DeviceUnderTest]) -> Option<String> {
    let paths = devices.iter().map(|device| record_of(folder, device)).filter(|path| path.exists());
    let names: Vec<_> = paths.map(|path| path.display().to_string()).collect();
    let list = names.join(", ");
    (!names.is_empty())
        .then(|| format!("this run replaces {list} of an earlier one; to keep that, use another --records DIR"))
}

/// The records of the guest, in the order of the gateways.
fn read(folder: &Path, devices: &[DeviceUnderTest]) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    let mut records = Vec::new();
    for device in devices {
        records.extend(report::read(&record_of(folder, device))?);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_a_report_leaves_no_file_and_keeps_an_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.html");
        assert_eq!((probe(&path), path.exists()), (Ok(()), false));
        fs::write(&path, "old").unwrap();
        assert_eq!((probe(&path), fs::read_to_string(&path).unwrap().as_str()), (Ok(()), "old"));
        assert!(probe(&folder.path().join("none/r.html")).is_err());
    }

    #[test]
    fn records_of_an_earlier_run_are_not_replaced_silently() {
        let folder = tempfile::tempdir().unwrap();
        let device =
            |name: &str| DeviceUnderTest { name: name.to_owned(), engine: String::new(), spins: false, gateway: None };
        let devices = [device("a"), device("b")];
        assert_eq!(replaced(folder.path(), &devices), None);
        fs::write(folder.path().join("b.record.csv"), "").unwrap();
        let said = replaced(folder.path(), &devices).unwrap();
        assert!(said.contains("b.record.csv of an earlier one") && !said.contains("a.record.csv"), "{said}");
    }

    fn between(from: &str, to: &str) -> Vec<(PathBuf, Plan)> {
        let text = format!(
            "[bus.a]\ninterface = \"{from}\"\n[bus.b]\ninterface = \"{to}\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n"
        );
        vec![("g.toml".into(), candor_config::config::load(text.as_bytes()).unwrap().plan)]
    }

    #[test]
    fn frames_that_the_cards_cannot_send_are_refused() {
        let check = |frame: &str, topology| check_frame(&frame.parse().unwrap(), topology);
        assert_eq!(check("123#0000", Topology::Kvaser), Ok(()));
        assert_eq!(check("123##10000", Topology::Wire), Ok(()));
        assert!(check("123##10000", Topology::Kvaser).unwrap_err().contains("have no CAN FD"));
    }

    #[test]
    fn gateways_without_an_operating_system_need_cards() {
        let refused = |from, to, topology| check_bare_metal(&between(from, to), topology).unwrap_err();
        assert_eq!(check_bare_metal(&between("can2", "can3"), Topology::Kvaser), Ok(()));
        assert!(refused("can2", "can3", Topology::Vcan).contains("add --topology kvaser"));
        let error = refused("vcan0", "vcan1", Topology::Kvaser);
        assert!(
            error.ends_with("needs emulated cards (topology kvaser): use can2, where frames arrive, and can3"),
            "{error}"
        );
    }

    #[test]
    fn gateways_on_interfaces_of_the_tester_are_refused() {
        assert_eq!(check_interfaces(&between("can2", "can3"), Topology::Kvaser), Ok(()));
        assert_eq!(check_interfaces(&between("vcan0", "vcan1"), Topology::Vcan), Ok(()));
        let error = check_interfaces(&between("can2", "can4"), Topology::Wire).unwrap_err();
        assert!(error.contains("g.toml has can4 for its bus b"), "{error}");
        let remedy = |from, to, topology| {
            let error = check_interfaces(&between(from, to), topology).unwrap_err();
            error.rsplit_once(": ").unwrap().1.to_owned()
        };
        assert_eq!(remedy("vcan0", "vcan1", Topology::Kvaser), "add --topology vcan");
        assert_eq!(remedy("vcan0", "vcan1", Topology::Wire), "add --topology vcan");
        assert_eq!(remedy("can2", "can3", Topology::Vcan), "add --topology kvaser");
        assert_eq!(remedy("vcan0", "vcan5", Topology::Vcan), "use vcan0, where frames arrive, and vcan1");
        assert_eq!(remedy("can7", "can3", Topology::Kvaser), "use can2, where frames arrive, and can3");
    }
}
