//! The codes of all findings in the text of a tree. They are stable; `docs/egress.md` lists them.

/// A quote or bracket that is never closed, or brackets that the shell takes for itself.
pub const SYNTAX: &str = "E1001";
/// Something that only a running shell can expand.
pub const EXPANSION: &str = "E1002";
/// A command that may not run, or run several times.
pub const CONDITIONAL: &str = "E1003";
/// A line that makes no discipline, class or filter.
pub const COMMAND: &str = "E1004";
/// A word that is not known where it stands.
pub const WORD: &str = "E1005";
/// A value that cannot be read, or is out of range.
pub const VALUE: &str = "E1006";
/// Something that must be there and is not.
pub const MISSING: &str = "E1007";
/// A place that does not exist, or where something else is.
pub const PLACE: &str = "E1008";
/// A discipline, filter, match or action that candor does not have.
pub const KIND: &str = "E1009";
/// Another interface than that of the lines before.
pub const INTERFACE: &str = "E1010";
/// More text than any tree needs, or more entries than the kernel takes.
pub const TOO_LARGE: &str = "E1011";

/// Text that is easily misread.
pub const MEANING: &str = "N1051";
/// The filter `can` of 2011, read as what came of it.
pub const CAN_FILTER: &str = "N1052";
/// A duplicate.
pub const REPEATED: &str = "N1053";
/// A word that changes nothing on CAN, left out.
pub const LEFT_OUT: &str = "N1054";

/// Every code, in order.
pub const ALL: &[&str] = &[
    SYNTAX,
    EXPANSION,
    CONDITIONAL,
    COMMAND,
    WORD,
    VALUE,
    MISSING,
    PLACE,
    KIND,
    INTERFACE,
    TOO_LARGE,
    MEANING,
    CAN_FILTER,
    REPEATED,
    LEFT_OUT,
];
