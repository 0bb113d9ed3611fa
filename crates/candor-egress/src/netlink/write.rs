//! Bytes of attributes and of the structs in them, with lengths that are checked.

use super::error::EncodeError;
use candor_netlink::codec::{ATTRIBUTE_HEADER_BYTES, MessageWriter};

/// `NLA_F_NESTED`.
pub(super) const NLA_F_NESTED: u16 = 0x8000;
const MAX_VALUE_BYTES: usize = u16::MAX as usize - ATTRIBUTE_HEADER_BYTES;
/// `IFNAMSIZ`, which holds names of kinds too, without the final NUL.
const MAX_KIND_BYTES: usize = 15;

/// Attributes, one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeList {
    bytes: Vec<u8>,
}

impl AttributeList {
    pub(super) fn put(&mut self, kind: u16, value: &[u8]) -> Result<(), EncodeError> {
        let too_long = EncodeError::TooLong { len: value.len() };
        let len = Some(value.len()).filter(|&len| len <= MAX_VALUE_BYTES);
        let len = len.and_then(|len| u16::try_from(len + ATTRIBUTE_HEADER_BYTES).ok()).ok_or(too_long)?;
        self.bytes.extend(len.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        Ok(())
    }

    pub(super) fn put_u32(&mut self, kind: u16, value: u32) -> Result<(), EncodeError> {
        self.put(kind, &value.to_ne_bytes())
    }

    pub(super) fn put_u64(&mut self, kind: u16, value: u64) -> Result<(), EncodeError> {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Only what is there.
    pub(super) fn put_some(&mut self, kind: u16, value: Option<u32>) -> Result<(), EncodeError> {
        value.map_or(Ok(()), |value| self.put_u32(kind, value))
    }

    pub(super) fn nest(&mut self, kind: u16, inner: &Self) -> Result<(), EncodeError> {
        self.put(kind, &inner.bytes)
    }

    /// With `NLA_F_NESTED`, for what insists on it.
    pub(super) fn nest_marked(&mut self, kind: u16, inner: &Self) -> Result<(), EncodeError> {
        self.put(kind | NLA_F_NESTED, &inner.bytes)
    }

    /// The name of a discipline, classifier or action.
    pub(super) fn put_kind(&mut self, kind: u16, name: &str) -> Result<(), EncodeError> {
        if name.is_empty() || name.len() > MAX_KIND_BYTES || name.contains('\0') {
            return Err(EncodeError::Kind { kind: name.to_owned() });
        }
        self.put(kind, &[name.as_bytes(), &[0]].concat())
    }

    /// The list after a struct.
    pub(super) fn after(self, record: Vec<u8>) -> Self {
        Self { bytes: [record, self.bytes].concat() }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn append_to(&self, message: &mut MessageWriter) {
        message.header(&self.bytes);
    }
}

/// A struct, field by field.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    pub(super) fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn i16(self, value: i16) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}
