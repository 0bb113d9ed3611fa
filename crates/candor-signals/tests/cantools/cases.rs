//! What candor reads in a database, and how it decodes and encodes random payloads, as lines for `judge.py`.
//!
//! Fields are separated by tabs:
//!
//! | line | fields |
//! |---|---|
//! | `M` | name, identifier with EFF flag, length, period in ms or `-`, send type or `-` |
//! | `S` | index, name, `1` if it is a switch, start value or `-`, number of names, `raw=name`… |
//! | `R` | name, reason: a refused signal |
//! | `D` | payload, `index raw exact nearest`… |
//! | `E` | payload of the same signals, written into zeros |
//! | `P` | index, physical value as a fraction, raw value, fit |
//! | `C` | payload, index, number of an expression, payload in which the signal is changed by it |

use std::fmt::Write as _;

use candor_core::random::SplitMix64;
use candor_signals::{Change, Codec, Database, Fit, Message, MessageCodec, Physical, Ratio};

/// What signals become; judge.py has the same.
const EXPRESSIONS: [&str; 5] =
    ["x * 1.02 + 0.5", "clamp(x, -3, 100)", "max(abs(x), 7) / 3", "table(x, 0:0, 50:60, 100:90)", "-x"];

/// Payloads of each message.
const PAYLOADS: usize = 16;

pub(super) fn write(database: &Database, text: &mut String) {
    for message in database.messages.iter().filter(|one| one.id.is_some()) {
        self::message(message, text).expect("writing to a String");
    }
}

fn message(message: &Message, text: &mut String) -> std::fmt::Result {
    let id = message.id.map_or(0, |id| id.raw().0);
    let cycle = message.timing.cycle.map_or_else(|| "-".into(), |cycle| cycle.as_millis().to_string());
    let send = message.timing.send_type.as_deref().unwrap_or("-");
    writeln!(text, "M\t{}\t{id}\t{}\t{cycle}\t{send}", message.name, message.len)?;
    let codec = MessageCodec::new(message);
    for (at, _) in codec.signals() {
        let signal = &message.signals[*at];
        let start = signal.start_value.map_or_else(|| "-".into(), |start| start.to_string());
        write!(text, "S\t{at}\t{}\t{}\t{start}\t{}", signal.name, u8::from(signal.is_switch), signal.values.len())?;
        for value in &signal.values {
            write!(text, "\t{}={}", value.raw, value.name.replace(['\t', '\n', '\r'], " "))?;
        }
        writeln!(text)?;
    }
    for signal in &message.signals {
        if let Some(refusal) = &signal.refusal {
            writeln!(text, "R\t{}\t{}", signal.name, refusal.code())?;
        }
    }
    let mut random = SplitMix64::new(u64::from(id) + 1);
    for _ in 0..PAYLOADS {
        let mut payload: Vec<u8> = (0..message.len).map(|_| random.next_u64().to_le_bytes()[0]).collect();
        switch(message, &codec, &mut payload, &mut random);
        decoded(&codec, &payload, text)?;
    }
    for (at, codec) in codec.signals() {
        physical(*at, codec, &mut random, text)?;
    }
    changed(message, &codec, &mut random, text)
}

/// Gives every switch a value that selects something.
fn switch(message: &Message, codec: &MessageCodec, payload: &mut [u8], random: &mut SplitMix64) {
    // One switch may bring in another one.
    for _ in 0..4 {
        for (at, switch) in codec.signals() {
            let selected =
                message.signals.iter().filter_map(|one| one.present.as_ref()).filter(|one| one.switch == *at);
            let ranges: Vec<(u64, u64)> = selected.flat_map(|one| one.ranges.iter().copied()).collect();
            let Some(value) = switch.get(payload) else { continue };
            if !ranges.is_empty() && !ranges.iter().any(|(from, to)| (*from..=*to).contains(&value)) {
                let (from, to) = ranges[random.below(ranges.len())];
                let _is_present = switch.set(payload, if random.next_u64().is_multiple_of(2) { from } else { to });
            }
        }
    }
}

