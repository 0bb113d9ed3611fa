//! CRCs by name.

use crate::crc::Algorithm;

/// A CRC with a name, and its value of the bytes `123456789`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// As in the catalogue.
    pub name: &'static str,
    /// Its parameters.
    pub algorithm: Algorithm,
    /// The CRC of the nine ASCII digits 1 to 9.
    pub check: u64,
}

const fn named(
    name: &'static str,
    width: u8,
    polynomial: u64,
    [init, xorout]: [u64; 2],
    reflected: bool,
    check: u64,
) -> Named {
    let algorithm = Algorithm { width, polynomial, init, reflect_in: reflected, reflect_out: reflected, xorout };
    Named { name, algorithm, check }
}

/// The CRC of P01 and P11: that of SAE J1850 without its first and last inversion.
pub(crate) const P01: Named = named("CRC-8/GSM-A", 8, 0x1D, [0, 0], false, 0x37);
/// The CRC of P02 and P22.
pub(crate) const P02: Named = named("CRC-8/AUTOSAR", 8, 0x2F, [0xFF, 0xFF], false, 0xDF);
/// The CRC of P04.
pub(crate) const P04: Named = named("CRC-32/AUTOSAR", 32, 0xF4AC_FB13, [0xFFFF_FFFF, 0xFFFF_FFFF], true, 0x1697_D06A);
/// The CRC of P05 and P06.
pub(crate) const P05: Named = named("CRC-16/IBM-3740", 16, 0x1021, [0xFFFF, 0], false, 0x29B1);
/// The CRC of P07.
pub(crate) const P07: Named =
    named("CRC-64/XZ", 64, 0x42F0_E1EB_A9EA_3693, [u64::MAX, u64::MAX], true, 0x995D_C9BB_DF19_39FA);

/// CRCs that are in use in vehicles and industry.
///
/// # Source
/// <https://reveng.sourceforge.io/crc-catalogue/all.htm>
pub const CATALOGUE: [Named; 26] = [
    named("CRC-3/GSM", 3, 0x3, [0, 0x7], false, 0x4),
    named("CRC-4/G-704", 4, 0x3, [0, 0], true, 0x7),
    named("CRC-5/USB", 5, 0x05, [0x1F, 0x1F], true, 0x19),
    named("CRC-6/G-704", 6, 0x03, [0, 0], true, 0x06),
    named("CRC-7/MMC", 7, 0x09, [0, 0], false, 0x75),
    P02,
    P01,
    named("CRC-8/I-432-1", 8, 0x07, [0, 0x55], false, 0xA1),
    named("CRC-8/MAXIM-DOW", 8, 0x31, [0, 0], true, 0xA1),
    named("CRC-8/ROHC", 8, 0x07, [0xFF, 0], true, 0xD0),
    named("CRC-8/SAE-J1850", 8, 0x1D, [0xFF, 0xFF], false, 0x4B),
    named("CRC-8/SMBUS", 8, 0x07, [0, 0], false, 0xF4),
    named("CRC-11/FLEXRAY", 11, 0x385, [0x1A, 0], false, 0x5A3),
    Named {
        name: "CRC-12/UMTS",
        algorithm: Algorithm { width: 12, polynomial: 0x80F, init: 0, reflect_in: false, reflect_out: true, xorout: 0 },
        check: 0xDAF,
    },
    named("CRC-15/CAN", 15, 0x4599, [0, 0], false, 0x059E),
    named("CRC-16/ARC", 16, 0x8005, [0, 0], true, 0xBB3D),
    P05,
    named("CRC-16/MODBUS", 16, 0x8005, [0xFFFF, 0], true, 0x4B37),
    named("CRC-16/XMODEM", 16, 0x1021, [0, 0], false, 0x31C3),
    named("CRC-17/CAN-FD", 17, 0x1685B, [0, 0], false, 0x04F03),
    named("CRC-21/CAN-FD", 21, 0x10_2899, [0, 0], false, 0x0ED841),
    named("CRC-24/FLEXRAY-A", 24, 0x5D_6DCB, [0xFE_DCBA, 0], false, 0x79_79BD),
    P04,
    named("CRC-32/ISCSI", 32, 0x1EDC_6F41, [0xFFFF_FFFF, 0xFFFF_FFFF], true, 0xE306_9283),
    named("CRC-32/ISO-HDLC", 32, 0x04C1_1DB7, [0xFFFF_FFFF, 0xFFFF_FFFF], true, 0xCBF4_3926),
    P07,
];

/// Other names of CRCs in the catalogue.
const ALIASES: [(&str, &str); 8] = [
    ("SAE-J1850", "CRC-8/SAE-J1850"),
    ("AUTOSAR", "CRC-8/AUTOSAR"),
    ("CRC-8/8H2F", "CRC-8/AUTOSAR"),
    ("CRC-8", "CRC-8/SMBUS"),
    ("CRC-16/CCITT-FALSE", "CRC-16/IBM-3740"),
    ("CRC-32", "CRC-32/ISO-HDLC"),
    ("CRC-32C", "CRC-32/ISCSI"),
    ("CRC32P4", "CRC-32/AUTOSAR"),
];

impl Algorithm {
    /// The CRC with this name in the [`CATALOGUE`], or with another name of it. Letters are compared without case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let name = alias.map_or(name, |(_, name)| name);
        CATALOGUE.iter().find(|one| one.name.eq_ignore_ascii_case(name)).map(|one| one.algorithm)
    }
}
