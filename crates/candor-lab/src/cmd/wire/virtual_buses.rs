//! The interfaces of the buses, from the first socket to the last trace.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use candor_bus::BusNs;
use candor_io::clock::MonotonicNs;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::fault::{Effect, Fault, FaultOrder};
use candor_wire::host::{Reply, Report, Running, Told, Vhci, load_driver};
use candor_wire::{DeviceId, Harness, Settings};

use super::adapter::{Adapter, Failure};
use super::adapters::{Fleet, Kind};
use super::spec::BusSpec;

/// Buses with their interfaces.
#[derive(Debug)]
pub(crate) struct VirtualBuses {
    running: Running,
    vhci: Vhci,
    adapters: Vec<Adapter>,
    ready_at: BusNs,
}

impl VirtualBuses {
    /// Makes the interfaces and sets them up. If that fails, nothing is left.
    pub(crate) fn build(
        buses: &[BusSpec],
        kinds: &[Kind],
        fleet: &Fleet,
        settings: impl Fn(&BusSpec) -> Settings,
        wants_story: bool,
    ) -> Result<Self, Failure> {
        let mut client = Client::open()?;
        refuse_taken_names(&mut client, buses)?;
        let vhci = Vhci::find()?;
        for kind in kinds {
            load_driver(kind.model.name())?;
        }
        let mut harness = Harness::default();
        for bus in buses {
            harness.add_bus(settings(bus), bus.interfaces.len()).ok_or("The bus has no room for all of its nodes")?;
        }
        let (mut streams, mut plugs) = (Vec::new(), Vec::new());
        for planned in fleet.adapters() {
            let (ours, kernels) = UnixStream::pair()?;
            let device =
                harness.plug(planned.model(), &planned.places).ok_or("An adapter finds no place on its bus")?;
            plugs.push((Adapter::new(buses, planned, device, ours.try_clone()?), kernels));
            streams.push(ours);
        }
        let running = Running::start(harness, streams, wants_story)?;
        let mut virtual_buses = Self { running, vhci, adapters: Vec::new(), ready_at: BusNs(0) };
        match virtual_buses.set_up(&mut client, plugs) {
            Ok(()) => Ok(virtual_buses),
            Err(failure) => {
                // What went wrong first is to be told, not what follows from it.
                let _less_important = virtual_buses.dismantle();
                Err(failure)
            }
        }
    }

    fn set_up(&mut self, client: &mut Client, plugs: Vec<(Adapter, UnixStream)>) -> Result<(), Failure> {
        for (mut adapter, kernels) in plugs {
            let plugged = adapter.plug_in(client, &self.vhci, kernels);
            // Whatever came of it, it is to be removed.
            self.adapters.push(adapter);
            plugged?;
        }
        for adapter in &self.adapters {
            adapter.set(client)?;
        }
        for adapter in &self.adapters {
            adapter.wait_for_operation()?;
        }
        self.ready_at = self.running.now()?;
        Ok(())
    }

    /// The moment at which the time on the buses began.
    pub(crate) const fn started_at(&self) -> MonotonicNs {
        self.running.started_at()
    }

    /// When all interfaces were there.
    pub(crate) const fn ready_at(&self) -> BusNs {
        self.ready_at
    }

    /// The time on the buses.
    pub(crate) fn now(&self) -> io::Result<BusNs> {
        self.running.now()
    }

    /// Has something done to a bus.
    pub(crate) fn order(&self, bus: usize, order: FaultOrder) -> io::Result<()> {
        self.running.order(bus, order)
    }

    /// What came of orders since the last call; waits for it, at most so long.
    pub(crate) fn replies(&self, at_most: Duration) -> io::Result<Vec<Reply>> {
        self.running.replies(at_most)
    }

    /// Does the kernel's part of a fault that has happened to a bus.
    pub(crate) fn follow(&mut self, effect: &Effect) -> Result<(), Failure> {
        match effect.fault {
            Fault::Unplug { device } if effect.refused.is_none() => {
                let mut client = Client::open()?;
                self.adapter(device)?.pull(&mut client)
            }
            Fault::Replug { device } if effect.refused.is_none() => self.replug(device),
            _ => Ok(()),
        }
    }

    fn adapter(&mut self, device: DeviceId) -> Result<&mut Adapter, Failure> {
        let found = self.adapters.iter_mut().find(|adapter| adapter.device == device);
        found.ok_or_else(|| "There is no such adapter".into())
    }

    fn replug(&mut self, device: DeviceId) -> Result<(), Failure> {
        let mut client = Client::open()?;
        let adapter = self.adapter(device)?;
        // Two devices at a time would take each other's names.
        adapter.wait_until_gone(&mut client)?;
        let (ours, kernels) = adapter.renew()?;
        self.running.plug(device, ours)?;
        let vhci = self.vhci.clone();
        let adapter = self.adapter(device)?;
        adapter.plug_in(&mut client, &vhci, kernels)?;
        adapter.set(&mut client)?;
        adapter.wait_for_operation()
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
        for adapter in &self.adapters {
            adapter.set_down(&mut client);
        }
        let (report, rest) = self.running.stop()?;
        for adapter in &self.adapters {
            adapter.close();
        }
        for mut adapter in self.adapters {
            adapter.wait_until_gone(&mut client)?;
        }
        Ok((report, rest, self.ready_at))
    }
}

fn refuse_taken_names(client: &mut Client, buses: &[BusSpec]) -> Result<(), Failure> {
    for name in buses.iter().flat_map(|bus| &bus.interfaces) {
        if link::by_name(client, name)?.is_some() {
            return Err(format!(
                "There is an interface {name} already: choose another name, or rename that one (sudo ip link set \
                 {name} down && sudo ip link set {name} name OTHER)"
            )
            .into());
        }
    }
    Ok(())
}
