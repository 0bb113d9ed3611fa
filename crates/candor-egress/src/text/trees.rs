//! Builds a tree command by command, as the kernel would.

use super::code;
use super::command::{Command, NewFilter, Object, Verb};
use crate::discipline::Discipline;
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::{Class, Qdisc, Share, Tree};
use candor_core::diagnostic::{Diagnostic, Findings, Span};

#[derive(Debug, Default)]
pub(super) struct Growing {
    tree: Tree,
    /// `clsact` was written as `ingress`.
    is_ingress: bool,
}

/// The first preference that the kernel assigns; later ones are lower.
///
/// # Source
/// [`tcf_auto_prio()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_api.c#L229) in Linux 6.1.
const FIRST_CHOSEN: u16 = 0xC000;
/// Assigned preferences are not below this.
const CHOSEN_FROM: u16 = 0x8000;

impl Growing {
    /// The tree, with the filters of each parent in the order in which they run; the tables of u32 before all of them,
    /// because others refer to them; and with the classes in the order of their disciplines.
    pub(super) fn finish(mut self) -> Tree {
        let Tree { qdiscs, classes, .. } = &mut self.tree;
        candor_core::order::sort_by_key(classes, |class| {
            qdiscs.iter().position(|qdisc| qdisc.handle == class.handle.qdisc())
        });
        let mut parents: Vec<Handle> = Vec::new();
        for filter in &self.tree.filters {
            if !parents.contains(&filter.parent) {
                parents.push(filter.parent);
            }
        }
        candor_core::order::sort_by_key(&mut self.tree.filters, |filter| {
            let parent = parents.iter().position(|parent| *parent == filter.parent);
            (parent, !filter.classifier.is_table(), filter.preference)
        });
        self.tree
    }

    pub(super) fn take(&mut self, command: Command, findings: &mut Findings) {
        let Command { span, verb, object, .. } = command;
        let (place, outcome) = match object {
            Object::Qdisc { parent, handle, stab, discipline, is_ingress } => {
                self.is_ingress |= is_ingress;
                (parent.span, self.qdisc(verb, Qdisc { handle, parent: parent.handle, stab, discipline }))
            }
            Object::Class { parent, handle, share } => {
                (parent.span, self.class(verb, Class { handle, parent: parent.handle, share }))
            }
            Object::Filter(new) => match self.parent_of_filter(new.parent.as_ref().map(|parent| parent.handle)) {
                Ok(parent) => (span.clone(), self.filter(verb, parent, new, &span, findings)),
                Err(refusal) => (new.parent.map_or_else(|| span.clone(), |parent| parent.span), Err(refusal)),
            },
            Object::Nothing { parent } => return self.clear(parent),
        };
        match outcome {
            Ok(Applied::Changed) => {}
            Ok(Applied::Repeated) => {
                let message = "Duplicate line, which tc would reject";
                findings.report(Diagnostic::note(code::REPEATED, span, message).help("remove one of the two lines"));
            }
            Err((message, help)) => findings.report(Diagnostic::error(code::PLACE, place, message).help(help)),
        }
    }

    /// Applies `qdisc del`.
    fn clear(&mut self, parent: Handle) {
        let gone: Vec<_> =
            self.tree.qdiscs.iter().filter(|qdisc| qdisc.parent == parent).map(|qdisc| qdisc.handle).collect();
        gone.into_iter().for_each(|handle| self.remove(handle, parent));
    }

    fn remove(&mut self, handle: Handle, parent: Handle) {
        let Self { tree, .. } = self;
        tree.qdiscs.retain(|qdisc| qdisc.handle != handle || qdisc.parent != parent);
        if handle == Handle::NONE {
            return;
        }
        tree.classes.retain(|class| class.handle.qdisc() != handle);
        tree.filters.retain(|filter| filter.parent.qdisc() != handle);
        let below = tree
            .qdiscs
            .iter()
            .filter(|qdisc| qdisc.parent.qdisc() == handle && ![Handle::ROOT, Handle::CLSACT].contains(&qdisc.parent));
        let below: Vec<_> = below.map(|qdisc| (qdisc.handle, qdisc.parent)).collect();
        below.into_iter().for_each(|(handle, parent)| self.remove(handle, parent));
    }

