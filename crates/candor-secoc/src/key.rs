//! Keys.

use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

/// Bytes of a key.
const LEN: usize = 16;

/// A key of AES-128. It is never printed, compared in constant time, and overwritten when it is dropped.
#[derive(Clone)]
pub struct Key([u8; LEN]);

/// Why the bytes of a file are no key. Nothing of their content is in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The number of bytes, without white space at the ends.
    #[error("a key has 16 bytes, or 32 digits in hex; there are {0} bytes")]
    Len(usize),
    /// The position of a character that is no digit, from 1.
    #[error("character {0} is no digit in hex")]
    Digit(usize),
}

impl Key {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// Reads the bytes of a file: 16 bytes are the key itself, otherwise 32 digits in hex, with white space before and after.
    ///
    /// # Errors
    /// [`KeyError`] for all else.
    pub fn parse(file: &[u8]) -> Result<Self, KeyError> {
        if let Ok(bytes) = file.try_into() {
            return Ok(Self(bytes));
        }
        let text = file.trim_ascii();
        if text.len() != 2 * LEN {
            return Err(KeyError::Len(text.len()));
        }
        let mut key = Self([0; LEN]);
        for (at, (digit, byte)) in text.iter().zip((0..2 * LEN).map(|at| at / 2)).enumerate() {
            let value = char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
            let byte = &mut key.0[byte];
            *byte = *byte << 4 | value.ok_or(KeyError::Digit(at + 1))?;
        }
        Ok(key)
    }

    /// As [`parse`](Self::parse), and overwrites the bytes.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn take(file: &mut [u8]) -> Result<Self, KeyError> {
        let key = Self::parse(file);
        file.zeroize();
        key
    }

    pub(crate) const fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Key {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bytes_or_digits() {
        let key = Key::new(*b"\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F");
        assert_eq!(Key::parse(b"000102030405060708090a0B0C0D0E0F"), Ok(key.clone()));
        assert_eq!(Key::parse(b" 000102030405060708090a0B0C0D0E0F\r\n"), Ok(key.clone()));
        assert_eq!(Key::parse(key.bytes()), Ok(key.clone()));
        assert_ne!(Key::parse(b"0123456789abcdef"), Ok(key.clone()));
        assert_eq!(Key::parse(b""), Err(KeyError::Len(0)));
        assert_eq!(Key::parse(b"000102030405060708090a0B0C0D0E0"), Err(KeyError::Len(31)));
        assert_eq!(Key::parse(b"000102030405060708090a0B0C0D0Ex0"), Err(KeyError::Digit(31)));
        assert_eq!(Key::parse(&[0xFF; 32]), Err(KeyError::Digit(1)));
        // A file of 16 bytes with a line break after them is one of 17 bytes, which is no key.
        assert_eq!(Key::parse(b"\x010123456789abcde\n"), Err(KeyError::Len(16)));
    }

    #[test]
    fn keys_are_never_printed() {
        let key = Key::new([0xAB; 16]);
        assert_eq!(format!("{key:?} {key:#?} {:?}", crate::Cmac::new(&key)), "Key Key Cmac");
    }
}
