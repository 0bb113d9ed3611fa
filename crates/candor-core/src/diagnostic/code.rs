//! Codes of findings that any file can have: gateways, scripts and plans of experiments. They are stable.

/// Not TOML.
pub const SYNTAX: &str = "E0101";
/// A key or table twice.
pub const DUPLICATE_KEY: &str = "E0102";
/// More bytes than candor reads.
pub const FILE_TOO_LARGE: &str = "E0103";
/// Bytes that are no UTF-8.
pub const NOT_UTF8: &str = "E0104";
/// Keys or brackets nested too deeply.
pub const TOO_DEEP: &str = "E0105";
/// A line that no person wrote.
pub const LINE_TOO_LONG: &str = "E0106";
/// More errors than are listed.
pub const TOO_MANY: &str = "E0107";
/// A key that does not exist there.
pub const UNKNOWN_KEY: &str = "E0201";
/// A value of the wrong type.
pub const WRONG_TYPE: &str = "E0202";
/// A required key is missing.
pub const MISSING_KEY: &str = "E0203";
/// A number out of its range.
pub const RANGE: &str = "E0308";
/// More warnings than are listed.
pub const TOO_MANY_WARNINGS: &str = "W0506";
/// More notes than are listed.
pub const TOO_MANY_NOTES: &str = "N0605";
