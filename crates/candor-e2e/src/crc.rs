//! Cyclic redundancy checks of 1 to 64 bits, one byte at a time from a table.

use alloc::sync::Arc;

use crate::error::SchemeError;

/// What is covered: before the checksum's bytes, these, after them, and the Data-ID.
pub(crate) type Parts<'a> = [&'a [u8]; 4];

/// A CRC, as the catalogue of parametrised CRC algorithms describes it.
///
/// # Source
/// <https://reveng.sourceforge.io/crc-catalogue/all.htm>
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Algorithm {
    /// Number of bits: 1 to 64.
    pub width: u8,
    /// The polynomial without its highest term, that of the power 0 in bit 0.
    pub polynomial: u64,
    /// The register before the first byte.
    pub init: u64,
    /// Each byte enters with its bit 0 first.
    pub reflect_in: bool,
    /// The result has the order of its bits reversed.
    pub reflect_out: bool,
    /// What the result is combined with by XOR.
    pub xorout: u64,
}

/// A [compiled](Algorithm) CRC.
#[derive(Clone, Debug)]
pub struct Crc {
    table: Table,
    start: u64,
    /// Unused bits of the register below the result.
    below: u8,
    /// The order of the bits is reversed at the end.
    is_reversed: bool,
    xorout: u64,
    width: u8,
}

/// What the register becomes with each byte.
#[derive(Clone, Debug)]
enum Table {
    /// Up to 8 bits: the whole register is replaced.
    Narrow(Shared<[u8; 256]>),
    /// The first bit of the result is that of the highest value.
    Left(Shared<[u64; 256]>),
    /// The first bit of the result is bit 0.
    Right(Shared<[u64; 256]>),
}

/// A table of the program, or one that protections share.
#[derive(Clone, Debug)]
enum Shared<T: 'static> {
    Known(&'static T),
    Own(Arc<T>),
}

impl<T> Shared<T> {
    #[inline]
    fn get(&self) -> &T {
        match self {
            Self::Known(table) => table,
            Self::Own(table) => table,
        }
    }
}

/// Tables of the profiles, which many protections share.
static SAE_J1850: [u8; 256] = narrow(8, 0x1D, false);
static AUTOSAR: [u8; 256] = narrow(8, 0x2F, false);
static CCITT: [u64; 256] = left(16, 0x1021);
static P4: [u64; 256] = right(32, 0xF4AC_FB13);
static XZ: [u64; 256] = right(64, 0x42F0_E1EB_A9EA_3693);

impl Table {
    fn new(algorithm: &Algorithm) -> Self {
        let Algorithm { width, polynomial, reflect_in, .. } = *algorithm;
        match (width, polynomial, reflect_in) {
            (8, 0x1D, false) => Self::Narrow(Shared::Known(&SAE_J1850)),
            (8, 0x2F, false) => Self::Narrow(Shared::Known(&AUTOSAR)),
            (16, 0x1021, false) => Self::Left(Shared::Known(&CCITT)),
            (32, 0xF4AC_FB13, true) => Self::Right(Shared::Known(&P4)),
            (64, 0x42F0_E1EB_A9EA_3693, true) => Self::Right(Shared::Known(&XZ)),
            (..=8, ..) => Self::Narrow(Shared::Own(Arc::new(narrow(width, polynomial, reflect_in)))),
            (.., false) => Self::Left(Shared::Own(Arc::new(left(width, polynomial)))),
            (.., true) => Self::Right(Shared::Own(Arc::new(right(width, polynomial)))),
        }
    }
}

impl Algorithm {
    /// The largest value of this many bits.
    const fn mask(width: u8) -> u64 {
        u64::MAX >> (64 - width as u32)
    }
}

