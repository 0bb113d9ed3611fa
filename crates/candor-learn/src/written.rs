//! Schemes as keys of gateway files.

use std::fmt::{self, Write as _};

use candor_e2e::{Algorithm, ByteOrder, CATALOGUE, Checksum, Counter, IdMode, Place, Scheme, Settings, Unit};

use crate::counter::FoundCounter;
use crate::field;
use crate::hypothesis::Hypothesis;

/// The keys `check` and `protect` of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// `check = { … }`.
    pub check: String,
    /// `protect = { … }`.
    pub protect: String,
    /// Why `protect` has the counter of the received frame.
    pub follows: Option<Follows>,
}

/// Why candor cannot count in place of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Follows {
    /// Its counter does not start at 0.
    #[error("the counter goes from {max} to {min}, and candor counts from 0")]
    Range {
        /// Smallest value.
        min: u32,
        /// Largest value.
        max: u32,
    },
    /// It does not go up by 1.
    #[error("the counter goes up by {0}, and candor counts by 1")]
    Step(u32),
}

/// Why gateway files have no keys for a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritable {
    /// The bits of the checksum count as zeros although it fills whole bytes, or its bytes are left out although it does not.
    #[error("gateway files have no key for a checksum that counts as zeros in its own range")]
    Zeroed,
}

/// The keys for a scheme. `counters` are those that were found beside it.
///
/// # Errors
/// [`NotWritable`] if gateway files cannot say it.
pub fn written(found: &Hypothesis, counters: &[FoundCounter]) -> Result<Written, NotWritable> {
    let schemes = std::iter::once(&found.scheme).chain(&found.alternatives);
    let generic = || schemes.clone().map(|scheme| Ok((scheme, generic(scheme)?)));
    let (scheme, keys) = match &found.settings {
        Some(settings) => (&found.scheme, profile(settings)),
        None => generic().find(Result::is_ok).or_else(|| generic().next()).ok_or(NotWritable::Zeroed)??,
    };
    let step =
        |counter: &Counter| counters.iter().find(|one| one.counter.place == counter.place).map_or(1, |one| one.step);
    let follows = scheme.counter.as_ref().and_then(|counter| match () {
        () if found.settings.is_some() => None,
        () if counter.min > 0 => Some(Follows::Range { min: counter.min, max: counter.max }),
        () if step(counter) != 1 => Some(Follows::Step(step(counter))),
        () => None,
    });
    let own = if follows.is_some() { ", counter = \"follow\"" } else { "" };
    let more = if found.settings.is_some() { String::new() } else { of_receiver(scheme) };
    Ok(Written {
        check: format!("check = {{ {keys}{more} }}"),
        protect: format!("protect = {{ {keys}{own} }}"),
        follows,
    })
}

/// The payload length that routes have without the key `len`.
const USUAL: usize = 8;

fn profile(settings: &Settings) -> String {
    let mut keys = format!("e2e = \"{}\", data-id = ", settings.profile);
    match settings.data_ids[..] {
        [id] => write!(keys, "0x{id:X}"),
        _ => write!(keys, "[{}]", listed(settings.data_ids.iter().map(|id| format!("0x{id:02X}")))),
    }
    .unwrap_or_default();
    if settings.mode != IdMode::default() {
        keys += &format!(", mode = \"{}\"", settings.mode.name());
    }
    if settings.offset != 0 {
        keys += &format!(", offset = {}", settings.offset);
    }
    keys + &len(*settings.len.end())
}

