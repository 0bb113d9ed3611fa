//! A command of `tc`.

use super::args::{Arg, Args, Wrong};

use super::units::{class_handle, handle, interface, preference, protocol, qdisc_handle};
use super::{code, disciplines, filters};
use crate::action::Action;
use crate::discipline::{Discipline, SizeTable};
use crate::filter::{Classifier, ETH_P_ALL};
use crate::handle::Handle;
use crate::tree::Share;
use candor_core::diagnostic::Span;
use candor_core::document::{closest, quote};

#[derive(Debug)]
pub(super) struct Command {
    /// Empty if it names none.
    pub(super) interface: String,
    pub(super) interface_span: Span,
    pub(super) span: Span,
    pub(super) verb: Verb,
    pub(super) object: Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    Change,
    Delete,
    Replace,
}

#[derive(Debug)]
pub(super) enum Object {
    Qdisc {
        parent: Parent,
        handle: Handle,
        stab: Option<SizeTable>,
        discipline: Discipline,
        is_ingress: bool,
    },
    Class {
        parent: Parent,
        handle: Handle,
        share: Share,
    },
    Filter(NewFilter),
    /// Deletes the root or `clsact`.
    Nothing {
        parent: Handle,
    },
}

#[derive(Debug)]
pub(super) struct NewFilter {
    /// That of the root if there is none.
    pub(super) parent: Option<Parent>,
    pub(super) preference: Option<u16>,
    pub(super) protocol: u16,
    pub(super) handle: u32,
    pub(super) classifier: Classifier,
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
}

#[derive(Clone, Debug)]
pub(super) struct Parent {
    pub(super) handle: Handle,
    pub(super) span: Span,
}

const VERBS: &[&str] = &["add", "replace", "change", "delete", "del", "show", "list", "ls", "get", "link"];

pub(super) fn changes_nothing(verb: &str) -> bool {
    ["show", "list", "ls", "get", "help"].contains(&verb)
}

/// Reads a command that begins with `qdisc`, `class` or `filter`.
pub(super) fn read(args: &mut Args<'_>) -> Option<Command> {
    let object = args.take()?;
    let verb = verb(args)?;
    let mut head = Head { span: args.span(), ..Head::default() };
    if verb == Verb::Delete {
        return deletion(object, args, head);
    }
    let read = match object.text() {
        "qdisc" => qdisc(args, &mut head),
        "class" => class(args, &mut head),
        _ => filter(args, &mut head),
    };
    Some(head.command(verb, read?))
}

fn verb(args: &mut Args<'_>) -> Option<Verb> {
    let word = args.next_text();
    let verb = match word {
        "add" => Verb::Add,
        "replace" => Verb::Replace,
        "change" | "link" => Verb::Change,
        "del" | "delete" => Verb::Delete,
        // A similar word may also be a misspelt parent or kind, which are checked later.
        _ => match (args.peek(), closest(word, &VERBS[..4])) {
            (Some(arg), Some(meant)) if !HEAD.split(' ').any(|known| known == word) => {
                let message = format!("{} is not a tc command", quote(word));
                return args.fail(code::COMMAND, arg.span(), message, format!("did you mean `{meant}`?"));
            }
            _ => return Some(Verb::Add),
        },
    };
    args.take();
    Some(verb)
}

const HEAD: &str = "dev root parent handle classid stab clsact ingress egress protocol prio pref preference priority";

#[derive(Debug, Default)]
struct Head {
    span: Span,
    interface: String,
    interface_span: Span,
    parent: Option<Parent>,
    handle: Option<Handle>,
    stab: Option<SizeTable>,
    protocol: Option<u16>,
    preference: Option<u16>,
    /// Of a filter: read when its kind is known.
    number: Option<(String, Span)>,
    is_wrong: bool,
}

impl Head {
    fn command(self, verb: Verb, object: Object) -> Command {
        let Self { span, interface, interface_span, .. } = self;
        Command { interface, interface_span, span, verb, object }
    }

    /// Reads the words before the kind. `None`, after reporting it, if there is no kind. Notes a wrong value in `is_wrong`.
    fn read(&mut self, object: &str, args: &mut Args<'_>) -> Option<()> {
        loop {
            let span = args.peek().map_or(0..0, Arg::span);
            match (object, args.next_text()) {
                ("qdisc", "clsact" | "ingress") => return Some(()),
                (_, "") => {
                    let (kind, help) = match object {
                        "qdisc" => ("qdisc kind", "add one, such as prio"),
                        "class" => ("class kind", "add htb with a rate, or drr"),
                        _ => ("filter kind", "add one, such as basic match 'canid(sff 0x123)'"),
                    };
                    return args.missing(kind, help);
                }
                ("qdisc", "handle") => self.handle = self.value(args, qdisc_handle),
                ("qdisc", "stab") => {
                    args.take();
                    self.stab = disciplines::stab(args);
                    self.is_wrong |= self.stab.is_none();
                }
                ("class", "classid" | "handle") => self.handle = self.value(args, class_handle),
                ("filter", "handle") => {
                    let text = self.value(args, |text| Ok(text.to_owned()));
                    self.number = text.map(|text| (text, args.last_span()));
                }
                ("filter", "protocol") => self.protocol = self.value(args, protocol),
                ("filter", "prio" | "pref" | "preference" | "priority") => {
                    self.preference = self.value(args, preference);
                }
                ("filter", word @ ("ingress" | "egress")) => {
                    args.take();
                    let handle = if word == "ingress" { Handle::INGRESS } else { Handle::EGRESS };
                    self.parent = Some(Parent { handle, span });
                }
                _ => match self.takes(args) {
                    Some(true) => {}
                    None => self.is_wrong = true,
                    Some(false) => return Some(()),
                },
            }
        }
    }

