//! Stable codes of findings that all files can have: gateways, scripts and plans of experiments.

/// The text is not valid TOML.
pub const SYNTAX: &str = "E0101";
/// A duplicate key or table.
pub const DUPLICATE_KEY: &str = "E0102";
/// The file is too large.
pub const FILE_TOO_LARGE: &str = "E0103";
/// The file is not UTF-8.
pub const NOT_UTF8: &str = "E0104";
/// Keys or brackets nested too deeply.
pub const TOO_DEEP: &str = "E0105";
/// A line is too long.
pub const LINE_TOO_LONG: &str = "E0106";
/// More errors, which are not listed.
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

/// Declares each code of findings as a constant, and all of them as a list.
#[macro_export]
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:expr;)+) => {
        $($(#[$doc])* pub const $name: &str = $code;)+

        /// All codes in ascending order.
        pub const ALL: &[&str] = &[$($name),+];
    };
}
