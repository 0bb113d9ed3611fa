//! The directory at the end of a Parquet file, before the library reads it.
//!
//! The library reserves memory for as many entries as a list says it has, goes as deep as groups of columns are nested, and
//! counts entries without bytes one by one. A directory passes if its bytes can hold that.
//!
//! # Source
//! [Compact protocol of Thrift](https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md),
//! [`parquet.thrift`](https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift)

/// Structures and lists in each other.
const MOST_NESTED: usize = 32;
/// Groups in groups of columns.
const MOST_GROUPS: usize = 64;

/// Type of a number of 32 bits in a structure.
const I32: u8 = 5;
/// `FileMetaData.schema`: columns and their groups, depth first.
const SCHEMA: i64 = 2;
/// `SchemaElement.num_children`.
const CHILDREN: i64 = 5;

/// # Errors
/// Why the library should not read it.
pub(super) fn check(directory: &[u8]) -> Result<(), String> {
    let mut walk = Walk { rest: directory, children: Vec::new() };
    walk.structure(0, Of::File)?;
    groups(&walk.children)
}

/// What a structure describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    File,
    /// A column or a group of columns.
    Column,
    Other,
}

struct Walk<'a> {
    rest: &'a [u8],
    /// Of each column or group, how many it has.
    children: Vec<i64>,
}

impl Walk<'_> {
    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        let rest = usize::try_from(bytes).ok().and_then(|bytes| self.rest.get(bytes..));
        self.rest = rest.ok_or_else(|| format!("{bytes} bytes are more than follow"))?;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.rest.split_first().ok_or("it ends within a structure")?;
        self.rest = rest;
        Ok(*first)
    }

    /// Seven bits in each byte, the lowest first.
    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }

    /// The lowest bit is the sign.
    fn signed(&mut self) -> Result<i64, String> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn structure(&mut self, depth: usize, of: Of) -> Result<(), String> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            let (step, kind) = (head >> 4, head & 0xF);
            id = if step == 0 { self.signed()? } else { id.saturating_add(step.into()) };
            match (of, id, kind) {
                (Of::Column, CHILDREN, I32) => {
                    let children = self.signed()?;
                    if let Some(last) = self.children.last_mut() {
                        *last = children;
                    }
                }
                (Of::File, SCHEMA, _) => self.value(kind, depth, Of::Column)?,
                _ => self.value(kind, depth, Of::Other)?,
            }
        }
    }

    /// A value in a structure.
    fn value(&mut self, kind: u8, depth: usize, of: Of) -> Result<(), String> {
        if depth == MOST_NESTED {
            return Err(format!("it is more than {MOST_NESTED} deep"));
        }
        match kind {
            // A boolean is its type.
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let len = self.number()?;
                self.skip(len)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 0xF { self.number()? } else { (head >> 4).into() };
                self.entries(count, &[head & 0xF], depth, of)
            }
            11 => {
                let count = self.number()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                self.entries(count, &[kinds >> 4, kinds & 0xF], depth, Of::Other)
            }
            12 => {
                if of == Of::Column {
                    self.children.push(0);
                }
                self.structure(depth + 1, of)
            }
            13 => self.skip(16),
            other => Err(format!("there is no type {other}")),
        }
    }

    /// The values of a list or map.
    fn entries(&mut self, count: u64, kinds: &[u8], depth: usize, of: Of) -> Result<(), String> {
        if count > self.rest.len() as u64 {
            return Err(format!("a list of {count} entries has {} bytes", self.rest.len()));
        }
        for _ in 0..count {
            for kind in kinds {
                match kind {
                    1 | 2 => self.skip(1)?,
                    other => self.value(*other, depth + 1, of)?,
                }
            }
        }
        Ok(())
    }
}

/// Looks whether groups have the columns that they say they have, and how deep they are.
fn groups(children: &[i64]) -> Result<(), String> {
    // Of each group around the next column, how many are left.
    let mut around: Vec<i64> = Vec::new();
    for count in children {
        if usize::try_from(*count).is_ok_and(|count| count > children.len()) {
            return Err(format!("a group has {count} columns of {}", children.len()));
        }
        if let Some(left) = around.last_mut() {
            *left -= 1;
        }
        if *count > 0 {
            around.push(*count);
        }
        if around.len() > MOST_GROUPS {
            return Err(format!("groups of columns are more than {MOST_GROUPS} deep"));
        }
        while around.pop_if(|left| *left <= 0).is_some() {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these columns and groups, by the number of their columns.
    fn directory(children: &[u8]) -> Vec<u8> {
        let count = u8::try_from(children.len()).unwrap();
        let mut bytes = vec![0x29, 0xFC, count];
        for count in children {
            bytes.extend([0x55, 2 * count, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn passes_what_fits() {
        assert_eq!(check(&directory(&[3, 0, 1, 0, 0])), Ok(()));
        // A map of two booleans, and a list of a double and one of a text.
        assert_eq!(check(&[0x1B, 1, 0x11, 1, 2, 0x19, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x19, 0x18, 1, b'a', 0]), Ok(()));
    }

    #[test]
    fn refuses_what_would_need_more_memory_or_time_than_the_file_has_bytes() {
        let refusal = |bytes: &[u8]| check(bytes).unwrap_err();
        assert_eq!(refusal(&directory(&[60, 0])), "a group has 60 columns of 2");
        assert_eq!(refusal(&directory(&[1; 66])), "groups of columns are more than 64 deep");
        // A list of 2^31 booleans, an unknown field.
        assert_eq!(
            refusal(&[0x09, 40, 0xF1, 0x80, 0x80, 0x80, 0x80, 8, 0]),
            "a list of 2147483648 entries has 1 bytes"
        );
        assert_eq!(refusal(&[0x18, 9, b'a']), "9 bytes are more than follow");
        assert_eq!(refusal(&[0x1C; 100]), "it is more than 32 deep");
        // Lists in lists.
        assert_eq!(refusal(&[0x19; 100]), "it is more than 32 deep");
        assert_eq!(refusal(&[0x15]), "it ends within a structure");
        assert_eq!(refusal(&[0x1F, 0]), "there is no type 15");
    }
}
