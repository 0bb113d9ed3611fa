//! Names of databases in a gateway file: messages and signals in `match`, `allow`, `deny` and `change`.
//!
//! Names become identifiers before the file is checked, so the other checks know nothing of databases.

use std::collections::HashMap;
use std::sync::Arc;

use super::spec::{EntrySpec, ListSpec, NamedText, RouteSpec, Spec};
use super::{Key, code};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::RawId;
use candor_core::ids::IdRange;
use candor_core::payload::PayloadPattern;
use candor_signals::{
    Change, Codec, Condition, Database, ExpressionError, FindError, Fit, Message, MessageId, Signal, constant_bits,
};

/// Reads a database by its path as written in the file; the error says why not.
pub type Read<'r> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'r;

/// Reads a key by its path as written in the file; the error says why not, and nothing of the key.
pub type ReadKey<'r> = dyn FnMut(&str) -> Result<Key, String> + 'r;

/// What the names of a file mean.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By path. `None`: it could not be read.
    keys: HashMap<String, Option<Key>>,
    /// By the name of the bus.
    databases: HashMap<String, Vec<Arc<Database>>>,
    /// A database could not be read, so names may be missing.
    is_incomplete: bool,
    /// By the place of the route in the file.
    routes: HashMap<usize, OfRoute>,
}

/// Conditions and changes of a route.
#[derive(Debug, Default)]
pub(super) struct OfRoute {
    pub(super) condition: Option<OfMatch>,
    pub(super) changes: Vec<OfSignal>,
}

/// Comparisons in `match`.
#[derive(Debug)]
pub(super) struct OfMatch {
    /// As written, joined with `or`.
    pub(super) written: String,
    pub(super) place: Span,
    pub(super) patterns: Vec<PayloadPattern>,
}

/// A change of a signal.
#[derive(Debug)]
pub(super) struct OfSignal {
    /// Name and expression.
    pub(super) written: (String, String),
    pub(super) place: Span,
    pub(super) id: RawId,
    pub(super) change: Change,
}

impl Names {
    /// Reads the databases and keys of a file, and puts identifiers in the place of names.
    pub(super) fn resolve(
        spec: &mut Spec,
        (read, key): (&mut Read<'_>, &mut ReadKey<'_>),
        findings: &mut Findings,
    ) -> Self {
        let mut names = Self::default();
        for route in &spec.routes {
            let secoc = [
                route.check.as_ref().map(|one| &one.scheme.secoc),
                route.protect.as_ref().map(|one| &one.scheme.secoc),
            ];
            for path in secoc.into_iter().flatten().filter_map(|secoc| secoc.key.as_ref()) {
                names.keys.entry(path.value.clone()).or_insert_with(|| self::key(path, key, findings));
            }
        }
        let mut known: HashMap<&str, Option<Arc<Database>>> = HashMap::new();
        for NamedText { name: bus, texts } in &spec.databases {
            if spec.buses.specs.iter().all(|spec| spec.name.value != bus.value) && !findings.is_incomplete {
                let message = format!("Unknown bus {}", quote(&bus.value));
                let help = "write the name of a bus of this file, such as powertrain = \"powertrain.dbc\"";
                findings.error(code::UNKNOWN_BUS, &bus.span, message, help);
            }
            for path in texts {
                let database =
                    known.entry(&path.value).or_insert_with(|| database(path, read, findings).map(Arc::new)).clone();
                names.is_incomplete |= database.is_none();
                names.databases.entry(bus.value.clone()).or_default().extend(database);
            }
        }
        for bus in &mut spec.buses.specs {
            let name = bus.name.value.clone();
            let table = &mut bus.table.value;
            for list in [&mut table.allow, &mut table.deny].into_iter().flatten() {
                names.put_identifiers(&name, list, findings);
            }
        }
        for (at, route) in spec.routes.iter_mut().enumerate() {
            if findings.is_full() {
                break;
            }
            if let Some(found) = names.of_route(route, findings) {
                names.routes.insert(at, found);
            }
        }
        names
    }

    /// The key of this path, if it could be read.
    pub(super) fn key(&self, path: &str) -> Option<&Key> {
        self.keys.get(path)?.as_ref()
    }

    pub(super) fn route(&self, at: usize) -> Option<&OfRoute> {
        self.routes.get(&at)
    }

    /// A database could not be read, so a name that is missing is no finding.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// The databases of a bus.
    pub(super) fn of_bus(&self, bus: &str) -> &[Arc<Database>] {
        self.databases.get(bus).map_or(&[], Vec::as_slice)
    }

