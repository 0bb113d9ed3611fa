//! The codec again, bit by bit, slow and obvious: what tests compare [`Codec`](crate::Codec) with.

use crate::database::{Kind, Message, Signal};
use crate::ratio::Ratio;

/// The bits of a signal. `None` if the payload is too short.
#[must_use]
pub fn get(signal: &Signal, payload: &[u8]) -> Option<u64> {
    let mut value = 0;
    for position in signal.positions() {
        let byte = payload.get(usize::try_from(position / 8).ok()?)?;
        value = value << 1 | u64::from(byte >> (position % 8) & 1);
    }
    Some(value)
}

/// The payload with these bits of a signal. `None` if it is too short.
#[must_use]
pub fn set(signal: &Signal, payload: &[u8], value: u64) -> Option<Vec<u8>> {
    let mut changed = payload.to_vec();
    for (at, position) in signal.positions().enumerate() {
        let bit = value >> (usize::from(signal.bits) - 1 - at) & 1;
        let byte = changed.get_mut(usize::try_from(position / 8).ok()?)?;
        let mask = 1 << (position % 8);
        *byte = if bit == 1 { *byte | mask } else { *byte & !mask };
    }
    Some(changed)
}

/// True if the frame has the signal.
#[must_use]
pub fn is_present(message: &Message, signal: &Signal, payload: &[u8]) -> bool {
    let Some(presence) = &signal.present else { return get(signal, payload).is_some() };
    let switch = &message.signals[presence.switch];
    let is_selected = |value: u64| presence.ranges.iter().any(|(from, to)| *from <= value && value <= *to);
    get(signal, payload).is_some()
        && get(switch, payload).is_some_and(is_selected)
        && is_present(message, switch, payload)
}

/// The whole number that the bits are.
#[must_use]
pub fn raw(signal: &Signal, bits: u64) -> i128 {
    let is_negative = signal.kind == Kind::Signed && bits >> (signal.bits - 1) == 1;
    i128::from(bits) - if is_negative { 1 << signal.bits } else { 0 }
}

/// The physical value of a whole number. `None` if it does not fit.
#[must_use]
pub fn physical(signal: &Signal, raw: i128) -> Option<Ratio> {
    signal.factor.checked_mul(Ratio::integer(raw))?.checked_add(signal.offset)
}

/// The raw value of a physical one, rounded and saturated. `None` if the quotient does not fit.
#[must_use]
pub fn encode(signal: &Signal, physical: Ratio) -> Option<i128> {
    let (smallest, largest) = signal.raw_range()?;
    Some(physical.checked_sub(signal.offset)?.checked_div(signal.factor)?.round().clamp(smallest, largest))
}
