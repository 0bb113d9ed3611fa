//! Lists of identifiers: filters, ranges and names of lists, as the set of identifiers they define together.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::config::check::value;
use crate::config::code;
use crate::config::spec::{EntrySpec, ListSpec, RawFilterSpec, Spec};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{Text, closest, quote};
use candor_core::filter::{CAN_INV_FILTER, Filter, FilterTextError, ReceiveList};
use candor_core::frame::CAN_RTR_FLAG;
use candor_core::ids::{Effort, IdRange, IdSet, TooComplex};

/// Steps that all lists of a file may take together: eight times those of 16 384 single 29-bit identifiers.
const EFFORT: u32 = 2 << 20;

/// Before the name of a list of `[ids]`.
const REFERENCE: char = '@';

/// The lists of `[ids]`, and the effort left for all lists.
pub(super) struct Identifiers<'s> {
    named: HashMap<&'s str, Named<'s>>,
    /// Lists read so far.
    names: Vec<&'s str>,
    effort: Effort,
    is_exhausted: bool,
}

struct Named<'s> {
    place: &'s Span,
    /// `None` before it is read, and after an error.
    set: Option<Rc<IdSet>>,
    is_read: bool,
    is_used: bool,
}

enum Entry {
    Filter(Filter),
    List(Rc<IdSet>),
    Range(IdRange),
}

impl<'s> Identifiers<'s> {
    pub(super) fn new(spec: &'s Spec, findings: &mut Findings) -> Self {
        let unread = |place| Named { place, set: None, is_read: false, is_used: false };
        let named = spec.ids.iter().map(|list| (list.name.value.as_str(), unread(&list.name.span))).collect();
        let names = Vec::with_capacity(spec.ids.len());
        let mut identifiers = Self { named, names, effort: Effort::new(EFFORT), is_exhausted: false };
        for list in &spec.ids {
            name(&list.name, findings);
            let set = list.list.as_ref().and_then(|list| identifiers.set(list, findings));
            if let Some(named) = identifiers.named.get_mut(list.name.value.as_str()) {
                (named.set, named.is_read) = (set, true);
            }
            identifiers.names.push(list.name.value.as_str());
        }
        identifiers
    }

    /// The only entry of a list if it is a filter, also a raw one for error message frames. The inner value is `None`
    /// after an error.
    #[expect(clippy::option_option, reason = "a filter with an error is still the only entry")]
    pub(super) fn only_filter(&mut self, list: &ListSpec, findings: &mut Findings) -> Option<Option<Filter>> {
        match list.entries.as_slice() {
            [EntrySpec::Raw(raw)] if !list.is_incomplete => Some(raw_filter(raw, findings)),
            [EntrySpec::Text(text)] if !list.is_incomplete && self.is_filter(text) => Some(filter(text, findings)),
            _ => None,
        }
    }

    /// The identifiers of a list; `None` after an error.
    pub(super) fn set(&mut self, list: &ListSpec, findings: &mut Findings) -> Option<Rc<IdSet>> {
        if list.entries.is_empty() && !list.is_incomplete {
            let help = "write at least one identifier, such as [\"123\"], or remove the key";
            findings.error(code::FILTER, &list.span, "The list is empty", help);
            return None;
        }
        let (mut filters, mut ranges, mut sets) = (Vec::new(), Vec::new(), Vec::new());
        let (mut is_sound, mut seen) = (!list.is_incomplete, HashSet::new());
        for entry in &list.entries {
            match self.entry(entry, findings) {
                Some(Entry::Filter(filter)) => match IdRange::of_exact(filter) {
                    Some(range) => ranges.push(range),
                    None => filters.push(filter),
                },
                Some(Entry::List(set)) if seen.insert(Rc::as_ptr(&set)) => sets.push(set),
                Some(Entry::List(_)) => {}
                Some(Entry::Range(range)) => ranges.push(range),
                None => is_sound = false,
            }
        }
        if !is_sound {
            return None;
        }
        if let ([set], true, true) = (sets.as_slice(), filters.is_empty(), ranges.is_empty()) {
            return Some(Rc::clone(set));
        }
        self.within_effort(&list.span, findings, |effort| {
            let mut all = IdSet::of_ranges(ranges, effort)?;
            if !filters.is_empty() {
                all = all.union(&IdSet::of_filters(filters, effort)?, effort)?;
            }
            for set in sets {
                all = all.union(&set, effort)?;
            }
            Ok(Rc::new(all))
        })
    }

    /// Runs `compute` within the remaining effort; exceeding it is reported once.
    pub(super) fn within_effort<T>(
        &mut self,
        place: &Span,
        findings: &mut Findings,
        compute: impl FnOnce(&mut Effort) -> Result<T, TooComplex>,
    ) -> Option<T> {
        let result = compute(&mut self.effort);
        if result.is_err() && !std::mem::replace(&mut self.is_exhausted, true) {
            findings.report(
                Diagnostic::error(code::TOO_MANY_JOBS, place.clone(), "The identifiers of this file are too complex")
                    .label("the limit is reached here")
                    .help("write fewer filters with scattered mask bits in one list, or replace them with ranges"),
            );
        }
        result.ok()
    }

    /// Lists that nothing refers to.
    pub(super) fn unused(&self, spec: &Spec, findings: &mut Findings) {
        if findings.is_incomplete {
            return;
        }
        for list in &spec.ids {
            if self.named.get(list.name.value.as_str()).is_some_and(|named| !named.is_used) {
                let message = format!("List {} is not used", quote(&list.name.value));
                let help =
                    format!("write \"{REFERENCE}{}\" where it applies, or remove it", list.name.value.escape_debug());
                findings.report(Diagnostic::warning(code::UNUSED_LIST, list.name.span.clone(), message).help(help));
            }
        }
    }

