//! [`Tree`] → a shell script for `tc`, which [`parse`](super::parse) reads as the same tree.

use std::fmt;

use crate::canonical::Part;
use crate::discipline::{ByteRate, Discipline, SizeTable, Tbf};
use crate::handle::Handle;
use crate::kinds::{self, Kind, Opt, Unit};
use crate::tree::{Class, HtbClass, Qdisc, Share, Tree};
use candor_core::interface_name;

use super::units::written;

mod ematch;
mod filters;

pub(super) use ematch::canid;

/// A script that builds this tree on an interface.
pub fn script(tree: &Tree, interface: &str) -> Result<String, Vec<Unsayable>> {
    let lines = commands(tree);
    if interface_name::check(interface).is_err() || interface.contains(['$', '\'']) {
        let why = Unsayable { place: format!("interface {interface:?}"), why: NotSayable::Interface };
        return Err([vec![why], lines.err().unwrap_or_default()].concat());
    }
    Ok(around(interface, tree, &lines?))
}

/// The lines of a tree as in `tree = '''…'''` of a file.
pub fn lines(tree: &Tree) -> Result<String, Vec<Unsayable>> {
    Ok(commands(tree)?.iter().map(|line| line.replacen(ADD, "", 1) + "\n").collect())
}

pub fn line(part: &Part) -> Result<String, NotSayable> {
    let line = match part {
        Part::Class(class) => self::class(class),
        Part::Filter(filter) => filters::line(filter),
        Part::Qdisc(qdisc) => qdisc_line(qdisc),
    };
    line.map(|line| line.replacen(ADD, "", 1))
}

/// Kind and options of a part, without its place and handle.
pub fn words(part: &Part) -> Result<String, NotSayable> {
    match part {
        Part::Class(class) => share(&class.share),
        Part::Filter(filter) => filters::words(filter),
        Part::Qdisc(qdisc) => qdisc_words(qdisc),
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
        push(format!("qdisc {} {}", qdisc.discipline.kind(), qdisc.handle), qdisc_line(qdisc));
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
        "#!/bin/sh\n# Queueing disciplines of {interface}, as candor installs them.\nset -e\nDEV='{interface}'\n"
    );
    let has = |parent| tree.qdiscs.iter().any(|qdisc| qdisc.parent == parent);
    text.push_str("\n# Remove the existing qdiscs, if any.\n");
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
    let (rate, ceil) = (self::rate(rate)?, self::rate(ceil)?);
    let quantum = option("quantum", quantum_bytes);
    let prio = if prio == 0 { String::new() } else { format!(" prio {prio}") };
    Ok(format!(" rate {rate} ceil {ceil} burst {burst_bytes} cburst {ceil_burst_bytes}{quantum}{prio}"))
}

pub(super) fn qdisc_line(qdisc: &Qdisc) -> Result<String, NotSayable> {
    let Qdisc { handle, parent, stab: table, discipline } = qdisc;
    if let Discipline::Clsact = discipline {
        return Ok(format!("qdisc{ADD} clsact"));
    }
    let place = if *parent == Handle::ROOT { "root".to_owned() } else { format!("parent {}", major_minor(*parent)) };
    let handle = if *handle == Handle::NONE { String::new() } else { format!(" handle {}", major_minor(*handle)) };
    let table = table.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("qdisc{ADD} {place}{handle}{table} {}{}", discipline.kind(), discipline_options(discipline)?))
}

pub(super) fn qdisc_words(qdisc: &Qdisc) -> Result<String, NotSayable> {
    if let Discipline::Arbitration(arbitration) = &qdisc.discipline {
        return Ok(arbitration.words());
    }
    let table = qdisc.stab.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("{}{}{table}", qdisc.discipline.kind(), discipline_options(&qdisc.discipline)?))
}

fn discipline_options(discipline: &Discipline) -> Result<String, NotSayable> {
    match discipline {
        Discipline::Arbitration(_) => Err(NotSayable::Program),
        Discipline::Clsact => Ok(String::new()),
        Discipline::Noqueue => Err(NotSayable::ThereByItself),
        Discipline::Tbf(tbf) => self::tbf(*tbf),
        _ => described(kinds::kind(discipline.kind()).ok_or(NotSayable::Other)?, discipline),
    }
}

