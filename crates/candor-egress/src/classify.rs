//! The path of a frame through a [`Tree`]: a plain model of the kernel, for explanations and tests.
//!
//! The model has no time: queues are never full, and limits are unknown.
//!
//! # Source
//! Linux 6.1: [`tcf_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_api.c#L1651),
//! [`prio_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_prio.c#L31),
//! [`ets_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_ets.c#L380),
//! [`htb_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_htb.c#L216),
//! [`drr_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_drr.c#L298),
//! [`sfq_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_sfq.c#L156),
//! [`fq_codel_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_fq_codel.c#L76), and the classifiers
//! [`basic_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_basic.c#L39),
//! [`flow_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_flow.c#L300),
//! [`fw_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_fw.c#L50),
//! [`mall_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_matchall.c#L27),
//! [`u32_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L113).

mod chain;
mod expression;
mod tables;
mod walk;

pub use walk::{Course, End, Packet, SenderResult, Socket, Tested, Unknown};

use super::discipline::{Discipline, Ets};
use super::handle::Handle;
use super::tree::{Qdisc, Tree};
use chain::Asked;
use walk::{Choice, Walk};

/// The path of a frame that leaves by the interface of this tree.
#[must_use]
pub fn egress(tree: &Tree, packet: &Packet<'_>) -> Course {
    let mut walk = Walk { tree, packet: *packet, tested: Vec::new() };
    let end = walk.run().unwrap_or_else(End::Unknown);
    Course { tested: walk.tested, end }
}

/// Default slots of `sfq` and `fq_codel`.
const USUAL_FLOWS: u32 = 1024;

