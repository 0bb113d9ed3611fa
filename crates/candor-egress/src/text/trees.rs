//! Builds a tree command by command, as the kernel would.

use super::code;
use super::command::{Command, NewFilter, Object, Place, Verb};
use crate::discipline::{Discipline, SizeTable};
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
/// `tcf_auto_prio()`, `net/sched/cls_api.c`.
const FIRST_CHOSEN: u16 = 0xC000;
/// Assigned preferences are not below this.
const CHOSEN_FROM: u16 = 0x8000;

impl Growing {
    /// The tree, with the filters of each parent in the order in which they are asked; the tables of u32 before all of them,
    /// because others refer to them; and with the classes in the order of their disciplines.
    pub(super) fn finish(mut self) -> Tree {
        let Tree { qdiscs, classes, .. } = &mut self.tree;
        classes.sort_by_key(|class| qdiscs.iter().position(|qdisc| qdisc.handle == class.handle.qdisc()));
        let mut parents: Vec<Handle> = Vec::new();
        for filter in &self.tree.filters {
            if !parents.contains(&filter.parent) {
                parents.push(filter.parent);
            }
        }
        self.tree.filters.sort_by_key(|filter| {
            let parent = parents.iter().position(|parent| *parent == filter.parent);
            (parent, !filter.classifier.is_table(), filter.preference)
        });
        self.tree
    }

