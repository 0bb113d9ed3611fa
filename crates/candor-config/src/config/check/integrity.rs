//! `check` and `protect`: checksums and counters of a route.

use crate::config::check::{Checks, conflict, lengths, scheme_keys, secoc, value};
use crate::config::code;
use crate::config::spec::{CheckSpec, CrcSpec, PlaceSpec, ProtectSpec, RouteSpec, SchemeSpec, is_true};
use crate::plan::{Formats, Selection};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Spanned, Text, quote};
use candor_core::filter::ReceiveList;
use candor_core::ids::IdRange;
use candor_core::job::{Computed, OnBad};
use candor_core::rule::{Checksums, Modifications};
use candor_e2e::{
    Algorithm, ByteOrder, Check, Checksum, Counted, Counter, IdMode, Place, Profile, Protect, Scheme, Settings, Unit,
};

/// The check and the protection of a route, each `None` if there is none.
pub(super) fn integrity(
    spec: &Table<RouteSpec>,
    (selections, formats, outgoing): (&[Selection], Formats, Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> [Option<Computed>; 2] {
    let check = spec.check.as_ref().map(|check| &check.span);
    let protect = spec.protect.as_ref().map(|protect| &protect.span);
    let Some(place) = check.or(protect) else { return [None, None] };
    let is_one = matches!(selections, [one] if one.filter.normalise().list == ReceiveList::Exact);
    if !is_one || formats == Formats::Xl {
        let help = "write match = \"123\": a route for each message with a counter";
        findings.error(code::INTEGRITY, place, "A checksum with a counter belongs to one identifier", help);
        return [None, None];
    }
    if let Some(flag) = spec.both_ways.as_ref().filter(|flag| flag.value) {
        let message = "Each direction has counters of its own";
        conflict(&flag.span, message, (place, "has a counter"), "write a route for each direction", findings);
        return [None, None];
    }
    let len = len_of_message(spec, selections, checks);
    if !secoc::fits(spec, findings) {
        return [None, None];
    }
    let check = spec.check.as_ref().and_then(|check| {
        let is_secoc = check.scheme.secoc.secoc.is_some();
        let substitute = check.on_bad.as_ref().filter(|_| !is_secoc).and_then(value::substitute);
        let on_bad = match check.on_bad.as_ref().map(|word| (word, word.value.as_str())) {
            None | Some((_, "drop")) => OnBad::Drop,
            Some((_, "pass")) => OnBad::Pass,
            Some(_) if substitute.is_some() => OnBad::Pass,
            Some((word, _)) if is_secoc => return value::unknown_word(word, "drop\" or \"pass", findings),
            Some((word, _)) => {
                return value::unknown_word(word, "drop\", \"pass\" or \"substitute:0011223344556677", findings);
            }
        };
        if is_secoc {
            return secoc::check(spec, check, (on_bad, len, formats), checks, findings);
        }
        let scheme = checked_scheme(check, (&check.span, len), findings)?;
        let needed = (*scheme.len.end(), check.scheme.len.as_ref().map_or(&check.span, |len| &len.span));
        lengths::exists(code::INTEGRITY, needed, formats, findings);
        lengths::guarded(spec, needed, findings);
        let fits = scheme.len.clone();
        let made = Check::new(scheme, on_bad)
            .map_err(|wrong| value::refuse(&wrong, wrong.help(), &check.span, findings))
            .ok()?;
        let Some(bytes) = substitute else { return Some(Computed::new(made)) };
        let payload = value::bytes(&bytes, findings)?;
        if !fits.contains(&payload.len()) {
            let message = format!("These are {} bytes; the frame has {}", payload.len(), fits.start());
            findings.error(code::INTEGRITY, &bytes.span, message, format!("write {} bytes", fits.start()));
            return None;
        }
        if spec.protect.is_none() && !made.accepts(&payload) {
            let help = "add a `protect`, which writes checksum and counter, or write bytes with a right checksum";
            findings.error(code::INTEGRITY, &bytes.span, "Receivers would find this payload wrong, too", help);
            return None;
        }
        Some(Computed::new(made.substituting(&payload)))
    });
    let protect = spec.protect.as_ref().and_then(|protect| {
        let counted = match protect.counter.as_ref().map(|word| (word, word.value.as_str())) {
            None | Some((_, "own")) => Counted::Own,
            Some((_, "follow")) => Counted::Follow,
            Some((word, _)) => return value::unknown_word(word, "own\" or \"follow", findings),
        };
        if protect.scheme.secoc.secoc.is_some() {
            return secoc::protect(spec, protect, (counted, len, outgoing), checks, findings);
        }
        let (made, longest) = self::protect(protect, counted, len, findings)?;
        let needed = (longest, protect.scheme.len.as_ref().map_or(&protect.span, |len| &len.span));
        lengths::exists(code::INTEGRITY, needed, outgoing, findings);
        lengths::set(spec, needed, outgoing, findings);
        if !changes_length(spec) {
            lengths::guarded(spec, needed, findings);
        }
        Some(made)
    });
    [check, protect]
}

/// A protection as a checksum of can-gw, where both do the same: the modifications must give all frames the length of the scheme,
/// because can-gw does not refuse others.
pub(super) fn of_can_gw(
    protected: Option<Computed>,
    modifications: &Modifications,
    checksums: Checksums,
) -> (Option<Computed>, Checksums) {
    let of_scheme = protected
        .as_ref()
        .filter(|_| checksums == Checksums::NONE)
        .and_then(|protected| protected.downcast_ref::<Protect>()?.can_gw(usize::from(modifications.set.len?)));
    match of_scheme {
        Some(checksums) => (None, checksums),
        None => (protected, checksums),
    }
}

/// The protection of a composed frame with a payload of `len` bytes; `None` after an error.
pub(super) fn of_frame(protect: &Table<ProtectSpec>, len: usize, findings: &mut Findings) -> Option<Computed> {
    let counter = protect.counter.as_ref().filter(|word| word.value != "own");
    if let Some(word) = counter {
        let message = "No received frame has a counter that a composed frame could follow";
        findings.error(code::INTEGRITY, &word.span, message, "remove `counter`");
        return None;
    }
    if let Some(secoc) = &protect.scheme.secoc.secoc {
        let help = "send the frame to a virtual bus, and secure it in a route from there";
        findings.error(code::INTEGRITY, &secoc.span, "Composed frames cannot be authenticated", help);
        return None;
    }
    self::protect(protect, Counted::Own, len, findings).map(|(made, _longest)| made)
}

/// The check of frames that a composed frame takes signals of, with a payload of `len` bytes; `None` after an error.
pub(super) fn of_source(check: &CheckSpec, place: &Span, len: usize, findings: &mut Findings) -> Option<Computed> {
    if let Some(secoc) = &check.scheme.secoc.secoc {
        let help = "check the frames in a route to a virtual bus, and take the signals from there";
        findings.error(code::INTEGRITY, &secoc.span, "Sources of composed frames cannot be authenticated", help);
        return None;
    }
    let on_bad = match check.on_bad.as_ref().map(|word| (word, word.value.as_str())) {
        None | Some((_, "drop")) => OnBad::Drop,
        Some((_, "pass")) => OnBad::Pass,
        Some((word, text)) if text.starts_with("substitute:") => {
            let help = "remove `on-bad`, and give the signals a `timeout` and on-timeout = \"substitute:VALUE\"";
            findings.error(code::INTEGRITY, &word.span, "Nothing is sent in place of a source", help);
            return None;
        }
        Some((word, _)) => return value::unknown_word(word, "drop\" or \"pass", findings),
    };
    let scheme = checked_scheme(check, (place, len), findings)?;
    if let Some(other) = check.scheme.len.as_ref().filter(|other| usize::from(other.value) != len) {
        let message = format!("The message has {len} bytes");
        findings.error(code::INTEGRITY, &other.span, message, "remove `len`");
        return None;
    }
    Check::new(scheme, on_bad)
        .map_err(|wrong| value::refuse(&wrong, wrong.help(), place, findings))
        .ok()
        .map(Computed::new)
}

/// The bits that a protection by [`Protect`] writes into a byte of the payload.
pub(super) fn written(protect: &Computed, byte: usize) -> u8 {
    protect.downcast_ref::<Protect>().map_or(0, |protect| protect.written(byte))
}

/// The protection, and the length of its longest payload.
fn protect(
    spec: &Table<ProtectSpec>,
    counted: Counted,
    len: usize,
    findings: &mut Findings,
) -> Option<(Computed, usize)> {
    let of_receivers =
        [spec.scheme.max_delta.as_ref().map(|key| &key.span), spec.scheme.resync.as_ref().map(|key| &key.span)];
    if let Some(place) = of_receivers.into_iter().flatten().next() {
        findings.error(
            code::INTEGRITY,
            place,
            "Only receivers judge the steps of a counter",
            "remove it, or move it to `check`",
        );
        return None;
    }
    let scheme = scheme(&spec.scheme, (&spec.span, len), findings)?;
    let longest = *scheme.len.end();
    let made = Protect::new(scheme, counted)
        .map_err(|wrong| value::refuse(&wrong, wrong.help(), &spec.span, findings))
        .ok()?;
    Some((Computed::new(made), longest))
}

/// True if the sent frame may have another length than the received one.
fn changes_length(spec: &RouteSpec) -> bool {
    let mut operands = [&spec.set, &spec.and, &spec.or, &spec.xor].into_iter().flatten();
    let strips = spec.check.as_ref().is_some_and(|check| is_true(&check.strip));
    strips || operands.any(|operand| operand.len.is_some() || operand.raw_len.is_some())
}

/// Of the message in a database of the bus that frames come from; otherwise 8.
fn len_of_message(spec: &RouteSpec, selections: &[Selection], checks: &Checks<'_>) -> usize {
    let id = selections.first().map(|selection| selection.filter.normalise().id);
    let bus = spec.from.as_ref().map_or("", |from| from.value.as_str());
    let mut messages = checks.names.of_bus(bus).iter().flat_map(|database| &database.messages);
    let found = messages.find(|message| message.id.map(|found| found.raw().0) == id);
    found.map_or(8, |message| message.len.into())
}

/// The scheme of a check that does not authenticate; `None` after an error.
fn checked_scheme(check: &CheckSpec, place: (&Span, usize), findings: &mut Findings) -> Option<Scheme> {
    if let Some(flag) = check.strip.as_ref().filter(|flag| flag.value) {
        findings.error(
            code::INTEGRITY,
            &flag.span,
            "Only authenticated frames are stripped",
            "remove `strip`, or add `secoc`",
        );
        return None;
    }
    let scheme = scheme(&check.scheme, place, findings)?;
    let of_counter =
        [check.scheme.max_delta.as_ref().map(|key| &key.span), check.scheme.resync.as_ref().map(|key| &key.span)];
    if let Some(place) = of_counter.into_iter().flatten().next().filter(|_| scheme.counter.is_none()) {
        findings.error(code::INTEGRITY, place, "The scheme has no counter", "remove it, or add `counter-at`");
        return None;
    }
    Some(scheme)
}

/// `None` after an error.
fn scheme(spec: &SchemeSpec, (place, len): (&Span, usize), findings: &mut Findings) -> Option<Scheme> {
    let len = spec.len.as_ref().map_or(len, |len| len.value.into());
    let max_delta = spec.max_delta.as_ref().map_or(1, |delta| delta.value);
    let resync = spec.resync.as_ref().map_or(3, |resync| resync.value);
    if let Some(name) = &spec.e2e {
        let generic = [spec.checksum.as_ref().map(|text| &text.span), spec.crc.as_ref().map(|crc| &crc.span)];
        if let Some(other) = generic.into_iter().flatten().next() {
            let message = "The profile has its own checksum";
            conflict(other, message, (&name.span, "a profile"), "remove one of the two", findings);
            return None;
        }
        if !scheme_keys::have_effect(spec, findings) {
            return None;
        }
        let profile = Profile::named(&name.value)
            .or_else(|| value::unknown_word(name, "P01\", \"P02\", \"P04\" to \"P07\", \"P11\" or \"P22", findings))?;
        let mode = match &spec.mode {
            None => IdMode::default(),
            Some(word) => IdMode::named(&word.value)
                .or_else(|| value::unknown_word(word, "both\", \"alternating\", \"low\" or \"nibble", findings))?,
        };
        let ids: Vec<u32> = spec.data_id.iter().flatten().map(|id| id.value).collect();
        let offset = spec.offset.as_ref().map_or(0, |offset| offset.value.into());
        let settings = Settings { mode, offset, max_delta, resync, ..Settings::new(profile, ids, len) };
        return settings.scheme().map_err(|wrong| value::refuse(&wrong, wrong.help(), place, findings)).ok();
    }
    let Some(at) = &spec.at else {
        let help = "write e2e = \"P01\" and a data-id, or checksum = \"SAE-J1850\" and at = 7";
        findings.error(code::INTEGRITY, place, "Nothing says how the payload is protected", help);
        return None;
    };
    let checksum = checksum(spec, place, findings)?;
    if !scheme_keys::have_effect(spec, findings) {
        return None;
    }
    if let (Checksum::Crc(crc), PlaceSpec::Byte(byte)) = (checksum, at)
        && crc.width > 8
    {
        let message = format!("The CRC has {} bits, and this is one byte", crc.width);
        let help = "write its bits, such as at = { start-bit = 48, bits = 16 }";
        findings.error(code::INTEGRITY, &byte.span, message, help);
        return None;
    }
    let mut scheme = Scheme::new(checksum, self::place(at, findings)?, len);
    if let Some(over) = &spec.over {
        let ends = over.value.split_once(IdRange::DOTS);
        let ends = ends.and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)));
        let Some((first, last)) = ends else {
            findings.error(code::INTEGRITY, &over.span, "These are no two bytes", "write over = \"0..6\"");
            return None;
        };
        scheme.over = (first, Some(last));
        let own = scheme.place.start / 8;
        let own = own..own + u16::from(scheme.place.bits / 8);
        if own.contains(&first) && own.contains(&last) && !scheme.zeroed {
            let message = "The checksum covers only the bytes that it is in";
            findings.error(
                code::INTEGRITY,
                &over.span,
                message,
                "write the bytes that it protects, such as over = \"0..6\"",
            );
            return None;
        }
    }
    if let Some(at) = &spec.counter_at {
        let counter = Counter::new(self::place(at, findings)?);
        let max = spec.counter_max.as_ref().map_or(counter.max, |max| max.value);
        scheme.counter = Some(Counter { max, max_delta, resync, ..counter });
    }
    for (written, list) in [(&spec.before, &mut scheme.data_id.before), (&spec.after, &mut scheme.data_id.after)] {
        for text in written.iter().flatten() {
            list.push(value::bytes(text, findings)?);
        }
    }
    Some(scheme)
}

