//! Reading with a limit.

use std::io::{self, Read};

/// Reads up to `most` + 1 bytes: enough to detect a file that is too large, such as `/dev/zero`.
pub(crate) fn at_most(reader: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).map_or(u64::MAX, |max| max + 1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
