//! Files of all formats.

use crate::database::Database;
use crate::oddity::{Oddity, OddityKind};
use crate::{dbc, kcd};

/// Reads a database. Its content, not its name, says which format it has.
///
/// There is no error: what cannot be read is in [`Database::oddities`], and why nothing can be, in [`Database::refusal`].
///
/// ```
/// let database = candor_signals::read(b"BO_ 291 ABS1: 8 ESP\n");
/// assert_eq!(database.messages[0].name, "ABS1");
/// let database = candor_signals::read(b"<AUTOSAR></AUTOSAR>");
/// assert!(database.refusal().unwrap().kind.to_string().starts_with("this is an ARXML file; "));
/// ```
#[must_use]
pub fn read(bytes: &[u8]) -> Database {
    let other = |what, help| {
        let oddity = Oddity { line: 1, subject: None, kind: OddityKind::OtherFormat { what, help } };
        Database { oddities: vec![oddity], ..Database::default() }
    };
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return other("a text in UTF-16", "");
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<") {
        kcd::read(bytes)
    } else if text.starts_with(b"FormatVersion=") {
        other("a SYM file", OddityKind::CANTOOLS)
    } else {
        dbc::read(bytes)
    }
}
