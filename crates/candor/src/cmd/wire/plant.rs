//! The interfaces of the buses, from the first socket to the last trace.

use std::error::Error;
use std::io;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use candor_bus::BusNs;
use candor_io::can::{self, InterfaceIndex};
use candor_io::clock::MonotonicNs;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::host::{Netdev, Port, Report, Running, Told, Vhci, load_driver};
use candor_wire::{Segment, Settings};

use super::adapters::Adapters;
use super::spec::BusSpec;

/// An enumeration takes half a second where nothing else is to be done.
const APPEARS_WITHIN: Duration = Duration::from_secs(15);
const GONE_WITHIN: Duration = Duration::from_secs(15);
/// The kernel looks at links once a second.
const OPERATIONAL_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

type Failure = Box<dyn Error>;

/// Buses with their interfaces.
#[derive(Debug)]
pub(crate) struct Plant {
    running: Running,
    ports: Vec<Port>,
    /// Every interface, with the name that it is to have.
    interfaces: Vec<(InterfaceIndex, String)>,
    ready_at: BusNs,
}

impl Plant {
    /// Makes the interfaces and sets them up. If that fails, nothing is left.
    pub(crate) fn build(
        buses: &[BusSpec],
        adapters: &[Adapters],
        settings: Settings,
        wants_story: bool,
    ) -> Result<Self, Failure> {
        let mut client = Client::open()?;
        let names = || buses.iter().flat_map(|bus| &bus.interfaces);
        for name in names() {
            if link::by_name(&mut client, name)?.is_some() {
                return Err(format!(
                    "There is an interface {name} already: choose another name, or rename that one (sudo ip link set \
                     {name} down && sudo ip link set {name} name OTHER)"
                )
                .into());
            }
        }
        let vhci = Vhci::find()?;
        for adapters in adapters {
            load_driver(adapters.model.name())?;
        }
        let (mut played, mut plugs) = (Vec::new(), Vec::new());
        for (bus, adapters) in buses.iter().zip(adapters) {
            let (mut segment, mut streams) = (Segment::new(settings), Vec::new());
            for (model, channels) in adapters.devices(bus) {
                let (ours, kernels) = UnixStream::pair()?;
                segment.plug(model).ok_or("The bus has no room for all of its nodes")?;
                streams.push(ours);
                plugs.push((kernels, channels));
            }
            played.push((segment, streams));
        }
        let running = Running::start(played, wants_story)?;
        let mut plant = Self { running, ports: Vec::new(), interfaces: Vec::new(), ready_at: BusNs(0) };
        match plant.set_up(&mut client, &vhci, plugs, buses) {
            Ok(()) => Ok(plant),
            Err(failure) => {
                // What went wrong first is to be told, not what follows from it.
                let _less_important = plant.dismantle();
                Err(failure)
            }
        }
    }

    fn set_up(
        &mut self,
        client: &mut Client,
        vhci: &Vhci,
        plugs: Vec<(UnixStream, usize)>,
        buses: &[BusSpec],
    ) -> Result<(), Failure> {
        let mut names = buses.iter().flat_map(|bus| &bus.interfaces);
        let mut appeared: Vec<(Netdev, &String)> = Vec::new();
        for (kernels, channels) in plugs {
            let port = vhci.attach(&kernels)?;
            // The kernel has it now; as long as a copy is open here, it would not notice our end.
            drop(kernels);
            self.ports.push(port.clone());
            let netdevs = netdevs(&port, channels)?;
            appeared.extend(netdevs.into_iter().zip(&mut names));
        }
        self.interfaces = appeared.iter().map(|(netdev, name)| (netdev.index, (*name).clone())).collect();
        rename(client, &appeared)?;
        let nodes = buses.iter().flat_map(|bus| bus.interfaces.iter().map(move |_| bus));
        for ((index, name), bus) in self.interfaces.iter().zip(nodes) {
            let refused = |error| format!("{name} cannot be set to {}: {error}", rates(bus));
            link::set_can_bitrates(client, *index, bus.rate, bus.data_rate).map_err(refused)?;
            link::set_up(client, *index).map_err(|error| format!("{name} cannot be set up: {error}"))?;
        }
        for (_, name) in &self.interfaces {
            if !can::wait_until_operational(name, OPERATIONAL_WITHIN) {
                return Err(format!("{name} is up but does not become operational").into());
            }
        }
        self.ready_at = self.running.now()?;
        Ok(())
    }

    /// The moment at which the time on the buses began.
    pub(crate) const fn started_at(&self) -> MonotonicNs {
        self.running.started_at()
    }

    /// What happened since the last call.
    pub(crate) fn story(&self) -> Vec<Told> {
        self.running.story()
    }

    /// Whether the buses have come to a stop by themselves.
    pub(crate) fn has_ended(&self) -> bool {
        self.running.has_ended()
    }

    /// Why the buses are played without priority, if they are.
    pub(crate) fn no_priority(&self) -> Option<&io::Error> {
        self.running.conditions.no_priority.as_ref()
    }

    /// Removes all interfaces. Gives what became of the buses, what was not told yet, and when they were ready.
    pub(crate) fn dismantle(self) -> Result<(Report, Vec<Told>, BusNs), Failure> {
        let mut client = Client::open()?;
        for (index, _) in &self.interfaces {
            // One that somebody unplugged is gone.
            let _gone = link::set_down(&mut client, *index);
        }
        let (report, rest) = self.running.stop()?;
        for (index, name) in &self.interfaces {
            let is_gone = || Ok(link::list(&mut client)?.iter().all(|link| link.index != *index).then_some(()));
            wait(GONE_WITHIN, is_gone)?.ok_or_else(|| format!("The kernel does not remove {name}"))?;
        }
        for port in &self.ports {
            let is_free = || Ok(port.is_free()?.then_some(()));
            wait(GONE_WITHIN, is_free)?.ok_or("The kernel does not free a port of vhci-hcd")?;
        }
        Ok((report, rest, self.ready_at))
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
fn rename(client: &mut Client, appeared: &[(Netdev, &String)]) -> Result<(), Failure> {
    let wrong = || appeared.iter().filter(|(netdev, name)| netdev.name != **name);
    for (netdev, _) in wrong() {
        link::rename(client, netdev.index, &format!("wire-{}", netdev.index.number()))?;
    }
    for (netdev, name) in wrong() {
        let refused = |error| format!("{} cannot be renamed to {name}: {error}", netdev.name);
        link::rename(client, netdev.index, name).map_err(refused)?;
    }
    Ok(())
}

/// Bit rates as people write them.
pub(super) fn rates(bus: &BusSpec) -> String {
    match bus.data_rate {
        Some(data) => format!("{} and {data}", bus.rate),
        None => bus.rate.to_string(),
    }
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
