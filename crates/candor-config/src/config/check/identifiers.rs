//! Lists of identifiers: filters, ranges and names of lists, as the set they say together.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::config::check::{number, warnings};
use crate::config::code;
use crate::config::spec::{EntrySpec, ListSpec, RawFilterSpec, Spec};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::filter::{Filter, FilterTextError, ReceiveList};
use candor_core::ids::{Effort, IdRange, IdSet, TooComplex};

/// Steps that all lists of a file may take together: eight times those of 16 384 single 29-bit identifiers.
const EFFORT: u32 = 2 << 20;

/// Before the name of a list of `[ids]`.
const REFERENCE: char = '@';

/// The lists of `[ids]`, and what becomes of all others.
pub(super) struct Identifiers<'s> {
    named: HashMap<&'s str, Named<'s>>,
    /// Those that have been read.
    names: Vec<&'s str>,
    effort: Effort,
    is_exhausted: bool,
}

struct Named<'s> {
    place: &'s Span,
    /// `None` before it has been read, and where it is wrong.
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

    /// The one filter of a list that has nothing else, as it is written: also a raw one for error message frames.
    /// `Some(None)` if the list is no such list.
    pub(super) fn only_filter(&mut self, list: &ListSpec, findings: &mut Findings) -> Option<Option<Filter>> {
        match list.entries.as_slice() {
            [EntrySpec::Raw(raw)] if !list.is_torn => raw_filter(raw, findings).map(Some),
            [EntrySpec::Text(text)] if !list.is_torn && self.is_filter(text) => filter(text, findings).map(Some),
            _ => Some(None),
        }
    }

    /// The identifiers of a list; `None` if something in it is wrong.
    pub(super) fn set(&mut self, list: &ListSpec, findings: &mut Findings) -> Option<Rc<IdSet>> {
        if list.entries.is_empty() && !list.is_torn {
            let help = "write at least one identifier, such as [\"123\"], or remove the key";
            findings.report(Diagnostic::error(code::FILTER, list.span.clone(), "The list is empty").help(help));
            return None;
        }
        let (mut filters, mut ranges, mut sets) = (Vec::new(), Vec::new(), Vec::new());
        let (mut is_sound, mut seen) = (!list.is_torn, HashSet::new());
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
        if findings.torn {
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

    fn is_filter(&self, text: &Spanned<String>) -> bool {
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
                    findings.report(Diagnostic::error(code::FILTER, raw.span.clone(), message).help(help));
                    return None;
                }
                Some(Entry::Filter(filter))
            }
            EntrySpec::Text(text) => match text.value.strip_prefix(REFERENCE) {
                Some(name) => self.named(text, name, findings).map(Entry::List),
                None if text.value.contains(IdRange::DOTS) => match IdRange::parse(&text.value) {
                    Ok(range) => Some(Entry::Range(range)),
                    Err(error) => no_filter(text, &error, findings),
                },
                None => match Filter::parse(&text.value) {
                    Err(_) if self.named.contains_key(text.value.as_str()) => no_reference(text, findings),
                    _ => filter(text, findings).map(Entry::Filter),
                },
            },
        }
    }

    fn named(&mut self, written: &Spanned<String>, name: &str, findings: &mut Findings) -> Option<Rc<IdSet>> {
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
        /// Beyond these a suggestion is not worth the search.
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
fn name(name: &Spanned<String>, findings: &mut Findings) {
    if name.value.is_empty() || name.value.chars().any(|c| c.is_control() || c.is_whitespace()) {
        findings.report(
            Diagnostic::error(code::NAME, name.span.clone(), "The name of a list must be one word")
                .help("write a short name, such as \"diagnostics\""),
        );
    }
}

fn filter(written: &Spanned<String>, findings: &mut Findings) -> Option<Filter> {
    match Filter::parse(&written.value) {
        Ok(filter) => {
            warnings::filter(written, filter, findings);
            Some(filter)
        }
        Err(error) => no_filter(written, &error, findings),
    }
}

fn no_filter<T>(written: &Spanned<String>, error: &FilterTextError, findings: &mut Findings) -> Option<T> {
    findings.report(
        Diagnostic::error(code::FILTER, written.part(error.range.clone()), error.to_string()).help(error.kind.help()),
    );
    None
}

fn no_reference<T>(text: &Spanned<String>, findings: &mut Findings) -> Option<T> {
    let message = format!("{} is the name of a list, not a filter", quote(&text.value));
    let help = format!("write \"{REFERENCE}{}\"", text.value.escape_debug());
    findings.report(Diagnostic::error(code::FILTER, text.span.clone(), message).help(help));
    None
}

fn raw_filter(raw: &RawFilterSpec, findings: &mut Findings) -> Option<Filter> {
    let id = raw.id.as_ref().and_then(|written| number::word(written, findings));
    let mask = raw.mask.as_ref().and_then(|written| number::word(written, findings));
    Some(Filter { id: id?, mask: mask? })
}
