//! One adapter as the kernel has it: its port, its interfaces, and what they were set to before somebody pulled the plug.

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
use candor_wire::{DeviceId, Place};

use super::adapters::Planned;
use super::spec::BusSpec;

/// An enumeration takes half a second where nothing else is to be done.
const APPEARS_WITHIN: Duration = Duration::from_secs(15);
const GONE_WITHIN: Duration = Duration::from_secs(15);
/// The kernel looks at links once a second.
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

pub(super) type Failure = Box<dyn Error>;

/// An adapter that is plugged in, or was.
#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) device: DeviceId,
    /// Our end of its stream, which the thread of the buses has too.
    stream: UnixStream,
    port: Option<Port>,
    /// What its interfaces are to be, in the order of their channels.
    settings: Vec<Setting>,
    /// As many as there are by now, in the same order.
    interfaces: Vec<InterfaceIndex>,
}

/// What an interface is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    rate: BitRate,
    data_rate: Option<BitRate>,
    restart_ms: Option<NonZeroU32>,
    /// `None`: as the kernel makes it.
    tx_queue_len: Option<u32>,
    up: bool,
}

impl Setting {
    fn new(bus: &BusSpec, name: &str) -> Self {
        let (rate, data_rate) = (bus.rate, bus.data_rate);
        Self { name: name.to_owned(), rate, data_rate, restart_ms: None, tx_queue_len: None, up: true }
    }

    /// What somebody has made of it meanwhile.
    fn learn(&mut self, link: &Link) {
        self.name.clone_from(&link.name);
        (self.up, self.tx_queue_len) = (link.up, Some(link.tx_queue_len));
        if let Some(can) = link.can {
            self.rate = can.bitrate.unwrap_or(self.rate);
            (self.data_rate, self.restart_ms) = (can.data_bitrate, can.restart_ms);
        }
    }

    /// Bit rates as people write them.
    fn rates(&self) -> String {
        rates(self.rate, self.data_rate)
    }
}

/// Bit rates as people write them.
pub(super) fn rates(rate: BitRate, data_rate: Option<BitRate>) -> String {
    match data_rate {
        Some(data) => format!("{rate} and {data}"),
        None => rate.to_string(),
    }
}

impl Adapter {
    /// An adapter that is not plugged in yet, with our end of its stream.
    pub(super) fn new(buses: &[BusSpec], planned: &Planned, device: DeviceId, stream: UnixStream) -> Self {
        let channels = planned.places.iter().zip(&planned.interfaces);
        let of = |(place, name): (&Place, &String)| Some(Setting::new(buses.get(place.bus)?, name));
        let settings = channels.filter_map(of).collect();
        Self { device, stream, port: None, settings, interfaces: Vec::new() }
    }

    /// Gives the kernel its end of the stream, and the interfaces their names.
    pub(super) fn plug_in(&mut self, client: &mut Client, vhci: &Vhci, kernels: UnixStream) -> Result<(), Failure> {
        let port = vhci.attach(&kernels)?;
        // The kernel has it now; as long as a copy is open here, it would not notice our end.
        drop(kernels);
        self.port = Some(port.clone());
        let netdevs = netdevs(&port, self.settings.len())?;
        self.interfaces = netdevs.iter().map(|netdev| netdev.index).collect();
        let names = self.settings.iter().map(|setting| setting.name.as_str());
        rename(client, &netdevs.iter().zip(names).collect::<Vec<_>>())
    }

    /// Sets the interfaces to what they are to be.
    pub(super) fn set(&self, client: &mut Client) -> Result<(), Failure> {
        for (&index, setting) in self.interfaces.iter().zip(&self.settings) {
            let name = &setting.name;
            let refused = |error| format!("{name} cannot be set to {}: {error}", setting.rates());
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

    /// Waits until the interfaces that are up carry frames.
    pub(super) fn wait_for_operation(&self) -> Result<(), Failure> {
        for Setting { name, .. } in self.settings.iter().filter(|setting| setting.up) {
            if !can::wait_until_operational(name, OPERATIONAL_WITHIN) {
                return Err(format!("{name} is up but does not become operational").into());
            }
        }
        Ok(())
    }

    /// Sets the interfaces down.
    pub(super) fn set_down(&self, client: &mut Client) {
        for &index in &self.interfaces {
            // One that somebody unplugged is gone.
            let _gone = link::set_down(client, index);
        }
    }

    /// Closes the stream, which the kernel takes for a pulled plug, after a last look at what is set.
    pub(super) fn pull(&mut self, client: &mut Client) -> Result<(), Failure> {
        let links = link::list(client)?;
        for (index, setting) in self.interfaces.iter().zip(&mut self.settings) {
            if let Some(link) = links.iter().find(|link| link.index == *index) {
                setting.learn(link);
            }
        }
        self.close();
        Ok(())
    }

    /// Ends the stream, whoever has copies of our end.
    pub(super) fn close(&self) {
        // It fails only where the kernel has ended it before.
        let _ended = self.stream.shutdown(Shutdown::Both);
    }

    /// Another stream, for an adapter that is plugged in again: gives the ends for the buses and for the kernel.
    pub(super) fn renew(&mut self) -> io::Result<(UnixStream, UnixStream)> {
        let (ours, kernels) = UnixStream::pair()?;
        self.stream = ours.try_clone()?;
        Ok((ours, kernels))
    }

    /// Waits until the kernel has removed everything.
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

/// The interfaces of a device, as soon as all are there.
fn netdevs(port: &Port, channels: usize) -> Result<Vec<Netdev>, Failure> {
    let all = || Ok(Some(port.netdevs()?).filter(|netdevs| netdevs.len() >= channels));
    wait(APPEARS_WITHIN, all)?.ok_or_else(|| {
        "The kernel makes no interfaces for the adapter. It does so in the first network namespace only; otherwise dmesg \
         may say why"
            .into()
    })
}

/// Gives the interfaces their names. One may have the name that another is to have.
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

/// Looks until there is something, at most so long.
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
