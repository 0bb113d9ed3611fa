//! Applies trees, all or none.

use std::fmt;

use crate::canonical::{Difference, differences};
use crate::netlink::TcError;
use crate::steps::{self, Step, Steps};
use crate::tree::Tree;
use candor_netlink::client::Errno;

use super::machine::Kernel;

#[derive(Debug)]
pub struct Target<K> {
    pub name: String,
    pub kernel: K,
    pub wanted: Tree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub interface: String,
    pub before: Tree,
    /// Empty if it had the wanted tree.
    pub steps: Steps,
}

/// Nothing has changed, except on the interfaces in [`not_restored`](Self::not_restored).
#[derive(Debug)]
pub struct ApplyError {
    pub interface: String,
    pub cause: Cause,
    /// The changed interfaces, possibly including this one, that could not be restored.
    pub not_restored: Vec<(String, Restored)>,
}

#[derive(Debug)]
pub enum Cause {
    /// The kernel accepted everything, and the result differs from the wanted tree.
    CameOutOtherwise(Vec<Difference>),
    Unreadable(TcError),
    Refused(Box<Step>, TcError),
}

#[derive(Debug)]
pub enum Restored {
    Refused(TcError),
    Otherwise(Vec<Difference>),
}

/// Gives every interface its wanted tree, or leaves all as they were.
///
/// An interface that has it already is not touched. The kernel has no transactions: after a failure the previous trees are
/// rebuilt, without the frames that were queued.
///
/// # Errors
/// [`ApplyError`]; unless it says otherwise, every interface has its previous tree.
pub fn apply<K: Kernel>(targets: &mut [Target<K>]) -> Result<Vec<Applied>, ApplyError> {
    let mut before = Vec::new();
    for target in &mut *targets {
        match target.kernel.found() {
            Ok(found) => before.push(found),
            Err(error) => return Err(target.failed(Cause::Unreadable(error))),
        }
    }
    let mut applied = Vec::new();
    for at in 0..targets.len() {
        let outcome = targets[at].change(&before[at]);
        match outcome {
            Ok(steps) => {
                let (interface, before) = (targets[at].name.clone(), before[at].clone());
                applied.push(Applied { interface, before, steps });
            }
            Err(cause) => {
                let mut error = targets[at].failed(cause);
                // The last first: what marks frames on one interface is of use only with what knows the mark on another.
                for (target, before) in targets[..=at].iter_mut().zip(&before).rev() {
                    error.not_restored.extend(target.restore(before).err().map(|why| (target.name.clone(), why)));
                }
                return Err(error);
            }
        }
    }
    Ok(applied)
}

impl<K: Kernel> Target<K> {
    fn change(&mut self, found: &Tree) -> Result<Steps, Cause> {
        let steps = steps::steps(&self.wanted, found);
        for step in &steps.requests {
            self.kernel.carry_out(step).map_err(|error| Cause::Refused(Box::new(step.clone()), error))?;
        }
        let found = self.kernel.found().map_err(Cause::Unreadable)?;
        let left = differences(&self.wanted, &found);
        if left.is_empty() { Ok(steps) } else { Err(Cause::CameOutOtherwise(left)) }
    }

    /// Restores the previous tree with as few changes as possible or, if those are refused, from nothing.
    fn restore(&mut self, before: &Tree) -> Result<(), Restored> {
        let found = self.kernel.found().map_err(Restored::Refused)?;
        let mut change = |requests: &[Step]| requests.iter().try_for_each(|step| self.kernel.carry_out(step));
        if change(&steps::steps(before, &found).requests).is_err() {
            let found = self.kernel.found().map_err(Restored::Refused)?;
            let remove = steps::steps(&Tree::default(), &found).requests;
            let rebuild = [remove, steps::create(before)].concat();
            rebuild.iter().try_for_each(|step| self.kernel.carry_out(step)).map_err(Restored::Refused)?;
        }
        let left = differences(before, &self.kernel.found().map_err(Restored::Refused)?);
        if left.is_empty() { Ok(()) } else { Err(Restored::Otherwise(left)) }
    }

    fn failed(&self, cause: Cause) -> ApplyError {
        ApplyError { interface: self.name.clone(), cause, not_restored: Vec::new() }
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, .. } = self;
        match &self.cause {
            Cause::CameOutOtherwise(left) => {
                write!(f, "The tree of {interface} differs from the requested one after the change:")?;
                left.iter().try_for_each(|difference| write!(f, " {}", difference.slot()))
            }
            Cause::Unreadable(_) => write!(f, "Cannot read the qdiscs of {interface}"),
            Cause::Refused(step, error) => {
                write!(
                    f,
                    "The kernel rejected {} on {interface}{}",
                    Named(step),
                    advice(step, error).unwrap_or_default()
                )
            }
        }?;
        for (name, why) in &self.not_restored {
            match why {
                Restored::Refused(error) => write!(f, "; the previous tree of {name} could not be restored: {error}")?,
                Restored::Otherwise(left) => {
                    write!(f, "; {name} differs from its previous tree:")?;
                    left.iter().try_for_each(|difference| write!(f, " {}", difference.slot()))?;
                }
            }
        }
        Ok(())
    }
}

impl std::error::Error for ApplyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::CameOutOtherwise(_) => None,
            Cause::Unreadable(error) | Cause::Refused(_, error) => Some(error),
        }
    }
}

/// The remedy for a refusal, if the errno is specific enough.
fn advice(step: &Step, error: &TcError) -> Option<String> {
    let module = match step {
        Step::MakeQdisc(qdisc) => format!("sch_{}", qdisc.discipline.kind()),
        Step::MakeFilter(filter) => format!("cls_{}", filter.classifier.kind()),
        _ => String::new(),
    };
    match error.errno()? {
        Errno::EPERM => Some("; run it as root, or with CAP_NET_ADMIN".to_owned()),
        Errno::ENOENT if !module.is_empty() => {
            Some(format!("; {module} may be missing, or built without a feature used here: sudo modprobe {module}"))
        }
        _ => None,
    }
}

struct Named<'a>(&'a Step);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::ChangeClass(class) => write!(f, "the change of class {}", class.handle),
            Step::ChangeQdisc(qdisc) => write!(f, "the change of qdisc {} {}", qdisc.discipline.kind(), qdisc.handle),
            Step::MakeClass(class) => write!(f, "class {} parent {}", class.handle, class.parent),
            Step::MakeFilter(filter) => {
                let kind = filter.classifier.kind();
                write!(f, "filter {kind} parent {} pref {}", filter.parent, filter.preference)
            }
            Step::MakeQdisc(qdisc) => {
                write!(f, "qdisc {} {} parent {}", qdisc.discipline.kind(), qdisc.handle, qdisc.parent)
            }
            Step::RemoveFilters { parent, preference } => {
                write!(f, "the removal of the filters of parent {parent} pref {preference}")
            }
            Step::RemoveSide { parent } => write!(f, "the removal of the tree below {parent}"),
        }
    }
}
