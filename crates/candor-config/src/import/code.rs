//! The codes of all findings in cangw text. Like those of gateway files they are stable; `docs/cangw.md` lists them.

/// A quote or bracket that is never closed.
pub const SYNTAX: &str = "E0901";
/// Something that only a running shell can expand.
pub const EXPANSION: &str = "E0902";
/// A command of which nobody can say beforehand whether and how often it runs.
pub const CONDITIONAL: &str = "E0903";
/// A command for another network namespace.
pub const NAMESPACE: &str = "E0904";
/// Options that cangw refuses.
pub const USAGE: &str = "E0905";
/// A value that cangw refuses, or takes for something else than it says.
pub const VALUE: &str = "E0906";
/// A job that the kernel refuses.
pub const KERNEL: &str = "E0907";
/// No job at all.
pub const NOTHING: &str = "E0908";
/// Something that a gateway file cannot say.
pub const NOT_EXPRESSIBLE: &str = "E0909";
/// More than a gateway file can hold.
pub const TOO_LARGE: &str = "E0910";
/// Bytes that are no UTF-8.
pub const NOT_UTF8: &str = "E0911";
/// Text that speaks of changes by cangw, and of which nobody can say whether it runs.
pub const UNCLEAR: &str = "E0912";

/// An option given twice, of which the last counts.
pub const OVERWRITTEN: &str = "W0951";
/// Something that cangw or the kernel ignores.
pub const IGNORED: &str = "W0952";
/// A job that never forwards anything.
pub const NEVER_FIRES: &str = "W0953";
/// A delete command that finds nothing.
pub const NOTHING_DELETED: &str = "W0954";
/// A command that mentions cangw and is none.
pub const MENTION: &str = "W0955";
/// A command that depends on a test.
pub const TESTED: &str = "W0956";
/// Lines of a listing among the commands of a script.
pub const READING: &str = "W0957";
/// A filter whose identifier loses bits.
pub const FILTER: &str = "W0958";
/// A command behind the end of a script.
pub const NEVER_RUNS: &str = "W0959";

/// Every code, in order.
pub const ALL: &[&str] = &[
    SYNTAX,
    EXPANSION,
    CONDITIONAL,
    NAMESPACE,
    USAGE,
    VALUE,
    KERNEL,
    NOTHING,
    NOT_EXPRESSIBLE,
    TOO_LARGE,
    NOT_UTF8,
    UNCLEAR,
    OVERWRITTEN,
    IGNORED,
    NEVER_FIRES,
    NOTHING_DELETED,
    MENTION,
    TESTED,
    READING,
    FILTER,
    NEVER_RUNS,
];
