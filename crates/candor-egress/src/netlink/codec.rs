//! Attributes, structs and rates in netlink messages: checked reads of untrusted bytes, and writes with checked lengths.

use crate::constants::Constant;
use crate::discipline::ByteRate;
use crate::ticks;
use candor_netlink::codec::{ATTRIBUTE_HEADER_BYTES, Attribute, Attributes, DecodeError, MessageWriter};

use super::error::EncodeError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    Malformed(DecodeError),
    /// Valid, but the value cannot express it: kept as bytes.
    Unsupported,
}

impl From<DecodeError> for Unread {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

/// The value, or the bytes if it cannot express them.
pub(super) fn or_kept<T>(read: Result<T, Unread>, kept: impl FnOnce() -> T) -> Result<T, DecodeError> {
    match read {
        Ok(value) => Ok(value),
        Err(Unread::Malformed(error)) => Err(error),
        Err(Unread::Unsupported) => Ok(kept()),
    }
}

/// The value of an attribute, to be kept as it is.
pub(super) fn bytes_of(attribute: Option<Attribute<'_>>) -> Vec<u8> {
    attribute.map(|attribute| attribute.value.to_vec()).unwrap_or_default()
}

/// Fails with [`Unread::Unsupported`] unless this holds.
pub(super) const fn ensure_supported(holds: bool) -> Result<(), Unread> {
    if holds { Ok(()) } else { Err(Unread::Unsupported) }
}

pub(super) fn constant<T: Constant>(number: impl Into<i32>) -> Result<T, Unread> {
    T::of_number(number.into()).ok_or(Unread::Unsupported)
}

/// Attributes by number, the last one of each as in the kernel; higher numbers are ignored.
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

pub(super) fn needed(attribute: Option<Attribute<'_>>, kind: u16) -> Result<Attribute<'_>, DecodeError> {
    attribute.ok_or(DecodeError::MissingAttribute { kind })
}

pub(super) fn u32_of(attribute: Option<Attribute<'_>>) -> Result<Option<u32>, DecodeError> {
    attribute.map(|attribute| attribute.u32()).transpose()
}

pub(super) fn u64_of(attribute: Option<Attribute<'_>>) -> Result<Option<u64>, DecodeError> {
    attribute.map(|attribute| Ok(u64::from_ne_bytes(*attribute.array()?))).transpose()
}

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

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// `NLA_F_NESTED`.
pub(super) const NLA_F_NESTED: u16 = 0x8000;
const MAX_VALUE_BYTES: usize = u16::MAX as usize - ATTRIBUTE_HEADER_BYTES;
/// `IFNAMSIZ`, which holds names of kinds too, without the final NUL.
const MAX_KIND_BYTES: usize = 15;

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
        self.put(kind, &StructWriter::default().u64(value).done())
    }

    pub(super) fn put_some(&mut self, kind: u16, value: Option<u32>) -> Result<(), EncodeError> {
        value.map_or(Ok(()), |value| self.put_u32(kind, value))
    }

    pub(super) fn nest(&mut self, kind: u16, inner: &Self) -> Result<(), EncodeError> {
        self.put(kind, &inner.bytes)
    }

    /// With `NLA_F_NESTED`.
    pub(super) fn nest_marked(&mut self, kind: u16, inner: &Self) -> Result<(), EncodeError> {
        self.put(kind | NLA_F_NESTED, &inner.bytes)
    }

    pub(super) fn put_kind(&mut self, kind: u16, name: &str) -> Result<(), EncodeError> {
        if name.is_empty() || name.len() > MAX_KIND_BYTES || name.contains('\0') {
            return Err(EncodeError::Kind { kind: name.to_owned() });
        }
        self.put(kind, &[name.as_bytes(), &[0]].concat())
    }

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

#[derive(Clone, Debug, Default)]
pub(super) struct StructWriter(Vec<u8>);

impl StructWriter {
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Integers in native byte order.
macro_rules! integers {
    ($($integer:ident)*) => {
        impl Fields<'_> {
            $(pub(super) fn $integer(&mut self) -> Result<$integer, DecodeError> {
                self.take().map($integer::from_ne_bytes)
            })*
        }

        impl StructWriter {
            $(pub(super) fn $integer(self, value: $integer) -> Self {
                self.bytes(&value.to_ne_bytes())
            })*
        }
    };
}
integers!(u8 u16 i16 u32 i32 u64);

/// `TC_LINKLAYER_ETHERNET`: the rate is what it says, and no table is needed (Linux 3.8).
const LINKLAYER_ETHERNET: u8 = 1;
/// `TC_LINKLAYER_MASK`.
const LINKLAYER_MASK: u8 = 0x0F;

/// `struct tc_ratespec`. Rates beyond 32 bits need [`put_wide`] as well. The kernel ignores `cell_log` except where it
/// wants a table.
pub(super) fn rate_spec(rate: ByteRate, cell_log: u8) -> Result<Vec<u8>, EncodeError> {
    if rate.0 == 0 {
        return Err(EncodeError::ZeroRate);
    }
    let low = u32::try_from(rate.0).unwrap_or(u32::MAX);
    Ok(StructWriter::default().u8(cell_log).u8(LINKLAYER_ETHERNET).u16(0).i16(0).u16(0).u32(low).done())
}

/// Adds the whole rate if it has more than 32 bits.
pub(super) fn put_wide(list: &mut AttributeList, kind: u16, rate: ByteRate) -> Result<(), EncodeError> {
    if rate.0 > u64::from(u32::MAX) { list.put_u64(kind, rate.0) } else { Ok(()) }
}

/// `struct tc_ratespec` and the attribute with the whole rate. Lengths that count otherwise than they are (`overhead`,
/// `mpu`, ATM) have no word here.
pub(super) fn read_rate(fields: &mut Fields<'_>, wide: Option<Attribute<'_>>) -> Result<ByteRate, Unread> {
    let _cell_log = fields.u8()?;
    let linklayer = fields.u8()? & LINKLAYER_MASK;
    let overhead = fields.u16()?;
    let _cell_align = fields.i16()?;
    let mpu = fields.u16()?;
    let rate = u64::from(fields.u32()?).max(u64_of(wide)?.unwrap_or(0));
    ensure_supported(linklayer <= LINKLAYER_ETHERNET && overhead == 0 && mpu == 0)?;
    Ok(ByteRate(rate))
}

/// Duration of a burst in ticks.
pub(super) fn burst_ticks(bytes: u32, rate: ByteRate) -> Result<u32, EncodeError> {
    let ticks = ticks::ticks(bytes.into(), rate.0).ok_or(EncodeError::ZeroRate)?;
    u32::try_from(ticks).map_err(|_too_long| EncodeError::BurstTooLong)
}

pub(super) fn burst_bytes(ticks: u32, rate: ByteRate) -> u32 {
    u32::try_from(ticks::amount(ticks.into(), rate.0)).unwrap_or(u32::MAX)
}
