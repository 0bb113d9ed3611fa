//! Type information: reads that of the kernel, and writes that of maps.
//!
//! Structures of the kernel have other offsets in each build. [`Types`] finds them by name, so that programs need no
//! compiler and no relocation.
//!
//! # Source
//! [BPF type format](https://docs.kernel.org/bpf/btf.html);
//! [`struct btf_type`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/btf.h#L33).

use std::collections::HashMap;

const MAGIC: u16 = 0xEB9F;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 24;
/// `struct btf_type`, which further bytes follow.
const TYPE_BYTES: usize = 12;
/// More modifiers and nested structures than any member has; a bound for broken input.
const MAX_DEPTH: usize = 32;

/// A type by its number; 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// The kinds of types that are looked for or written; the value is the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Function = 12,
    Integer = 1,
    Pointer = 2,
    Struct = 4,
    Tag = 18,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    #[error("the type information is broken at byte {0}")]
    Broken(usize),
    #[error("the kernel has no {0}")]
    Missing(String),
}

/// Types, for example those of the kernel (`/sys/kernel/btf/vmlinux`).
#[derive(Debug)]
pub struct Types<'a> {
    /// Of each type the place in `types`, by number from 1.
    places: Vec<usize>,
    types: &'a [u8],
    strings: &'a [u8],
    /// The first type of each kind and name.
    names: HashMap<(u32, &'a [u8]), TypeId>,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    name: u32,
    kind: u32,
    /// Number of elements that follow.
    count: usize,
    /// Members have the width of bit fields in their offset.
    flag: bool,
    /// Size in bytes, or another type.
    value: u32,
}

impl<'a> Types<'a> {
    /// Reads type information in host byte order.
    ///
    /// # Errors
    /// [`BtfError::Broken`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let broken = BtfError::Broken(0);
        if half(bytes, 0) != Some(MAGIC) || bytes.get(2) != Some(&VERSION) {
            return Err(broken);
        }
        let section = |at: usize| -> Option<&'a [u8]> {
            let base = word(bytes, 4)? as usize;
            let start = base.checked_add(word(bytes, at)? as usize)?;
            bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
        };
        let (Some(types), Some(strings)) = (section(8), section(16)) else { return Err(broken) };
        let mut read = Self { places: Vec::new(), types, strings, names: HashMap::new() };
        let mut at = 0;
        while at < types.len() {
            let head = read.head(at).ok_or(BtfError::Broken(at))?;
            read.places.push(at);
            let id = TypeId(u32::try_from(read.places.len()).map_err(|_too_many| BtfError::Broken(at))?);
            if head.name != 0 {
                let name = read.string(head.name).ok_or(BtfError::Broken(at))?;
                read.names.entry((head.kind, name)).or_insert(id);
            }
            at += TYPE_BYTES + following(&head).ok_or(BtfError::Broken(at))?;
        }
        Ok(read)
    }

    /// # Errors
    /// [`BtfError::Missing`].
    pub fn find(&self, kind: Kind, name: &str) -> Result<TypeId, BtfError> {
        let found = self.names.get(&(kind as u32, name.as_bytes()));
        found.copied().ok_or_else(|| BtfError::Missing(name.to_owned()))
    }

    /// Size of a structure in bytes.
    ///
    /// # Errors
    /// [`BtfError::Missing`].
    pub fn size(&self, structure: &str) -> Result<usize, BtfError> {
        let id = self.find(Kind::Struct, structure)?;
        let head = self.type_head(id).ok_or_else(|| BtfError::Missing(structure.to_owned()))?;
        Ok(head.value as usize)
    }

    /// Offset in bytes of a member, for example `q.qlen`, also inside of members without a name.
    ///
    /// # Errors
    /// [`BtfError::Missing`], also for a bit field.
    pub fn offset(&self, structure: &str, path: &str) -> Result<usize, BtfError> {
        let missing = || BtfError::Missing(format!("{structure}.{path}"));
        let mut id = self.find(Kind::Struct, structure)?;
        let mut offset = 0;
        for name in path.split('.') {
            let member = self.member(id, name.as_bytes(), MAX_DEPTH).ok_or_else(missing)?;
            (offset, id) = (offset + member.1, member.2);
        }
        Ok(offset)
    }

    /// Position of a member in its structure, from 0.
    ///
    /// # Errors
    /// [`BtfError::Missing`].
    pub fn position(&self, structure: &str, name: &str) -> Result<usize, BtfError> {
        let id = self.find(Kind::Struct, structure)?;
        let member = self.member(id, name.as_bytes(), 0);
        member.map(|(position, ..)| position).ok_or_else(|| BtfError::Missing(format!("{structure}.{name}")))
    }

    /// Position, offset in bytes, and type of a member.
    fn member(&self, structure: TypeId, name: &[u8], depth: usize) -> Option<(usize, usize, TypeId)> {
        const MEMBER_BYTES: usize = 12;
        let mut id = structure;
        for _ in 0..MAX_DEPTH {
            let head = self.type_head(id)?;
            if is_modifier(head.kind) {
                id = TypeId(head.value);
            } else {
                break;
            }
        }
        let head = self.type_head(id)?;
        if !is_aggregate(head.kind) {
            return None;
        }
        let start = self.places.get((id.0 as usize).checked_sub(1)?)? + TYPE_BYTES;
        (0..head.count).find_map(|position| {
            let at = start + MEMBER_BYTES * position;
            let (label, kind, bits) = (word(self.types, at)?, word(self.types, at + 4)?, word(self.types, at + 8)?);
            let (bits, width) = if head.flag { (bits & 0xFF_FFFF, bits >> 24) } else { (bits, 0) };
            let offset = bits as usize / 8;
            if label == 0 {
                let (_, inner, kind) = self.member(TypeId(kind), name, depth.checked_sub(1)?)?;
                return Some((position, offset + inner, kind));
            }
            let is_whole = width == 0 && bits % 8 == 0;
            (is_whole && self.string(label)? == name).then_some((position, offset, TypeId(kind)))
        })
    }

    fn type_head(&self, id: TypeId) -> Option<Head> {
        self.head(*self.places.get((id.0 as usize).checked_sub(1)?)?)
    }

    fn head(&self, at: usize) -> Option<Head> {
        let (name, info, value) = (word(self.types, at)?, word(self.types, at + 4)?, word(self.types, at + 8)?);
        Some(Head { name, kind: info >> 24 & 0x7F, count: (info & 0xFF_FFFF) as usize, flag: info >> 31 == 1, value })
    }

    fn string(&self, at: u32) -> Option<&'a [u8]> {
        self.strings.get(at as usize..)?.split(|byte| *byte == 0).next()
    }
}

