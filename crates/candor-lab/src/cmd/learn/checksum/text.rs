//! The output of `candor learn checksum` as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use candor_cli::gateway_file::plural;
use candor_cli::table::{cells, table};
use candor_e2e::{ByteOrder, Place};
use candor_learn::{Ambiguity, FoundCounter, Hypothesis};

use super::Found;
use crate::cmd::learn::hex;

/// One identifier, as lines of a gateway file with comments.
pub(super) fn one(name: &str, found: &Found) -> String {
    let learned = &found.learned;
    let mut text = format!("# {name}: {}, {}", found.id, plural(found.frames, "frame"));
    let _ = match &found.lengths {
        lengths if lengths.len() > 1 => {
            write!(text, " of {}; these lines are for {} bytes", self::lengths(lengths), learned.len)
        }
        _ => write!(text, " of {}", plural(learned.len, "byte")),
    };
    let _ = writeln!(text, ", {} different", learned.distinct);
    if found.remote > 0 {
        let _ = writeln!(text, "# {} left out: they have no payload", plural(found.remote, "remote frame"));
    }
    if let Some(reason) = found.reason() {
        let _ = writeln!(text, "# {reason}");
    }
    let mark = if found.is_found() { "" } else { "# " };
    if let (Some(best), Some(written)) = (found.best(), found.written()) {
        let _ = match written {
            Ok(written) => {
                let why = written.follows.map_or_else(String::new, |why| format!("# counter = \"follow\": {why}\n"));
                write!(text, "{mark}{}\n{mark}{}\n{why}", written.check, written.protect)
            }
            Err(why) => writeln!(text, "# {:?}: {why}", best.scheme.checksum),
        };
        text += &evidence(found, best);
    }
    for counter in &learned.counters {
        let _ = writeln!(text, "# counter: {}", self::counter(counter));
    }
    let undecided = found.best().map_or(&[][..], |best| &best.ambiguities);
    for one in undecided {
        let _ = writeln!(text, "# not decided by the log: {}", self::undecided(one));
    }
    text
}

fn evidence(found: &Found, best: &Hypothesis) -> String {
    let mut text = format!("# explains {} of {}", best.explained, plural(best.of, "frame"));
    let _ = match best.is_strong() {
        true => writeln!(text, "; by chance with a probability of 2^-{:.0}", best.evidence),
        false => writeln!(text, "; 32 bits of evidence are needed, and there are {:.0}", best.evidence),
    };
    for (line, payload) in &found.unexplained {
        let _ = writeln!(text, "# not explained: line {line}: {}#{}", found.id, hex(payload));
    }
    let shown = found.unexplained.len();
    if best.of - best.explained > shown && shown > 0 {
        let _ = writeln!(text, "# not explained: {} more", best.of - best.explained - shown);
    }
    text
}

/// `8 bytes (990), 3 bytes (10)`.
pub(super) fn lengths(lengths: &BTreeMap<usize, usize>) -> String {
    let mut sorted: Vec<_> = lengths.iter().collect();
    sorted.sort_by_key(|(_, count)| usize::MAX - **count);
    sorted.iter().map(|(len, count)| format!("{} ({count})", plural(**len, "byte"))).collect::<Vec<_>>().join(", ")
}

/// All identifiers, one line each.
pub(super) fn all(name: &str, found: &[Found]) -> String {
    let mut rows = vec![cells(["id", "frames", "bytes", "explained", ""])];
    for one in found {
        let explained = |best: &Hypothesis| format!("{} of {}", best.explained, best.of);
        let line = match (one.is_found(), one.written()) {
            (true, Some(Ok(written))) => written.protect,
            (true, Some(Err(why))) => why.to_string(),
            (_, written) => {
                let reason = one.reason().unwrap_or_default();
                match written {
                    Some(Ok(written)) => format!("{reason}: {}", written.protect),
                    _ if one.learned.counters.is_empty() => reason,
                    _ => format!(
                        "{reason}; counter: {}",
                        one.learned.counters.iter().map(counter).collect::<Vec<_>>().join("; ")
                    ),
                }
            }
        };
        rows.push(vec![
            one.id.to_string(),
            one.frames.to_string(),
            one.learned.len.to_string(),
            one.best().map(explained).unwrap_or_default(),
            line,
        ]);
    }
    let count = found.iter().filter(|one| one.is_found()).count();
    format!("{name}: {}, {count} with a checksum\n\n{}", plural(found.len(), "identifier"), table(&rows, 1..4))
}

fn counter(one: &FoundCounter) -> String {
    let counter = one.counter;
    let range = if one.wraps { "" } else { " (never seen to start again)" };
    let lost = match one.of - one.steps {
        0 => String::new(),
        lost => format!("; {} of another step: lost frames or a restart", plural(lost, "frame")),
    };
    format!("{} to {}{range} in {}, +{}{lost}", counter.min, counter.max, place(counter.place), one.step)
}

fn place(place: Place) -> String {
    let Place { start, bits, order } = place;
    let (byte, bit) = (start / 8, start % 8);
    match order {
        _ if bits == 8 && bit == 0 && order == ByteOrder::Little => format!("byte {byte}"),
        ByteOrder::Little if bit + u16::from(bits) <= 8 => {
            format!("bits {} to {bit} of byte {byte}", bit + u16::from(bits) - 1)
        }
        ByteOrder::Little => format!("{bits} bits from bit {start} on, little-endian"),
        ByteOrder::Big => format!("{bits} bits from bit {start} on, big-endian"),
    }
}

/// What the log cannot decide, in words.
pub(super) fn undecided(one: &Ambiguity) -> String {
    let listed = |items: Vec<String>| items.join(", ");
    match one {
        Ambiguity::ConstantBytes(bytes) => {
            let bytes = bytes.iter().map(ToString::to_string).collect();
            format!("the checksum covers the constant bytes {} or not", listed(bytes))
        }
        Ambiguity::CounterRange => "the largest value of the counter, which never started again".into(),
        Ambiguity::DataIdHighByte => {
            "the high byte of the Data-ID: for each there is a low byte with the same checksums".into()
        }
        Ambiguity::Mode => "the mode: another one gives the same checksums with another Data-ID".into(),
        Ambiguity::Places(places) => {
            let places = places.iter().map(|one| place(*one)).collect();
            format!("the place of the checksum, which could also be {}", listed(places))
        }
        Ambiguity::StartOrFinalOrDataId => {
            "whether the constant is a start value, a final value or a Data-ID; for this length they are the same"
                .into()
        }
        Ambiguity::StartOrIdentifier => "whether the start value comes from the identifier or the length".into(),
        Ambiguity::StartOrDataId => "whether the start value is a part of all Data-IDs".into(),
        Ambiguity::UnseenCounters(counters) => {
            let counters = counters.iter().map(ToString::to_string).collect();
            format!("the Data-IDs for the counters {}, which it does not have; they are 0 here", listed(counters))
        }
    }
}
