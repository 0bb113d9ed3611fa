//! The interfaces of a guest.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candor_io::can;
use candor_io::process as processes;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, Link};

use super::outlet::Outlet;
use super::{InitError, file, kernel, pass_on, wait_for};
use crate::channel::Message;
use crate::job::{KVASER_RATE, OUT, Topology, WIRE_BUSES};

/// Size of a CAN FD frame; classic frames pass too.
const FD_FRAME_BYTES: u32 = 72;
/// The gateway's cards.
const GATEWAY: [&str; 2] = ["can2", "can3"];
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(4);

/// Brings up the loopback device and the interfaces of the topology.
pub(super) fn set_up(topology: Topology, bare_metal: bool) -> Result<(), InitError> {
    let mut client = Client::open().map_err(failed("lo"))?;
    let loopback = find(&mut client, "lo")?;
    link::set_up(&mut client, loopback.index).map_err(failed("lo"))?;
    if topology == Topology::Wire {
        return Ok(()); // created by candor-lab wire
    }
    let mut names = topology.interfaces().to_vec();
    if bare_metal {
        // The line that is used last is served first. The monitor is to stamp a frame before the gateway receives it.
        names.sort_by_key(|name| !GATEWAY.contains(name));
    }
    for name in names {
        if topology == Topology::Vcan {
            link::create_vcan(&mut client, name).map_err(failed(name))?;
        }
        let interface = find(&mut client, name)?;
        let set_size = match topology {
            Topology::Kvaser => link::set_can_bitrate(&mut client, interface.index, KVASER_RATE),
            Topology::Vcan | Topology::Wire => link::set_mtu(&mut client, interface.index, FD_FRAME_BYTES),
        };
        set_size.and_then(|()| link::set_up(&mut client, interface.index)).map_err(failed(name))?;
    }
    if topology == Topology::Kvaser {
        topology.interfaces().iter().try_for_each(|name| wait_until_operational(name))?;
    }
    Ok(())
}

/// The kernel reports state changes at most once a second. That work should be done before the command starts.
fn wait_until_operational(name: &str) -> Result<(), InitError> {
    let is_operational = can::wait_until_operational(name, OPERATIONAL_WITHIN);
    is_operational.then_some(()).ok_or_else(|| InitError::NotOperational(name.to_owned()))
}

fn find(client: &mut Client, name: &str) -> Result<Link, InitError> {
    link::by_name(client, name).map_err(failed(name))?.ok_or_else(|| InitError::NoInterface(name.to_owned()))
}

fn failed(interface: &str) -> impl FnOnce(NetlinkError) -> InitError {
    let interface = interface.to_owned();
    move |source| InitError::Link { interface, source }
}

const PROGRAM: &str = "/bin/candor-lab";
const LOG: &str = "wire.log";
const REPORT: &str = "wire.json";

/// `candor-lab wire`, which emulates the buses of the topology `wire`.
pub(super) struct Wire {
    pid: u32,
    report: JoinHandle<std::io::Result<String>>,
    warnings: Option<JoinHandle<()>>,
}

impl Wire {
    pub(super) fn start(adapters: &[String], outlet: &Outlet) -> Result<Self, InitError> {
        let mut command = Command::new(PROGRAM);
        command.args(["wire", "--json", "--log", &format!("{OUT}/{LOG}")]);
        command.args(WIRE_BUSES.iter().flat_map(|bus| ["--bus", bus]));
        command.args(adapters.iter().flat_map(|adapter| ["--adapter", adapter]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| InitError::Command { program: PROGRAM.to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let warnings = child.stderr.take().map(|pipe| pass_on(pipe, outlet.clone(), Message::Stderr));
        let mut stdout = BufReader::new(child.stdout.take().ok_or(InitError::NoWire)?);
        let mut report = String::new();
        while !report.contains("\"ready\"") {
            if stdout.read_line(&mut report).map_err(kernel("Cannot read from candor-lab wire"))? == 0 {
                // Its error message has to arrive before the guest ends.
                let _ = warnings.map(JoinHandle::join);
                return Err(InitError::NoWire);
            }
        }
        let rest = move || stdout.read_to_string(&mut report).map(|_| report);
        Ok(Self { pid: child.id(), report: thread::spawn(rest), warnings })
    }

    /// Stops it and stores its report in `$CANDOR_OUT`. Returns whether the run is valid.
    pub(super) fn end(self) -> Result<bool, InitError> {
        processes::terminate(self.pid).map_err(|_gone| InitError::NoWire)?;
        let status = wait_for(self.pid)?;
        // A reader ends with its pipe and does not panic.
        let _ = self.warnings.map(JoinHandle::join);
        let report = self.report.join().map_err(|_panic| InitError::NoWire)?;
        let path = format!("{OUT}/{REPORT}");
        std::fs::write(&path, report.map_err(kernel("Cannot read from candor-lab wire"))?).map_err(file(&path))?;
        Ok(status.success())
    }
}
