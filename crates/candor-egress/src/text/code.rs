//! The codes of all findings in the text of a tree. They are stable; `docs/egress.md` lists them.

candor_core::codes! {
    /// An unclosed quote or bracket, or brackets that the shell would interpret.
    SYNTAX = "E1001";
    /// Something that only a running shell can expand.
    EXPANSION = "E1002";
    /// A command that may not run, or run several times.
    CONDITIONAL = "E1003";
    /// A line that does not create a qdisc, class or filter.
    COMMAND = "E1004";
    /// A word that is not valid at its position.
    WORD = "E1005";
    /// A value that cannot be read, or is out of range.
    VALUE = "E1006";
    /// A missing word or option.
    MISSING = "E1007";
    /// A parent or handle that does not exist, or is in use.
    PLACE = "E1008";
    /// A qdisc, filter, match or action that candor does not support.
    KIND = "E1009";
    /// An interface that differs from that of the previous lines.
    INTERFACE = "E1010";
    /// A text or list that exceeds the limit.
    TOO_LARGE = "E1011";

    /// Text that is easily misread.
    MEANING = "N1051";
    /// The filter `can` of 2011, read as `basic` with `canid`.
    CAN_FILTER = "N1052";
    /// An object or option is given twice.
    REPEATED = "N1053";
    /// An option without effect on CAN, which is ignored.
    LEFT_OUT = "N1054";
}
