//! `candor generate networkd`: configuration files of systemd-networkd for the interfaces of a gateway file.
//!
//! # Source
//! [`systemd.network(5)`](https://www.freedesktop.org/software/systemd/man/252/systemd.network.html),
//! [`systemd.netdev(5)`](https://www.freedesktop.org/software/systemd/man/252/systemd.netdev.html),
//! [`systemd.link(5)`](https://www.freedesktop.org/software/systemd/man/252/systemd.link.html) of systemd 252.

use std::fs;
use std::path::Path;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::{Bus, BusIndex, Plan};
use candor_core::units::BitRate;

use crate::cli::NetworkdArgs;

/// Frames that a queue holds: more than the send buffer of a socket does (279 by default), so that `write()` waits instead of
/// failing with ENOBUFS.
const QUEUE_FRAMES: u32 = 300;

/// MTU of an interface with CAN FD.
const FD_MTU: u32 = 72;

pub(crate) fn run(args: &NetworkdArgs) -> Outcome {
    let file = GatewayFile::read(&args.file)?;
    let Some(loaded) = file.gateway_or_say(Form::Text)? else { return Ok(Exit::No) };
    let units = units(&loaded.plan, file.source.name());
    let Some(folder) = &args.output else {
        let texts: Vec<_> = units.iter().map(|(name, text)| format!("# {name}\n{text}")).collect();
        return render::answer(&texts.join("\n"), Exit::Fine);
    };
    write(folder, &units, args.force)?;
    let names: Vec<_> = units.iter().map(|(name, _)| format!("{}\n", folder.join(name).display())).collect();
    let next = "Apply them: sudo networkctl reload, or restart systemd-networkd\n";
    render::answer(&(names.concat() + next), Exit::Fine)
}

/// Name and text of each file.
fn units(plan: &Plan, file: &str) -> Vec<(String, String)> {
    let made = format!("# Made by `candor generate networkd` from {}.\n", file.escape_debug());
    let mut units = Vec::new();
    let mut add = |ending: &str, bus: &Bus, sections: &[String]| {
        units.push((format!("70-{}.{ending}", bus.interface), format!("{made}{}", sections.join("\n"))));
    };
    for (index, bus) in plan.buses().iter().enumerate().map(|(at, bus)| (BusIndex(at), bus)) {
        let name = &bus.interface;
        if bus.bitrate.is_some() {
            let queue = format!("[Match]\nOriginalName={name}\n\n[Link]\nTransmitQueueLength={QUEUE_FRAMES}\n");
            add("link", bus, &[queue]);
        } else if let Some(peer) = bus.vxcan_peer {
            // One file makes both ends.
            if index < peer {
                let peer = &plan.bus(peer).interface;
                add("netdev", bus, &[format!("[NetDev]\nName={name}\nKind=vxcan\n\n[VXCAN]\nPeer={peer}\n")]);
            }
        } else if name.starts_with("vcan") {
            add("netdev", bus, &[format!("[NetDev]\nName={name}\nKind=vcan\nMTUBytes={FD_MTU}\n")]);
        }
        let link = format!(
            "[Match]\nName={name}\n\n[Link]\n# A CAN interface gets no address: waiting for it delays boot.\nRequiredForOnline=no\n"
        );
        add("network", bus, &[Some(link), can(bus)].into_iter().flatten().collect::<Vec<_>>());
    }
    units
}

/// The section of a controller; `None` for a bus without bit rate, such as a virtual one.
fn can(bus: &Bus) -> Option<String> {
    let rate = |rate: BitRate| rate.bits_per_second();
    let mut text = format!("[CAN]\nBitRate={}\n", rate(bus.bitrate?));
    if let Some(data) = bus.data_bitrate {
        text += &format!("DataBitRate={}\nFDMode=yes\n", rate(data));
    }
    text += match bus.restart_after {
        Some(_) => {
            "# candor restarts the controller after bus-off (restart-after), without outdated frames.\nRestartSec=0\n"
        }
        None => "RestartSec=100ms\n",
    };
    Some(text)
}

/// Writes all files, or none if one exists already.
fn write(folder: &Path, units: &[(String, String)], force: bool) -> Result<(), String> {
    let failed = |path: &Path, error| format!("cannot write {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let existing = units.iter().map(|(name, _)| folder.join(name)).find(|path| path.exists() && !force);
    if let Some(path) = existing {
        return Err(format!("{} exists; --force overwrites it; nothing was written", path.display()));
    }
    for (name, text) in units {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    const GATEWAY: &str = "[bus.fast]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\ndata-bitrate = \"2Mbit/s\"\n\
         [bus.slow]\ninterface = \"can1\"\nbitrate = \"125kbit/s\"\nrestart-after = \"1s\"\n\
         [bus.bench]\ninterface = \"vcan0\"\n\
         [bus.x]\ninterface = \"vx0\"\nvxcan-peer = \"y\"\n[bus.y]\ninterface = \"vx1\"\n\
         [[route]]\nname = \"r\"\nfrom = \"fast\"\nto = \"slow\"\n";

    fn written() -> Vec<(String, String)> {
        units(&config::load(GATEWAY.as_bytes()).unwrap().plan, "car.toml")
    }

    #[test]
    fn every_interface_has_its_files() {
        let texts: Vec<_> = written().into_iter().map(|(name, text)| format!("## {name}\n{text}")).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn nothing_is_written_over_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("70-vcan0.network");
        fs::write(&path, "theirs").unwrap();
        let refused = write(folder.path(), &written(), false).unwrap_err();
        assert!(refused.ends_with("70-vcan0.network exists; --force overwrites it; nothing was written"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(folder.path(), &written(), true).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("RequiredForOnline=no"));
    }
}
