//! Positions by key, in one list of numbers: lists of numbers need only one sorting function in the program.

/// Positions in a list, sorted by key, then by position.
#[derive(Default)]
pub(crate) struct Index(Vec<(u64, usize)>);

impl Index {
    /// The keys in the order of the list.
    pub(crate) fn new(keys: impl Iterator<Item = u64>) -> Self {
        let mut pairs: Vec<_> = keys.enumerate().map(|(at, key)| (key, at)).collect();
        candor_core::order::sort(&mut pairs);
        Self(pairs)
    }

    /// The positions with this key, in order.
    pub(crate) fn at(&self, key: u64) -> impl Iterator<Item = usize> {
        let first = self.0.partition_point(|(one, _)| *one < key);
        self.0[first..].iter().take_while(move |(one, _)| *one == key).map(|(_, at)| *at)
    }

    /// All positions in the order of their keys.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(_, at)| *at)
    }
}

/// A number for a name: equal names have equal ones, and different names rarely do.
///
/// # Source
/// FNV-1a with 64 bits: <https://www.rfc-editor.org/rfc/rfc9923>
pub(crate) fn of_name(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}