    fn qdisc(&mut self, verb: Verb, mut qdisc: Qdisc) -> Result<Applied, Refusal> {
        let is_clsact = matches!(qdisc.discipline, Discipline::Clsact);
        let is_root = qdisc.parent == Handle::ROOT;
        if is_clsact != (qdisc.parent == Handle::CLSACT) {
            return refuse("Only clsact can have this parent", "write root, or parent and a class");
        }
        if !is_clsact && !is_root {
            self.check_class(qdisc.parent)?;
        }
        if qdisc.stab.is_some() && !is_root {
            let message = "Newer kernels reject stab below the root, older ones ignore it";
            return refuse(message, "put stab into the line with root: it applies to the whole tree");
        }
        let qdiscs = &mut self.tree.qdiscs;
        let there = qdiscs.iter().position(|other| other.parent == qdisc.parent);
        let namesake = qdiscs.iter().position(|other| other.handle == qdisc.handle && qdisc.handle != Handle::NONE);
        if let Some(at) = namesake.filter(|at| Some(*at) != there) {
            let message = format!("Handle {} is in use by the qdisc at {}", qdisc.handle, qdiscs[at].parent);
            return refuse(message, "give each qdisc its own handle");
        }
        match (verb, there) {
            (Verb::Add, Some(at)) if qdiscs[at] == qdisc => return Ok(Applied::Repeated),
            (Verb::Add, Some(at)) => {
                let message = format!("This parent already has a qdisc, {}", qdiscs[at].discipline.kind());
                return refuse(message, "remove one of them, or write `replace` to keep this one");
            }
            (Verb::Add | Verb::Replace, None) => qdiscs.push(qdisc),
            (_, None) => return refuse("Nothing to change", "write add, or remove this line"),
            (_, Some(at)) => {
                let old = &mut qdiscs[at];
                let stays = qdisc.handle == Handle::NONE || qdisc.handle == old.handle;
                if stays && old.discipline.kind() == qdisc.discipline.kind() {
                    qdisc.handle = old.handle;
                    *old = qdisc;
                } else {
                    let (handle, parent) = (old.handle, old.parent);
                    self.remove(handle, parent);
                    self.tree.qdiscs.push(qdisc);
                }
            }
        }
        Ok(Applied::Changed)
    }

