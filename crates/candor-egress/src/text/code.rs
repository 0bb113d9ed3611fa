//! The codes of all findings in the text of a tree. They are stable; `docs/egress.md` lists them.

/// An unclosed quote or bracket, or brackets that the shell would interpret.
pub const SYNTAX: &str = "E1001";
/// Something that only a running shell can expand.
pub const EXPANSION: &str = "E1002";
/// A command that may not run, or run several times.
pub const CONDITIONAL: &str = "E1003";
/// A line that does not create a qdisc, class or filter.
pub const COMMAND: &str = "E1004";
/// A word that is not valid at its position.
pub const WORD: &str = "E1005";
/// A value that cannot be read, or is out of range.
pub const VALUE: &str = "E1006";
/// A missing word or option.
pub const MISSING: &str = "E1007";
/// A parent or handle that does not exist, or is in use.
pub const PLACE: &str = "E1008";
/// A qdisc, filter, match or action that candor does not support.
pub const KIND: &str = "E1009";
/// An interface that differs from that of the previous lines.
pub const INTERFACE: &str = "E1010";
/// A text or list that exceeds the limit.
pub const TOO_LARGE: &str = "E1011";

/// Text that is easily misread.
pub const MEANING: &str = "N1051";
/// The filter `can` of 2011, read as `basic` with `canid`.
pub const CAN_FILTER: &str = "N1052";
/// An object or option is given twice.
pub const REPEATED: &str = "N1053";
/// An option without effect on CAN, which is ignored.
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
