//! `secoc` in `check` and `protect`: authenticated frames.

use std::collections::HashMap;

use crate::config::check::scheme_keys::{self, span};
use crate::config::check::{Checks, lengths, value};
use crate::config::code;
use crate::config::names::Names;
use crate::config::spec::{CheckSpec, EntrySpec, ProtectSpec, RouteSpec, SchemeSpec, SecocSpec, Spec, is_true};
use crate::plan::Formats;
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Spanned, quote};
use candor_core::filter::{Filter, ReceiveList};
use candor_core::job::{Computed, OnBad};
use candor_e2e::Counted;
use candor_secoc::{Check, Freshness, Key, Options, Payload, Protect, Scheme, SyncSource, Synchronised};

/// The checks of sync frames, by the name of their routes. `None` after an error.
#[derive(Default)]
pub(super) struct Syncs(HashMap<String, Option<Computed>>);

impl Syncs {
    /// Those of a file, before its other routes, which may stand above them.
    pub(super) fn of(spec: &Spec, names: &Names, findings: &mut Findings) -> Self {
        let mut syncs = Self::default();
        for route in &spec.routes {
            if let (Some(name), Some(check)) = (&route.name, &route.check)
                && is_sync(&check.scheme.secoc)
            {
                let sync = sync(route, check, names, findings).map(Computed::new);
                // Names are unique, which is checked elsewhere.
                syncs.0.entry(name.value.clone()).or_insert(sync);
            }
        }
        syncs
    }
}

fn is_sync(secoc: &SecocSpec) -> bool {
    secoc.secoc.as_ref().is_some_and(|word| word.value == "sync")
}

fn sync(route: &RouteSpec, check: &Table<CheckSpec>, names: &Names, findings: &mut Findings) -> Option<Check> {
    let on_bad = match check.on_bad.as_ref().map(|word| word.value.as_str()) {
        Some("pass") => OnBad::Pass,
        _ => OnBad::Drop,
    };
    if let Some(strip) = check.strip.as_ref().filter(|strip| strip.value) {
        let message = "A sync frame has no payload that could be left";
        findings.error(code::INTEGRITY, &strip.span, message, "remove `strip`");
        return None;
    }
    let scheme = scheme(route, (&check.scheme.secoc, &check.scheme, &check.span), 8, findings)?;
    let key = key(&check.scheme.secoc, &check.span, names, findings)?;
    let options = Options { on_bad, payload: Payload::Secured };
    Check::new(scheme, key, None, options)
        .map_err(|wrong| value::refuse(&wrong, wrong.help(), &check.span, findings))
        .ok()
}

/// False after an error: keys of other schemes, and checks and protections that do not fit together.
pub(super) fn fits(route: &RouteSpec, findings: &mut Findings) -> bool {
    let errors = findings.errors();
    let mut error = |span: &Span, message: &str, help: &str| findings.error(code::INTEGRITY, span, message, help);
    let specs = [
        route.check.as_ref().map(|check| (&check.scheme, &check.scheme.secoc, check.strip.as_ref())),
        route.protect.as_ref().map(|protect| (&protect.scheme, &protect.scheme.secoc, None)),
    ];
    for (scheme, secoc, strip) in specs.into_iter().flatten() {
        if secoc.secoc.is_some() {
            if let Some((key, span)) = scheme_keys::written(scheme).next() {
                error(span, &format!("Authenticated frames have no `{key}`"), &format!("remove `{key}` or `secoc`"));
            }
        } else {
            let strip = ("strip", strip.map(|strip| &strip.span));
            let own = keys_of_secoc(secoc).into_iter().chain([strip]).find_map(|(key, span)| Some((key, span?)));
            if let Some((key, span)) = own {
                let message = format!("Only authenticated frames have `{key}`");
                error(span, &message, &format!("add secoc = \"P01\", or remove `{key}`"));
            }
        }
    }
    if let Some(check) = route.check.as_ref().filter(|check| check.scheme.secoc.secoc.is_some()) {
        let is_secured = route.protect.as_ref().is_some_and(|protect| protect.scheme.secoc.secoc.is_some());
        let passes = check.on_bad.as_ref().filter(|word| word.value == "pass");
        if let Some(word) = passes.filter(|_| !is_secured && is_true(&check.strip)) {
            let message = "A frame that is not authentic would become a plain one like the others";
            error(&word.span, message, "remove `on-bad`, so that such frames are dropped, or `strip`");
        }
        if let Some(word) = passes.filter(|_| is_secured) {
            let message = "A frame that is not authentic would be sent with a right MAC";
            error(&word.span, message, "remove `on-bad`, so that such frames are dropped");
        }
    }
    findings.errors() == errors
}

