//! Invariants of reading keys and signatures, and a signer for tests.

use ed25519_compact::{KeyPair, Seed};

use super::{HASHED, KeyId, PURE, PublicKey, Signature, TRUSTED, blake2b};

/// Reads bytes as a key and as a signature: the body of the fuzz target `signature`, and of the replay of its corpus.
///
/// # Panics
/// If a signature of another key is accepted, or if an accepted comment has control characters.
pub fn check(bytes: &[u8]) {
    let key = PublicKey::of_file(bytes);
    let Ok(signature) = Signature::read(bytes) else { return };
    assert!(key.is_err(), "a key and a signature");
    let comment = signature.comment();
    assert!(!comment.contains(|character: char| character.is_control() && character != '\t'), "{comment:?}");
    let content = b"a content that nobody has signed";
    assert!(signature.verify(&TestKey::new(1).public(), content, &blake2b(content)).is_err());
}

/// A key pair for tests, which signs as minisign does.
#[derive(Debug)]
pub struct TestKey {
    id: u64,
    pair: KeyPair,
}

impl TestKey {
    /// The same number gives the same key.
    pub fn new(number: u8) -> Self {
        Self { id: u64::from(number), pair: KeyPair::from_seed(Seed::new([number; 32])) }
    }

    pub fn public(&self) -> PublicKey {
        PublicKey { id: KeyId(self.id), key: self.pair.pk }
    }

    /// The key as `minisign -P` takes it.
    pub fn base64(&self) -> String {
        encode(&[&PURE[..], &self.id.to_le_bytes(), &*self.pair.pk].concat())
    }

    /// The content of the file of the public key.
    pub fn file(&self) -> String {
        format!("untrusted comment: minisign public key {}\n{}\n", KeyId(self.id), self.base64())
    }

    /// The content of the signature file for a content, as of `minisign -S -t COMMENT`.
    pub fn sign(&self, content: &[u8], comment: &str) -> String {
        let signature = self.pair.sk.sign(blake2b(content).bytes(), None);
        let global = self.pair.sk.sign([&*signature, comment.as_bytes()].concat(), None);
        let line = encode(&[&HASHED[..], &self.id.to_le_bytes(), &*signature].concat());
        format!("untrusted comment: signature of a test\n{line}\n{TRUSTED}{comment}\n{}\n", encode(&*global))
    }
}

fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let chunk = |chunk: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(chunk.get(at).copied().unwrap_or(0)));
        let digit = |at: usize| if at <= chunk.len() { char::from(DIGITS[bits >> (18 - 6 * at) & 63]) } else { '=' };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(chunk).collect()
}
