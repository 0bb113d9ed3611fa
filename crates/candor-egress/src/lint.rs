//! Traps of traffic control on CAN: unintended effects of a [`Tree`].
//!
//! Each finding is one [`Trap`] of one [`LintSubject`], with an explanation and a remedy. A tree that [`super::compile`] makes has none,
//! except that it drops the oldest frames if the policy says so. Checks that need an unknown fact are skipped.
//!
//! # Source
//! [`net/sched`](https://github.com/gregkh/linux/tree/v6.1.192/net/sched) of Linux 6.1 and
//! [of Linux 6.12](https://github.com/gregkh/linux/tree/v6.12.117/net/sched), and runs on both;
//! [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011).

pub mod code;

mod checks;
mod subject;

use super::handle::Handle;
use super::tree::Tree;
use candor_core::diagnostic::Severity;

pub use code::Trap;
pub use subject::Facts;
use subject::{Frame, Subject};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub trap: Trap,
    pub subject: LintSubject,
}

impl Finding {
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.trap.code()
    }

    #[must_use]
    pub fn severity(&self) -> Severity {
        if self.code().starts_with('N') { Severity::Note } else { Severity::Warning }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintSubject {
    Class(Handle),
    Filter(usize),
    Qdisc(Handle),
    Tree,
}

#[must_use]
pub fn lint(tree: &Tree, facts: &Facts) -> Vec<Finding> {
    let subject = Subject { tree, facts, frame: Frame::of(tree) };
    let mut findings = Vec::new();
    for qdisc in &tree.qdiscs {
        let mut report = |trap| findings.push(Finding { trap, subject: LintSubject::Qdisc(qdisc.handle) });
        checks::fair(&subject, qdisc, &mut report);
        checks::shape(&subject, qdisc, &mut report);
        checks::loss(&subject, qdisc, &mut report);
        checks::queue(&subject, qdisc, &mut report);
    }
    for class in &tree.classes {
        checks::class(&subject, class, &mut |trap| {
            findings.push(Finding { trap, subject: LintSubject::Class(class.handle) })
        });
    }
    for (at, filter) in tree.filters.iter().enumerate() {
        let mut report = |trap| findings.push(Finding { trap, subject: LintSubject::Filter(at) });
        checks::loss_of_filter(&subject, filter, &mut report);
        checks::burst_of_filter(&subject, filter, &mut report);
    }
    checks::tree(&subject, &mut |trap| findings.push(Finding { trap, subject: LintSubject::Tree }));
    findings
}

#[cfg(test)]
mod tests;