fn checksum(spec: &SchemeSpec, place: &Span, findings: &mut Findings) -> Option<Checksum> {
    let number = |written: &Option<Text>, findings: &mut Findings| match written {
        None => Some(0),
        Some(text) => value::long_hex(text, findings),
    };
    match (&spec.checksum, &spec.crc) {
        (None, Some(crc)) => return self::crc(crc, findings).map(Checksum::Crc),
        (Some(name), None) => {
            let init = number(&spec.init, findings)?;
            let unit = if name.value.ends_with("-nibbles") { Unit::Nibble } else { Unit::Byte };
            match name.value.as_str() {
                "xor" | "xor-nibbles" => return Some(Checksum::Xor { unit, init }),
                "sum" | "sum-nibbles" => {
                    let xorout = number(&spec.final_xor, findings)?;
                    return Some(Checksum::Sum { unit, init, negated: is_true(&spec.negated), xorout });
                }
                _ => {}
            }
            if let Some(algorithm) = Algorithm::named(&name.value) {
                return Some(Checksum::Crc(algorithm));
            }
            let names: Vec<_> = candor_e2e::CATALOGUE.iter().map(|named| named.name).collect();
            let help = format!("known are xor, sum, xor-nibbles, sum-nibbles, {}", names.join(", "));
            findings.error(code::INTEGRITY, &name.span, format!("Unknown checksum {}", quote(&name.value)), help);
        }
        (Some(_), Some(crc)) => {
            findings.error(code::INTEGRITY, &crc.span, "There are two checksums", "remove `checksum` or `crc`");
        }
        (None, None) => {
            let help = "add checksum = \"SAE-J1850\", \"xor\" or \"sum\"";
            findings.error(code::INTEGRITY, place, "There is no checksum", help);
        }
    }
    None
}