impl<'t> Walk<'t, '_> {
    fn run(&mut self) -> Result<End, Unknown> {
        match self.ask(Handle::EGRESS)? {
            Asked::Dropped => return Ok(End::Dropped { at: Handle::EGRESS, result: SenderResult::Enobufs }),
            Asked::Taken => return Ok(End::Taken),
            Asked::Found(_) | Asked::NoFilters | Asked::Nothing => {}
        }
        let mut class = Handle::NONE;
        let mut below = self.tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT);
        // A discipline is below another one, so that each comes once at most.
        for _ in 0..=self.tree.qdiscs.len() {
            let Some(qdisc) = below else { return Ok(End::Queue { class, qdisc: Handle::NONE }) };
            class = match self.through(qdisc)? {
                Step::Class(class) => class,
                Step::End(end) => return Ok(end),
                Step::Stays => return Ok(End::Queue { class, qdisc: qdisc.handle }),
            };
            below = self.child(class);
        }
        Err(Unknown::Circle)
    }

    fn child(&self, class: Handle) -> Option<&'t Qdisc> {
        self.tree.qdiscs.iter().find(|qdisc| qdisc.parent == class && class.major() != 0)
    }

    fn through(&mut self, qdisc: &Qdisc) -> Result<Step, Unknown> {
        match &qdisc.discipline {
            Discipline::Drr => self.drr(qdisc),
            Discipline::Ets(ets) => self.banded(qdisc, ets.bands, &Self::ets_map(ets)),
            Discipline::FqCodel(fq_codel) => self.flows(qdisc, fq_codel.flows),
            Discipline::Htb(htb) => self.htb(qdisc, htb.default),
            Discipline::Netem(_) | Discipline::Tbf(_) => {
                // Its only class has any number.
                let child = self.tree.qdiscs.iter().find(|child| self.is_below(child, qdisc));
                Ok(child.map_or(Step::Stays, |child| Step::Class(child.parent)))
            }
            Discipline::Other { .. } => Err(Unknown::Kind),
            Discipline::Prio(prio) => self.banded(qdisc, prio.bands, &prio.priomap),
            Discipline::Sfq(sfq) => self.flows(qdisc, sfq.divisor),
            Discipline::Arbitration(_)
            | Discipline::Bfifo { .. }
            | Discipline::Clsact
            | Discipline::Etf(_)
            | Discipline::Noqueue
            | Discipline::Pfifo { .. }
            | Discipline::PfifoFast
            | Discipline::PfifoHeadDrop { .. }
            | Discipline::Skbprio { .. } => Ok(Step::Stays),
        }
    }

    fn is_below(&self, child: &Qdisc, qdisc: &Qdisc) -> bool {
        let is_place = [Handle::ROOT, Handle::CLSACT].contains(&child.parent);
        qdisc.handle != Handle::NONE && !is_place && child.parent.qdisc() == qdisc.handle
    }

    /// True if the priority of the frame names a class of this discipline.
    fn is_named(&self, qdisc: &Qdisc) -> bool {
        qdisc.handle != Handle::NONE && Handle(self.packet.priority).qdisc() == qdisc.handle
    }

    /// Priorities without an entry go to the last band.
    fn ets_map(ets: &Ets) -> [u8; 16] {
        std::array::from_fn(|priority| {
            ets.priomap.get(priority).copied().unwrap_or_else(|| ets.bands.saturating_sub(1))
        })
    }

    /// `prio` and `ets`.
    fn banded(&mut self, qdisc: &Qdisc, bands: u8, map: &[u8; 16]) -> Result<Step, Unknown> {
        let priority = Handle(self.packet.priority);
        let band = |band: u8| Step::Class(Handle::new(qdisc.handle.major(), u16::from(band) + 1));
        // The band of class 0 is beyond all others, and what is beyond goes to that of priority 0.
        let numbered = |minor: u16| match u8::try_from(minor.wrapping_sub(1)) {
            Ok(number) if number < bands => band(number),
            _ => band(map[0]),
        };
        if self.is_named(qdisc) {
            return Ok(numbered(priority.minor()));
        }
        Ok(match self.ask(qdisc.handle)? {
            Asked::Dropped => silently(qdisc),
            Asked::Taken => Step::End(End::Taken),
            Asked::Found(Choice::Class(class)) => numbered(class.minor()),
            Asked::Found(Choice::Flow { .. }) => return Err(Unknown::Flow),
            Asked::NoFilters | Asked::Nothing => {
                let index = if priority.major() == 0 { usize::from(priority.minor() & 15) } else { 0 };
                band(map[index])
            }
        })
    }

    fn drr(&mut self, qdisc: &Qdisc) -> Result<Step, Unknown> {
        let named = Handle(self.packet.priority);
        if self.is_named(qdisc) && self.has_class(named) {
            return Ok(Step::Class(named));
        }
        Ok(match self.ask(qdisc.handle)? {
            Asked::Taken => Step::End(End::Taken),
            Asked::Found(Choice::Class(class)) if self.has_class(class) && class.qdisc() == qdisc.handle => {
                Step::Class(class)
            }
            Asked::Found(Choice::Flow { .. }) => return Err(Unknown::Flow),
            Asked::Dropped | Asked::Found(_) | Asked::NoFilters | Asked::Nothing => silently(qdisc),
        })
    }

    fn has_class(&self, handle: Handle) -> bool {
        self.tree.classes.iter().any(|class| class.handle == handle)
    }

    fn is_leaf(&self, handle: Handle) -> bool {
        !self.tree.classes.iter().any(|class| class.parent == handle)
    }

    fn htb(&mut self, qdisc: &Qdisc, default: u16) -> Result<Step, Unknown> {
        let direct = Step::End(End::Direct { qdisc: qdisc.handle });
        let named = Handle(self.packet.priority);
        let mut from = qdisc.handle;
        if self.is_named(qdisc) {
            if named == qdisc.handle {
                return Ok(direct);
            }
            if self.has_class(named) {
                if self.is_leaf(named) {
                    return Ok(Step::Class(named));
                }
                from = named;
            }
        }
        for _ in 0..=self.tree.classes.len() {
            match self.ask(from)? {
                Asked::Dropped => return Ok(silently(qdisc)),
                Asked::Taken => return Ok(Step::End(End::Taken)),
                Asked::Found(Choice::Flow { .. }) => return Err(Unknown::Flow),
                Asked::Found(Choice::Class(class)) if class == qdisc.handle => return Ok(direct),
                Asked::Found(Choice::Class(class)) if self.has_class(class) && class.qdisc() == qdisc.handle => {
                    if self.is_leaf(class) {
                        return Ok(Step::Class(class));
                    }
                    from = class;
                }
                Asked::Found(_) | Asked::NoFilters | Asked::Nothing => {
                    let default = Handle::new(qdisc.handle.major(), default);
                    let is_right = self.has_class(default) && self.is_leaf(default);
                    return Ok(if is_right { Step::Class(default) } else { direct });
                }
            }
        }
        Err(Unknown::Circle)
    }

    /// `sfq` and `fq_codel`, whose flows are numbers up to that of their slots.
    fn flows(&mut self, qdisc: &Qdisc, flows: Option<u32>) -> Result<Step, Unknown> {
        let flows = flows.unwrap_or(USUAL_FLOWS);
        let named = u32::from(Handle(self.packet.priority).minor());
        if self.is_named(qdisc) && (1..=flows).contains(&named) {
            return Ok(Step::Stays);
        }
        Ok(match self.ask(qdisc.handle)? {
            Asked::NoFilters => Step::Stays,
            Asked::Taken => Step::End(End::Taken),
            // Number 0 is no flow.
            Asked::Found(Choice::Class(class)) if (1..=flows).contains(&u32::from(class.minor())) => Step::Stays,
            Asked::Found(Choice::Flow { first, count: Some(count) })
                if first.minor() > 0 && u32::from(first.minor()).saturating_add(count - 1) <= flows =>
            {
                Step::Stays
            }
            Asked::Found(Choice::Flow { .. }) => return Err(Unknown::Flow),
            Asked::Dropped | Asked::Found(_) | Asked::Nothing => silently(qdisc),
        })
    }
}

enum Step {
    Class(Handle),
    End(End),
    /// It waits in the discipline itself.
    Stays,
}

fn silently(qdisc: &Qdisc) -> Step {
    Step::End(End::Dropped { at: qdisc.handle, result: SenderResult::Success })
}

#[cfg(test)]
mod tests;
