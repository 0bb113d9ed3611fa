//! Simulated buses with their network interfaces.

use std::os::unix::net::UnixStream;

use candor_bus::BusNs;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::fault::{Effect, Fault};
use candor_wire::host::{Report, Running, Traced, Vhci, load_driver};
use candor_wire::{DeviceId, Harness, Settings};

use super::adapter::{Adapter, Failure};
use super::adapters::{Adapters, Kind};
use crate::cli::BusSpec;

#[derive(Debug)]
pub(crate) struct VirtualBuses {
    pub(crate) running: Running,
    /// Bus time at which all interfaces were up.
    pub(crate) ready_at: BusNs,
    vhci: Vhci,
    adapters: Vec<Adapter>,
}

impl VirtualBuses {
    /// Creates the interfaces and sets them up. On failure, removes them.
    pub(crate) fn build(
        buses: &[BusSpec],
        kinds: &[Kind],
        adapters: &Adapters,
        settings: impl Fn(&BusSpec) -> Settings,
        wants_trace: bool,
    ) -> Result<Self, Failure> {
        let mut client = Client::open()?;
        refuse_taken_names(&mut client, buses)?;
        let vhci = Vhci::find()?;
        for kind in kinds {
            load_driver(kind.driver())?;
        }
        let mut harness = Harness::default();
        for bus in buses {
            harness.add_bus(settings(bus), bus.interfaces.len()).ok_or("The bus has no room for all of its nodes")?;
        }
        let (mut streams, mut plugs) = (Vec::new(), Vec::new());
        for planned in &adapters.0 {
            let (ours, kernels) = UnixStream::pair()?;
            let device = harness.plug(planned.model(), &planned.nodes).ok_or("The nodes of an adapter are not free")?;
            plugs.push((Adapter::new(buses, planned, device, ours.try_clone()?), kernels));
            streams.push(ours);
        }
        let running = Running::start(harness, streams, wants_trace)?;
        let mut virtual_buses = Self { running, vhci, adapters: Vec::new(), ready_at: BusNs(0) };
        match virtual_buses.set_up(&mut client, plugs) {
            Ok(()) => Ok(virtual_buses),
            Err(failure) => {
                // The first error is reported; later ones follow from it.
                let _less_important = virtual_buses.dismantle();
                Err(failure)
            }
        }
    }

    fn set_up(&mut self, client: &mut Client, plugs: Vec<(Adapter, UnixStream)>) -> Result<(), Failure> {
        for (mut adapter, kernels) in plugs {
            let plugged = adapter.plug_in(client, &self.vhci, kernels);
            // It must be removed even if this failed.
            self.adapters.push(adapter);
            plugged?;
        }
        for adapter in &self.adapters {
            adapter.configure(client)?;
        }
        for adapter in &self.adapters {
            adapter.wait_until_operational()?;
        }
        self.ready_at = self.running.now()?;
        Ok(())
    }

    /// Does the kernel's part of a fault that was injected.
    pub(crate) fn follow(&mut self, effect: &Effect) -> Result<(), Failure> {
        match effect.fault {
            Fault::Unplug { device } if effect.refused.is_none() => {
                let mut client = Client::open()?;
                self.adapter(device)?.unplug(&mut client)
            }
            Fault::Replug { device } if effect.refused.is_none() => self.replug(device),
            _ => Ok(()),
        }
    }

    fn adapter(&mut self, device: DeviceId) -> Result<&mut Adapter, Failure> {
        let found = self.adapters.iter_mut().find(|adapter| adapter.device == device);
        found.ok_or_else(|| "No such adapter".into())
    }

    fn replug(&mut self, device: DeviceId) -> Result<(), Failure> {
        let mut client = Client::open()?;
        let adapter = self.adapter(device)?;
        // The old interfaces must release their names first.
        adapter.wait_until_gone(&mut client)?;
        let (ours, kernels) = adapter.renew()?;
        self.running.plug(device, ours)?;
        let vhci = self.vhci.clone();
        let adapter = self.adapter(device)?;
        adapter.plug_in(&mut client, &vhci, kernels)?;
        adapter.configure(&mut client)?;
        adapter.wait_until_operational()
    }

    /// Removes all interfaces. Returns the counters and the rest of the trace.
    pub(crate) fn dismantle(self) -> Result<(Report, Vec<Traced>), Failure> {
        let mut client = Client::open()?;
        for adapter in &self.adapters {
            adapter.set_down(&mut client);
        }
        let stopped = self.running.stop()?;
        for adapter in &self.adapters {
            adapter.close();
        }
        for mut adapter in self.adapters {
            adapter.wait_until_gone(&mut client)?;
        }
        Ok(stopped)
    }
}

fn refuse_taken_names(client: &mut Client, buses: &[BusSpec]) -> Result<(), Failure> {
    for name in buses.iter().flat_map(|bus| &bus.interfaces) {
        if link::by_name(client, name)?.is_some() {
            return Err(format!(
                "Interface {name} already exists: choose another name, or rename that one (sudo ip link set \
                 {name} down && sudo ip link set {name} name OTHER)"
            )
            .into());
        }
    }
    Ok(())
}