fn len(len: usize) -> String {
    if len == USUAL { String::new() } else { format!(", len = {len}") }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn generic(scheme: &Scheme) -> Result<String, NotWritable> {
    let place = scheme.place;
    let (first, end) = field::bytes(place);
    let is_whole = (first..end).all(|at| field::mask(place, at) == 0xFF);
    // Zeros change neither XOR nor sum.
    let is_free = is_whole && !matches!(scheme.checksum, Checksum::Crc(_));
    let mut over = scheme.over;
    if scheme.zeroed == is_whole && !is_free {
        over = shortened(scheme, first, end).ok_or(NotWritable::Zeroed)?;
    }
    let mut keys = checksum(&scheme.checksum);
    keys += &format!(", at = {}", at(place));
    let last = scheme.len.end().saturating_sub(1);
    let end = over.1.map_or(last, usize::from);
    if over.0 != 0 || end != last {
        keys += &format!(", over = \"{}..{end}\"", over.0);
    }
    if let Some(counter) = &scheme.counter {
        keys += &format!(", counter-at = {}", at(counter.place));
        if u64::from(counter.max) != field::largest(counter.place) {
            keys += &format!(", counter-max = {}", counter.max);
        }
    }
    for (name, list) in [("before", &scheme.data_id.before), ("after", &scheme.data_id.after)] {
        match &list[..] {
            [] => {}
            [one] => keys += &format!(", {name} = \"{}\"", Hex(one)),
            _ => keys += &format!(", {name} = [{}]", listed(list.iter().map(|one| format!("\"{}\"", Hex(one))))),
        }
    }
    Ok(keys + &len(*scheme.len.end()))
}

/// The keys of a check in addition to those of a protection.
fn of_receiver(scheme: &Scheme) -> String {
    // From the largest value to the smallest, the step is larger.
    let step = scheme.counter.as_ref().map_or(1, |counter| counter.max_delta.saturating_add(counter.min));
    if step > 1 { format!(", max-delta = {step}") } else { String::new() }
}

/// The range without the bytes of the checksum, if they are at one of its ends and are left out.
fn shortened(scheme: &Scheme, first: usize, end: usize) -> Option<(u16, Option<u16>)> {
    let (from, last) = (usize::from(scheme.over.0), scheme.over.1.map_or_else(|| scheme.len.end() - 1, usize::from));
    let number = |at: usize| u16::try_from(at).ok();
    match () {
        () if scheme.zeroed => None,
        () if first <= from && end <= last => Some((number(end)?, Some(number(last)?))),
        () if last < end && from < first => Some((number(from)?, Some(number(first - 1)?))),
        () if end <= from || last < first => Some(scheme.over),
        () => None,
    }
}

fn at(place: Place) -> String {
    let Place { start, bits, order } = place;
    if bits == 8 && start % 8 == 0 && order == ByteOrder::Little {
        return format!("{}", start / 8);
    }
    let order = if order == ByteOrder::Big { ", byte-order = \"big\"" } else { "" };
    format!("{{ start-bit = {start}, bits = {bits}{order} }}")
}

fn checksum(checksum: &Checksum) -> String {
    let (name, unit, init) = match *checksum {
        Checksum::Crc(crc) => return self::crc(&crc),
        Checksum::Xor { unit, init } => ("xor", unit, init),
        Checksum::Sum { unit, init, .. } => ("sum", unit, init),
    };
    let mut keys = format!("checksum = \"{name}{}\"", if unit == Unit::Nibble { "-nibbles" } else { "" });
    if init != 0 {
        keys += &format!(", init = \"{init:02X}\"");
    }
    if let Checksum::Sum { negated, xorout, .. } = *checksum {
        keys += if negated { ", negated = true" } else { "" };
        if xorout != 0 {
            keys += &format!(", final-xor = \"{xorout:02X}\"");
        }
    }
    keys
}

fn crc(crc: &Algorithm) -> String {
    if let Some(named) = CATALOGUE.iter().find(|named| named.algorithm == *crc) {
        return format!("checksum = \"{}\"", named.name);
    }
    let digits = usize::from(crc.width).div_ceil(4).max(2);
    let mut keys = format!("crc = {{ width = {}, polynomial = \"{:0digits$X}\"", crc.width, crc.polynomial);
    for (name, value) in [("init", crc.init), ("final-xor", crc.xorout)] {
        if value != 0 {
            keys += &format!(", {name} = \"{value:0digits$X}\"");
        }
    }
    for (name, is) in [("reflect-in", crc.reflect_in), ("reflect-out", crc.reflect_out)] {
        keys += &if is { format!(", {name} = true") } else { String::new() };
    }
    keys + " }"
}

/// Bytes as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}