/// The options in the order of the table, without those that are as usual.
fn described(kind: &Kind, discipline: &Discipline) -> Result<String, NotSayable> {
    let mut checked = discipline.clone();
    if (kind.rule)(&mut checked).is_err() || checked != *discipline {
        return Err(NotSayable::Number);
    }
    let usual = (kind.usual)();
    let is_usual = |option: &Opt| (option.field.get)(discipline) == (option.field.get)(&usual);
    let mut text = String::new();
    for (at, option) in kind.options.iter().enumerate() {
        let numbers = (option.field.get)(discipline);
        if numbers.iter().any(|number| !option.accepts(*number)) {
            return Err(NotSayable::Number);
        }
        let leads = kind.options.get(at + 1).is_some_and(|next| next.words.is_empty() && !is_usual(next));
        if numbers.is_empty() || (is_usual(option) && !option.always && !leads) {
            continue;
        }
        option.words.first().into_iter().for_each(|word| text.extend([" ", word]));
        for number in numbers.into_iter().filter(|_| option.unit != Unit::Switch) {
            text.extend([" ", &written(option.unit, number).ok_or(NotSayable::Number)?]);
        }
    }
    Ok(text)
}

fn tbf(Tbf { rate: bytes, burst_bytes, limit_bytes, peak }: Tbf) -> Result<String, NotSayable> {
    if burst_bytes == 0 || peak.is_some_and(|peak| peak.burst_bytes == 0) {
        return Err(NotSayable::Number);
    }
    let mut text = format!(" rate {} burst {burst_bytes} limit {limit_bytes}", rate(bytes)?);
    if let Some(peak) = peak {
        text.push_str(&format!(" peakrate {} mtu {}", rate(peak.rate)?, peak.burst_bytes));
    }
    Ok(text)
}

/// A part that `tc` cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Unsayable {
    pub place: String,
    pub why: NotSayable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSayable {
    #[error("tc has no syntax for this action")]
    Action,
    #[error("The expression is incomplete")]
    Expression,
    #[error("A filter of this kind cannot have a class")]
    FilterClass,
    #[error("The name of the interface cannot be written in a script")]
    Interface,
    #[error("tc computes size tables itself and cannot create this one")]
    SizeTable,
    #[error("The groups are nested deeper than the kernel supports")]
    TooDeep,
    /// More identifiers than `tc` takes in a match; the kernel takes 500.
    #[error("tc accepts at most 400 identifiers per match")]
    TooManyIdentifiers,
    #[error("tc cannot express this number")]
    Number,
    #[error("tc loads BPF programs from object files, but candor generates this one: use sudo candor egress apply")]
    Program,
    #[error("candor does not support this kind and only stores its bytes")]
    Other,
    #[error("tc drops the flag for remote frames from the mask of an identifier")]
    RemoteFlag,
    #[error("The kernel creates it itself")]
    ThereByItself,
    #[error("The number depends on the byte order of the machine")]
    ByteOrder,
}

/// Follows `tc qdisc`, `tc class` and `tc filter` in a script.
pub(super) const ADD: &str = " add dev \"$DEV\"";

pub(super) fn option(name: &str, value: Option<impl fmt::Display>) -> String {
    value.map_or_else(String::new, |value| format!(" {name} {value}"))
}

/// A rate in bits per second, in the largest exact unit. `tc` computes it with 53 bits.
pub(super) fn rate(rate: ByteRate) -> Result<String, NotSayable> {
    const EXACT: u64 = 1 << 50;
    if rate.0 == 0 || rate.0 >= EXACT {
        return Err(NotSayable::Number);
    }
    Ok(match rate.0 * 8 {
        bits if bits % 1_000_000 == 0 => format!("{}mbit", bits / 1_000_000),
        bits if bits % 1_000 == 0 => format!("{}kbit", bits / 1_000),
        bits => format!("{bits}bit"),
    })
}

/// A handle in numbers, even for `root` and the like.
pub(super) fn major_minor(handle: Handle) -> String {
    match handle.minor() {
        0 => format!("{:x}:", handle.major()),
        minor => format!("{:x}:{minor:x}", handle.major()),
    }
}

pub(super) fn stab(table: &SizeTable) -> Result<String, NotSayable> {
    let SizeTable { overhead_bytes, mpu_bytes, mtu_bytes, ref sizes, .. } = *table;
    if SizeTable::even(overhead_bytes, mpu_bytes, mtu_bytes, sizes.len()) != *table
        || (mpu_bytes > 0 && sizes.is_empty())
    {
        return Err(NotSayable::SizeTable);
    }
    let slots = sizes.len();
    if mpu_bytes == 0 {
        return Ok(format!(" stab overhead {overhead_bytes}"));
    }
    if mtu_bytes == 0 || slots > 4096 {
        return Err(NotSayable::SizeTable);
    }
    Ok(format!(" stab mtu {mtu_bytes} tsize {slots} mpu {mpu_bytes} overhead {overhead_bytes}"))
}
