//! [`Tree`] → a shell script for `tc`, which [`parse`](super::parse) reads as the same tree.

mod actions;
mod disciplines;
mod ematch;
mod filters;
mod parts;

pub(super) use ematch::canid;
use parts::{ADD, major_minor, option};
pub use parts::{NotSayable, Unsayable};

use crate::canonical::Part;
use crate::handle::Handle;
use crate::tree::{Class, HtbClass, Share, Tree};
use candor_core::interface_name;

/// A script that makes this tree on an interface, from nothing.
///
/// # Errors
/// Everything that `tc` cannot say.
pub fn script(tree: &Tree, interface: &str) -> Result<String, Vec<Unsayable>> {
    let lines = commands(tree);
    if interface_name::check(interface).is_err() || interface.contains(['$', '\'']) {
        let why = Unsayable { place: format!("interface {interface:?}"), why: NotSayable::Interface };
        return Err([vec![why], lines.err().unwrap_or_default()].concat());
    }
    Ok(around(interface, tree, &lines?))
}

/// The lines of a tree as they stand in `tree = '''…'''` of a file, each with its end.
///
/// # Errors
/// Everything that `tc` cannot say.
pub fn lines(tree: &Tree) -> Result<String, Vec<Unsayable>> {
    Ok(commands(tree)?.iter().map(|line| line.replacen(ADD, "", 1) + "\n").collect())
}

/// A part of a tree as one line of it.
///
/// # Errors
/// If `tc` cannot say it.
pub fn line(part: &Part) -> Result<String, NotSayable> {
    let line = match part {
        Part::Class(class) => self::class(class),
        Part::Filter(filter) => filters::line(filter),
        Part::Qdisc(qdisc) => disciplines::line(qdisc),
    };
    line.map(|line| line.replacen(ADD, "", 1))
}

/// What a part is, without where it is and how it is called: its kind and its options, for people.
///
/// # Errors
/// If `tc` cannot say it.
pub fn words(part: &Part) -> Result<String, NotSayable> {
    match part {
        Part::Class(class) => share(&class.share),
        Part::Filter(filter) => filters::words(filter),
        Part::Qdisc(qdisc) => disciplines::words(qdisc),
    }
}

/// The commands of a script, without `tc` before them.
fn commands(tree: &Tree) -> Result<Vec<String>, Vec<Unsayable>> {
    let (mut lines, mut unsayable) = (Vec::new(), Vec::new());
    let mut push = |place: String, line: Result<String, NotSayable>| match line {
        Ok(line) => lines.push(line),
        Err(why) => unsayable.push(Unsayable { place, why }),
    };
    let mut classes_of = Vec::new();
    for qdisc in &tree.qdiscs {
        push(format!("qdisc {} {}", qdisc.discipline.kind(), qdisc.handle), disciplines::line(qdisc));
        let own = tree.classes.iter().filter(|class| class.handle.qdisc() == qdisc.handle);
        if !classes_of.contains(&qdisc.handle) {
            own.for_each(|class| push(format!("class {}", class.handle), self::class(class)));
        }
        classes_of.push(qdisc.handle);
    }
    for filter in &tree.filters {
        push(format!("filter {} prio {}", filter.parent, filter.preference), filters::line(filter));
    }
    if unsayable.is_empty() { Ok(lines) } else { Err(unsayable) }
}

fn around(interface: &str, tree: &Tree, lines: &[String]) -> String {
    let mut text = format!(
        "#!/bin/sh\n# Queueing disciplines of {interface}, as candor would make them.\nset -e\nDEV='{interface}'\n"
    );
    let has = |parent| tree.qdiscs.iter().any(|qdisc| qdisc.parent == parent);
    text.push_str("\n# What is there already; that there is nothing is fine.\n");
    for (parent, word) in [(Handle::ROOT, "root"), (Handle::CLSACT, "clsact")] {
        if has(parent) {
            text.push_str(&format!("tc qdisc del dev \"$DEV\" {word} 2>/dev/null || true\n"));
        }
    }
    text.push('\n');
    for line in lines {
        text.push_str(&format!("tc {line}\n"));
    }
    text
}

fn class(class: &Class) -> Result<String, NotSayable> {
    let Class { handle, parent, share } = class;
    Ok(format!("class{ADD} parent {} classid {} {}", major_minor(*parent), major_minor(*handle), self::share(share)?))
}

/// Kind and options.
fn share(share: &Share) -> Result<String, NotSayable> {
    let options = match share {
        Share::Drr { quantum_bytes } => option("quantum", *quantum_bytes),
        Share::Htb(htb) => self::htb(htb)?,
        Share::Other { .. } => return Err(NotSayable::Other),
    };
    Ok(format!("{}{options}", share.kind()))
}

fn htb(class: &HtbClass) -> Result<String, NotSayable> {
    let HtbClass { rate, ceil, burst_bytes, ceil_burst_bytes, quantum_bytes, prio } = *class;
    if prio > 7 || burst_bytes == 0 || ceil_burst_bytes == 0 || quantum_bytes == Some(0) {
        return Err(NotSayable::Number);
    }
    let (rate, ceil) = (parts::rate(rate)?, parts::rate(ceil)?);
    let quantum = option("quantum", quantum_bytes);
    let prio = if prio == 0 { String::new() } else { format!(" prio {prio}") };
    Ok(format!(" rate {rate} ceil {ceil} burst {burst_bytes} cburst {ceil_burst_bytes}{quantum}{prio}"))
}
