//! CSV with a header: a line for each frame, with nothing lost.
//!
//! | column | |
//! |---|---|
//! | `time_ns` | time in ns |
//! | `clock` | `unix`: since 1970; `start`: since the start of the recording |
//! | `bus` | name of the bus |
//! | `direction` | `Rx`, `Tx`, or empty if it is not known |
//! | `kind` | `data`, `remote`, `fd` or `error` |
//! | `id` | hexadecimal: 3 digits, or 8 for a 29-bit identifier; the class of an error frame |
//! | `dlc` | data length code, 0 to 15 |
//! | `length` | bytes |
//! | `brs`, `esi` | 0 or 1 |
//! | `data` | hexadecimal |

mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

const HEADER: &str = "time_ns,clock,bus,direction,kind,id,dlc,length,brs,esi,data";

#[cfg(test)]
mod tests;
