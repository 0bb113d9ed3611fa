//! Names of buses.

/// Position of a bus in [`Buses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BusIndex(pub u16);

/// Most buses in a recording.
pub const MOST_BUSES: usize = 4096;
/// Longest name of a bus in bytes. Linux allows 15; other programs have longer names.
pub(crate) const MOST_NAME_BYTES: usize = 64;

/// The names of buses, in the order in which a recording has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buses {
    names: Vec<String>,
    /// Of the same names, see [`key`].
    keys: Vec<u64>,
    /// Most frames are of the same bus as the frame before.
    last: usize,
}

impl Buses {
    /// No buses.
    #[must_use]
    pub const fn new() -> Self {
        Self { names: Vec::new(), keys: Vec::new(), last: 0 }
    }

    /// The bus of this name, which is added if it is new. `None` beyond [`MOST_BUSES`], for names that are not text or longer
    /// than 64 bytes, and for names with spaces or control characters.
    pub fn index(&mut self, name: &[u8]) -> Option<BusIndex> {
        let key = key(name);
        let is_it = |at: usize, known: u64| known == key && (name.len() < 8 || self.names[at].as_bytes() == name);
        if self.keys.get(self.last).is_none_or(|last| !is_it(self.last, *last)) {
            let found = self.keys.iter().enumerate().position(|(at, known)| is_it(at, *known));
            self.last = match found {
                Some(found) => found,
                None => self.add(name)?,
            };
        }
        u16::try_from(self.last).ok().map(BusIndex)
    }

    fn add(&mut self, name: &[u8]) -> Option<usize> {
        let text = str::from_utf8(name).ok()?;
        let is_name = (1..=MOST_NAME_BYTES).contains(&name.len())
            && !text.chars().any(|letter| letter.is_control() || letter.is_whitespace());
        if !is_name || self.names.len() == MOST_BUSES {
            return None;
        }
        self.names.push(text.to_owned());
        self.keys.push(key(name));
        Some(self.names.len() - 1)
    }

    /// The name of a bus; empty if there is no such bus.
    #[must_use]
    pub fn name(&self, BusIndex(index): BusIndex) -> &str {
        self.names.get(usize::from(index)).map_or("", String::as_str)
    }

    /// The names in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// The first eight bytes. Names of at most eight bytes have different ones, because none has a byte that is 0; longer names share
/// theirs with others.
#[inline]
fn key(name: &[u8]) -> u64 {
    name.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}
