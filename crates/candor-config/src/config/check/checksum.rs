//! Checksums: positions within the frame, and the CRC8 table.

use crate::config::check::{unknown, value};
use crate::config::code;
use crate::config::spec::{Crc8Spec, PositionsSpec, ProfileSpec, RouteSpec};
use crate::crc8::table_of;
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::Table;
use candor_core::document::{Number, Text};
use candor_core::frame::FrameFormat;
use candor_core::rule::{BytePosition, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};

/// A well-known CRC8, most significant bit first, not reflected.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    polynomial: u8,
    init: u8,
    final_xor: u8,
}

/// # Source
/// `sae-j1850` and `autosar` are CRC-8/SAE-J1850 (check value 4B) and CRC-8/AUTOSAR (DF) of Greg Cook's
/// [catalogue of parametrised CRC algorithms](https://reveng.sourceforge.io/crc-catalogue/);
/// AUTOSAR's Specification of CRC Routines calls them CRC8 and CRC8H2F. `bosch` is what Bosch's own driver for its
/// off-highway sensors computes (`off_highway_can/src/crc.cpp` in
/// [`bosch-engineering/off_highway_sensor_drivers`](https://github.com/bosch-engineering/off_highway_sensor_drivers)):
/// the first one again.
const PRESETS: [Preset; 3] = [
    Preset { name: "autosar", polynomial: 0x2F, init: 0xFF, final_xor: 0xFF },
    Preset { name: "bosch", polynomial: 0x1D, init: 0xFF, final_xor: 0xFF },
    Preset { name: "sae-j1850", polynomial: 0x1D, init: 0xFF, final_xor: 0xFF },
];

/// Both checksums of a route. `formats` is `None` after an error in it.
pub(super) fn checksums(route: &RouteSpec, formats: Option<Formats>, findings: &mut Findings) -> Checksums {
    let xor = route.checksum_xor.as_ref().and_then(|spec| {
        let init = byte_or_zero(spec.init.as_ref(), findings);
        Some(XorChecksum { span: span(&spec.positions, formats, findings)?, init })
    });
    let crc8 = route.checksum_crc8.as_ref().and_then(|spec| crc8(spec, formats, findings));
    Checksums { crc8, xor }
}

fn crc8(spec: &Table<Crc8Spec>, formats: Option<Formats>, findings: &mut Findings) -> Option<Crc8Checksum> {
    let span = span(&spec.positions, formats, findings);
    let profile = spec.profile.as_ref().map_or(Crc8Profile::None, |spec| profile(spec, findings));
    if let Some(written) = &spec.preset {
        let &Preset { polynomial, init, final_xor, .. } = preset(spec, written, findings)?;
        return Some(Crc8Checksum { span: span?, init, final_xor, table: table_of(polynomial), profile });
    }
    let init = byte_or_zero(spec.init.as_ref(), findings);
    let final_xor = byte_or_zero(spec.final_xor.as_ref(), findings);
    let table = table(spec, findings)?;
    Some(Crc8Checksum { span: span?, init, final_xor, table, profile })
}

/// A preset defines the whole CRC, so no other key may define a part of it.
fn preset(spec: &Crc8Spec, written: &Text, findings: &mut Findings) -> Option<&'static Preset> {
    let others = [&spec.polynomial, &spec.table, &spec.init, &spec.final_xor];
    if let Some(other) = others.into_iter().flatten().next() {
        findings.report(
            Diagnostic::error(code::CHECKSUM, other.span.clone(), "The CRC is defined twice")
                .also(written.span.clone(), "defines polynomial, init and final-xor")
                .help("keep the preset, or replace it with all three values"),
        );
    }
    let known = PRESETS.iter().find(|preset| preset.name == written.value);
    if known.is_none() {
        let help = "use \"sae-j1850\", \"bosch\" (both polynomial 1D) or \"autosar\" (2F); or write polynomial, init and \
                    final-xor";
        unknown(code::PRESET, "preset", written, &PRESETS.map(|preset| preset.name), help, findings);
    }
    known
}

fn byte_or_zero(written: Option<&Text>, findings: &mut Findings) -> u8 {
    written.and_then(|written| value::byte(written, findings)).unwrap_or(0)
}

