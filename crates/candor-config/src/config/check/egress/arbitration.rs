//! `queue = "arbitration"`, and the keys that belong to it.

use super::queue::DEFAULT_FRAMES;
use crate::config::check::value::{duration, word};
use crate::config::code;
use crate::config::spec::EgressSpec;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Text;
use candor_egress::arbitration::{Arbitration, ArbitrationError, Limits};
use candor_egress::policy::{Band, Fair, Full, Queue};

/// `span` is that of `queue`. `None` after an error.
pub(super) fn arbitration(spec: &EgressSpec, span: &Span, findings: &mut Findings) -> Option<Arbitration> {
    if let Some(limit) = spec.limits.first() {
        let message = "A queue in the order of arbitration has no limits";
        findings.report(
            Diagnostic::error(code::EGRESS, span.clone(), message)
                .also(limit.span.clone(), "conflicts with `queue`")
                .help("remove them, or write queue = 100 and bands"),
        );
        return None;
    }
    let replace = spec.replace.as_ref();
    let same = [("same-id", true)];
    let replace = replace.map(|written| word(written, (code::EGRESS_WORD, "`replace`", ""), &same, findings));
    let age = spec.max_age.as_ref().map(|written| milliseconds(written, findings));
    let limits = Limits {
        frames: spec.frames.as_ref().map_or(DEFAULT_FRAMES, |frames| frames.value),
        per_socket: spec.per_socket.as_ref().map(|frames| frames.value),
        max_age_ms: age.map_or(Some(None), |age| age.map(Some))?,
        replace_same_id: replace.unwrap_or(Some(false))?,
    };
    let refused =
        |error: ArbitrationError| findings.error(code::EGRESS, span, error.to_string(), "write other numbers");
    let queue = Arbitration::new(limits).map_err(refused).ok()?;
    says_what_others_lose(spec, span, findings);
    Some(queue)
}

/// For kernels without queues in BPF.
fn says_what_others_lose(spec: &EgressSpec, span: &Span, findings: &mut Findings) {
    let keys = [
        ("`per-socket`", spec.per_socket.is_some()),
        ("`replace`", spec.replace.is_some()),
        ("`max-age`", spec.max_age.is_some()),
    ];
    let keys: Vec<_> = keys.into_iter().filter_map(|(key, is_set)| is_set.then_some(key)).collect();
    let lost = if keys.is_empty() { String::new() } else { format!(", without {}", keys.join(", ")) };
    let (order, bands) = match spec.bands.is_empty() {
        true => ("first in, first out", ", or add bands for other kernels to this section"),
        false => ("by the bands", ""),
    };
    let message = format!("Where the kernel has no queues in BPF, frames are sent {order}{lost}");
    findings.report(
        Diagnostic::warning(code::NO_BPF_QUEUES, span.clone(), message)
            .help(format!("boot Linux 6.16 or newer with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF{bands}")),
    );
}

/// All frames, first in, first out.
pub(super) fn only_band(queue: &Arbitration) -> Option<Band> {
    let queue = Queue::new(Fair::No, queue.limits().frames, Full::Refuse).ok()?;
    Some(Band { name: "all".to_owned(), take: Vec::new(), queue, rate: None, share: None })
}

/// `None` after an error about a key that only a queue in the order of arbitration has.
pub(super) fn is_absent(spec: &EgressSpec, findings: &mut Findings) -> Option<()> {
    let numbers = [("frames", &spec.frames), ("per-socket", &spec.per_socket)];
    let numbers = numbers.map(|(name, number)| (name, number.as_ref().map(|number| &number.span)));
    let texts = [("replace", &spec.replace), ("max-age", &spec.max_age)];
    let texts = texts.map(|(name, text)| (name, text.as_ref().map(|text| &text.span)));
    let found = numbers.into_iter().chain(texts).find_map(|(name, span)| Some((name, span?)));
    let Some((name, span)) = found else { return Some(()) };
    let message = format!("`{name}` belongs to a queue in the order of arbitration");
    findings.error(code::EGRESS, span, message, "add queue = \"arbitration\", or remove this key");
    None
}

fn milliseconds(written: &Text, findings: &mut Findings) -> Option<u32> {
    let age = duration(written, findings)?;
    let whole = u32::try_from(age.as_millis()).ok().filter(|ms| *ms > 0 && age.subsec_nanos() % 1_000_000 == 0);
    if whole.is_none() {
        findings.error(code::MAX_AGE, &written.span, "`max-age` must be whole milliseconds", "write \"1ms\" or more");
    }
    whole
}
