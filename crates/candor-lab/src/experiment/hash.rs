//! Names for what was measured under which conditions: equal conditions have equal names, on every machine and for ever.

/// FNV-1a of 64 bits: few lines, no secrets, and a plan has some thousand cells at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a part. Its end counts, so that parts do not run into each other.
    pub(super) fn part(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xFF])
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self
    }

    /// 16 hexadecimal digits.
    pub(super) fn name(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// A name for what a file holds.
#[must_use]
pub fn name_of(bytes: &[u8]) -> String {
    Hash::new().bytes(bytes).name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_ends_and_an_order() {
        let name = |parts: &[&str]| parts.iter().fold(Hash::new(), |hash, part| hash.part(part)).name();
        assert_eq!(name(&[]), "cbf29ce484222325");
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["a", "b"]), name(&["b", "a"]));
    }
}