    fn check_class(&self, handle: Handle) -> Result<(), Refusal> {
        let above = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == handle.qdisc() && handle.major() != 0);
        let above = above.ok_or_else(|| self.no_discipline(handle))?;
        let bands = match &above.discipline {
            Discipline::Prio(_) | Discipline::Ets(_) => u16::from(above.discipline.bands()),
            Discipline::Tbf(_) | Discipline::Netem(_) => 1,
            Discipline::Htb(_) | Discipline::Drr => {
                if self.tree.classes.iter().any(|class| class.handle == handle) {
                    return Ok(());
                }
                let help = "define it with `class add` above this line";
                return refuse(format!("Class {handle} does not exist"), help);
            }
            other => {
                let message = format!("{} ({}) has no classes", above.handle, other.kind());
                return refuse(message, "attach it to a class of another qdisc");
            }
        };
        if (1..=bands).contains(&handle.minor()) {
            return Ok(());
        }
        let (first, last) = (Handle::new(handle.major(), 1), Handle::new(handle.major(), bands));
        let message = format!("{} has the classes {first} to {last}, not {handle}", above.handle);
        refuse(message, "write one of them; their numbers are hexadecimal")
    }

    fn class(&mut self, verb: Verb, class: Class) -> Result<Applied, Refusal> {
        let above = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == class.parent.qdisc());
        let above = above.ok_or_else(|| self.no_discipline(class.parent))?;
        if above.discipline.kind() != class.share.kind() {
            let message =
                format!("{} is {}, but the class is {}", above.handle, above.discipline.kind(), class.share.kind());
            return refuse(message, "write a class of the same kind");
        }
        if class.handle.qdisc() != above.handle {
            let message = format!("The class {} cannot belong to {}", class.handle, above.handle);
            return refuse(message, "use the major number of its qdisc");
        }
        let is_there =
            self.tree.classes.iter().any(|other| other.handle == class.parent && other.handle != class.handle);
        if class.parent.minor() != 0 && (!is_there || matches!(class.share, Share::Drr { .. })) {
            let message = format!("Class {} does not exist, or cannot have child classes", class.parent);
            return refuse(message, "define that htb class above this line; drr classes belong directly to the qdisc");
        }
        let there = self.tree.classes.iter_mut().find(|other| other.handle == class.handle);
        match (verb, there) {
            (Verb::Add, Some(old)) if *old == class => return Ok(Applied::Repeated),
            (Verb::Add, Some(old)) => {
                let message = format!("Class {} already exists", old.handle);
                return refuse(message, "use another classid, or write `replace` to keep this one");
            }
            (Verb::Add | Verb::Replace, None) => self.tree.classes.push(class),
            (_, Some(old)) if old.parent == class.parent => *old = class,
            (_, Some(old)) => {
                let message = format!("Class {} belongs to {} and cannot be moved", old.handle, old.parent);
                return refuse(message, "write the same parent");
            }
            (_, None) => return refuse("Nothing to change", "write add, or remove this line"),
        }
        Ok(Applied::Changed)
    }

    fn filter(
        &mut self,
        verb: Verb,
        parent: Handle,
        new: NewFilter,
        span: &Span,
        findings: &mut Findings,
    ) -> Result<Applied, Refusal> {
        let preference = new.preference.unwrap_or_else(|| self.chosen(parent));
        if new.preference.is_none() {
            let message = format!("Without prio the kernel assigns {preference}, so later filters are tried first");
            let note = Diagnostic::note(code::MEANING, span.clone(), message);
            findings.report(note.help("write prio and a number from 1; lower ones are tried first"));
        }
        let NewFilter { protocol, handle, classifier, class, actions, .. } = new;
        let filter = Filter { parent, preference, protocol, handle, classifier, class, actions };
        let mut same =
            self.tree.filters.iter_mut().filter(|other| other.parent == parent && other.preference == preference);
        let Some(other) = same.next() else {
            self.tree.filters.push(filter);
            return Ok(Applied::Changed);
        };
        if other.protocol != filter.protocol || other.classifier.kind() != filter.classifier.kind() {
            let message = format!("prio {preference} is in use by a filter of another kind or protocol");
            return refuse(message, "give each kind its own prio");
        }
        let twin = std::iter::once(other).chain(same).find(|other| other.handle == filter.handle && filter.handle != 0);
        match (verb, twin) {
            (_, None) => self.tree.filters.push(filter),
            (Verb::Add, Some(old)) if *old == filter => return Ok(Applied::Repeated),
            (Verb::Add, Some(_)) => {
                let message = format!("A filter with prio {preference} and this handle already exists");
                return refuse(message, "use another handle, or write `replace` to keep this one");
            }
            (_, Some(old)) => *old = filter,
        }
        Ok(Applied::Changed)
    }

    /// The preference that the kernel assigns: later filters run first.
    fn chosen(&self, parent: Handle) -> u16 {
        let taken = self.tree.filters.iter().filter(|filter| filter.parent == parent);
        let first = taken.map(|filter| filter.preference).filter(|preference| *preference >= CHOSEN_FROM).min();
        first.map_or(FIRST_CHOSEN, |first| first - 1)
    }

    /// The parent of a filter, which defaults to the root.
    fn parent_of_filter(&self, parent: Option<Handle>) -> Result<Handle, Refusal> {
        let has_clsact = self.tree.qdiscs.iter().any(|qdisc| qdisc.parent == Handle::CLSACT);
        match parent.unwrap_or(Handle::ROOT) {
            Handle::NONE | Handle::ROOT => {
                let root = self.tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT);
                match root.map(|root| root.handle).filter(|handle| *handle != Handle::NONE) {
                    Some(handle) => Ok(handle),
                    None => {
                        let message = "The root qdisc has no handle for the filter to refer to";
                        refuse(message, "write handle 1: into the line with root")
                    }
                }
            }
            hook @ (Handle::INGRESS | Handle::EGRESS) if has_clsact => Ok(hook),
            Handle::CLSACT_QDISC if self.is_ingress => Ok(Handle::INGRESS),
            Handle::INGRESS | Handle::EGRESS | Handle::CLSACT_QDISC if has_clsact => {
                refuse("This parent has no filters", "write ingress or egress")
            }
            Handle::INGRESS | Handle::EGRESS | Handle::CLSACT_QDISC => {
                refuse("This parent needs clsact", "add a line `qdisc add clsact` before this one")
            }
            handle => self.check_filters(handle).map(|()| handle),
        }
    }

    fn check_filters(&self, handle: Handle) -> Result<(), Refusal> {
        let qdisc = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == handle.qdisc());
        let qdisc = qdisc.ok_or_else(|| self.no_discipline(handle))?;
        let is_class = handle.minor() != 0;
        let asks = match &qdisc.discipline {
            Discipline::Htb(_) => !is_class || self.tree.classes.iter().any(|class| class.handle == handle),
            Discipline::Drr
            | Discipline::Ets(_)
            | Discipline::FqCodel(_)
            | Discipline::Prio(_)
            | Discipline::Sfq(_) => !is_class,
            _ => false,
        };
        if asks {
            return Ok(());
        }
        let message = format!("{handle} ({}) does not support filters", qdisc.discipline.kind());
        refuse(message, "attach it to prio, ets, htb, drr, sfq or fq_codel")
    }

    fn no_discipline(&self, handle: Handle) -> Refusal {
        let names = self.tree.qdiscs.iter().map(|qdisc| qdisc.handle).filter(|handle| *handle != Handle::NONE);
        let names: Vec<_> = names.take(20).map(|handle| handle.to_string()).collect();
        let help = match names.as_slice() {
            [] => "define the qdisc above this line, with a handle".to_owned(),
            names => format!("define it above this line, with a handle; defined: {}", names.join(", ")),
        };
        (format!("Qdisc {} does not exist", handle.qdisc()), help)
    }
}

enum Applied {
    Changed,
    /// A duplicate line, which `tc` would reject.
    Repeated,
}

/// Message and remedy.
type Refusal = (String, String);

fn refuse<T>(message: impl Into<String>, help: &str) -> Result<T, Refusal> {
    Err((message.into(), help.to_owned()))
}