/// Bytes after a type's head; `None` for an unknown kind.
fn following(head: &Head) -> Option<usize> {
    let count = head.count;
    Some(match head.kind {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Pointers, forward declarations, modifiers, functions, floats, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        // Arrays.
        3 => 12,
        // Structures, unions, sections, enumerations of 64 bits.
        4 | 5 | 15 | 19 => 12 * count,
        // Enumerations, arguments of functions.
        6 | 13 => 8 * count,
        _ => return None,
    })
}

/// `typedef`, `volatile`, `const`, `restrict`, tags of types.
const fn is_modifier(kind: u32) -> bool {
    matches!(kind, 8..=11 | 18)
}

/// Structures and unions.
const fn is_aggregate(kind: u32) -> bool {
    matches!(kind, 4 | 5)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Writes type information.
#[derive(Clone, Debug)]
pub struct Writer {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

impl Default for Writer {
    fn default() -> Self {
        // The first string is the empty one.
        Self { types: Vec::new(), strings: vec![0], count: 0 }
    }
}

impl Writer {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An integer without sign of 1, 2, 4 or 8 bytes.
    pub fn integer(&mut self, name: &str, bytes: u8) -> TypeId {
        let id = self.head(name, Kind::Integer, 0, bytes.into());
        self.words(&[u32::from(bytes) * 8]);
        id
    }

    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.head("", Kind::Pointer, 0, to.0)
    }

    /// A type with an attribute, for example `kptr`.
    pub fn tag(&mut self, name: &str, of: TypeId) -> TypeId {
        self.head(name, Kind::Tag, 0, of.0)
    }

    /// Members have a name, a type, and an offset in bytes.
    pub fn structure(&mut self, name: &str, bytes: u32, members: &[(&str, TypeId, u32)]) -> TypeId {
        let count = u32::try_from(members.len()).expect("structures are small");
        let id = self.head(name, Kind::Struct, count, bytes);
        for (name, kind, offset) in members {
            let name = self.name(name);
            self.words(&[name, kind.0, offset * 8]);
        }
        id
    }

    /// In host byte order.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("few types").to_ne_bytes();
        let mut all = MAGIC.to_ne_bytes().to_vec();
        all.extend([VERSION, 0]);
        all.extend(u32::try_from(HEADER_BYTES).expect("24").to_ne_bytes());
        all.extend([[0; 4], length(&self.types), length(&self.types), length(&self.strings)].as_flattened());
        all.extend(self.types);
        all.extend(self.strings);
        all
    }

    fn head(&mut self, name: &str, kind: Kind, count: u32, value: u32) -> TypeId {
        let name = self.name(name);
        self.words(&[name, (kind as u32) << 24 | count, value]);
        self.count += 1;
        TypeId(self.count)
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = u32::try_from(self.strings.len()).expect("few names");
        self.strings.extend(name.as_bytes());
        self.strings.push(0);
        at
    }

    fn words(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn types() -> Vec<u8> {
        let mut writer = Writer::new();
        let word = writer.integer("u32", 4);
        let inner = writer.structure("", 8, &[("first", word, 0), ("second", word, 4)]);
        let named = writer.structure("named", 8, &[("third", word, 4)]);
        let tagged = writer.tag("attribute", named);
        let pointer = writer.pointer(tagged);
        writer.structure("outer", 32, &[("", inner, 4), ("member", tagged, 16), ("pointer", pointer, 24)]);
        writer.finish()
    }

    #[test]
    fn members_are_found_by_their_path() {
        let bytes = types();
        let types = Types::read(&bytes).unwrap();
        assert_eq!(types.find(Kind::Integer, "u32"), Ok(TypeId(1)));
        assert_eq!(types.size("outer"), Ok(32));
        let offsets = ["first", "second", "member", "member.third", "pointer"].map(|path| types.offset("outer", path));
        assert_eq!(offsets, [4, 8, 16, 20, 24].map(Ok));
        assert_eq!(types.position("outer", "member"), Ok(1));
        let missing = |name: &str| Err(BtfError::Missing(name.to_owned()));
        assert_eq!(types.offset("outer", "pointer.third"), missing("outer.pointer.third"));
        assert_eq!(types.offset("other", "first"), missing("other"));
        assert_eq!(types.position("outer", "first"), missing("outer.first"));
    }

    proptest! {
        #[test]
        fn broken_types_are_refused_or_read(place in 0_usize..200, byte: u8, length in 0_usize..300) {
            let mut bytes = types();
            bytes.truncate(length);
            if let Some(broken) = bytes.get_mut(place) {
                *broken = byte;
            }
            if let Ok(types) = Types::read(&bytes) {
                let _ = types.offset("outer", "member.third");
                let _ = types.position("outer", "pointer");
            }
        }
    }
}
