//! `checksum-xor` and `checksum-crc8`.

use crate::config::spec::{Crc8Spec, PositionsSpec, ProfileSpec, XorSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, put, require};

const XOR_KEYS: &[&str] = &["from", "to", "result", "init"];
const CRC8_KEYS: &[&str] = &["from", "to", "result", "preset", "init", "final-xor", "polynomial", "table", "profile"];
const PROFILE_KEYS: &[&str] = &["id-xor", "byte", "bytes"];

const POSITION: &str = "a position in the payload, such as 7, or -1 for the last byte";
const POSITIONS: &[(&str, &str)] = &[
    ("from", "the first byte that is covered, such as from = 0"),
    ("to", "the last byte that is covered, such as to = 6"),
    ("result", "the byte that takes the result, such as result = 7"),
];
const HEX_BYTE: &str = "one byte in hex, such as \"FF\"";

pub(super) fn checksum_xor(entry: &Entry<'_>, findings: &mut Findings) -> Option<XorSpec> {
    let table = entry.table("a table, such as { from = 0, to = 6, result = 7 }", findings)?;
    let mut checksum = XorSpec { span: entry.value.span(), ..XorSpec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        match field.key {
            "init" => checksum.init = field.string(HEX_BYTE, findings),
            _ if position(&field, &mut checksum.positions, findings) => {}
            _ => suggested.extend(field.unknown("`checksum-xor`", XOR_KEYS, findings)),
        }
    }
    require(table, &entry.key_span(), "`checksum-xor`", POSITIONS, &suggested, findings);
    Some(checksum)
}

pub(super) fn checksum_crc8(entry: &Entry<'_>, findings: &mut Findings) -> Option<Crc8Spec> {
    let table = entry.table("a table, such as { from = 0, to = 6, result = 7, preset = \"sae-j1850\" }", findings)?;
    let mut checksum = Crc8Spec { span: entry.value.span(), ..Crc8Spec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        let is_sound = match field.key {
            "preset" => put(&mut checksum.preset, field.string("a preset, such as \"sae-j1850\"", findings)),
            "init" => put(&mut checksum.init, field.string(HEX_BYTE, findings)),
            "final-xor" => put(&mut checksum.final_xor, field.string(HEX_BYTE, findings)),
            "polynomial" => {
                put(&mut checksum.polynomial, field.string("a polynomial in hex, such as \"1D\"", findings))
            }
            "table" => put(&mut checksum.table, field.string("256 bytes in hex", findings)),
            "profile" => put(&mut checksum.profile, profile(&field, findings)),
            _ if position(&field, &mut checksum.positions, findings) => true,
            _ => {
                suggested.extend(field.unknown("`checksum-crc8`", CRC8_KEYS, findings));
                false
            }
        };
        checksum.is_torn |= !is_sound;
    }
    require(table, &entry.key_span(), "`checksum-crc8`", POSITIONS, &suggested, findings);
    Some(checksum)
}

fn position(field: &Entry<'_>, positions: &mut PositionsSpec, findings: &mut Findings) -> bool {
    let target = match field.key {
        "from" => &mut positions.from,
        "to" => &mut positions.to,
        "result" => &mut positions.result,
        _ => return false,
    };
    *target = field.integer(POSITION, findings);
    true
}

fn profile(entry: &Entry<'_>, findings: &mut Findings) -> Option<ProfileSpec> {
    let table = entry.table("a table: { id-xor = true }, { byte = \"2F\" } or { bytes = \"00 01 …\" }", findings)?;
    let mut profile = ProfileSpec { span: entry.value.span(), ..ProfileSpec::default() };
    for field in entries(table) {
        let is_sound = match field.key {
            "id-xor" => put(&mut profile.id_xor, field.boolean(findings)),
            "byte" => put(&mut profile.byte, field.string(HEX_BYTE, findings)),
            "bytes" => put(&mut profile.bytes, field.string("16 bytes in hex", findings)),
            _ => {
                field.unknown("`profile`", PROFILE_KEYS, findings);
                false
            }
        };
        profile.is_torn |= !is_sound;
    }
    Some(profile)
}