fn crc(spec: &Table<CrcSpec>, findings: &mut Findings) -> Option<Algorithm> {
    let optional = |written: &Option<Text>, findings: &mut Findings| match written {
        None => Some(0),
        Some(text) => value::long_hex(text, findings),
    };
    Some(Algorithm {
        width: spec.width.as_ref()?.value,
        polynomial: value::long_hex(spec.polynomial.as_ref()?, findings)?,
        init: optional(&spec.init, findings)?,
        xorout: optional(&spec.final_xor, findings)?,
        reflect_in: is_true(&spec.reflect_in),
        reflect_out: is_true(&spec.reflect_out),
    })
}

fn place(spec: &PlaceSpec, findings: &mut Findings) -> Option<Place> {
    let bits = match spec {
        PlaceSpec::Byte(Spanned { value, .. }) => return Some(Place::byte((*value).into())),
        PlaceSpec::Bits(bits) => bits,
    };
    let order = match bits.byte_order.as_ref().map(|word| (word, word.value.as_str())) {
        None | Some((_, "little")) => ByteOrder::Little,
        Some((_, "big")) => ByteOrder::Big,
        Some((word, _)) => return value::unknown_word(word, "little\" or \"big", findings),
    };
    let start = u16::try_from(bits.start_bit.as_ref()?.value).ok()?;
    Some(Place { start, bits: bits.bits.as_ref()?.value, order })
}

#[cfg(test)]
mod tests;
