//! Bits that never change.

/// Bits with one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constant {
    /// Ones where the value counts. Bytes after its end are free.
    pub mask: Vec<u8>,
    /// The value; zeros elsewhere.
    pub value: Vec<u8>,
}

impl Constant {
    /// Bits that are equal in all payloads, up to the length of the shortest.
    pub(super) fn of<'a>(payloads: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let len = payloads.clone().map(<[u8]>::len).min().unwrap_or_default();
        let Some(first) = payloads.clone().next().and_then(|first| first.get(..len)) else { return Self::default() };
        let mut mask = vec![0xFF; len];
        for payload in payloads {
            mask.iter_mut().zip(first.iter().zip(payload)).for_each(|(mask, (first, byte))| *mask &= !(first ^ byte));
        }
        let value = mask.iter().zip(first).map(|(mask, first)| mask & first).collect();
        Self { mask, value }
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.mask.iter().map(|byte| byte.count_ones()).sum()
    }

    /// True if the payload has these values. A payload that ends earlier does not.
    #[must_use]
    pub fn holds(&self, payload: &[u8]) -> bool {
        let byte = |at: usize| payload.get(at).copied();
        let mut bytes = self.mask.iter().zip(&self.value).enumerate();
        bytes.all(|(at, (mask, value))| *mask == 0 || byte(at).is_some_and(|byte| byte & mask == *value))
    }
}
