//! BLAKE2b with 512 bits, without a key: what minisign signs, and what `b2sum` prints.
//!
//! # Source
//! [RFC 7693](https://www.rfc-editor.org/rfc/rfc7693), sections 2 and 3.

use std::fmt;

const BLOCK_BYTES: usize = 128;
const ROUNDS: usize = 12;

const INITIAL: [u64; 8] = [
    0x6A09_E667_F3BC_C908,
    0xBB67_AE85_84CA_A73B,
    0x3C6E_F372_FE94_F82B,
    0xA54F_F53A_5F1D_36F1,
    0x510E_527F_ADE6_82D1,
    0x9B05_688C_2B3E_6C1F,
    0x1F83_D9AB_FB41_BD6B,
    0x5BE0_CD19_137E_2179,
];

/// The order of the words of a block in each round; rounds 10 and 11 are as 0 and 1.
const ORDERS: [[u8; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The positions that are mixed: the columns, then the diagonals.
const MIXED: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// A digest. Displayed in hexadecimal, as by `b2sum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 64]);

impl Digest {
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Returns the digest of these bytes.
pub fn blake2b(bytes: &[u8]) -> Digest {
    let mut state = INITIAL;
    // No key, and a digest of 64 bytes.
    state[0] ^= 0x0101_0040;
    // The last block is never empty, unless there are no bytes.
    let last = bytes.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES;
    let (blocks, rest) = bytes.split_at(last);
    let mut count = 0;
    for block in blocks.chunks_exact(BLOCK_BYTES) {
        count += BLOCK_BYTES as u64;
        compress(&mut state, block, count, false);
    }
    compress(&mut state, rest, count + rest.len() as u64, true);
    let mut digest = [0; 64];
    for (to, word) in digest.chunks_exact_mut(8).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    Digest(digest)
}

/// Processes a block, of which missing bytes are 0. `count` is the number of bytes up to its end.
fn compress(state: &mut [u64; 8], block: &[u8], count: u64, is_last: bool) {
    let mut padded = [0; BLOCK_BYTES];
    padded[..block.len()].copy_from_slice(block);
    let (mut words, mut mixed) = ([0; 16], [0; 16]);
    for (word, bytes) in words.iter_mut().zip(padded.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    mixed[..8].copy_from_slice(state);
    mixed[8..].copy_from_slice(&INITIAL);
    mixed[12] ^= count;
    if is_last {
        mixed[14] = !mixed[14];
    }
    for order in ORDERS.iter().cycle().take(ROUNDS) {
        for (places, [x, y]) in MIXED.into_iter().zip(order.as_chunks().0) {
            mix(&mut mixed, places, words[usize::from(*x)], words[usize::from(*y)]);
        }
    }
    for (at, word) in state.iter_mut().enumerate() {
        *word ^= mixed[at] ^ mixed[at + 8];
    }
}

/// The function G of the RFC, with two words of the block.
const fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests of `b2sum`.
    #[test]
    fn digests_are_those_of_b2sum() {
        let of = |bytes: &[u8]| blake2b(bytes).to_string();
        assert_eq!(of(b""), EMPTY);
        assert_eq!(of(b"abc"), ABC);
        // Every length up to three blocks.
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * BLOCK_BYTES).collect();
        let all: String = (0..=bytes.len()).map(|length| of(&bytes[..length])).collect();
        assert_eq!(of(all.as_bytes()), EVERY);
    }

    const EMPTY: &str = "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419\
        d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce";
    const ABC: &str = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
        7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923";
    const EVERY: &str = "c6bd35211a93e4febb5a3e68cd8cf2a683c2ca6abe2018b47c451def222c503f\
        8392518dea2aa2feba55c15aa5a6113f53fb376096bd86e7fca0fdeaef88d495";
}
