//! Checksums: positions that stay inside the frame, and the CRC8 table.

use crate::config::check::number;
use crate::config::code;
use crate::config::spec::{Crc8Spec, PositionsSpec, ProfileSpec, RouteSpec};
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::frame::FrameFormat;
use candor_core::rule::{BytePosition, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};

/// A CRC8 with a name, most significant bit first, nothing reflected.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    polynomial: u8,
    init: u8,
    final_xor: u8,
}

/// # Source
/// `sae-j1850` and `autosar` are CRC-8/SAE-J1850 (check value 4B) and CRC-8/AUTOSAR (DF) of Greg Cook's catalogue of
/// parametrised CRC algorithms; AUTOSAR's Specification of CRC Routines calls them CRC8 and CRC8H2F. `bosch` is what
/// Bosch's own driver for its off-highway sensors computes (`off_highway_can/src/crc.cpp` in
/// `bosch-engineering/off_highway_sensor_drivers`): the first one again.
const PRESETS: [Preset; 3] = [
    Preset { name: "autosar", polynomial: 0x2F, init: 0xFF, final_xor: 0xFF },
    Preset { name: "bosch", polynomial: 0x1D, init: 0xFF, final_xor: 0xFF },
    Preset { name: "sae-j1850", polynomial: 0x1D, init: 0xFF, final_xor: 0xFF },
];

