//! Codes of findings in cangw text, explained in `docs/cangw.md`. They are stable.

candor_core::codes! {
    SYNTAX = "E0901";
    EXPANSION = "E0902";
    CONDITIONAL = "E0903";
    NAMESPACE = "E0904";
    USAGE = "E0905";
    VALUE = "E0906";
    KERNEL = "E0907";
    NOTHING = "E0908";
    NOT_EXPRESSIBLE = "E0909";
    TOO_LARGE = "E0910";
    NOT_UTF8 = "E0911";
    UNCLEAR = "E0912";

    OVERWRITTEN = "W0951";
    IGNORED = "W0952";
    NEVER_FIRES = "W0953";
    NOTHING_DELETED = "W0954";
    MENTION = "W0955";
    TESTED = "W0956";
    READING = "W0957";
    FILTER = "W0958";
    NEVER_RUNS = "W0959";
}
