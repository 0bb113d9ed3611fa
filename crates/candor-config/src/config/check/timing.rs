//! Whole frames with another timing: `cycle`, `min-delay`, `on-change` and `timeout` of a route.

use crate::config::check::{Checks, conflict, value};
use crate::config::code;
use crate::config::spec::RouteSpec;
use crate::plan::{Formats, OnTimeout, Selection, Timing};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::filter::{Filter, Normalised, ReceiveList};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_MAX_DLEN, RawId};

/// Identifiers of a route, each with a state of its own.
const MOST_IDENTIFIERS: usize = 256;

/// The timing of a route, if it has one. Then its selections become those of single identifiers.
pub(super) fn timing(
    spec: &Table<RouteSpec>,
    (selections, formats): (&mut Vec<Selection>, Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Timing> {
    let texts = [&spec.cycle, &spec.min_delay, &spec.timeout, &spec.on_timeout].map(|text| Some(&text.as_ref()?.span));
    let key = texts.into_iter().flatten().chain(spec.on_change.as_ref().map(|on_change| &on_change.span)).next()?;
    others(spec, formats, key, findings);
    if let Some(all) = single(selections) {
        *selections = all;
    } else {
        let place = spec.filter.as_ref().map_or(&spec.span, |list| &list.span);
        let message = "A route with a timing needs single identifiers, each of which has its own time";
        let help = format!("write match = \"123\", or a list of at most {MOST_IDENTIFIERS} identifiers");
        findings.error(code::TIMING, place, message, help);
    }
    let mut time = |written: &Option<Text>| value::distance(written.as_ref()?, findings);
    let (cycle, min_delay, timeout) = (time(&spec.cycle), time(&spec.min_delay), time(&spec.timeout));
    let on_change = spec.on_change.as_ref().and_then(|on_change| mask(spec, on_change, checks, findings));
    let on_timeout = match spec.on_timeout.as_ref().map(|text| (text, text.value.as_str())) {
        None => OnTimeout::Stop,
        Some((_, "stop")) => OnTimeout::Stop,
        Some((_, "keep")) => OnTimeout::Keep,
        Some((text, _)) => substitute(text, formats, findings)?,
    };
    if let (Some(written), None) = (&spec.on_timeout, &spec.timeout) {
        findings.error(code::TIMING, &written.span, "There is no `timeout`", "add timeout = \"300ms\"");
    }
    Some(Timing {
        cycle,
        min_delay: min_delay.unwrap_or_default(),
        on_change,
        timeout: timeout.map(|after| (after, on_timeout)),
    })
}

/// A selection for each identifier; `None` if there are too many, or if a filter matches other frames, too.
fn single(selections: &[Selection]) -> Option<Vec<Selection>> {
    let mut all = Vec::new();
    for selection in selections {
        let Normalised { list, id, mask } = selection.filter.normalise();
        let wire = if id & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_MASK };
        let is_of_data = mask & CAN_EFF_FLAG != 0 && mask & CAN_RTR_FLAG != 0 && id & CAN_RTR_FLAG == 0;
        let free = wire & !mask;
        match list {
            ReceiveList::Exact => all.push(*selection),
            ReceiveList::Masked if is_of_data && 1 << free.count_ones() <= MOST_IDENTIFIERS => {
                // Each value of the free bits, in ascending order.
                let mut bits = 0;
                loop {
                    all.push(Selection { filter: Filter::exact(RawId(id | bits)), ..*selection });
                    bits = bits.wrapping_sub(free) & free;
                    if bits == 0 {
                        break;
                    }
                }
            }
            _ => return None,
        }
        if all.len() > MOST_IDENTIFIERS {
            return None;
        }
    }
    Some(all)
}

/// Keys of engines that do not send these frames.
fn others(spec: &Table<RouteSpec>, formats: Formats, key: &Span, findings: &mut Findings) {
    let keys = [
        ("max-age", spec.max_age.as_ref().map(|age| &age.span)),
        ("when-full", spec.when_full.as_ref().map(|policy| &policy.span)),
        ("errors", spec.errors.as_ref().map(|errors| &errors.span)),
        ("both-ways", spec.both_ways.as_ref().filter(|flag| flag.value).map(|flag| &flag.span)),
        ("frames", spec.frames.as_ref().filter(|_| formats == Formats::Xl).map(|frames| &frames.span)),
    ];
    for (name, place) in keys {
        if let Some(place) = place {
            let message = format!("A route with a timing has no `{name}`");
            conflict(
                place,
                &message,
                (key, "has a timing"),
                "write a second route, or remove one of the two",
                findings,
            );
        }
    }
}

/// The bits whose change counts. `None` after an error.
fn mask(
    spec: &Table<RouteSpec>,
    on_change: &crate::config::spec::OnChangeSpec,
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    match on_change.texts.as_slice() {
        [] => return Some(vec![0xFF; CANFD_MAX_DLEN]),
        [only] if !only.value.contains('.') => {
            return value::bytes(only, findings).map(|mut bytes| {
                bytes.resize(CANFD_MAX_DLEN, 0);
                bytes
            });
        }
        _ => {}
    }
    let mut mask = vec![0; CANFD_MAX_DLEN];
    let bus = spec.from.as_ref()?;
    for name in &on_change.texts {
        match checks.names.signal(&bus.value, &name.value) {
            Ok((_, signal)) => {
                for position in signal.positions() {
                    if let Some(byte) = mask.get_mut((position / 8) as usize) {
                        *byte |= 1 << (position % 8);
                    }
                }
            }
            Err(_) if checks.names.is_incomplete() => return None,
            Err(why) => {
                let help = "write true, bytes in hex such as \"FF 0F\", or signals such as [\"ABS1.VehSpd\"]";
                findings.error(code::NOT_IN_DATABASE, &name.span, why, help);
                return None;
            }
        }
    }
    Some(mask)
}

fn substitute(text: &Text, formats: Formats, findings: &mut Findings) -> Option<OnTimeout> {
    let Some(bytes) = value::substitute(text) else {
        let help = "write \"stop\", \"keep\" or \"substitute:\" and bytes in hex";
        findings.error(code::FRAME_WORD, &text.span, format!("Unknown action {}", quote(&text.value)), help);
        return None;
    };
    let payload = value::bytes(&bytes, findings)?;
    let most = formats.list().iter().map(|format| format.max_len()).max().unwrap_or_default();
    if payload.len() > most {
        let message = format!("A frame has at most {most} bytes, not {}", payload.len());
        findings.error(code::NOT_IN_FORMAT, &bytes.span, message, "remove some of them");
    }
    Some(OnTimeout::Substitute(payload))
}

#[cfg(test)]
mod tests;