fn keys_of_secoc(secoc: &SecocSpec) -> [(&'static str, Option<&Span>); 11] {
    [
        ("key", span(&secoc.key)),
        ("sync", span(&secoc.sync)),
        ("payload", span(&secoc.payload)),
        ("mac-bits", span(&secoc.mac_bits)),
        ("counter-bits", span(&secoc.counter_bits)),
        ("sent-bits", span(&secoc.sent_bits)),
        ("trip-bits", span(&secoc.trip_bits)),
        ("reset-bits", span(&secoc.reset_bits)),
        ("flag-bits", span(&secoc.flag_bits)),
        ("attempts", span(&secoc.attempts)),
        ("start", span(&secoc.start)),
    ]
}

/// The check of a route. `None` after an error.
pub(super) fn check(
    route: &RouteSpec,
    check: &Table<CheckSpec>,
    (on_bad, len, formats): (OnBad, usize, Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Computed> {
    if is_sync(&check.scheme.secoc) {
        return checks.syncs.0.get(&route.name.as_ref()?.value)?.clone();
    }
    let spec = (&check.scheme.secoc, &check.scheme, &check.span);
    let (scheme, sync) = (scheme(route, spec, len, findings)?, source(spec, checks, findings)?);
    let needed = (scheme.len, check.scheme.len.as_ref().map_or(&check.span, |len| &len.span));
    lengths::exists(code::INTEGRITY, needed, formats, findings);
    lengths::guarded(route, needed, findings);
    let key = key(&check.scheme.secoc, &check.span, checks.names, findings)?;
    let payload = if is_true(&check.strip) { Payload::Plain } else { Payload::Secured };
    let made = Check::new(scheme, key, sync, Options { on_bad, payload });
    made.map(Computed::new).map_err(|wrong| value::refuse(&wrong, wrong.help(), &check.span, findings)).ok()
}

/// The protection of a route. `None` after an error.
pub(super) fn protect(
    route: &RouteSpec,
    protect: &Table<ProtectSpec>,
    (counted, len, formats): (Counted, usize, Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Computed> {
    if let (Counted::Follow, Some(word)) = (counted, &protect.counter) {
        let message = "The freshness value of an authenticated frame is that of its sender, which is candor";
        findings.error(code::INTEGRITY, &word.span, message, "remove `counter`");
        return None;
    }
    if is_sync(&protect.scheme.secoc) {
        let message = "candor makes no sync frames: their counters belong to one sender";
        findings.error(code::INTEGRITY, &protect.span, message, "forward the sync frame, with a `check`");
        return None;
    }
    let spec = (&protect.scheme.secoc, &protect.scheme, &protect.span);
    let (scheme, sync) = (scheme(route, spec, len, findings)?, source(spec, checks, findings)?);
    let needed = (scheme.len, protect.scheme.len.as_ref().map_or(&protect.span, |len| &len.span));
    lengths::exists(code::INTEGRITY, needed, formats, findings);
    let key = key(&protect.scheme.secoc, &protect.span, checks.names, findings)?;
    let made = Protect::new(scheme, key, sync);
    made.map(Computed::new).map_err(|wrong| value::refuse(&wrong, wrong.help(), &protect.span, findings)).ok()
}

/// `None` after an error; a key that cannot be read has been reported.
fn key<'n>(secoc: &SecocSpec, place: &Span, names: &'n Names, findings: &mut Findings) -> Option<&'n Key> {
    let Some(path) = &secoc.key else {
        let help = "add key = \"/etc/candor/body.key\", a file of 16 bytes or 32 digits in hex";
        findings.error(code::INTEGRITY, place, "An authenticated frame needs a key", help);
        return None;
    };
    names.key(&path.value)
}

/// The route of the sync frame, if one is named. `None` after an error.
#[expect(clippy::option_option, reason = "none is written, or there is an error")]
fn source(
    (secoc, _, _): (&SecocSpec, &SchemeSpec, &Span),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Option<SyncSource>> {
    let Some(name) = &secoc.sync else { return Some(None) };
    match checks.syncs.0.get(&name.value) {
        Some(sync) => Some(sync.as_ref()?.downcast_ref().map(|check: &Check| check.sync_source(name.value.clone()))),
        None => {
            let message = format!("No route with the name {} checks sync frames", quote(&name.value));
            let help = "write the name of a route with check = { secoc = \"sync\", key = \"…\" }";
            findings.error(code::INTEGRITY, &name.span, message, help);
            None
        }
    }
}

/// `None` after an error. `len` is the length of the secured frame if none is written.
fn scheme(
    route: &RouteSpec,
    (secoc, base, place): (&SecocSpec, &SchemeSpec, &Span),
    len: usize,
    findings: &mut Findings,
) -> Option<Scheme> {
    let word = secoc.secoc.as_ref()?;
    let bits = |written: &Option<Spanned<u8>>, otherwise| written.as_ref().map_or(otherwise, |bits| bits.value);
    let (trip, reset) = (bits(&secoc.trip_bits, 16), bits(&secoc.reset_bits, 20));
    let (synchronised, counter, sent, mac) = match word.value.as_str() {
        "P01" => (None, 32, 8, 24),
        "P02" => (None, 0, 0, 24),
        "P03" => (Some(Synchronised { trip, reset, flag: bits(&secoc.flag_bits, 2) }), 8, 2, 28),
        "sync" => (None, trip.saturating_add(reset), trip.saturating_add(reset), 28),
        _ => return value::unknown_word(word, "P01\", \"P02\", \"P03\" or \"sync", findings),
    };
    let counter = bits(&secoc.counter_bits, counter);
    let start = secoc.start.as_ref().map_or(Some(0), |start| value::long_hex(start, findings))?;
    let sent = if word.value == "sync" { sent } else { bits(&secoc.sent_bits, sent) };
    let freshness = Freshness { synchronised, counter, sent, at: 0, attempts: bits(&secoc.attempts, 1), start };
    let freshness = (word.value != "P02").then_some(freshness);
    let mac = bits(&secoc.mac_bits, mac);
    let flag = synchronised.map_or(0, |synchronised| synchronised.flag);
    let sent = if freshness.is_some() { usize::from(sent) + usize::from(flag) } else { 0 };
    let trailer = (sent + usize::from(mac)).div_ceil(8);
    let whole = base.len.as_ref().map(|len| usize::from(len.value));
    let payload = match &secoc.payload {
        _ if word.value == "sync" => 0,
        Some(payload) => payload.value.into(),
        None => {
            let whole = whole.unwrap_or(len);
            let Some(payload) = whole.checked_sub(trailer) else {
                let message = format!("Freshness value and MAC need {trailer} bytes, but the frame has {whole} bytes");
                findings.error(code::INTEGRITY, place, message, "set `len` to the length of the secured frame");
                return None;
            };
            payload
        }
    };
    let scheme = Scheme::after(0, payload, freshness, mac);
    let shortest = secoc.payload.is_some() || payload == 0;
    let len = whole.unwrap_or(if shortest { scheme.len } else { len });
    Some(Scheme { data_id: data_id(route, base, place, findings)?, len, ..scheme })
}

/// Two bytes. `None` after an error.
fn data_id(route: &RouteSpec, base: &SchemeSpec, place: &Span, findings: &mut Findings) -> Option<Vec<u8>> {
    let id = match base.data_id.as_deref() {
        Some([]) => return Some(Vec::new()),
        Some([id]) => id.value,
        Some([_, second, ..]) => {
            let message = "An authenticated frame has one Data-ID";
            findings.error(code::INTEGRITY, &second.span, message, "write data-id = 0x123");
            return None;
        }
        None => identifier(route).unwrap_or(u32::MAX),
    };
    let Ok(id) = u16::try_from(id) else {
        let message = "The Data-ID of an authenticated frame has 16 bits";
        let place = base.data_id.as_ref().and_then(|ids| Some(&ids.first()?.span)).unwrap_or(place);
        findings.error(code::INTEGRITY, place, message, "write data-id = 0x123; it is often the identifier");
        return None;
    };
    Some(id.to_be_bytes().into())
}

/// The identifier of a route that matches one.
fn identifier(route: &RouteSpec) -> Option<u32> {
    let [EntrySpec::Text(text)] = route.filter.as_ref()?.entries.as_slice() else { return None };
    let filter = Filter::parse(&text.value).ok()?.normalise();
    (filter.list == ReceiveList::Exact).then_some(filter.id)
}

#[cfg(test)]
mod tests;