    pub(super) fn take(&mut self, command: Command, findings: &mut Findings) {
        let Command { span, verb, object, .. } = command;
        let mut place = At { span, findings };
        match object {
            Object::Qdisc { parent, handle, stab, discipline, is_ingress } => {
                self.is_ingress |= is_ingress;
                self.qdisc(verb, &parent, Qdisc { handle, parent: parent.handle, stab, discipline }, &mut place);
            }
            Object::Class { parent, handle, share } => {
                self.class(verb, &parent, Class { handle, parent: parent.handle, share }, &mut place);
            }
            Object::Filter(filter) => self.filter(verb, filter, &mut place),
            Object::Nothing { parent } => self.clear(parent),
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

    fn qdisc(&mut self, verb: Verb, parent: &Place, mut qdisc: Qdisc, place: &mut At<'_>) {
        let is_clsact = matches!(qdisc.discipline, Discipline::Clsact);
        if is_clsact != (parent.handle == Handle::CLSACT) {
            return place.refuse(parent, "Only clsact is there", "write root, or parent and a class");
        }
        if !is_clsact && parent.handle != Handle::ROOT && !self.has_class(parent, place) {
            return;
        }
        if !self.takes_stab(qdisc.stab.as_ref(), parent, place) {
            return;
        }
        let there = self.tree.qdiscs.iter().position(|other| other.parent == qdisc.parent);
        let namesake =
            self.tree.qdiscs.iter().position(|other| other.handle == qdisc.handle && qdisc.handle != Handle::NONE);
        if let Some(at) = namesake.filter(|at| Some(*at) != there) {
            let message = format!("{} is the name of the discipline at {}", qdisc.handle, self.tree.qdiscs[at].parent);
            return place.refuse(parent, &message, "give each discipline a name of its own");
        }
        match (verb, there) {
            (Verb::Add, Some(at)) if self.tree.qdiscs[at] == qdisc => place.note_repeated(),
            (Verb::Add, Some(at)) => {
                let message = format!("There is {} already", self.tree.qdiscs[at].discipline.kind());
                place.refuse(parent, &message, "remove one of them; or write replace to have this one instead");
            }
            (Verb::Add | Verb::Replace, None) => self.tree.qdiscs.push(qdisc),
            (_, None) => place.refuse(parent, "There is nothing to change", "write add, or remove this line"),
            (_, Some(at)) => {
                let old = &mut self.tree.qdiscs[at];
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
    }

    fn takes_stab(&self, stab: Option<&SizeTable>, parent: &Place, place: &mut At<'_>) -> bool {
        if stab.is_some() && parent.handle != Handle::ROOT {
            let message = "Newer kernels refuse stab below the root, older ones ignore it";
            place.refuse(parent, message, "put stab into the line with root: it counts for the whole tree");
            return false;
        }
        true
    }

    fn has_class(&self, parent: &Place, place: &mut At<'_>) -> bool {
        let handle = parent.handle;
        let Some(above) = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == handle.qdisc() && handle.major() != 0)
        else {
            place.refuse_nowhere(parent, &self.tree);
            return false;
        };
        let minor = handle.minor();
        let bands = match &above.discipline {
            Discipline::Prio(_) | Discipline::Ets(_) => u16::from(above.discipline.bands()),
            Discipline::Tbf(_) | Discipline::Netem(_) => 1,
            Discipline::Htb(_) | Discipline::Drr => {
                let has = self.tree.classes.iter().any(|class| class.handle == handle);
                if !has {
                    place.refuse(
                        parent,
                        &format!("There is no class {handle}"),
                        "add it with a line `class add` before this one",
                    );
                }
                return has;
            }
            other => {
                let message = format!("{} ({}) has no classes", above.handle, other.kind());
                place.refuse(parent, &message, "hang it below a class of another discipline");
                return false;
            }
        };
        let has = (1..=bands).contains(&minor);
        if !has {
            let (first, last) = (Handle::new(handle.major(), 1), Handle::new(handle.major(), bands));
            let message = format!("{} has the classes {first} to {last}, and not {handle}", above.handle);
            place.refuse(parent, &message, "write one of them; their numbers are hexadecimal");
        }
        has
    }

    fn class(&mut self, verb: Verb, parent: &Place, class: Class, place: &mut At<'_>) {
        let Some(above) = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == parent.handle.qdisc()) else {
            return place.refuse_nowhere(parent, &self.tree);
        };
        let is_below = parent.handle.minor() != 0;
        if above.discipline.kind() != class.share.kind() {
            let message =
                format!("{} is {}, and this a class of {}", above.handle, above.discipline.kind(), class.share.kind());
            return place.refuse(parent, &message, "write a class of the same kind");
        }
        if class.handle.qdisc() != above.handle {
            let message = format!("The class {} cannot belong to {}", class.handle, above.handle);
            return place.refuse(parent, &message, "begin its name as that of its discipline");
        }
        let is_there =
            self.tree.classes.iter().any(|other| other.handle == parent.handle && other.handle != class.handle);
        if is_below && (!is_there || matches!(class.share, Share::Drr { .. })) {
            let message = format!("There is no class {} that has others below it", parent.handle);
            return place.refuse(
                parent,
                &message,
                "add that class of htb before; classes of drr belong to the discipline",
            );
        }
        let there = self.tree.classes.iter_mut().find(|other| other.handle == class.handle);
        match (verb, there) {
            (Verb::Add, Some(old)) if *old == class => place.note_repeated(),
            (Verb::Add, Some(old)) => {
                let message = format!("There is a class {} already", old.handle);
                place.refuse(parent, &message, "give this one another name; or write replace to have it instead");
            }
            (Verb::Add | Verb::Replace, None) => self.tree.classes.push(class),
            (_, Some(old)) if old.parent == class.parent => *old = class,
            (_, Some(old)) => {
                let message = format!("The class {} is below {}, and cannot be moved", old.handle, old.parent);
                place.refuse(parent, &message, "write the same parent");
            }
            (_, None) => place.refuse(parent, "There is nothing to change", "write add, or remove this line"),
        }
    }

    fn filter(&mut self, verb: Verb, new: NewFilter, place: &mut At<'_>) {
        let Some(parent) = self.parent_of_filter(new.parent.as_ref(), place) else { return };
        let preference = new.preference.unwrap_or_else(|| self.chosen(parent));
        if new.preference.is_none() {
            place.note_chosen(preference);
        }
        let NewFilter { protocol, handle, classifier, class, actions, .. } = new;
        let filter = Filter { parent, preference, protocol, handle, classifier, class, actions };
        let mut same =
            self.tree.filters.iter_mut().filter(|other| other.parent == parent && other.preference == preference);
        let Some(other) = same.next() else {
            return self.tree.filters.push(filter);
        };
        let here = Place { handle: parent, span: place.span.clone() };
        if other.protocol != filter.protocol || other.classifier.kind() != filter.classifier.kind() {
            let message = format!("prio {preference} is that of a filter of another kind or protocol");
            return place.refuse(&here, &message, "give each kind a prio of its own");
        }
        let twin = std::iter::once(other).chain(same).find(|other| other.handle == filter.handle && filter.handle != 0);
        match (verb, twin) {
            (_, None) => self.tree.filters.push(filter),
            (Verb::Add, Some(old)) if *old == filter => place.note_repeated(),
            (Verb::Add, Some(_)) => {
                let message = format!("There is a filter with prio {preference} and this handle already");
                place.refuse(&here, &message, "give it another handle; or write replace to have it instead");
            }
            (_, Some(old)) => *old = filter,
        }
    }

    /// The preference that the kernel assigns: later filters run first.
    fn chosen(&self, parent: Handle) -> u16 {
        let taken = self.tree.filters.iter().filter(|filter| filter.parent == parent);
        let first = taken.map(|filter| filter.preference).filter(|preference| *preference >= CHOSEN_FROM).min();
        first.map_or(FIRST_CHOSEN, |first| first - 1)
    }

    fn parent_of_filter(&self, parent: Option<&Place>, place: &mut At<'_>) -> Option<Handle> {
        let root = || self.tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT).map(|qdisc| qdisc.handle);
        let here = Place { handle: Handle::NONE, span: place.span.clone() };
        let parent = match parent {
            None => &here,
            Some(parent) if parent.handle == Handle::ROOT => &Place { handle: Handle::NONE, ..parent.clone() },
            Some(parent) => parent,
        };
        let has_clsact = self.tree.qdiscs.iter().any(|qdisc| qdisc.parent == Handle::CLSACT);
        match parent.handle {
            Handle::NONE => {
                let handle = root().filter(|handle| *handle != Handle::NONE);
                if handle.is_none() {
                    place.refuse(
                        parent,
                        "The root has no name to which the filter could belong",
                        "write handle 1: into the line with root",
                    );
                }
                handle
            }
            Handle::INGRESS | Handle::EGRESS if has_clsact => Some(parent.handle),
            Handle::CLSACT_QDISC if self.is_ingress => Some(Handle::INGRESS),
            Handle::INGRESS | Handle::EGRESS | Handle::CLSACT_QDISC => {
                let help = if has_clsact {
                    "write ingress or egress"
                } else {
                    "add a line `qdisc add clsact` before this one"
                };
                place.refuse(parent, "Nothing there asks filters", help);
                None
            }
            handle => self.asks(handle, parent, place).then_some(handle),
        }
    }

    fn asks(&self, handle: Handle, parent: &Place, place: &mut At<'_>) -> bool {
        let Some(qdisc) = self.tree.qdiscs.iter().find(|qdisc| qdisc.handle == handle.qdisc()) else {
            place.refuse_nowhere(parent, &self.tree);
            return false;
        };
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
        if !asks {
            let message = format!("Nothing at {handle} ({}) asks filters", qdisc.discipline.kind());
            place.refuse(
                parent,
                &message,
                "let it belong to a discipline that sorts: prio, ets, htb, drr, sfq or fq_codel",
            );
        }
        asks
    }
}

struct At<'f> {
    span: Span,
    findings: &'f mut Findings,
}