    /// `None` for a route without conditions and changes.
    fn of_route(&self, route: &mut Table<RouteSpec>, findings: &mut Findings) -> Option<OfRoute> {
        let mut found = OfRoute::default();
        let bus = route.value.from.as_ref().map(|bus| bus.value.clone())?;
        if let Some(list) = &mut route.value.filter {
            found.condition = self.condition(&bus, list, findings);
        }
        let table = &mut route.value;
        for list in [&mut table.filter, &mut table.allow, &mut table.deny].into_iter().flatten() {
            self.put_identifiers(&bus, list, findings);
        }
        // With one bus that has databases there is nowhere else.
        for entry in table.filter.iter().filter(|_| self.databases.len() > 1).flat_map(|list| &list.entries) {
            let EntrySpec::Text(text) = entry else { continue };
            let Some(filter) = Filter::parse(&text.value).ok().map(Filter::normalise) else { continue };
            let is_it = |message: &&Message| {
                filter.list == ReceiveList::Exact && message.id.is_some_and(|id| id.raw().0 == filter.id)
            };
            if let Some(message) = self.of_bus(&bus).iter().find_map(|database| database.messages.iter().find(is_it)) {
                self.sender_is_elsewhere(&bus, message, &text.span, findings);
            }
        }
        for NamedText { name, texts } in &table.change {
            if let [text] = texts.as_slice()
                && let Some((id, change)) = self.change(&bus, name, text, findings)
            {
                let written = (name.value.clone(), text.value.clone());
                found.changes.push(OfSignal { written, place: name.span.clone(), id, change });
            }
        }
        self.overlaps(&bus, &table.change, findings);
        (found.condition.is_some() || !found.changes.is_empty()).then_some(found)
    }

    /// The patterns of comparisons in `match`, in whose place the identifier is left.
    fn condition(&self, bus: &str, list: &mut ListSpec, findings: &mut Findings) -> Option<OfMatch> {
        let is_condition = |entry: &EntrySpec| matches!(entry, EntrySpec::Text(text) if Condition::is_one(&text.value));
        if !list.entries.iter().any(is_condition) {
            return None;
        }
        let mut found: Option<(MessageId, Vec<PayloadPattern>)> = None;
        let mut is_sound = true;
        for entry in &list.entries {
            let text = match entry {
                EntrySpec::Text(text) => text,
                EntrySpec::Raw(raw) => {
                    is_sound = false;
                    let help = "write a second route for the filter";
                    findings.error(code::CONDITION, &raw.span, "A filter is beside conditions", help);
                    continue;
                }
            };
            let parsed = Condition::parse(&text.value, |name| self.signal(bus, name));
            match (parsed, &mut found) {
                (Err(wrong), _) => {
                    is_sound = false;
                    self.wrong(text, code::CONDITION, wrong, findings);
                }
                (Ok(Condition { id, patterns }), None) => found = Some((id, patterns)),
                (Ok(Condition { id, patterns }), Some((first, all))) if id == *first => all.extend(patterns),
                (Ok(_), Some(_)) => {
                    is_sound = false;
                    let help = "write a second route for the other message";
                    findings.error(code::CONDITION, &text.span, "The conditions are on two messages", help);
                }
            }
        }
        let texts = list.entries.iter().filter_map(|entry| match entry {
            EntrySpec::Text(text) => Some(text.value.as_str()),
            EntrySpec::Raw(_) => None,
        });
        let written = texts.collect::<Vec<_>>().join(" or ");
        list.is_incomplete |= !is_sound;
        list.entries.clear();
        let (id, patterns) = found?;
        let text = Text { value: id.to_string(), span: list.span.clone() };
        list.entries = vec![EntrySpec::Text(text)];
        is_sound.then(|| OfMatch { written, place: list.span.clone(), patterns })
    }

    /// Puts identifiers in the place of names of messages.
    fn put_identifiers(&self, bus: &str, list: &mut ListSpec, findings: &mut Findings) {
        if self.of_bus(bus).is_empty() && !self.is_incomplete {
            return;
        }
        let count = list.entries.len();
        list.entries.retain_mut(|entry| match entry {
            EntrySpec::Text(text) => self.put_identifier(bus, text, findings),
            EntrySpec::Raw(_) => true,
        });
        list.is_incomplete |= list.entries.len() < count;
    }

