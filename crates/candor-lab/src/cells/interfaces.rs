use crate::experiment::{Bench, Cell, Gateway, Plan, Testbed, Topology};
use candor_config::engine::{Engine, Sender};

use super::{Ends, OrderError};

/// Interfaces of a cell: the tester's and the gateway's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interfaces<'a> {
    send: &'a str,
    monitor: &'a str,
    receive: &'a str,
    pub(super) between: (&'a str, &'a str),
    /// Whether outgoing frames are received on the interface that sends them.
    hears_own: bool,
}

impl<'a> Interfaces<'a> {
    pub(super) fn of(plan: &'a Plan, cell: &Cell) -> Self {
        let is_null = *plan.gateway(cell) == Gateway::None;
        match (cell.place.topology, &plan.bench) {
            (Topology::Bench, Some(bench)) => Self::of_bench(bench, cell.place.testbed, plan.gateway(cell)),
            // Plans without a bench have no such cell.
            (Topology::Vcan | Topology::Bench, _) => Self {
                send: "vcan0",
                monitor: "vcan0",
                receive: if is_null { "vcan0" } else { "vcan1" },
                between: ("vcan0", "vcan1"),
                hears_own: !is_null,
            },
            (Topology::Kvaser | Topology::Wire, _) => Self {
                send: "can0",
                monitor: "can1",
                // The gateway's, which is unused.
                receive: if is_null { "can2" } else { "can4" },
                between: ("can2", "can3"),
                hears_own: false,
            },
        }
    }

    fn of_bench(bench: &'a Bench, testbed: Testbed, gateway: &Gateway) -> Self {
        Self {
            send: &bench.send,
            monitor: &bench.monitor,
            receive: bench.far(testbed, gateway),
            between: bench.gateway.as_ref().map_or(("", ""), |(from, to)| (from.as_str(), to.as_str())),
            hears_own: bench.hears_own(testbed, gateway),
        }
    }

    pub(super) fn ends(&self) -> Ends {
        let [send, monitor, receive] = [self.send, self.monitor, self.receive].map(str::to_owned);
        Ends { send, monitor, receive, hears_leaving: self.hears_own }
    }

    /// Fails if the tester cannot receive what the engine sends.
    pub(super) fn hear(&self, engine: Engine, cell: &Cell) -> Result<(), OrderError> {
        let rings_only = matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap);
        if rings_only && self.hears_own && cell.traffic.is_closed_loop() {
            return Err(OrderError::Unheard(engine));
        }
        Ok(())
    }

    /// Whether the route needs an echo. A ring echoes as its driver does, regardless of `echo`.
    pub(super) fn echo(&self, engine: Engine) -> bool {
        if self.hears_own {
            return !matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap);
        }
        matches!(engine, Engine::User(engine) if engine.sender().has_ring())
    }
}

/// Whether the gateway occupies a CPU.
pub(super) fn spins(gateway: &Gateway) -> bool {
    matches!(gateway, Gateway::Candor(Engine::User(engine)) | Gateway::Baseline(engine) if engine.receiver().spins())
}
