//! From the statements of a DBC file to a database.

use super::statement::{At, Choices, MessageLine, Mux, SignalLine, Statements, SwitchLine, Value};
use crate::database::{ByteOrder, Database, Kind, Message, NamedValue, Presence, Signal, Timing};
use crate::id::MessageId;
use crate::index::Index;
use crate::number::{milliseconds, whole};
use crate::oddity::{Oddity, OddityKind, Refusal};
use crate::place::Unexpected;

/// Bit 31 of an identifier: it has 29 bits.
const EXTENDED: u32 = 1 << 31;
/// The message that holds signals of no message, and its usual identifier.
const NO_MESSAGE_NAME: &str = "VECTOR__INDEPENDENT_SIG_MSG";
const NO_MESSAGE: u32 = 0xC000_0000;
/// The node that stands for none.
const NO_NODE: &str = "Vector__XXX";

pub(super) fn database(statements: Statements) -> Database {
    let mut all = Assembly::default();
    for Unexpected { expected, found, line } in statements.errors {
        all.odd(line, None, OddityKind::Syntax { expected, found });
    }
    for line in statements.no_semicolon {
        all.odd(line, None, OddityKind::NoSemicolon);
    }
    all.database.nodes = statements.nodes;
    let mut messages = statements.messages;
    messages.retain(|one| one.id != NO_MESSAGE && one.name != NO_MESSAGE_NAME);
    all.by_id = Index::new(messages.iter().map(|one| one.id.into()));
    for message in messages {
        all.message(message);
    }
    for (line, id, nodes) in statements.senders {
        if let Some(message) = all.find_message("BO_TX_BU_", line, id) {
            all.database.messages[message].senders.extend(nodes);
            let senders = &mut all.database.messages[message].senders;
            let mut known: Vec<String> = Vec::new();
            senders.retain(|one| {
                one != NO_NODE && !known.contains(one) && {
                    known.push(one.clone());
                    true
                }
            });
        }
    }
    for (at, kind) in statements.floats {
        all.float(&at, kind);
    }
    for (at, choices) in statements.choices {
        all.choices(&at, choices, &statements.tables);
    }
    all.switches(&statements.switches);
    for (at, text) in statements.comments {
        all.comment(&at, text);
    }
    all.attributes(&statements.definitions, statements.defaults, statements.attributes);
    for (message, signal, name) in all.long_names {
        let message = &mut all.database.messages[message];
        match signal {
            Some(signal) => message.signals[signal].name = name,
            None => message.name = name,
        }
    }
    all.database
}

#[derive(Default)]
struct Assembly {
    database: Database,
    /// Messages by identifier, as written.
    by_id: Index,
    /// Multiplexed signals and switches, as written, by message and signal.
    muxes: Vec<(usize, usize, Mux)>,
    /// Long names of messages and signals, which apply once all statements have found them by their short ones.
    long_names: Vec<(usize, Option<usize>, String)>,
}

impl Assembly {
    fn odd(&mut self, line: u32, subject: Option<String>, kind: OddityKind) {
        self.database.oddities.push(Oddity { line, subject, kind });
    }

    fn message(&mut self, from: MessageLine) {
        let index = self.database.messages.len();
        let subject = || Some(from.name.clone());
        let id = if from.id & EXTENDED != 0 {
            MessageId::extended(from.id & !EXTENDED)
        } else {
            MessageId::standard(from.id).or_else(|| {
                let wide = MessageId::extended(from.id)?;
                self.odd(from.line, subject(), OddityKind::NoExtendedBit(wide));
                Some(wide)
            })
        };
        if id.is_none() {
            self.odd(from.line, subject(), OddityKind::IdTooWide(from.id));
        }
        if from.name.starts_with(|first: char| first.is_ascii_digit()) {
            self.odd(from.line, subject(), OddityKind::DigitFirst);
        }
        let name = from.name;
        let mut signals = Vec::with_capacity(from.signals.len());
        for (at, signal) in from.signals.into_iter().enumerate() {
            if signal.name.starts_with(|first: char| first.is_ascii_digit()) {
                self.odd(signal.line, Some(format!("{name}.{}", signal.name)), OddityKind::DigitFirst);
            }
            if let Some(mux) = signal.mux {
                self.muxes.push((index, at, mux));
            }
            signals.push(self::signal(signal));
        }
        self.database.messages.push(Message {
            name,
            id,
            len: from.len,
            senders: Some(from.sender).filter(|one| !one.is_empty() && one != NO_NODE).into_iter().collect(),
            signals,
            timing: Timing::default(),
            format: None,
            comment: String::new(),
            line: from.line,
        });
    }

