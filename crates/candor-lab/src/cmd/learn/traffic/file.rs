//! What a gateway file says about buses of logs.

use candor_config::bounds::copies;
use candor_config::plan::{BusIndex, Plan, Sending, Traffic};
use candor_core::frame::RawId;

use super::Learned;

/// The file of `--gateway`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) file: &'a str,
    pub(super) plan: &'a Plan,
}

impl Known<'_> {
    fn names(&self) -> String {
        let names: Vec<_> = self.plan.buses().iter().map(|bus| bus.name.as_str()).collect();
        names.join(", ")
    }

    fn index(&self, name: &str) -> Option<BusIndex> {
        self.plan.buses().iter().position(|bus| bus.name == name).map(BusIndex)
    }

    /// # Errors
    /// If there is no such bus.
    pub(super) fn has(&self, name: &str) -> Result<(), String> {
        match self.index(name) {
            Some(_) => Ok(()),
            None => Err(format!("{} has no bus {name}; it has {}", self.file, self.names())),
        }
    }

    /// The bus of an interface.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn bus_of(&self, interface: &str, log: &str) -> Result<String, String> {
        let bus = self.plan.buses().iter().find(|bus| bus.interface.as_str() == interface);
        bus.map(|bus| bus.name.clone()).ok_or_else(|| {
            format!(
                "{} has no bus with the interface {interface} of {log}; write {log}=BUS with one of {}, \
                 or select another one with --interface",
                self.file,
                self.names()
            )
        })
    }

    /// Leaves out what the file has already, and what this machine sends.
    pub(super) fn leave_out(&self, learned: &mut [Learned]) {
        let of = |one: &Learned| self.index(&one.bus).zip(one.timing());
        let traffic: Vec<Traffic> = learned
            .iter()
            .filter_map(|one| {
                let (bus, (period, jitter)) = of(one)?;
                Some(Traffic {
                    bus,
                    id: RawId(one.id),
                    format: one.shape.format,
                    bit_rate_switch: one.shape.bit_rate_switch,
                    len: one.shape.len,
                    period,
                    jitter,
                    deadline: period,
                    deadline_forwarded: period,
                    sender: None,
                    sending: Sending::default(),
                })
            })
            .collect();
        let all = self.plan.traffic().iter().chain(&traffic);
        let sent: Vec<_> =
            all.flat_map(|one| copies(self.plan, one).into_iter().map(move |copy| (copy, one.bus))).collect();
        for one in learned {
            let Some(bus) = self.index(&one.bus) else { continue };
            let (id, name) = (RawId(one.id), candor_learn::name(one.id));
            let is_written = self.plan.traffic().iter().any(|known| (known.bus, known.id) == (bus, id));
            let forwarded = sent.iter().find(|(copy, _)| *copy == (bus, id)).map(|(_, from)| self.plan.bus(*from));
            let composed = self.plan.frames().iter().find(|frame| (frame.to, frame.id) == (bus, id));
            if is_written {
                one.left_out = Some(format!("{name}: {} has it", self.file));
            } else if let Some(from) = forwarded {
                one.left_out = Some(format!("{name}: {} forwards it from {}", self.file, from.name));
            } else if let Some(frame) = composed {
                one.left_out = Some(format!("{name}: {} composes it as {}", self.file, frame.name));
            }
        }
    }
}
