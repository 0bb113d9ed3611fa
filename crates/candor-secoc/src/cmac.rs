//! CMAC of AES-128.

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt as _, KeyInit as _};
use zeroize::Zeroize as _;

use crate::key::Key;

/// Bytes of a block.
const BLOCK: usize = 16;

/// AES-CMAC with the key schedule and both subkeys computed.
///
/// The crate `cmac` has the same, but computes a subkey with a further encryption for each message; tests compare with it.
///
/// # Source
/// [RFC 4493](https://www.rfc-editor.org/rfc/rfc4493)
pub struct Cmac {
    cipher: Aes128Enc,
    /// K1 and K2.
    whole: u128,
    padded: u128,
}

impl Cmac {
    /// Computes the key schedule.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let cipher = Aes128Enc::new(key.bytes().into());
        let whole = doubled(encrypted(&cipher, 0));
        Self { cipher, whole, padded: doubled(whole) }
    }

    /// The MAC of a message. Its most significant bits are the first ones of a truncated MAC.
    #[must_use]
    pub fn of(&self, message: &[u8]) -> u128 {
        let mut state = 0;
        let mut rest = message;
        while let Some((block, more)) = rest.split_first_chunk().filter(|(_, more)| !more.is_empty()) {
            state = encrypted(&self.cipher, state ^ u128::from_be_bytes(*block));
            rest = more;
        }
        let last = match rest.first_chunk() {
            Some(block) => u128::from_be_bytes(*block) ^ self.whole,
            None => {
                let mut block = [0; BLOCK];
                for (byte, from) in block.iter_mut().zip(rest.iter().chain(&[0x80])) {
                    *byte = *from;
                }
                u128::from_be_bytes(block) ^ self.padded
            }
        };
        encrypted(&self.cipher, state ^ last)
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        self.whole.zeroize();
        self.padded.zeroize();
    }
}

impl core::fmt::Debug for Cmac {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Cmac")
    }
}

fn encrypted(cipher: &Aes128Enc, block: u128) -> u128 {
    let mut block = block.to_be_bytes().into();
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// Times x in the field of 2^128 elements, without a branch on the bits of the key.
const fn doubled(value: u128) -> u128 {
    value << 1 ^ (value >> 127) * 0x87
}