    fn value<T>(&mut self, args: &mut Args<'_>, read: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        args.take();
        let value = args.value(read);
        self.is_wrong |= value.is_none();
        value
    }

    /// Takes a word that all objects have. `None`, after reporting it, if its value is wrong; otherwise true if it was one.
    fn takes(&mut self, args: &mut Args<'_>) -> Option<bool> {
        let span = args.peek().map_or(0..0, Arg::span);
        match args.next_text() {
            "dev" => {
                args.take();
                self.interface = args.value(interface)?;
                self.interface_span = args.last_span();
            }
            "root" => {
                args.take();
                self.parent = Some(Parent { handle: Handle::ROOT, span });
            }
            "parent" => {
                args.take();
                let handle = args.value(handle)?;
                self.parent = Some(Parent { handle, span: args.last_span() });
            }
            word @ ("estimator" | "chain" | "block" | "ingress_block" | "egress_block") => {
                let message = format!("candor does not support `{word}`");
                args.skip_all();
                return args.fail(code::KIND, span, message, "remove it and its values");
            }
            _ => return Some(false),
        }
        Some(true)
    }
}

fn qdisc(args: &mut Args<'_>, head: &mut Head) -> Option<Object> {
    let known = ["root", "parent", "clsact", "handle", "stab", "dev"];
    head.read("qdisc", args)?;
    let kind = args.take()?;
    if ["clsact", "ingress"].contains(&kind.text()) {
        return (!head.is_wrong).then(|| clsact(kind.text(), args)).flatten();
    }
    let discipline = disciplines::read(kind, &known, args);
    let Some(parent) = head.parent.clone() else {
        if !head.is_wrong && discipline.is_some() {
            return args.missing("parent", "add root, or parent and the class above it");
        }
        return None;
    };
    let (handle, stab) = (head.handle.unwrap_or_default(), head.stab.clone());
    let qdisc = |discipline| Object::Qdisc { parent, handle, stab, discipline, is_ingress: false };
    discipline.filter(|_| !head.is_wrong).map(qdisc)
}

fn clsact(word: &str, args: &mut Args<'_>) -> Option<Object> {
    let span = args.last_span();
    args.options(word, &[], |_, _| None)?;
    let is_ingress = word == "ingress";
    if is_ingress {
        let message = "`ingress` is read as `clsact`, which does the same for received frames";
        args.note(code::MEANING, span.clone(), message, "write clsact");
    }
    let parent = Parent { handle: Handle::CLSACT, span };
    let (handle, discipline) = (Handle::CLSACT_QDISC, Discipline::Clsact);
    Some(Object::Qdisc { parent, handle, stab: None, discipline, is_ingress })
}

fn class(args: &mut Args<'_>, head: &mut Head) -> Option<Object> {
    head.read("class", args)?;
    let kind = args.take()?;
    let share = disciplines::class(kind, args)?;
    if head.is_wrong {
        return None;
    }
    let Some(handle) = head.handle else {
        return args.missing("classid", "add a classid, such as classid 1:10");
    };
    let Some(parent) = head.parent.clone() else {
        return args.missing("parent", "add the qdisc or class that it belongs to, such as parent 1:");
    };
    Some(Object::Class { parent, handle, share })
}

fn filter(args: &mut Args<'_>, head: &mut Head) -> Option<Object> {
    head.read("filter", args)?;
    let kind = args.take()?;
    let found = filters::read(kind, head.number.take(), args)?;
    (!head.is_wrong).then(|| {
        let filters::Found { handle, classifier, class, actions } = found;
        let protocol = head.protocol.unwrap_or(ETH_P_ALL);
        let (parent, preference) = (head.parent.clone(), head.preference);
        Object::Filter(NewFilter { parent, preference, protocol, handle, classifier, class, actions })
    })
}

/// `del`: allowed at the head of a script, before the tree is built.
fn deletion(object: &Arg<'_>, args: &mut Args<'_>, mut head: Head) -> Option<Command> {
    let mut parent = None;
    while let Some(arg) = args.peek() {
        match arg.text() {
            "clsact" | "ingress" => parent = Some(Handle::CLSACT),
            "handle" | "protocol" | "prio" | "pref" => {
                args.take();
            }
            _ => {
                if head.takes(args)? {
                    parent = head.parent.as_ref().map(|parent| parent.handle).or(parent);
                    continue;
                }
            }
        }
        args.take();
    }
    match parent.filter(|parent| [Handle::ROOT, Handle::CLSACT].contains(parent)) {
        Some(parent) if object.text() == "qdisc" => Some(head.command(Verb::Delete, Object::Nothing { parent })),
        _ => {
            let help = "remove this line and the lines it deletes; only `qdisc del root` at the top is allowed";
            let message = "A tree describes the final state, so it cannot delete objects";
            args.fail(code::COMMAND, args.span(), message, help)
        }
    }
}