    /// False for a name that is reported.
    fn put_identifier(&self, bus: &str, text: &mut Text, findings: &mut Findings) -> bool {
        if text.value.starts_with('@') || text.value.contains(IdRange::DOTS) {
            return true;
        }
        if Condition::is_one(&text.value) {
            let message = "Conditions are possible in `match` only";
            findings.error(code::CONDITION, &text.span, message, "write the identifier or the name of the message");
            return false;
        }
        let found = self.message(bus, &text.value);
        if let Ok(filter) = Filter::parse(&text.value) {
            let other = found.ok().and_then(|message| message.id).filter(|id| !filter.normalise().matches(id.raw()));
            if let Some(id) = other {
                let message = format!("{} is a filter, and the name of message {id}", quote(&text.value));
                let help = format!("write \"{id}\" for the message, or the filter with 3 or 8 digits and its mask");
                findings.error(code::NOT_IN_DATABASE, &text.span, message, help);
            }
            return other.is_none();
        }
        match found {
            Err(why) => {
                if !self.is_incomplete {
                    let help = "write a filter such as \"123\", or a message of the database of this bus";
                    findings.error(code::NOT_IN_DATABASE, &text.span, why, help);
                }
                false
            }
            Ok(message) => match message.id {
                Some(id) => {
                    text.value = id.to_string();
                    true
                }
                None => {
                    let what = no_identifier(message);
                    findings.error(code::NOT_IN_DATABASE, &text.span, what, "correct the database");
                    false
                }
            },
        }
    }

    fn change(&self, bus: &str, name: &Text, text: &Text, findings: &mut Findings) -> Option<(RawId, Change)> {
        let (message, signal) = match self.signal(bus, &name.value) {
            Ok(found) => found,
            Err(why) => {
                if !self.is_incomplete {
                    let help = "write Message.Signal; `candor-lab database FILE` shows the names";
                    findings.error(code::NOT_IN_DATABASE, &name.span, why, help);
                }
                return None;
            }
        };
        let change = Change::new(message, signal, &text.value);
        let change = change.map_err(|wrong| self.wrong(text, code::EXPRESSION, wrong, findings)).ok()?;
        let id = message.id.or_else(|| {
            findings.error(code::NOT_IN_DATABASE, &name.span, no_identifier(message), "correct the database");
            None
        })?;
        Some((id.raw(), change))
    }

    /// Warns of a message that another bus has from a node of its own, and this one only from a node of both.
    pub(super) fn sender_is_elsewhere(&self, bus: &str, message: &Message, place: &Span, findings: &mut Findings) {
        let is_on = |bus: &str, node: &String| self.of_bus(bus).iter().any(|database| database.nodes.contains(node));
        let same = |other: &Message| (other.id, &other.name) == (message.id, &message.name);
        let mut others: Vec<&String> = self.databases.keys().filter(|other| *other != bus).collect();
        candor_core::order::sort(&mut others);
        for other in others {
            let is_repeated = !message.senders.is_empty() && message.senders.iter().all(|node| is_on(other, node));
            let there = self.of_bus(other).iter().find_map(|database| database.messages.iter().find(|one| same(one)));
            let Some(there) = there.filter(|there| is_repeated && !there.senders.is_empty()) else { continue };
            if !there.senders.iter().any(|node| is_on(bus, node)) {
                let (here, origin) = (message.senders.join(", "), there.senders.join(", "));
                let (bus, other) = (quote(bus), quote(other));
                let what = format!(
                    "Message {} comes from bus {other}, where {origin} sends it; {here} sends it to {bus}",
                    message.name
                );
                let help = format!("take it from {other}, unless {here} stays beside candor");
                findings.report(Diagnostic::warning(code::SENDER_ELSEWHERE, place.clone(), what).help(help));
                return;
            }
        }
    }

    /// Signals that share bits, and are both written.
    fn overlaps(&self, bus: &str, changes: &[NamedText], findings: &mut Findings) {
        let found: Vec<_> =
            changes.iter().filter_map(|one| Some((one, self.signal(bus, &one.name.value).ok()?))).collect();
        for (at, (one, (message, signal))) in found.iter().enumerate() {
            let meets = |(_, (other, of_other)): &&(&NamedText, (&Message, &Signal))| {
                std::ptr::eq(*other, *message) && candor_signals::overlap(message, signal, of_other)
            };
            if let Some((other, (_, of_other))) = found[..at].iter().find(meets) {
                overlapping((signal, &one.name.span), (of_other, &other.name.span), findings);
            }
        }
    }

    pub(super) fn wrong(&self, text: &Text, code: &'static str, wrong: ExpressionError, findings: &mut Findings) {
        if !self.is_incomplete {
            findings.error(code, &text.part(wrong.range), wrong.message, wrong.help);
        }
    }