/// Both checksums of a route. `formats` is `None` when the file does not say a valid one.
pub(super) fn checksums(route: &RouteSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<Checksums> {
    let xor = route.checksum_xor.as_ref().map(|spec| {
        let span = span(&spec.positions, formats, findings);
        let init = byte_or_zero(spec.init.as_ref(), findings);
        Some(XorChecksum { span: span?, init: init? })
    });
    let crc8 = route.checksum_crc8.as_ref().map(|spec| crc8(spec, formats, findings));
    Some(Checksums {
        crc8: crc8.map_or(Some(None), |sum| sum.map(Some))?,
        xor: xor.map_or(Some(None), |sum| sum.map(Some))?,
    })
}

fn crc8(spec: &Crc8Spec, formats: Option<Formats>, findings: &mut Findings) -> Option<Crc8Checksum> {
    let span = span(&spec.positions, formats, findings);
    let parameters = match &spec.preset {
        Some(written) => preset(spec, written, findings),
        None => parameters(spec, findings),
    };
    let profile = spec.profile.as_ref().map_or(Some(Crc8Profile::None), |spec| profile(spec, findings));
    let Parameters { table, init, final_xor } = parameters?;
    let crc8 = Crc8Checksum { span: span?, init, final_xor, table, profile: profile? };
    (!spec.is_torn).then_some(crc8)
}

/// Parameters of a CRC8.
struct Parameters {
    table: [u8; 256],
    init: u8,
    final_xor: u8,
}

fn parameters(spec: &Crc8Spec, findings: &mut Findings) -> Option<Parameters> {
    let init = byte_or_zero(spec.init.as_ref(), findings);
    let final_xor = byte_or_zero(spec.final_xor.as_ref(), findings);
    let table = table(spec, findings);
    Some(Parameters { table: table?, init: init?, final_xor: final_xor? })
}

/// A CRC8 that others have named: a preset says all of it, so nothing of it may be said again.
fn preset(spec: &Crc8Spec, written: &Spanned<String>, findings: &mut Findings) -> Option<Parameters> {
    let others = [&spec.polynomial, &spec.table, &spec.init, &spec.final_xor];
    let other = others.into_iter().flatten().next();
    if let Some(other) = other {
        findings.report(
            Diagnostic::error(code::CHECKSUM, other.span.clone(), "The CRC is defined twice")
                .also(written.span.clone(), "defines polynomial, init and final-xor")
                .help("keep the preset, or replace it with all three values"),
        );
    }
    let known = PRESETS.iter().find(|preset| preset.name == written.value);
    if known.is_none() {
        let names = PRESETS.map(|preset| preset.name);
        let message = format!("Unknown preset {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::PRESET, written.span.clone(), message).help(
            "use \"sae-j1850\", \"bosch\" (both polynomial 1D) or \"autosar\" (2F); or write polynomial, init and final-xor",
        );
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    let &Preset { polynomial, init, final_xor, .. } = known.filter(|_| other.is_none())?;
    Some(Parameters { table: table_of(polynomial), init, final_xor })
}

fn byte_or_zero(written: Option<&Spanned<String>>, findings: &mut Findings) -> Option<u8> {
    written.map_or(Some(0), |written| number::byte(written, findings))
}

fn span(positions: &PositionsSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<ChecksumSpan> {
    let (room, help) = match formats? {
        Formats::Only(FrameFormat::Fd) => {
            (64, "a CAN FD frame has the bytes 0 to 63; -1 is the last byte of the frame")
        }
        Formats::Only(FrameFormat::Classic) => {
            (8, "a classic frame has the bytes 0 to 7; -1 is the last byte of the frame")
        }
        Formats::Any => (8, "a classic frame has the bytes 0 to 7; for longer frames add frames = \"fd\" to the route"),
    };
    let mut position = |written: &Option<Spanned<i64>>| {
        written.as_ref().and_then(|written| {
            number::within::<BytePosition>(written, -room..=room - 1, "The position", help, findings)
        })
    };
    let (from, to, result) = (position(&positions.from), position(&positions.to), position(&positions.result));
    Some(ChecksumSpan { from: from?, to: to?, result: result? })
}

fn table(spec: &Crc8Spec, findings: &mut Findings) -> Option<[u8; 256]> {
    match (&spec.polynomial, &spec.table) {
        (Some(polynomial), None) => number::byte(polynomial, findings).map(table_of),
        (None, Some(table)) => number::array(table, findings),
        (Some(polynomial), Some(table)) => {
            findings.report(
                Diagnostic::error(code::CHECKSUM, table.span.clone(), "The CRC is defined twice")
                    .also(polynomial.span.clone(), "already defined here")
                    .help("keep one of `polynomial` and `table`"),
            );
            None
        }
        (None, None) if findings.torn || spec.is_torn => None,
        (None, None) => {
            findings.report(
                Diagnostic::error(code::CHECKSUM, spec.span.clone(), "The CRC has no preset, polynomial or table")
                    .help("add preset = \"sae-j1850\" or \"autosar\", or write a polynomial or a table"),
            );
            None
        }
    }
}

/// The CRC of every byte value, most significant bit first, as `cangw -c` wants it.
fn table_of(polynomial: u8) -> [u8; 256] {
    let mut table = [0; 256];
    // The CRC of a value is the sum of those of its bits: with one more bit, that of the others and that of the bit.
    let mut of_bit = polynomial;
    for bit in (0..8).map(|bit| 1 << bit) {
        let (without, with) = table.split_at_mut(bit);
        for (with, without) in with.iter_mut().zip(without.iter()) {
            *with = *without ^ of_bit;
        }
        of_bit = of_bit << 1 ^ if of_bit & 0x80 == 0 { 0 } else { polynomial };
    }
    table
}

fn profile(spec: &ProfileSpec, findings: &mut Findings) -> Option<Crc8Profile> {
    match (&spec.id_xor, &spec.byte, &spec.bytes) {
        (Some(id_xor), None, None) => Some(if id_xor.value { Crc8Profile::IdXor } else { Crc8Profile::None }),
        (None, Some(byte), None) => number::byte(byte, findings).map(Crc8Profile::Byte),
        (None, None, Some(bytes)) => number::array(bytes, findings).map(Crc8Profile::ByteByCounter),
        _ if spec.is_torn => None,
        _ => {
            findings.report(
                Diagnostic::error(code::CHECKSUM, spec.span.clone(), "A profile needs exactly one value").help(
                    "use id-xor = true (the identifier), byte = \"2F\" (one byte) or bytes = \"…\" (16 bytes, selected by a counter)",
                ),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_1d_is_the_one_of_sae_j1850() {
        let table = table_of(0x1D);
        assert_eq!((table[0], table[1], table[2], table[255]), (0x00, 0x1D, 0x3A, 0xC4));
    }

    #[test]
    fn tables_are_those_of_the_division_bit_by_bit() {
        for polynomial in 0..=255_u8 {
            let divide = |value: u8| (0..8).fold(value, |crc, _bit| crc << 1 ^ (crc >> 7).wrapping_mul(polynomial));
            assert!((0..=255_u8).map(divide).eq(table_of(polynomial)), "{polynomial:02X}");
        }
    }

    /// The CRC of these bytes is what catalogues call the check value.
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
    fn a_preset_makes_the_checksum_of_a_real_frame() {
        let text = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\n\
                    to = \"b\"\nchecksum-crc8 = { from = 0, to = 6, result = 7, preset = \"sae-j1850\" }\n";
        let plan = crate::config::load(text.as_bytes()).unwrap().plan;
        let frame: candor_core::frame::Frame = "123#00C0DFACAA074000".parse().unwrap();
        let (sent, _) = crate::lower(&plan)[0].apply(&frame);
        assert_eq!(sent, "123#00C0DFACAA07406C".parse().unwrap());
    }
}