    fn find_message(&mut self, statement: &'static str, line: u32, id: u32) -> Option<usize> {
        let found = self.by_id.at(id.into()).next();
        if found.is_none() && id != NO_MESSAGE {
            self.odd(line, None, OddityKind::UnknownMessage { statement, id });
        }
        found
    }

    fn find_signal(&mut self, statement: &'static str, at: &At) -> Option<(usize, usize)> {
        let message = self.find_message(statement, at.line, at.id)?;
        let name = at.signal.as_ref()?;
        let found = self.database.messages[message].signals.iter().position(|one| one.name == *name);
        if found.is_none() {
            let subject = Some(self.database.messages[message].name.clone());
            self.odd(at.line, subject, OddityKind::UnknownSignal { statement, name: name.clone() });
        }
        Some((message, found?))
    }

    fn signal_mut(&mut self, (message, signal): (usize, usize)) -> &mut Signal {
        &mut self.database.messages[message].signals[signal]
    }

    fn name_of(&self, (message, signal): (usize, usize)) -> String {
        let message = &self.database.messages[message];
        format!("{}.{}", message.name, message.signals[signal].name)
    }

    fn float(&mut self, at: &At, kind: u32) {
        let Some(found) = self.find_signal("SIG_VALTYPE_", at) else { return };
        let signal = self.signal_mut(found);
        match kind {
            1 => signal.kind = Kind::Float32,
            2 => signal.kind = Kind::Float64,
            _ => {}
        }
    }

    fn choices(&mut self, at: &At, choices: Choices, tables: &[(String, Vec<(String, String)>)]) {
        let Some(found) = self.find_signal("VAL_", at) else { return };
        let list = match choices {
            Choices::List(list) => list,
            Choices::Table(name) => {
                tables.iter().find(|(one, _)| *one == name).map_or_else(Vec::new, |(_, list)| list.clone())
            }
        };
        for (number, name) in list {
            match whole(&number) {
                Some(raw) => self.signal_mut(found).values.push(NamedValue { raw, name }),
                None => {
                    let subject = Some(self.name_of(found));
                    self.odd(at.line, subject, OddityKind::NotANumber(number));
                }
            }
        }
    }

    /// Joins multiplexed signals and their switches.
    fn switches(&mut self, extended: &[SwitchLine]) {
        for (message, signal, mux) in &self.muxes {
            self.database.messages[*message].signals[*signal].is_switch = mux.is_switch;
        }
        for SwitchLine { at, switch, ranges } in extended {
            let Some(found) = self.find_signal("SG_MUL_VAL_", at) else { continue };
            let of_switch = At { line: at.line, id: at.id, signal: Some(switch.clone()) };
            let Some((message, switch)) = self.find_signal("SG_MUL_VAL_", &of_switch) else { continue };
            // Being one matters more than its mark.
            self.signal_mut((message, switch)).is_switch = true;
            let present = &mut self.signal_mut(found).present;
            present.get_or_insert_with(|| Presence { switch, ranges: Vec::new() }).ranges.extend(ranges);
        }
        for (message, index, mux) in std::mem::take(&mut self.muxes) {
            let signals = &mut self.database.messages[message].signals;
            if signals[index].present.is_some() || (signals[index].is_switch && mux.value.is_none()) {
                continue;
            }
            // A switch that is multiplexed itself can only be selected by the others.
            let mut others = (0..signals.len()).filter(|other| *other != index && signals[*other].is_switch);
            let presence = match (others.next(), others.next()) {
                (Some(switch), None) => {
                    let range = |value| Presence { switch, ranges: vec![(value, value)] };
                    mux.value.map(range).ok_or(Refusal::NoSwitchValue)
                }
                (None, _) => Err(Refusal::NoSwitch),
                (Some(_), Some(_)) => Err(Refusal::SeveralSwitches),
            };
            let signal = &mut signals[index];
            match presence {
                Ok(presence) => signal.present = Some(presence),
                Err(refusal) => signal.refusal = signal.refusal.take().or(Some(refusal)),
            }
        }
    }

    fn comment(&mut self, at: &At, text: String) {
        if at.signal.is_none() {
            if let Some(message) = self.find_message("CM_", at.line, at.id) {
                self.database.messages[message].comment = text;
            }
        } else if let Some(found) = self.find_signal("CM_", at) {
            self.signal_mut(found).comment = text;
        }
    }