    fn is_filter(&self, text: &Text) -> bool {
        let is_other = text.value.starts_with(REFERENCE) || text.value.contains(IdRange::DOTS);
        !is_other && !self.named.contains_key(text.value.as_str())
    }

    fn entry(&mut self, entry: &EntrySpec, findings: &mut Findings) -> Option<Entry> {
        match entry {
            EntrySpec::Raw(raw) => {
                let filter = raw_filter(raw, findings)?;
                if filter.normalise().list == ReceiveList::Error {
                    let message = "Error message frames have no identifier and cannot be part of a list";
                    let help = "write a separate route for them, with errors = \"1FF\"";
                    findings.error(code::FILTER, &raw.span, message, help);
                    return None;
                }
                Some(Entry::Filter(filter))
            }
            EntrySpec::Text(text) => match text.value.strip_prefix(REFERENCE) {
                Some(name) => self.named(text, name, findings).map(Entry::List),
                None if text.value.contains(IdRange::DOTS) => match IdRange::parse(&text.value) {
                    Ok(range) => Some(Entry::Range(range)),
                    Err(error) => invalid_filter(text, &error, findings),
                },
                None => match Filter::parse(&text.value) {
                    Err(_) if self.named.contains_key(text.value.as_str()) => missing_reference(text, findings),
                    _ => filter(text, findings).map(Entry::Filter),
                },
            },
        }
    }

    fn named(&mut self, written: &Text, name: &str, findings: &mut Findings) -> Option<Rc<IdSet>> {
        if let Some(named) = self.named.get_mut(name) {
            named.is_used = true;
            if named.is_read {
                return named.set.clone();
            }
            let message = format!("List {} is defined further down", quote(name));
            findings.report(
                Diagnostic::error(code::UNKNOWN_LIST, written.span.clone(), message)
                    .also(named.place.clone(), "defined here")
                    .help("a list may only use lists above it; move that one up"),
            );
            return None;
        }
        if findings.is_full() {
            return None;
        }
        /// Searching more names for a suggestion takes too long.
        const MOST_CANDIDATES: usize = 64;
        let candidates = &self.names[..self.names.len().min(MOST_CANDIDATES)];
        let message = format!("Unknown list {}", quote(name));
        let diagnostic = Diagnostic::error(code::UNKNOWN_LIST, written.span.clone(), message);
        findings.report(match closest(name, candidates) {
            Some(meant) => diagnostic.label(format!("did you mean \"{REFERENCE}{}\"?", meant.escape_debug())),
            None => diagnostic.help("define lists in the table [ids], such as diagnostics = [\"7DF\", \"7E0..7EF\"]"),
        });
        None
    }
}

/// A name is written in a text after `@`.
fn name(name: &Text, findings: &mut Findings) {
    if name.value.is_empty() || name.value.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let message = "The name of a list must be one word";
        findings.error(code::NAME, &name.span, message, "write a short name, such as \"diagnostics\"");
    }
}

fn filter(written: &Text, findings: &mut Findings) -> Option<Filter> {
    match Filter::parse(&written.value) {
        Ok(filter) => {
            suspicious_filter(written, filter, findings);
            Some(filter)
        }
        Err(error) => invalid_filter(written, &error, findings),
    }
}

/// Warns of a filter that matches more frames than it seems to, or none.
fn suspicious_filter(written: &Text, filter: Filter, findings: &mut Findings) {
    if filter.is_loose() {
        let (is_inverted, compares_remote) = (filter.id & CAN_INV_FILTER != 0, filter.mask & CAN_RTR_FLAG != 0);
        let does = if is_inverted { "excludes" } else { "matches" };
        let remote = if compares_remote { "" } else { ", and remote frames" };
        let kind = if compares_remote && filter.id & CAN_RTR_FLAG != 0 { "remote" } else { "data" };
        let only = if is_inverted {
            format!("to exclude only {kind} frames of one format,")
        } else {
            format!("for {kind} frames of one format,")
        };
        let message = format!("Filter {} {does} 11-bit and 29-bit frames{remote}", quote(&written.value));
        findings.report(
            Diagnostic::warning(code::LOOSE_FILTER, written.span.clone(), message)
                .label("the mask does not compare the format")
                .help(format!("{only} write \"{}\"", filter.tightened())),
        );
    }
    if filter.id & CAN_INV_FILTER != 0 && filter.mask == 0 {
        findings.report(
            Diagnostic::warning(code::NEVER_MATCHES, written.span.clone(), "This filter matches no frame")
                .label("all frames except all frames")
                .help("omit `match` to match every frame"),
        );
    }
}

fn invalid_filter<T>(written: &Text, error: &FilterTextError, findings: &mut Findings) -> Option<T> {
    findings.error(code::FILTER, &written.part(error.range.clone()), error.to_string(), error.kind.help());
    None
}

fn missing_reference<T>(text: &Text, findings: &mut Findings) -> Option<T> {
    let message = format!("{} is the name of a list, not a filter", quote(&text.value));
    let help = format!("write \"{REFERENCE}{}\"", text.value.escape_debug());
    findings.error(code::FILTER, &text.span, message, help);
    None
}

fn raw_filter(raw: &RawFilterSpec, findings: &mut Findings) -> Option<Filter> {
    let id = raw.id.as_ref().and_then(|written| value::word_32(written, findings));
    let mask = raw.mask.as_ref().and_then(|written| value::word_32(written, findings));
    Some(Filter { id: id?, mask: mask? })
}
