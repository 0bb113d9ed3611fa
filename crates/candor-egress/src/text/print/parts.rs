//! Pieces of lines, and why `tc` has no words for something.

use std::fmt;

use crate::discipline::{ByteRate, SizeTable};
use crate::handle::Handle;

/// What `tc` has no words for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Unsayable {
    /// The discipline, class or filter.
    pub place: String,
    /// Why.
    pub why: NotSayable,
}

/// Why `tc` cannot say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSayable {
    /// An action that the kernel has and the language of `tc` has not.
    #[error("Tc has no word for what becomes of the frame there")]
    Action,
    /// An expression that is no expression: a group of less than two, a match of nothing.
    #[error("The expression is not complete")]
    Expression,
    /// A filter that names a class and is of a kind that has none.
    #[error("A filter of this kind names no class")]
    FilterClass,
    /// A name that the shell or `tc` would understand otherwise.
    #[error("The name of the interface cannot be written in a script")]
    Interface,
    /// The table of `stab` is none that `tc` makes of lengths.
    #[error("Tc makes its size tables itself, and none like this")]
    SizeTable,
    /// Groups in groups that no kernel takes.
    #[error("There are more groups in groups than the kernel takes")]
    TooDeep,
    /// More identifiers than `tc` takes in a match; the kernel takes 500.
    #[error("Tc takes 400 identifiers in a match, and here are more")]
    TooManyIdentifiers,
    /// Rates, lengths or times that `tc` cannot give exactly.
    #[error("Tc cannot say this number")]
    Number,
    /// A filter that is a program, which `tc` reads out of an object file.
    #[error("Tc takes a program out of an object file, and candor makes it itself: sudo candor egress apply")]
    Program,
    /// A kind that candor does not know either.
    #[error("Candor does not know this kind, and has kept its bytes")]
    Other,
    /// The mask of an identifier with the flags of frames in it.
    #[error("Tc drops the flag for remote frames from the mask of an identifier")]
    RemoteFlag,
    /// It is there without being asked for.
    #[error("The kernel puts it there by itself")]
    ThereByItself,
    /// Bytes of a frame in an order that depends on the machine.
    #[error("What this number means depends on the order of bytes of the machine")]
    ByteOrder,
}

/// What comes behind `tc qdisc`, `tc class` and `tc filter` in a script.
pub(super) const ADD: &str = " add dev \"$DEV\"";

/// An option with its value, if it has one.
pub(super) fn option(name: &str, value: Option<impl fmt::Display>) -> String {
    value.map_or_else(String::new, |value| format!(" {name} {value}"))
}

/// A rate in bits per second, in the largest unit in which it is whole. `tc` reckons it with 53 bits.
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

/// A handle without any of the kernel's words.
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
