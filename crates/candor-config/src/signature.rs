//! Signatures of minisign: public keys, signature files, and what a signature vouches for.
//!
//! A signature file has four lines: an untrusted comment, the signature of the content, the trusted comment, and the global
//! signature, which covers the signature and the trusted comment. Nothing of it is used before both are verified.
//!
//! # Source
//! [minisign](https://jedisct1.github.io/minisign/), "Signature format" and "Public key format".

mod base64;
mod blake2b;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;

pub use blake2b::{Digest, blake2b};

use std::fmt;

use base64::decode;

/// The largest signature file and key file that are read. minisign writes signature files of up to 9 KiB.
pub const MAX_SIGNATURE_BYTES: usize = 16 << 10;

/// `Ed`: the content itself is signed. Also the algorithm of every key.
const PURE: [u8; 2] = *b"Ed";
/// `ED`: the BLAKE2b digest of the content is signed.
const HASHED: [u8; 2] = *b"ED";
const TRUSTED: &str = "trusted comment: ";
/// Characters of a key in base64, as `minisign -P` takes it.
const KEY_CHARACTERS: usize = 56;

/// The number of a key pair, written as by minisign: hexadecimal, without leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId(u64);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}", self.0)
    }
}

/// A public key of minisign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    id: KeyId,
    key: ed25519_compact::PublicKey,
}

/// The text is not that of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not a public key of minisign, such as minisign.pub")
    }
}

impl std::error::Error for NotAKey {}

impl PublicKey {
    /// Reads a key file: an untrusted comment, and the key in base64.
    ///
    /// # Errors
    /// [`NotAKey`].
    pub fn of_file(bytes: &[u8]) -> Result<Self, NotAKey> {
        let text = std::str::from_utf8(bytes).map_err(|_not_text| NotAKey)?;
        Self::of_base64(text.lines().nth(1).unwrap_or_default().trim_end()).ok_or(NotAKey)
    }

    /// Reads the key itself, as `minisign -P` takes it; `None` if the text is not one.
    pub fn of_base64(text: &str) -> Option<Self> {
        let mut bytes = [0; 42];
        if text.len() != KEY_CHARACTERS || !decode(text, &mut bytes) {
            return None;
        }
        let (algorithm, id, key) = split(&bytes);
        if algorithm != PURE {
            return None;
        }
        Some(Self { id, key: ed25519_compact::PublicKey::from_slice(key).ok()? })
    }

    pub const fn id(&self) -> KeyId {
        self.id
    }
}

/// Algorithm, key id, and the rest.
fn split(bytes: &[u8]) -> ([u8; 2], KeyId, &[u8]) {
    let (algorithm, rest) = bytes.split_first_chunk().expect("callers pass more than ten bytes");
    let (id, rest) = rest.split_first_chunk().expect("callers pass more than ten bytes");
    (*algorithm, KeyId(u64::from_le_bytes(*id)), rest)
}

/// A signature file that has been read, but not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    id: KeyId,
    is_hashed: bool,
    of_content: [u8; 64],
    comment: String,
    /// Of the signature above and the trusted comment.
    global: [u8; 64],
}

/// Why a signature file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotASignature {
    Algorithm,
    Comment,
    Form,
    TooLarge,
}

impl fmt::Display for NotASignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm => "its algorithm is unknown",
            Self::Comment => "its trusted comment has control characters",
            Self::Form => "it does not have the four lines of a signature of minisign",
            Self::TooLarge => "it has more than 16 KiB",
        })
    }
}

/// What a signature does not vouch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The trusted comment is not the signed one.
    Comment,
    Content,
}

impl Signature {
    /// Reads a signature file.
    ///
    /// # Errors
    /// [`NotASignature`].
    pub fn read(bytes: &[u8]) -> Result<Self, NotASignature> {
        if bytes.len() > MAX_SIGNATURE_BYTES {
            return Err(NotASignature::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_not_text| NotASignature::Form)?;
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let [_untrusted, signature, comment, global] = lines[..] else { return Err(NotASignature::Form) };
        let comment = comment.strip_prefix(TRUSTED).ok_or(NotASignature::Form)?;
        let (mut bytes, mut of_all) = ([0; 74], [0; 64]);
        if !decode(signature, &mut bytes) || !decode(global, &mut of_all) {
            return Err(NotASignature::Form);
        }
        // It goes to terminals and logs. minisign separates its parts by tabs.
        if comment.contains(|character: char| character.is_control() && character != '\t') {
            return Err(NotASignature::Comment);
        }
        let (algorithm, id, rest) = split(&bytes);
        let is_hashed = match algorithm {
            HASHED => true,
            PURE => false,
            _ => return Err(NotASignature::Algorithm),
        };
        let of_content = rest.try_into().map_err(|_length| NotASignature::Form)?;
        Ok(Self { id, is_hashed, of_content, comment: comment.to_owned(), global: of_all })
    }

    pub const fn key_id(&self) -> KeyId {
        self.id
    }

    /// The trusted comment; trusted only after [`verify`](Self::verify).
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// The name of the signed file, if the trusted comment has it, as that of `minisign -S` without `-t`.
    pub fn file_name(&self) -> Option<&str> {
        self.comment.split('\t').find_map(|part| part.strip_prefix("file:"))
    }

    /// Verifies the signatures of a content with this digest and of the trusted comment.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn verify(&self, key: &PublicKey, content: &[u8], digest: &Digest) -> Result<(), Mismatch> {
        let is_of = |signature: &[u8; 64], signed: &[u8]| {
            key.key.verify(signed, &ed25519_compact::Signature::new(*signature)).is_ok()
        };
        let signed = match self.is_hashed {
            true => digest.bytes(),
            // Otherwise the signature of a digest would be that of a file which consists of the digest.
            false if content.len() == digest.bytes().len() => return Err(Mismatch::Content),
            false => content,
        };
        if !is_of(&self.of_content, signed) {
            return Err(Mismatch::Content);
        }
        let all = [&self.of_content, self.comment.as_bytes()].concat();
        if is_of(&self.global, &all) { Ok(()) } else { Err(Mismatch::Comment) }
    }
}

/// Who signed a file, from a verified signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The number of the key, as minisign writes it.
    pub key_id: String,
    /// The file of the public key, or the option that has it.
    pub key_file: String,
    /// The trusted comment.
    pub comment: String,
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key_id, key_file, comment } = self;
        write!(f, "signed by {key_id} of {key_file}, \"{}\"", comment.replace('\t', " "))
    }
}

impl Signer {
    /// As one text, for records.
    pub fn to_record(&self) -> String {
        [self.key_id.as_str(), &self.comment, &self.key_file].join("\n")
    }

    /// The reverse of [`to_record`](Self::to_record).
    pub fn of_record(record: &str) -> Option<Self> {
        // A comment has no line breaks, but the path of a key may.
        let mut parts = record.splitn(3, '\n').map(str::to_owned);
        let (key_id, comment) = (parts.next()?, parts.next()?);
        Some(Self { key_id, key_file: parts.next()?, comment })
    }
}

#[cfg(test)]
mod tests;