    fn attributes(
        &mut self,
        definitions: &[(String, Vec<String>)],
        defaults: Vec<(String, Value)>,
        attributes: Vec<(String, At, Value)>,
    ) {
        for (name, value) in defaults {
            let Ok(value) = text_of(&name, value, definitions) else { continue };
            for message in &mut self.database.messages {
                set_of_message(message, &name, &value);
                if name == "GenSigSendType" {
                    message.signals.iter_mut().for_each(|signal| signal.send_type = Some(value.clone()));
                }
            }
        }
        for (name, at, value) in attributes {
            let found = if at.signal.is_none() {
                self.find_message("BA_", at.line, at.id).map(|message| (message, None))
            } else {
                self.find_signal("BA_", &at).map(|(message, signal)| (message, Some(signal)))
            };
            let Some((message, signal)) = found else { continue };
            if !USED.contains(&name.as_str()) && !name.starts_with(TIMEOUT) {
                continue;
            }
            if name.ends_with("LongSymbol") {
                if let Value::Text(long) = value
                    && !long.is_empty()
                {
                    self.long_names.push((message, signal, long));
                }
                continue;
            }
            let done = match (text_of(&name, value, definitions), signal) {
                (Err(index), _) => Err(OddityKind::UnknownChoice { attribute: name, index }),
                (Ok(value), None) => {
                    set_of_message(&mut self.database.messages[message], &name, &value);
                    Ok(())
                }
                (Ok(value), Some(signal)) => set_of_signal(self.signal_mut((message, signal)), &name, value),
            };
            if let Err(kind) = done {
                let subject = signal.map_or_else(
                    || self.database.messages[message].name.clone(),
                    |signal| self.name_of((message, signal)),
                );
                self.odd(at.line, Some(subject), kind);
            }
        }
    }
}

fn signal(from: SignalLine) -> Signal {
    let mut signal = Signal::plain(from.name, from.line);
    (signal.start, signal.bits) = (from.start, from.bits);
    signal.order = if from.is_little { ByteOrder::Little } else { ByteOrder::Big };
    signal.kind = if from.is_signed { Kind::Signed } else { Kind::Unsigned };
    signal.set_scale(&from.factor, &from.offset);
    signal.set_range(&from.min, &from.max);
    signal.unit = from.unit;
    signal.receivers = from.receivers.into_iter().filter(|one| one != NO_NODE).collect();
    signal
}

/// Attributes that have a place in the model.
const USED: [&str; 12] = [
    "GenMsgCycleTime",
    "GenMsgCycleTimeFast",
    "GenMsgDelayTime",
    "GenMsgNrOfRepetition",
    "GenMsgSendType",
    "GenMsgStartDelayTime",
    "GenSigInactiveValue",
    "GenSigSendType",
    "GenSigStartValue",
    "SystemMessageLongSymbol",
    "SystemSignalLongSymbol",
    "VFrameFormat",
];

/// The beginning of attributes with the timeout of a signal; nodes may follow.
const TIMEOUT: &str = "GenSigTimeoutTime";

/// The value as text; that of an enumeration by its list, whatever its number.
fn text_of(name: &str, value: Value, definitions: &[(String, Vec<String>)]) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Number(number) => match definitions.iter().find(|(one, _)| one == name) {
            Some((_, choices)) if !choices.is_empty() => {
                let index = whole(&number).and_then(|index| usize::try_from(index).ok());
                index.and_then(|index| choices.get(index)).cloned().ok_or(number)
            }
            _ => Ok(number),
        },
    }
}

fn set_of_message(message: &mut Message, name: &str, value: &str) {
    let timing = &mut message.timing;
    match name {
        "GenMsgCycleTime" => timing.cycle = milliseconds(value),
        "GenMsgCycleTimeFast" => timing.fast_cycle = milliseconds(value),
        "GenMsgDelayTime" => timing.min_delay = milliseconds(value),
        "GenMsgStartDelayTime" => timing.start_delay = milliseconds(value),
        "GenMsgNrOfRepetition" => {
            timing.repetitions = whole(value).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        }
        "GenMsgSendType" => timing.send_type = Some(value.to_owned()),
        "VFrameFormat" => message.format = Some(value.to_owned()),
        _ => {}
    }
}

fn set_of_signal(signal: &mut Signal, name: &str, value: String) -> Result<(), OddityKind> {
    match name {
        "GenSigSendType" => signal.send_type = Some(value),
        _ if name.starts_with(TIMEOUT) => {
            signal.timeout = signal.timeout.into_iter().chain(milliseconds(&value)).min();
        }
        "GenSigStartValue" | "GenSigInactiveValue" => {
            let raw = Some(whole(&value).ok_or(OddityKind::NotANumber(value))?);
            if name == "GenSigStartValue" {
                signal.start_value = raw;
            } else {
                signal.inactive_value = raw;
            }
        }
        _ => {}
    }
    Ok(())
}