    /// The bits of a constant of a signal. `None` after an error.
    pub(super) fn constant(&self, text: &Text, of: (&Message, &Signal), findings: &mut Findings) -> Option<u64> {
        let (message, signal) = of;
        let encoded = constant_bits(&text.value, message, signal);
        let encoded = encoded.map_err(|wrong| self.wrong(text, code::EXPRESSION, wrong, findings)).ok()?;
        if encoded.fit == Fit::Rounded && !signal.kind.is_float() {
            let value = Codec::new(message, signal)?.scale().physical_f64(encoded.bits);
            let what = format!("Signal {} cannot have {}, and becomes {value}", signal.name, quote(&text.value));
            let help = format!("its values are {} apart", signal.factor);
            findings.report(Diagnostic::warning(code::ROUNDED, text.span.clone(), what).help(help));
        }
        Some(encoded.bits)
    }

    pub(super) fn message(&self, bus: &str, name: &str) -> Result<&Message, String> {
        self.first(bus, |database| database.message(name))
    }

    pub(super) fn signal(&self, bus: &str, name: &str) -> Result<(&Message, &Signal), String> {
        self.first(bus, |database| database.signal(name))
    }

    /// What is in the only database that has it; the reason of the first one if none has.
    fn first<'d, T>(&'d self, bus: &str, find: impl Fn(&'d Database) -> Result<T, FindError>) -> Result<T, String> {
        let (mut reason, mut first) = (None, None);
        for database in self.of_bus(bus) {
            match find(database) {
                Ok(_) if first.is_some() => return Err("Several databases of the bus have this name".to_owned()),
                Ok(found) => first = Some(found),
                Err(why @ FindError::Ambiguous { .. }) => return Err(why.to_string()),
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        let none = || format!("Bus {} has no database", quote(bus));
        first.ok_or_else(|| reason.map_or_else(none, |why| why.to_string().replace(char::is_control, "?")))
    }
}

/// Two signals that share bits, and are both written.
pub(super) fn overlapping((one, place): (&Signal, &Span), (other, earlier): (&Signal, &Span), findings: &mut Findings) {
    let message = format!("Signals {} and {} have common bits", other.name, one.name);
    findings.report(
        Diagnostic::error(code::EXPRESSION, place.clone(), message)
            .also(earlier.clone(), "written here")
            .help("write one of them only"),
    );
}

fn no_identifier(message: &Message) -> String {
    format!("Message {} has no identifier that a frame can have", message.name)
}

/// True for a text that is the content of a key file: 32 digits in hex, also with characters between them or `0x` before.
pub fn is_key(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_between = |character: char| character.is_ascii_whitespace() || [':', '-', ','].contains(&character);
    digits.chars().all(|character| character.is_ascii_hexdigit() || is_between(character))
        && digits.chars().filter(char::is_ascii_hexdigit).count() == 32
}

fn key(path: &Text, read: &mut ReadKey<'_>, findings: &mut Findings) -> Option<Key> {
    if is_key(&path.value) {
        let message = "This is a key, and not the path of its file";
        let help = "make a new key, because this one is no secret any more; write it to a file that only its owner can read, and \
                    the path here; see docs/integrity.md";
        findings.error(code::KEY, &path.span, message, help);
        return None;
    }
    let key = read(&path.value);
    if let Err(why) = &key {
        let message = format!("Cannot use the key {}: {why}", quote(&path.value));
        let help =
            "a key is a file of 16 bytes, or of 32 digits in hex, that only its owner can read; see docs/integrity.md";
        findings.error(code::KEY, &path.span, message, help);
    }
    key.ok()
}

fn database(path: &Text, read: &mut Read<'_>, findings: &mut Findings) -> Option<Database> {
    let bytes = match read(&path.value) {
        Ok(bytes) => bytes,
        Err(why) => {
            let message = format!("Cannot read {}: {why}", quote(&path.value));
            let help = "a path is relative to the folder of this file";
            findings.error(code::DATABASE, &path.span, message, help);
            return None;
        }
    };
    let database = candor_signals::read(&bytes);
    if database.messages.is_empty() {
        let why = database.refusal().map_or_else(String::new, |one| format!(": line {}: {}", one.line, one.kind));
        let message = format!("{} has no message{why}", quote(&path.value));
        let help = "candor reads DBC and KCD files; `candor-lab database FILE` says what is odd in one";
        findings.error(code::DATABASE, &path.span, message, help);
        return None;
    }
    Some(database)
}

#[cfg(test)]
mod tests;
