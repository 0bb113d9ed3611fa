//! Ranges of the signals of a database.

use candor_e2e::{ByteOrder, Place};
use candor_learn::Recorded;
use candor_learn::allow::Range;
use candor_signals::{Database, Kind, Ratio, Signal};

/// Data frames below which ranges say nothing.
const FEWEST: usize = 100;

/// The ranges of an identifier's signals. Those of multiplexed signals, floating-point numbers, and numbers that are not decimal
/// are left out, and those whose bits had all values.
pub(super) fn ranges(database: &Database, id: u32, logs: &[Vec<Recorded>]) -> Vec<Range> {
    let payloads = || {
        let data = logs.iter().flatten().filter(|one| one.id == id && !one.is_remote);
        data.map(|one| one.payload.as_slice())
    };
    let is_meant = |found: &&candor_signals::Message| found.id.is_some_and(|one| one.raw().0 == id);
    let Some(message) = database.messages.iter().find(is_meant).filter(|_| payloads().count() >= FEWEST) else {
        return Vec::new();
    };
    let is_usable =
        |one: &&Signal| one.refusal.is_none() && one.present.is_none() && one.raw_range().is_some() && !one.is_switch;
    let range = |signal: &Signal| {
        let place = Place {
            start: signal.start,
            bits: u8::try_from(signal.bits).ok()?,
            order: match signal.order {
                candor_signals::ByteOrder::Big => ByteOrder::Big,
                candor_signals::ByteOrder::Little => ByteOrder::Little,
            },
        };
        let is_signed = signal.kind == Kind::Signed;
        let raw = Range::raw(place, is_signed, payloads())?;
        let [first, last] = [physical(signal, raw.0)?, physical(signal, raw.1)?];
        let physical = if signal.factor.compare(Ratio::ZERO).is_lt() { (last, first) } else { (first, last) };
        Some(Range { name: format!("{}.{}", message.name, signal.name), place, is_signed, raw, physical })
    };
    message.signals.iter().filter(is_usable).filter_map(range).collect()
}

/// A decimal number, if the physical value is one.
fn physical(signal: &Signal, raw: i128) -> Option<String> {
    let value = signal.factor.checked_mul(Ratio::integer(raw))?.checked_add(signal.offset)?;
    Some(value.to_string()).filter(|text| !text.contains('/'))
}
