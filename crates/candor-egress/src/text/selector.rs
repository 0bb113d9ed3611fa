//! The options of `u32`.

use super::actions::Tail;
use super::args::{Args, Wrong};
use super::code;
use super::units::{hex, node, number, signed};
use crate::filter::{U32, U32Key, U32Link};

const OWN: &[&str] = &["match", "divisor", "ht", "link", "hashkey"];

/// The limit of `tc` and of the 8 bits of `nkeys`.
pub(super) const MOST_KEYS: usize = 128;

pub(super) fn read(tail: &mut Tail, args: &mut Args<'_>) -> Option<U32> {
    let mut u32 = U32::default();
    let mut hash = None;
    while args.peek().is_some() {
        let word = args.next_text();
        if !OWN.contains(&word) {
            if !tail.takes(args)? {
                tail.takes_rest("u32", OWN, args)?;
            }
            continue;
        }
        args.take();
        match word {
            "match" => {
                let key = key(args)?;
                add(&mut u32.keys, key, args)?;
            }
            "divisor" => {
                u32.divisor = Some(args.value(|text| match number(text)? {
                    slots if slots.is_power_of_two() && slots <= 256 => Ok(slots),
                    _ => {
                        Err(Wrong::new("The number of slots must be a power of 2, up to 256", "write one, such as 256"))
                    }
                })?)
            }
            "ht" => u32.table = args.value(slot)?,
            "link" => u32.link = Some(U32Link { table: args.value(table)?, mask: 0, offset: 0 }),
            _ => hash = Some(hash_key(args)?),
        }
    }
    match (hash, &mut u32.link) {
        (Some((mask, offset)), Some(link)) => (link.mask, link.offset) = (mask, offset),
        (Some(_), None) => {
            let message = "hashkey selects a slot of a table, but link is missing";
            return args.fail(code::VALUE, args.span(), message, "add link and the table, such as link 1:");
        }
        (None, _) => {}
    }
    let decides = !u32.keys.is_empty() || u32.link.is_some() || tail.class.is_some() || !tail.actions.is_empty();
    let (message, help) = match (u32.divisor.is_some(), u32.keys.is_empty()) {
        (true, _) if decides || u32.table != 0 => {
            ("A hash table cannot have matches, a class or actions", "write divisor in a separate line")
        }
        (false, true) => ("u32 needs a match", "add match; match u32 0 0 matches every frame"),
        _ => return Some(u32),
    };
    args.fail(code::VALUE, args.span(), message, help)
}

/// Merges two matches of one word, as `tc` does.
fn add(keys: &mut Vec<U32Key>, key: U32Key, args: &mut Args<'_>) -> Option<()> {
    let mut refuse = |message: &str, help: &str| args.fail(code::VALUE, args.last_span(), message, help);
    if let Some(known) = keys.iter_mut().find(|known| known.offset == key.offset) {
        if (known.value ^ key.value) & known.mask & key.mask != 0 {
            return refuse("This contradicts another match, so no frame would match", "remove one of them");
        }
        known.mask |= key.mask;
        known.value |= key.value;
        return Some(());
    }
    if keys.len() >= MOST_KEYS {
        return refuse("A filter has at most 128 matches", "write several filters");
    }
    keys.push(key);
    Some(())
}

/// `u32 VALUE MASK [at OFFSET]`, the same of 16 and 8 bits; the value is big-endian, as the frame is.
fn key(args: &mut Args<'_>) -> Option<U32Key> {
    let bits = args.value(|text| match text {
        "u32" => Ok(32),
        "u16" => Ok(16),
        "u8" => Ok(8),
        _ => Err(Wrong::new(
            format!("{} is not valid for CAN frames", candor_core::document::quote(text)),
            "write u32, u16 or u8, then value and mask",
        )),
    })?;
    let fits = |number: u32| {
        let too_large = || Wrong::new(format!("The number does not fit into {bits} bits"), "write a smaller one");
        if bits < 32 && number >> bits != 0 { Err(too_large()) } else { Ok(number) }
    };
    let value = args.value(|text| number(text).and_then(fits))?;
    let mask = args.value(|text| hex(text).and_then(fits))?;
    let offset = if args.takes("at") { args.value(signed)? } else { 0 };
    let step = i32::try_from(bits / 8).unwrap_or(1);
    if offset % step != 0 {
        let message = format!("A {bits}-bit number must be at a multiple of {step}");
        return args.fail(code::VALUE, args.last_span(), message, "write such a number after `at`");
    }
    let inside = offset.rem_euclid(4).unsigned_abs();
    let shift = 32 - bits - 8 * inside;
    Some(U32Key { mask: mask << shift, value: (value & mask) << shift, offset: offset - offset.rem_euclid(4) })
}

/// `hashkey mask MASK at OFFSET`
fn hash_key(args: &mut Args<'_>) -> Option<(u32, u16)> {
    if !args.takes("mask") {
        let message = "hashkey has no mask";
        return args.fail(code::MISSING, args.last_span(), message, "write hashkey mask 0x000000ff at 0");
    }
    let mask = args.value(hex)?;
    let mut offset = 0;
    if args.takes("at") {
        offset = args.value(|text| match number(text)? {
            offset if offset % 4 == 0 && offset <= 32_767 => Ok(offset),
            _ => Err(Wrong::new("The position of a hash key must be a multiple of 4", "write at 0, 4, 8 …")),
        })?;
    }
    Some((mask, u16::try_from(offset).ok()?))
}

fn slot(text: &str) -> Result<u32, Wrong> {
    match node(text)? {
        handle if handle & 0xFFF == 0 => Ok(handle),
        _ => Err(Wrong::new("ht names a table and a slot, not a node", "write it as in ht 1:a:")),
    }
}

fn table(text: &str) -> Result<u32, Wrong> {
    match node(text)? {
        handle if handle & 0xF_FFFF == 0 && handle != 0 => Ok(handle),
        _ => Err(Wrong::new("link names a table only", "write it as in link 1:")),
    }
}
