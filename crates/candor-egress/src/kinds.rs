//! Queueing disciplines as data: one table of options per kind.
//!
//! | reader | uses |
//! |---|---|
//! | `text::disciplines` | words, unit, bounds |
//! | `text::print` | the same, in the order of the table |
//! | `netlink::discipline` | [`option::Record`] and [`option::Wire`] |
//! | `canonical::same` | [`Opt::kept`], [`Kind::kept`] |
//! | `arbitrary` | bounds for `tc`, widths for netlink |
//!
//! `tbf` is not here: its two buckets depend on each other, and each reader has its own code for it.

pub(crate) mod option;
mod table;

pub(crate) use option::{Kind, Opt, Unit};
pub(crate) use table::{KINDS, QUANTUM};

/// The kind of this name, if it is in the table.
pub(crate) fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
