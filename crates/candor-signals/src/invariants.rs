//! Invariants of [`dbc::read`], [`kcd::read`] and the codec for any file.

use crate::codec::{Codec, MessageCodec};
use crate::database::{Database, Message};
use crate::scale::{Fit, Physical};
use crate::{dbc, kcd, oracle};

/// Reads a DBC file and checks the invariants: the body of the fuzz target `signals_dbc`.
///
/// # Panics
/// If an invariant is violated.
pub fn check(bytes: &[u8]) {
    database(&dbc::read(bytes), bytes);
}

/// The same for a KCD file: the body of the fuzz target `signals_kcd`.
///
/// # Panics
/// If an invariant is violated.
pub fn check_kcd(bytes: &[u8]) {
    let read = kcd::read(bytes);
    assert!(read.refusal().is_none() || read.messages.is_empty(), "a file is used or not");
    database(&read, bytes);
}

fn database(database: &Database, bytes: &[u8]) {
    assert!(database.oddities.is_sorted_by_key(|one| one.line), "oddities are in the order of the file");
    for oddity in &database.oddities {
        let text = oddity.kind.to_string();
        assert!(oddity.line > 0 && !text.is_empty() && !oddity.kind.code().is_empty(), "{oddity:?}");
    }
    for message in &database.messages {
        self::message(database, message, bytes);
    }
}

fn message(database: &Database, message: &Message, bytes: &[u8]) {
    let len = bytes.len().min(message.len.into());
    let payload = &bytes[bytes.len() - len..];
    let mut count = 0;
    MessageCodec::new(message).decode(payload, |_, _, _| count += 1);
    assert!(count <= message.signals.len());
    for signal in &message.signals {
        let Some(codec) = Codec::new(message, signal) else {
            assert!(signal.refusal.is_some(), "{}.{} has no codec and no reason", message.name, signal.name);
            continue;
        };
        assert_eq!(codec.field().get(payload), oracle::get(signal, payload));
        assert_eq!(codec.is_present(payload), oracle::is_present(message, signal, payload));
        if let Some(bits) = oracle::get(signal, payload) {
            let physical = codec.scale().physical(bits);
            if let (Physical::Exact(_), Ok(encoded)) = (physical, codec.encode(physical)) {
                assert_eq!((encoded.bits, encoded.fit), (bits, Fit::Exact), "{}.{}", message.name, signal.name);
            }
        }
        for value in &signal.values {
            let encoded = codec.scale().saturate(value.raw);
            assert!(signal.kind.is_float() || encoded.fit == Fit::Saturated || codec.name(encoded.bits).is_some());
        }
        let _found = database.signal(&format!("{}.{}", message.name, signal.name));
    }
}
