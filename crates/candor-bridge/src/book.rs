//! The last value of each key, for queries.

use std::collections::HashMap;

/// Keys that have a last value. The identifiers of 29 bits are more than a program should remember.
pub const MOST_KEYS: usize = 65_536;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes as in [`payload`](crate::payload).
    Frame,
    /// A value of a signal as JSON.
    Signal,
}

/// A value under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Key.
    pub key: String,
    /// What the bytes are.
    pub kind: Kind,
    /// The value.
    pub bytes: Vec<u8>,
}

/// The last values.
#[derive(Debug, Default)]
pub struct Book {
    values: HashMap<String, (Kind, Vec<u8>)>,
}

impl Book {
    /// Keeps a value. Beyond [`MOST_KEYS`] new keys are not kept.
    pub fn keep(&mut self, one: &Publication) {
        let has_room = self.values.len() < MOST_KEYS;
        match self.values.get_mut(&one.key) {
            Some((_, bytes)) => bytes.clone_from(&one.bytes),
            None if has_room => {
                self.values.insert(one.key.clone(), (one.kind, one.bytes.clone()));
            }
            None => {}
        }
    }

    /// The last values of the keys for which `wanted` holds.
    pub fn last(&self, wanted: impl Fn(&str) -> bool) -> Vec<Publication> {
        let values = self.values.iter().filter(|(key, _)| wanted(key));
        values.map(|(key, (kind, bytes))| Publication { key: key.clone(), kind: *kind, bytes: bytes.clone() }).collect()
    }
}
