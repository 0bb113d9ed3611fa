//! Attributes and structs out of bytes that may be anything.

use crate::constants::Constant;
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

/// Why bytes did not become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// They are not what netlink promises.
    Damaged(DecodeError),
    /// They say something that the value has no word for; they are kept as they are.
    Unspoken,
}

impl From<DecodeError> for Unread {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

/// The value, or what is kept instead where there is no word for it.
pub(super) fn or_kept<T>(read: Result<T, Unread>, kept: impl FnOnce() -> T) -> Result<T, DecodeError> {
    match read {
        Ok(value) => Ok(value),
        Err(Unread::Damaged(error)) => Err(error),
        Err(Unread::Unspoken) => Ok(kept()),
    }
}

/// Goes on only where this holds; otherwise there is no word for it.
pub(super) const fn speakable(holds: bool) -> Result<(), Unread> {
    if holds { Ok(()) } else { Err(Unread::Unspoken) }
}

/// The value of this number, if it is one of those supported.
pub(super) fn constant<T: Constant>(number: impl Into<i32>) -> Result<T, Unread> {
    T::of_number(number.into()).ok_or(Unread::Unspoken)
}

/// Attributes by their number, the last of each as the kernel has it; higher numbers are of a later kernel and left out.
pub(super) fn by_number<const N: usize>(bytes: &[u8]) -> Result<[Option<Attribute<'_>>; N], DecodeError> {
    let mut found = [None; N];
    for attribute in Attributes::new(bytes) {
        let attribute = attribute?;
        if let Some(place) = found.get_mut(usize::from(attribute.kind)) {
            *place = Some(attribute);
        }
    }
    Ok(found)
}

/// An attribute that must be there.
pub(super) fn needed(attribute: Option<Attribute<'_>>, kind: u16) -> Result<Attribute<'_>, DecodeError> {
    attribute.ok_or(DecodeError::MissingAttribute { kind })
}

/// A number, if its attribute is there.
pub(super) fn u32_of(attribute: Option<Attribute<'_>>) -> Result<Option<u32>, DecodeError> {
    attribute.map(|attribute| attribute.u32()).transpose()
}

/// A long number, if its attribute is there.
pub(super) fn u64_of(attribute: Option<Attribute<'_>>) -> Result<Option<u64>, DecodeError> {
    attribute.map(|attribute| Ok(u64::from_ne_bytes(*attribute.array()?))).transpose()
}

/// A struct, field by field.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    kind: u16,
    all: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) const fn of(attribute: Attribute<'a>) -> Self {
        Self { kind: attribute.kind, all: attribute.value, rest: attribute.value }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(DecodeError::ShortAttribute {
            kind: self.kind,
            len: self.all.len(),
            expected: self.all.len() - self.rest.len() + N,
        })?;
        self.rest = rest;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.take().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.take().map(u16::from_ne_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.take().map(i16::from_ne_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.take().map(i32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.take().map(u64::from_ne_bytes)
    }

    /// What is behind the fields that were taken.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}
