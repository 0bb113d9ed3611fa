//! The kernel's side of an adapter: its port and its interfaces, whose configuration survives unplugging.

use std::error::Error;
use std::io;
use std::net::Shutdown;
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use candor_core::units::BitRate;
use candor_io::can::{self, InterfaceIndex};
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};
use candor_wire::host::{Netdev, Port, Vhci};
use candor_wire::{BusNode, DeviceId};

use super::adapters::Planned;
use crate::cli::BusSpec;

/// Enumeration takes half a second on an idle machine.
const APPEARS_WITHIN: Duration = Duration::from_secs(15);
const GONE_WITHIN: Duration = Duration::from_secs(15);
/// The kernel updates operational states once a second.
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

pub(super) type Failure = Box<dyn Error>;

#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) device: DeviceId,
    /// Our end of its stream, shared with the bus thread.
    stream: UnixStream,
    port: Option<Port>,
    /// Configuration of its interfaces, in the order of channels.
    settings: Vec<Setting>,
    /// Interfaces that exist, in the same order.
    interfaces: Vec<InterfaceIndex>,
}

/// Configuration of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    rate: BitRate,
    data_rate: Option<BitRate>,
    restart_ms: Option<NonZeroU32>,
    /// `None`: the default of the kernel.
    tx_queue_len: Option<u32>,
    up: bool,
}

impl Setting {
    fn new(bus: &BusSpec, name: &str) -> Self {
        let (rate, data_rate) = (bus.rate, bus.data_rate);
        Self { name: name.to_owned(), rate, data_rate, restart_ms: None, tx_queue_len: None, up: true }
    }

    /// Records changes that were made with other tools.
    fn update(&mut self, link: &Link) {
        self.name.clone_from(&link.name);
        (self.up, self.tx_queue_len) = (link.up, Some(link.tx_queue_len));
        if let Some(can) = link.can {
            self.rate = can.bitrate.unwrap_or(self.rate);
            (self.data_rate, self.restart_ms) = (can.data_bitrate, can.restart_ms);
        }
    }
}

pub(super) fn rates(rate: BitRate, data_rate: Option<BitRate>) -> String {
    match data_rate {
        Some(data) => format!("{rate} and {data}"),
        None => rate.to_string(),
    }
}

impl Adapter {
    /// An adapter that is not plugged in yet.
    pub(super) fn new(buses: &[BusSpec], planned: &Planned, device: DeviceId, stream: UnixStream) -> Self {
        let channels = planned.nodes.iter().zip(&planned.interfaces);
        let of = |(node, name): (&BusNode, &String)| Some(Setting::new(buses.get(node.bus)?, name));
        let settings = channels.filter_map(of).collect();
        Self { device, stream, port: None, settings, interfaces: Vec::new() }
    }

    /// Attaches the stream to the kernel and renames the interfaces.
    pub(super) fn plug_in(&mut self, client: &mut Client, vhci: &Vhci, kernels: UnixStream) -> Result<(), Failure> {
        let port = vhci.attach(&kernels)?;
        // The kernel would not notice the end of the stream while a copy is open here.
        drop(kernels);
        self.port = Some(port.clone());
        let netdevs = netdevs(&port, self.settings.len())?;
        self.interfaces = netdevs.iter().map(|netdev| netdev.index).collect();
        let names = self.settings.iter().map(|setting| setting.name.as_str());
        rename(client, &netdevs.iter().zip(names).collect::<Vec<_>>())
    }

    /// Configures the interfaces and sets them up.
    pub(super) fn configure(&self, client: &mut Client) -> Result<(), Failure> {
        for (&index, setting) in self.interfaces.iter().zip(&self.settings) {
            let name = &setting.name;
            let refused =
                |error| format!("{name} cannot be set to {}: {error}", rates(setting.rate, setting.data_rate));
            link::set_can_bitrates(client, index, setting.rate, setting.data_rate).map_err(refused)?;
            if setting.restart_ms.is_some() {
                link::set_can_restart(client, index, setting.restart_ms)?;
            }
            if let Some(frames) = setting.tx_queue_len {
                link::set_tx_queue_len(client, index, frames)?;
            }
            if setting.up {
                link::set_up(client, index).map_err(|error| format!("{name} cannot be set up: {error}"))?;
            }
        }
        Ok(())
    }

