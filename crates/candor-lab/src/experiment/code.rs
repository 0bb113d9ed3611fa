//! The codes of findings that only plans have. They are stable: a code is never given a new meaning. What plans have in common
//! with gateway files bears the code that it has there ([`candor_core::diagnostic::code`]).

/// A text that is no level of its factor.
pub const LEVEL: &str = "P0301";
/// A level that is in its factor twice.
pub const LEVEL_TWICE: &str = "P0302";
/// A gateway or rules of which the plan says nothing.
pub const UNDEFINED: &str = "P0303";
/// A factor without any level.
pub const NO_LEVEL: &str = "P0304";
/// Rules that cannot be had.
pub const RULES: &str = "P0305";
/// A number out of its range.
pub const RANGE: &str = "P0306";
/// A gateway that is not described by exactly one key.
pub const GATEWAY: &str = "P0307";
/// A budget that limits nothing, or a part of one that is wrong.
pub const BUDGET: &str = "P0308";
/// Interfaces or a board that a testbed needs, and that are missing or wrong.
pub const BENCH: &str = "P0309";
/// A log that cannot be replayed.
pub const LOG: &str = "P0310";
/// A source of stamps that there is not.
pub const STAMPS: &str = "P0311";
/// No cell is left.
pub const NO_CELL: &str = "P0401";
/// More cells than anybody measures.
pub const TOO_MANY_CELLS: &str = "P0402";
/// Conditions that cannot be met together.
pub const IMPOSSIBLE: &str = "P0403";
/// An `[[exclude]]` that takes nothing away.
pub const EXCLUDES_NOTHING: &str = "P0501";
/// An `[[include]]` of cells that are there already.
pub const INCLUDED_ALREADY: &str = "P0502";
/// A definition that nobody uses.
pub const UNUSED: &str = "P0503";

/// A log that is longer than what is sent of it.
pub const CUT: &str = "P0504";

/// Every code, in order.
pub const ALL: &[&str] = &[
    LEVEL,
    LEVEL_TWICE,
    UNDEFINED,
    NO_LEVEL,
    RULES,
    RANGE,
    GATEWAY,
    BUDGET,
    BENCH,
    LOG,
    STAMPS,
    NO_CELL,
    TOO_MANY_CELLS,
    IMPOSSIBLE,
    EXCLUDES_NOTHING,
    INCLUDED_ALREADY,
    UNUSED,
    CUT,
];