fn decoded(codec: &MessageCodec, payload: &[u8], text: &mut String) -> std::fmt::Result {
    let hex = |bytes: &[u8]| bytes.iter().map(|one| format!("{one:02x}")).collect::<String>();
    write!(text, "D\t{}", hex(payload))?;
    let mut result = Ok(());
    codec.decode(payload, |at, codec, bits| {
        let scale = codec.scale();
        let raw = scale.float(bits).map_or_else(|| scale.raw(bits).to_string(), |value| value.to_string());
        let exact = match scale.physical(bits) {
            Physical::Exact(ratio) => format!("{}/{}", ratio.numerator(), ratio.denominator()),
            Physical::Float(value) => value.to_string(),
        };
        result = result.and_then(|()| write!(text, "\t{at} {raw} {exact} {:?}", scale.physical_f64(bits)));
    });
    result?;
    writeln!(text)?;
    let mut written = vec![0; payload.len()];
    // Switches first, so that what they select can be written.
    for _ in 0..3 {
        for (_, codec) in codec.signals() {
            if let Some(bits) = codec.get(payload) {
                let _is_present = codec.set(&mut written, bits);
            }
        }
    }
    writeln!(text, "E\t{}", hex(&written))
}

/// The last payload of the message, with one signal changed as a route does.
fn changed(message: &Message, codec: &MessageCodec, random: &mut SplitMix64, text: &mut String) -> std::fmt::Result {
    let hex = |bytes: &[u8]| bytes.iter().map(|one| format!("{one:02x}")).collect::<String>();
    let mut payload: Vec<u8> = (0..message.len).map(|_| random.next_u64().to_le_bytes()[0]).collect();
    switch(message, codec, &mut payload, random);
    for (at, _) in codec.signals() {
        for (number, expression) in EXPRESSIONS.iter().enumerate() {
            // A factor of 0 has no values.
            let Ok(change) = Change::new(message, &message.signals[*at], expression) else { continue };
            if change.codec().scale().kind().is_float() {
                continue;
            }
            let Some(bits) = change.bits(&payload) else { continue };
            let mut after = payload.clone();
            let _is_present = change.codec().set(&mut after, bits);
            writeln!(text, "C\t{}\t{at}\t{number}\t{}", hex(&payload), hex(&after))?;
        }
    }
    Ok(())
}

fn physical(at: usize, codec: &Codec, random: &mut SplitMix64, text: &mut String) -> std::fmt::Result {
    for _ in 0..4 {
        let scale = codec.scale();
        let bits = random.next_u64() & codec.field().mask();
        let value = match scale.physical(bits) {
            Physical::Float(value) => {
                if value.is_finite()
                    && let Ok(encoded) = codec.encode(Physical::Float(value))
                {
                    let raw = scale.float(encoded.bits).unwrap_or_default();
                    writeln!(text, "P\t{at}\t{value:?}\t{raw:?}\t{:?}", encoded.fit)?;
                }
                continue;
            }
            Physical::Exact(value) => value,
        };
        // Up to a step away: a quarter, a half and none.
        let step = scale.physical(1).to_f64() - scale.physical(0).to_f64();
        let quarters = i128::from(random.next_u64() % 5) - 2;
        let Some(away) = Ratio::from_f64(step).and_then(|step| step.checked_mul(Ratio::new(quarters, 4)?)) else {
            continue;
        };
        let Some(value) = value.checked_add(away) else { continue };
        if let Ok(encoded) = codec.encode(Physical::Exact(value)) {
            let fit = if encoded.fit == Fit::Saturated { "Saturated" } else { "Inside" };
            let raw = scale.raw(encoded.bits);
            writeln!(text, "P\t{at}\t{}/{}\t{raw}\t{fit}", value.numerator(), value.denominator())?;
        }
    }
    Ok(())
}
