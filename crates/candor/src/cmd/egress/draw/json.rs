//! For programs: as it is drawn, nothing shortened.

use serde_json::{Value, json};

use crate::cmd::egress::drawing::{Box, Counted, Drawing};

pub(in crate::cmd::egress) fn json(drawing: &Drawing) -> Value {
    json!({
        "interface": drawing.interface,
        "bus": drawing.bus,
        "tree": drawing.boxes.iter().map(one).collect::<Vec<_>>(),
    })
}

fn one(one: &Box) -> Value {
    let mut value = json!({
        "what": one.what.name(),
        "name": one.name,
        "band": one.band,
        "words": one.words,
        "below": one.below.iter().map(self::one).collect::<Vec<_>>(),
    });
    if let Some(counted) = &one.counted {
        value["counted"] = self::counted(counted);
    }
    value
}

/// Without what the kernel does not count there.
fn counted(counted: &Counted) -> Value {
    let numbers = [
        ("frames", counted.frames),
        ("bytes", counted.bytes),
        ("dropped_frames", counted.dropped),
        ("waiting_frames", counted.waiting.map(u64::from)),
        ("waiting_bytes", counted.waiting_bytes.map(u64::from)),
        ("overlimits", counted.overlimits.map(u64::from)),
        ("requeues", counted.requeues.map(u64::from)),
        ("asked_frames", counted.asked),
        ("lends", counted.lends.map(u64::from)),
        ("borrows", counted.borrows.map(u64::from)),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), Value::from(number?))));
    let keys = (!counted.keys.is_empty()).then(|| ("hits_of_keys".to_owned(), Value::from(counted.keys.clone())));
    Value::Object(numbers.chain(keys).collect())
}