impl At<'_> {
    fn refuse(&mut self, place: &Place, message: &str, help: &str) {
        self.findings.report(Diagnostic::error(code::PLACE, place.span.clone(), message).help(help));
    }

    fn refuse_nowhere(&mut self, place: &Place, tree: &Tree) {
        let names: Vec<_> =
            tree.qdiscs.iter().map(|qdisc| qdisc.handle).filter(|handle| *handle != Handle::NONE).collect();
        let help = match names.as_slice() {
            [] => "add the discipline before this line, with handle and a name".to_owned(),
            names => {
                let names: Vec<_> = names.iter().take(20).map(Handle::to_string).collect();
                format!("add it before this line, with handle; there are {}", names.join(", "))
            }
        };
        let message = format!("There is no discipline {}", place.handle.qdisc());
        self.refuse(place, &message, &help);
    }

    fn note_repeated(&mut self) {
        let note =
            Diagnostic::note(code::REPEATED, self.span.clone(), "This has been said before, and tc would refuse it");
        self.findings.report(note.help("remove one of the two lines"));
    }

    fn note_chosen(&mut self, preference: u16) {
        let message = format!("Without prio the kernel takes {preference}, so that later filters are asked first");
        let note = Diagnostic::note(code::MEANING, self.span.clone(), message);
        self.findings.report(note.help("write prio and a number from 1, lower ones are asked first"));
    }
}