fn span(positions: &PositionsSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<ChecksumSpan> {
    let (room, help) = match formats? {
        // Refused before.
        Formats::Xl => return None,
        Formats::Only(FrameFormat::Fd) => {
            (64, "a CAN FD frame has the bytes 0 to 63; -1 is the last byte of the frame")
        }
        Formats::Only(FrameFormat::Classic) => {
            (8, "a classic frame has the bytes 0 to 7; -1 is the last byte of the frame")
        }
        Formats::Any => (8, "a classic frame has the bytes 0 to 7; for longer frames add frames = \"fd\" to the route"),
    };
    let mut position = |written: &Option<Number>| {
        let written = written.as_ref()?;
        value::within::<BytePosition>(written, -room..=room - 1, "The position", help, findings)
    };
    let (from, to, result) = (position(&positions.from), position(&positions.to), position(&positions.result));
    Some(ChecksumSpan { from: from?, to: to?, result: result? })
}

fn table(spec: &Table<Crc8Spec>, findings: &mut Findings) -> Option<[u8; 256]> {
    match (&spec.polynomial, &spec.table) {
        (Some(polynomial), None) => value::byte(polynomial, findings).map(table_of),
        (None, Some(table)) => value::array(table, findings),
        (Some(polynomial), Some(table)) => {
            findings.report(
                Diagnostic::error(code::CHECKSUM, table.span.clone(), "The CRC is defined twice")
                    .also(polynomial.span.clone(), "already defined here")
                    .help("keep one of `polynomial` and `table`"),
            );
            None
        }
        (None, None) => {
            if !findings.is_incomplete && !spec.is_incomplete {
                let message = "The CRC has no preset, polynomial or table";
                let help = "add preset = \"sae-j1850\" or \"autosar\", or write a polynomial or a table";
                findings.error(code::CHECKSUM, &spec.span, message, help);
            }
            None
        }
    }
}

fn profile(spec: &Table<ProfileSpec>, findings: &mut Findings) -> Crc8Profile {
    let profile = match (&spec.id_xor, &spec.byte, &spec.bytes) {
        (Some(id_xor), None, None) => id_xor.value.then_some(Crc8Profile::IdXor),
        (None, Some(byte), None) => value::byte(byte, findings).map(Crc8Profile::Byte),
        (None, None, Some(bytes)) => value::array(bytes, findings).map(Crc8Profile::ByteByCounter),
        _ if spec.is_incomplete => None,
        _ => {
            let help = "use id-xor = true (the identifier), byte = \"2F\" (one byte) or bytes = \"…\" (16 bytes, selected \
                        by a counter)";
            findings.error(code::CHECKSUM, &spec.span, "A profile needs exactly one value", help);
            None
        }
    };
    profile.unwrap_or(Crc8Profile::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catalogues call the CRC of these bytes the check value.
    #[test]
    fn presets_have_their_published_check_values() {
        let published = [("autosar", 0xDF), ("bosch", 0x4B), ("sae-j1850", 0x4B)];
        for (preset, (name, check)) in PRESETS.iter().zip(published) {
            let table = table_of(preset.polynomial);
            let crc = b"123456789".iter().fold(preset.init, |crc, &byte| table[usize::from(crc ^ byte)]);
            assert_eq!((preset.name, crc ^ preset.final_xor), (name, check));
        }
        assert_eq!(PRESETS.len(), published.len());
    }

    /// A frame of a Mercedes, as published at elektronik-keller.de: 00 C0 DF AC AA 07 40 and the CRC 6C.
    #[test]
    fn preset_computes_the_checksum_of_a_real_frame() {
        let keys = "checksum-crc8 = { from = 0, to = 6, result = 7, preset = \"sae-j1850\" }";
        let plan = crate::testing::loaded(&crate::testing::with_route(keys));
        let frame: candor_core::frame::Frame = "123#00C0DFACAA074000".parse().unwrap();
        let (sent, _) = crate::lower(&plan)[0].apply(&frame);
        assert_eq!(sent, "123#00C0DFACAA07406C".parse().unwrap());
    }
}
