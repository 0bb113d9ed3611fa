//! CMAC of AES-128.

use alloc::vec::Vec;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt as _, KeyInit as _};
use zeroize::Zeroize as _;

use crate::key::Key;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 16;

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
        let mut blocks: Vec<_> = message
            .chunks(BLOCK)
            .map(|bytes| {
                let mut block = [0; BLOCK];
                block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                block
            })
            .collect();
        blocks.resize(blocks.len().max(1), [0; BLOCK]);
        self.of_blocks(&mut blocks, message.len())
    }

    /// The same for the first `len` bytes of blocks that are zeros after it, without an allocation.
    #[inline]
    pub(crate) fn of_blocks(&self, blocks: &mut [[u8; BLOCK]], len: usize) -> u128 {
        let key = if len > 0 && len.is_multiple_of(BLOCK) {
            self.whole
        } else {
            if let Some(byte) = blocks.as_flattened_mut().get_mut(len) {
                *byte = 0x80;
            }
            self.padded
        };
        let used = blocks.get(..len.div_ceil(BLOCK).max(1)).unwrap_or_default();
        let Some((last, before)) = used.split_last() else { return 0 };
        let chain = |state, block: &[u8; BLOCK]| encrypted(&self.cipher, state ^ u128::from_be_bytes(*block));
        let state = before.iter().fold(0, chain);
        chain(state ^ key, last)
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
    (value << 1) ^ ((value >> 127) * 0x87)
}
