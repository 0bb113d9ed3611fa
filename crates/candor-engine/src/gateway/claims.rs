//! Address claims of J1939 on the buses that guards protect (`j1939 = "claimed"`): heard by a socket of its own for each bus,
//! and handed to the guards. The process is woken for each claim.

use std::collections::BTreeMap;

use candor_config::plan::{BusIndex, Plan};
use candor_core::frame::{CANFD_MTU, Frame};
use candor_guard::Claims;
use candor_io::can::{CanSocket, InterfaceIndex, Options};

use candor_userspace::preflight::Interfaces;
use candor_userspace::user::{UserError, is_gone, not_of_this_process};

/// More than all nodes of a bus, so that a flood of claims does not keep the gateway from its other work.
const MOST_AT_ONCE: usize = 1024;

/// What is known of each protected bus.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    /// By the interface in the file: it outlives a reload, and an adapter that is unplugged.
    by_interface: BTreeMap<String, Listener>,
}

#[derive(Debug, Default)]
struct Listener {
    claims: Claims,
    socket: Option<(InterfaceIndex, CanSocket)>,
}

impl Listeners {
    /// Listens on the buses of this plan as well, and hands what is known to its guards. Call it before its routes run.
    ///
    /// # Errors
    /// A socket cannot be opened, although the interface is there.
    pub(super) fn open(&mut self, plan: &Plan, interfaces: &Interfaces) -> Result<(), UserError> {
        for bus in (0..plan.buses().len()).map(BusIndex).filter(|bus| plan.learns_claims(*bus)) {
            let listener = self.by_interface.entry(plan.bus(bus).interface.clone()).or_default();
            listener.follow(interfaces.present(bus)).map_err(|source| {
                let interface = interfaces.link(bus).name.clone();
                UserError::Socket { interface, source }
            })?;
        }
        self.hear(plan);
        Ok(())
    }

    /// As [`open`](Self::open) for the plan that runs, and ends listening elsewhere.
    pub(super) fn follow(&mut self, plan: &Plan, interfaces: &Interfaces) -> Result<(), UserError> {
        let is_used = |interface: &str| {
            (0..plan.buses().len())
                .map(BusIndex)
                .any(|bus| plan.bus(bus).interface == interface && plan.learns_claims(bus))
        };
        self.by_interface.retain(|interface, _| is_used(interface));
        self.open(plan, interfaces)
    }

    /// Hands what was claimed to the guards of a plan.
    pub(super) fn hear(&mut self, plan: &Plan) {
        self.by_interface.values_mut().for_each(Listener::hear);
        for route in plan.routes() {
            let Some(guard) = route.claimed().filter(|guard| guard.learns()) else { continue };
            if let Some(listener) = self.by_interface.get(&plan.bus(route.to).interface) {
                guard.protect(listener.claims.addresses());
            }
        }
    }
}

impl Listener {
    /// Binds to this interface, if any. The kernel unbinds a socket for good when its interface disappears.
    fn follow(&mut self, interface: Option<InterfaceIndex>) -> std::io::Result<()> {
        let bound = self.socket.as_ref().map(|(index, _)| *index);
        let Some(index) = interface.filter(|index| bound != Some(*index)) else { return Ok(()) };
        // What candor itself forwards to the bus is nobody's claim there.
        let options =
            Options { filters: &[Claims::FILTER], instructions: &not_of_this_process(), ..Options::default() };
        let opened = CanSocket::open(index, &options).and_then(|socket| {
            socket.nudge_on_arrival()?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => self.socket = Some((index, socket)),
            // Gone again already; the next check sees it.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn hear(&mut self) {
        let Some((_, socket)) = &self.socket else { return };
        let mut bytes = [0; CANFD_MTU];
        for _ in 0..MOST_AT_ONCE {
            // An interface that goes down or away is reported once; the gateway sees that by itself.
            let Ok(Some(len)) = socket.read_waiting(&mut bytes) else { return };
            if let Ok(frame) = Frame::from_kernel(&bytes[..len]) {
                self.claims.hear(frame.id, frame.payload());
            }
        }
    }
}
