//! `struct cgw_csum_xor` and `struct cgw_csum_crc8`.

use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, XorChecksum};

use crate::codec::{Attribute, DecodeError};

const XOR_BYTES: usize = 4;
const CRC8_BYTES: usize = 282;
const TABLE_OFFSET: usize = 5;
const PROFILE_OFFSET: usize = TABLE_OFFSET + 256;
const CGW_CRC8PRF_UNSPEC: u8 = 0;
const CGW_CRC8PRF_1U8: u8 = 1;
const CGW_CRC8PRF_16U8: u8 = 2;
const CGW_CRC8PRF_SFFID_XOR: u8 = 3;

pub(super) fn encode_xor(checksum: &XorChecksum) -> [u8; XOR_BYTES] {
    let [from, to, result] = encode_span(checksum.span);
    [from, to, result, checksum.init]
}

pub(super) fn decode_xor(attribute: &Attribute<'_>) -> Result<XorChecksum, DecodeError> {
    let [from, to, result, init] = *attribute.array::<XOR_BYTES>()?;
    Ok(XorChecksum { span: decode_span([from, to, result]), init })
}

pub(super) fn encode_crc8(checksum: &Crc8Checksum) -> [u8; CRC8_BYTES] {
    let mut bytes = [0; CRC8_BYTES];
    bytes[..3].copy_from_slice(&encode_span(checksum.span));
    bytes[3] = checksum.init;
    bytes[4] = checksum.final_xor;
    bytes[TABLE_OFFSET..PROFILE_OFFSET].copy_from_slice(&checksum.table);
    let (profile, data) = bytes[PROFILE_OFFSET..].split_at_mut(1);
    profile[0] = match checksum.profile {
        Crc8Profile::None => CGW_CRC8PRF_UNSPEC,
        Crc8Profile::Byte(byte) => {
            data[0] = byte;
            CGW_CRC8PRF_1U8
        }
        Crc8Profile::ByteByCounter(values) => {
            data[..16].copy_from_slice(&values);
            CGW_CRC8PRF_16U8
        }
        Crc8Profile::IdXor => CGW_CRC8PRF_SFFID_XOR,
    };
    bytes
}

pub(super) fn decode_crc8(attribute: &Attribute<'_>) -> Result<Crc8Checksum, DecodeError> {
    let bytes = attribute.array::<CRC8_BYTES>()?;
    let data = &bytes[PROFILE_OFFSET + 1..];
    let mut table = [0; 256];
    table.copy_from_slice(&bytes[TABLE_OFFSET..PROFILE_OFFSET]);
    Ok(Crc8Checksum {
        span: decode_span([bytes[0], bytes[1], bytes[2]]),
        init: bytes[3],
        final_xor: bytes[4],
        table,
        profile: match bytes[PROFILE_OFFSET] {
            CGW_CRC8PRF_1U8 => Crc8Profile::Byte(data[0]),
            CGW_CRC8PRF_16U8 => {
                Crc8Profile::ByteByCounter(*data.first_chunk().expect("20 bytes of profile data are more than 16"))
            }
            CGW_CRC8PRF_SFFID_XOR => Crc8Profile::IdXor,
            // The kernel stores any number and computes nothing for those that it does not know.
            _ => Crc8Profile::None,
        },
    })
}

const fn encode_span(span: ChecksumSpan) -> [u8; 3] {
    [span.from.cast_unsigned(), span.to.cast_unsigned(), span.result.cast_unsigned()]
}

const fn decode_span([from, to, result]: [u8; 3]) -> ChecksumSpan {
    ChecksumSpan { from: from.cast_signed(), to: to.cast_signed(), result: result.cast_signed() }
}
