//! Reader of DBC files.
//!
//! ```text
//!  bytes ──text::decode──▶ text ──statement::read──▶ Statements ──assemble──▶ Database ──check──▶ with oddities
//! ```
//!
//! A statement that cannot be read is an [`Oddity`](crate::oddity::Oddity), and reading continues with the next line. Numbers
//! are read from their text, never through a floating-point number.

use crate::check;
use crate::database::Database;
use crate::text;

mod assemble;
mod scan;
mod statement;

/// Reads a DBC file. Bytes that are not UTF-8 are read as Windows-1252, which contains Latin-1's letters.
///
/// There is no error: what cannot be read is in [`Database::oddities`].
///
/// ```
/// let database = candor_signals::dbc::read(b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n");
/// let (message, signal) = database.signal("ABS1.VehSpd").unwrap();
/// assert_eq!(message.id.unwrap().to_string(), "123");
/// assert_eq!(signal.factor.to_string(), "0.01");
/// ```
#[must_use]
pub fn read(bytes: &[u8]) -> Database {
    let mut database = assemble::database(statement::read(&text::decode(bytes)));
    check::check(&mut database);
    database
}