    pub(super) fn wait_until_operational(&self) -> Result<(), Failure> {
        for Setting { name, .. } in self.settings.iter().filter(|setting| setting.up) {
            if !can::wait_until_operational(name, OPERATIONAL_WITHIN) {
                return Err(format!("{name} is up but does not become operational").into());
            }
        }
        Ok(())
    }

    pub(super) fn set_down(&self, client: &mut Client) {
        for &index in &self.interfaces {
            // An unplugged one is gone.
            let _gone = link::set_down(client, index);
        }
    }

    /// Closes the stream, which unplugs the adapter, after recording its configuration.
    pub(super) fn unplug(&mut self, client: &mut Client) -> Result<(), Failure> {
        let links = link::list(client)?;
        for (index, setting) in self.interfaces.iter().zip(&mut self.settings) {
            if let Some(link) = links.iter().find(|link| link.index == *index) {
                setting.update(link);
            }
        }
        self.close();
        Ok(())
    }

    /// Shuts the stream down, including copies of our end.
    pub(super) fn close(&self) {
        // Fails only if the kernel has closed it.
        let _ended = self.stream.shutdown(Shutdown::Both);
    }

    /// Creates a new stream for an adapter that is replugged: returns the ends for the buses and for the kernel.
    pub(super) fn renew(&mut self) -> io::Result<(UnixStream, UnixStream)> {
        let (ours, kernels) = UnixStream::pair()?;
        self.stream = ours.try_clone()?;
        Ok((ours, kernels))
    }

    /// Waits until the kernel has removed the interfaces and freed the port.
    pub(super) fn wait_until_gone(&mut self, client: &mut Client) -> Result<(), Failure> {
        for (index, Setting { name, .. }) in self.interfaces.drain(..).zip(&self.settings) {
            let is_gone = || Ok(link::list(client)?.iter().all(|link| link.index != index).then_some(()));
            wait(GONE_WITHIN, is_gone)?.ok_or_else(|| format!("The kernel does not remove {name}"))?;
        }
        if let Some(port) = self.port.take() {
            let is_free = || Ok(port.is_free()?.then_some(()));
            wait(GONE_WITHIN, is_free)?.ok_or("The kernel does not free a port of vhci-hcd")?;
        }
        Ok(())
    }
}

/// Waits for the interfaces of a device.
fn netdevs(port: &Port, channels: usize) -> Result<Vec<Netdev>, Failure> {
    let all = || Ok(Some(port.netdevs()?).filter(|netdevs| netdevs.len() >= channels));
    wait(APPEARS_WITHIN, all)?.ok_or_else(|| {
        "The kernel created no interfaces for the adapter. It does so only in the initial network namespace; see dmesg"
            .into()
    })
}

/// Renames the interfaces. One may have a name that is meant for another.
fn rename(client: &mut Client, appeared: &[(&Netdev, &str)]) -> Result<(), Failure> {
    let wrong = || appeared.iter().filter(|(netdev, name)| netdev.name != *name);
    for (netdev, _) in wrong() {
        link::rename(client, netdev.index, &format!("wire-{}", netdev.index.number()))?;
    }
    for (netdev, name) in wrong() {
        let refused = |error| format!("{} cannot be renamed to {name}: {error}", netdev.name);
        link::rename(client, netdev.index, name).map_err(refused)?;
    }
    Ok(())
}

/// Polls until there is a result; `None` on timeout.
fn wait<T>(at_most: Duration, mut look: impl FnMut() -> Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
    let deadline = Instant::now() + at_most;
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}