impl Crc {
    /// Makes the table.
    ///
    /// # Errors
    /// If the number of bits is not 1 to 64, or if a parameter has more bits than the CRC.
    pub fn new(algorithm: &Algorithm) -> Result<Self, SchemeError> {
        let Algorithm { width, polynomial, init, reflect_in, reflect_out, xorout } = *algorithm;
        if !(1..=64).contains(&width) {
            return Err(SchemeError::CrcWidth { width });
        }
        for (parameter, value) in [("polynomial", polynomial), ("init", init), ("xorout", xorout)] {
            if value > Algorithm::mask(width) {
                return Err(SchemeError::CrcParameter { parameter, value, width });
            }
        }
        let register: u8 = if width <= 8 { 8 } else { 64 };
        let below = if reflect_in { 0 } else { register - width };
        Ok(Self {
            table: Table::new(algorithm),
            start: if reflect_in { reverse(init, width) } else { init << below },
            below,
            is_reversed: reflect_in != reflect_out,
            xorout,
            width,
        })
    }

    /// The CRC of these bytes.
    ///
    /// ```
    /// use candor_e2e::{Algorithm, Crc};
    ///
    /// let crc = Crc::new(&Algorithm::named("CRC-8/SAE-J1850").unwrap()).unwrap();
    /// assert_eq!(crc.of(b"123456789"), 0x4B);
    /// ```
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> u64 {
        self.finish(self.feed(self.start, [bytes, &[], &[], &[]]))
    }

    /// The register after a single byte and a register of 0, and the value that the result is combined with by XOR; of a CRC of
    /// 8 bits whose result is the register.
    pub(crate) fn narrow(&self) -> Option<([u8; 256], u8)> {
        match &self.table {
            Table::Narrow(table) if self.width == 8 && !self.is_reversed => {
                let [xorout, ..] = self.xorout.to_le_bytes();
                Some((*table.get(), xorout))
            }
            _ => None,
        }
    }

    /// The register before the first byte.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// The register after these bytes.
    pub(crate) fn feed(&self, mut register: u64, parts: Parts<'_>) -> u64 {
        match &self.table {
            Table::Narrow(table) => {
                let (table, [mut register, ..]) = (table.get(), register.to_le_bytes());
                for part in parts {
                    for byte in part {
                        register = table[usize::from(register ^ byte)];
                    }
                }
                return register.into();
            }
            Table::Left(table) => {
                let table = table.get();
                for part in parts {
                    for byte in part {
                        let [first, ..] = register.to_be_bytes();
                        register = table[usize::from(first ^ byte)] ^ register << 8;
                    }
                }
            }
            Table::Right(table) => {
                let table = table.get();
                for part in parts {
                    for byte in part {
                        let [first, ..] = register.to_le_bytes();
                        register = table[usize::from(first ^ byte)] ^ register >> 8;
                    }
                }
            }
        }
        register
    }

    /// The CRC that a register means.
    pub(crate) fn finish(&self, register: u64) -> u64 {
        let value = register >> self.below;
        (if self.is_reversed { reverse(value, self.width) } else { value }) ^ self.xorout
    }
}

/// The lowest bits in reversed order.
const fn reverse(value: u64, width: u8) -> u64 {
    value.reverse_bits() >> (64 - width as u32)
}

/// Registers of 8 bits, whose highest or, if reflected, lowest ones are used.
#[expect(clippy::cast_possible_truncation, reason = "both tables have entries of 8 bits here")]
const fn narrow(width: u8, polynomial: u64, reflected: bool) -> [u8; 256] {
    let wide = if reflected { right(width, polynomial) } else { left(width, polynomial) };
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = (if reflected { wide[at] } else { wide[at] >> 56 }) as u8;
        at += 1;
    }
    table
}

/// Registers of 64 bits, whose highest ones are used.
const fn left(width: u8, polynomial: u64) -> [u64; 256] {
    let polynomial = polynomial << (64 - width as u32);
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut register = (byte as u64) << 56;
        let mut bit = 0;
        while bit < 8 {
            register = if register >> 63 == 1 { register << 1 ^ polynomial } else { register << 1 };
            bit += 1;
        }
        table[byte] = register;
        byte += 1;
    }
    table
}

/// Registers of 64 bits in reversed order, whose lowest ones are used.
const fn right(width: u8, polynomial: u64) -> [u64; 256] {
    let polynomial = reverse(polynomial, width);
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut register = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            register = if register & 1 == 1 { register >> 1 ^ polynomial } else { register >> 1 };
            bit += 1;
        }
        table[byte] = register;
        byte += 1;
    }
    table
}
